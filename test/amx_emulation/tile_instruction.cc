#include "test/amx_emulation/tile_instruction.h"

#include <cstring>

namespace ruy_like {
namespace {

// The mandatory prefix as the VEX prefix encodes it.
enum Prefix { kNone = 0, k66 = 1, kF3 = 2, kF2 = 3 };

constexpr const char* kNotATileInstruction = "no tile instruction";

// The three-byte VEX prefix, opcode, ModRM: the five bytes that all tile
// instructions begin with.
struct Vex {
  explicit Vex(const std::uint8_t* code)
      : r(!(code[1] & 0x80)),
        x(!(code[1] & 0x40)),
        b(!(code[1] & 0x20)),
        w(code[2] & 0x80),
        l(code[2] & 0x04),
        vvvv(~(code[2] >> 3) & 15),
        prefix(code[2] & 3),
        opcode(code[3]),
        mod(code[4] >> 6),
        reg(code[4] >> 3 & 7),
        rm(code[4] & 7) {}

  // R, X and B extend reg, index and base or rm by a fourth bit.
  bool r, x, b, w, l;
  int vvvv;
  int prefix;
  int opcode;
  int mod, reg, rm;
};

// Address and stride of a memory operand; ModRM's mod is not 3.
void DecodeMemory(const std::uint8_t* code, const Vex& vex,
                  const GeneralRegisters& registers, TileInstruction* result) {
  const auto displacement = [code](int at) {
    std::int32_t value;
    std::memcpy(&value, code + at, sizeof(value));
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  const std::uint64_t* const r = registers.number;
  int length = 5;
  std::uint64_t base = 0;
  std::uint64_t index = 0;
  bool has_disp32 = vex.mod == 2;
  if (vex.rm == 4) {
    const int sib = code[length++];
    const int index_register = (sib >> 3 & 7) + 8 * vex.x;
    if (index_register != 4) index = r[index_register] << (sib >> 6);
    if (vex.mod == 0 && (sib & 7) == 5) {
      has_disp32 = true;
    } else {
      base = r[(sib & 7) + 8 * vex.b];
    }
  } else if (vex.mod == 0 && vex.rm == 5) {
    has_disp32 = true;
    base = registers.rip + length + 4;
  } else {
    base = r[vex.rm + 8 * vex.b];
  }
  if (has_disp32) {
    base += displacement(length);
    length += 4;
  } else if (vex.mod == 1) {
    base += static_cast<std::uint64_t>(
        static_cast<std::int64_t>(static_cast<std::int8_t>(code[length])));
    ++length;
  }
  result->bytes = length;
  // The index of a tile load or store is no part of the first row's address.
  const bool is_strided = vex.opcode == 0x4b;
  result->address = is_strided ? base : base + index;
  result->stride = is_strided ? index : 0;
}

// LDTILECFG, STTILECFG, TILERELEASE, TILEZERO.
bool Decode49(const Vex& vex, TileInstruction* result) {
  if (vex.mod != 3) {
    if (vex.reg != 0) return false;
    if (vex.prefix != kNone && vex.prefix != k66) return false;
    result->op =
        vex.prefix == kNone ? TileOp::kLoadConfig : TileOp::kStoreConfig;
    return true;
  }
  if (vex.rm != 0) return false;
  result->op = vex.prefix == kF2 ? TileOp::kZero : TileOp::kRelease;
  return vex.prefix == kF2 || (vex.prefix == kNone && vex.reg == 0);
}

bool Decode4B(const Vex& vex, TileInstruction* result) {
  if (vex.mod == 3) return false;
  switch (vex.prefix) {
    case kF2:
      result->op = TileOp::kLoad;
      return true;
    case k66:
      result->op = TileOp::kLoadStreaming;
      return true;
    case kF3:
      result->op = TileOp::kStore;
      return true;
    default:
      return false;
  }
}

bool Decode5E(const Vex& vex, TileInstruction* result) {
  constexpr TileOp kByPrefix[] = {TileOp::kMulU8U8, TileOp::kMulU8S8,
                                  TileOp::kMulS8U8, TileOp::kMulS8S8};
  if (vex.mod != 3) return false;
  result->op = kByPrefix[vex.prefix];
  return true;
}

bool Decode5C(const Vex& vex, TileInstruction* result) {
  result->op = TileOp::kMulBF16BF16;
  return vex.mod == 3 && vex.prefix == kF3;
}

bool DecodeOpcode(const Vex& vex, TileInstruction* result) {
  switch (vex.opcode) {
    case 0x49:
      return Decode49(vex, result);
    case 0x4b:
      return Decode4B(vex, result);
    case 0x5c:
      return Decode5C(vex, result);
    case 0x5e:
      return Decode5E(vex, result);
    default:
      return false;
  }
}

bool IsProduct(TileOp op) { return op >= TileOp::kMulS8S8; }

// The operands' fields; null if they are as they must be.
const char* DecodeOperands(const std::uint8_t* code, const Vex& vex,
                           const GeneralRegisters& registers,
                           TileInstruction* result) {
  result->bytes = 5;
  result->c = vex.reg + 8 * vex.r;
  if (IsProduct(result->op)) {
    result->a = vex.rm + 8 * vex.b;
    result->b = vex.vvvv;
    if (result->a > 7 || result->b > 7) return "#UD: there are eight tiles";
  } else if (vex.vvvv != 0) {
    return "#UD: VEX.vvvv names an operand that there is not";
  }
  if (result->c > 7) return "#UD: there are eight tiles";
  if (vex.mod != 3) {
    if (vex.opcode == 0x4b && vex.rm != 4) {
      return "#UD: a tile load or store without SIB byte";
    }
    DecodeMemory(code, vex, registers, result);
  }
  return nullptr;
}

}  // namespace

const char* NameOf(TileOp op) {
  constexpr const char* kNames[] = {"LDTILECFG",  "STTILECFG", "TILERELEASE",
                                    "TILEZERO",   "TILELOADD", "TILELOADDT1",
                                    "TILESTORED", "TDPBSSD",   "TDPBSUD",
                                    "TDPBUSD",    "TDPBUUD",   "TDPBF16PS"};
  return kNames[static_cast<int>(op)];
}

bool DecodeTileInstruction(const std::uint8_t* code,
                           const GeneralRegisters& registers,
                           TileInstruction* instruction, const char** why_not) {
  *instruction = TileInstruction();
  *why_not = kNotATileInstruction;
  // VEX of three bytes, opcode map 0F38.
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) return false;
  const Vex vex(code);
  if (!DecodeOpcode(vex, instruction)) return false;
  *why_not = vex.w   ? "#UD: VEX.W is set"
             : vex.l ? "#UD: VEX.L is set"
                     : DecodeOperands(code, vex, registers, instruction);
  return *why_not == nullptr;
}

}  // namespace ruy_like
