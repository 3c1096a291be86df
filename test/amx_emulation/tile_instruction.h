// Test: AMX tile instructions as data, decoded from machine code.
//
// Used by the emulation (tile_emulation.h) and by its test. A pure function of
// bytes and of general registers: nothing is carried out here.
#ifndef RUY_LIKE_TEST_AMX_EMULATION_TILE_INSTRUCTION_H_
#define RUY_LIKE_TEST_AMX_EMULATION_TILE_INSTRUCTION_H_

#include <cstdint>

namespace ruy_like {

enum class TileOp {
  kLoadConfig,     // LDTILECFG
  kStoreConfig,    // STTILECFG
  kRelease,        // TILERELEASE
  kZero,           // TILEZERO
  kLoad,           // TILELOADD
  kLoadStreaming,  // TILELOADDT1
  kStore,          // TILESTORED
  kMulS8S8,        // TDPBSSD
  kMulS8U8,        // TDPBSUD
  kMulU8S8,        // TDPBUSD
  kMulU8U8,        // TDPBUUD
  kMulBF16BF16,    // TDPBF16PS
};

const char* NameOf(TileOp op);

// The general registers in the order of their numbers in machine code (rax,
// rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15), and the instruction pointer.
struct GeneralRegisters {
  std::uint64_t number[16];
  std::uint64_t rip;  // of the instruction
};

struct TileInstruction {
  TileOp op;
  int bytes;              // its length
  int c, a, b;            // tiles: c is what a load or store names, or the sum
  std::uint64_t address;  // of memory operands
  std::uint64_t stride;   // of TILELOADD and TILESTORED, modulo 2^64
};

// Decodes the instruction at `code`, of which 15 bytes may be read. On false
// `*why_not` tells what a processor with AMX would raise #UD for, or that this
// is no tile instruction at all.
bool DecodeTileInstruction(const std::uint8_t* code,
                           const GeneralRegisters& registers,
                           TileInstruction* instruction, const char** why_not);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_AMX_EMULATION_TILE_INSTRUCTION_H_
