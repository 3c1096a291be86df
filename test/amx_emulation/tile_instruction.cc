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

// The encoding that identifies an instruction: opcode, prefix, whether ModRM
// names registers alone, and the fields of ModRM that are fixed to 0.
struct Encoding {
  TileOp op;
  int opcode;
  Prefix prefix;
  bool of_registers, reg_is_0, rm_is_0;
};
constexpr Encoding kEncodings[] = {
    {TileOp::kLoadConfig, 0x49, kNone, false, true, false},
    {TileOp::kStoreConfig, 0x49, k66, false, true, false},
    {TileOp::kRelease, 0x49, kNone, true, true, true},
    {TileOp::kZero, 0x49, kF2, true, false, true},
    {TileOp::kLoad, 0x4b, kF2, false, false, false},
    {TileOp::kLoadStreaming, 0x4b, k66, false, false, false},
    {TileOp::kStore, 0x4b, kF3, false, false, false},
    {TileOp::kMulS8S8, 0x5e, kF2, true, false, false},
    {TileOp::kMulS8U8, 0x5e, kF3, true, false, false},
    {TileOp::kMulU8S8, 0x5e, k66, true, false, false},
    {TileOp::kMulU8U8, 0x5e, kNone, true, false, false},
    {TileOp::kMulBF16BF16, 0x5c, kF3, true, false, false}};

bool DecodeOpcode(const Vex& vex, TileInstruction* result) {
  for (const Encoding& e : kEncodings) {
    if (vex.opcode == e.opcode && vex.prefix == e.prefix &&
        (vex.mod == 3) == e.of_registers && (!e.reg_is_0 || vex.reg == 0) &&
        (!e.rm_is_0 || vex.rm == 0)) {
      result->op = e.op;
      return true;
    }
  }
  return false;
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
