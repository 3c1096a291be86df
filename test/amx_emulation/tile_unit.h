// Test: the AMX tile unit in plain memory.
//
// Carries out what tile_instruction.h has decoded. As strict as hardware: what
// a processor with AMX raises #UD or #GP for is a fault here. And stricter in
// one point: start_row, from which an interrupted load or store is resumed,
// must be 0, since no user program has a reason to set it.
#ifndef RUY_LIKE_TEST_AMX_EMULATION_TILE_UNIT_H_
#define RUY_LIKE_TEST_AMX_EMULATION_TILE_UNIT_H_

#include <cstdint>

#include "test/amx_emulation/tile_instruction.h"

namespace ruy_like {

// How often something was done.
struct TileCounts {
  std::int64_t configurations = 0;
  std::int64_t loads = 0;  // streaming ones among them
  std::int64_t streaming_loads = 0;
  std::int64_t stores = 0;
  std::int64_t products = 0;
};

// One thread's tiles. Constant-initialized, so that a signal handler can use a
// thread_local one.
class TileUnit {
 public:
  static constexpr int kTiles = 8;
  static constexpr int kMaxRows = 16;
  static constexpr int kMaxRowBytes = 64;

  // Null, or the fault; then nothing has changed.
  const char* Execute(const TileInstruction& instruction);

  // True if a configuration is loaded and not released.
  bool is_configured() const { return configured_; }
  const TileCounts& counts() const { return counts_; }
  void ResetCounts() { counts_ = TileCounts(); }

 private:
  // The 64 bytes that LDTILECFG reads.
  struct Config {
    std::uint8_t palette;
    std::uint8_t start_row;
    std::uint8_t reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  static_assert(sizeof(Config) == 64, "");

  static const char* ConfigFault(const Config& config);
  const char* LoadConfig(std::uint64_t address);
  void Clear();
  const char* TileFault(int tile) const;
  void Load(const TileInstruction& instruction);
  void Store(const TileInstruction& instruction);
  const char* ProductFault(const TileInstruction& instruction) const;
  void Multiply(const TileInstruction& instruction);

  bool configured_ = false;
  Config config_ = {};
  std::uint8_t data_[kTiles][kMaxRows][kMaxRowBytes] = {};
  TileCounts counts_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_AMX_EMULATION_TILE_UNIT_H_
