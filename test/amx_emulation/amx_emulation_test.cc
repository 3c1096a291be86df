// The emulation of tile instructions: decoding, what each one does, and every
// fault. It runs with --emulate_amx; on a machine with AMX, where that is
// refused, nothing here is needed.
#include "test/amx_emulation/amx_emulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "ruy_like/float16.h"
#include "ruy_like/machine/cpu_features.h"
#include "test/amx_emulation/tile_instruction.h"
#include "test/amx_emulation/tile_unit.h"
#include "test/support/flushing_multiply_add.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

#if defined(__x86_64__)

namespace ruy_like {
namespace {

// ## Decoding

GeneralRegisters NumberedRegisters() {
  GeneralRegisters registers;
  for (int i = 0; i < 16; ++i) registers.number[i] = 0x1000 * (i + 1);
  registers.rip = 0x400000;
  return registers;
}

struct Decoded {
  const char* what;  // as an assembler writes it
  const char* code;  // in hexadecimal
  TileInstruction expected;
};

// The bytes are those of the GNU assembler.
const Decoded kDecoded[] = {
    {"ldtilecfg (%rax)",
     "c4e2784900",
     {TileOp::kLoadConfig, 5, 0, 0, 0, 0x1000, 0}},
    {"ldtilecfg (%rdx,%rax,1)",
     "c4e278490402",
     {TileOp::kLoadConfig, 6, 0, 0, 0, 0x4000, 0}},
    {"ldtilecfg 0x11223344(%rip)",
     "c4e278490544332211",
     {TileOp::kLoadConfig, 9, 0, 0, 0, 0x11223344 + 0x400000 + 9, 0}},
    {"sttilecfg -0x40(%rsp)",
     "c4e279494424c0",
     {TileOp::kStoreConfig, 7, 0, 0, 0, 0x5000 - 0x40, 0}},
    {"sttilecfg 0x100(%r13)",
     "c4c279498500010000",
     {TileOp::kStoreConfig, 9, 0, 0, 0, 0xe000 + 0x100, 0}},
    {"tilerelease", "c4e27849c0", {TileOp::kRelease, 5, 0, 0, 0, 0, 0}},
    {"tilezero %tmm5", "c4e27b49e8", {TileOp::kZero, 5, 5, 0, 0, 0, 0}},
    {"tileloadd (%rax,%rbx,1),%tmm3",
     "c4e27b4b1c18",
     {TileOp::kLoad, 6, 3, 0, 0, 0x1000, 0x4000}},
    {"tileloadd 0x8(%r9,%r12,4),%tmm7",
     "c4827b4b7ca108",
     {TileOp::kLoad, 7, 7, 0, 0, 0xa000 + 8, 4 * 0xd000}},
    {"tileloadd (%rax),%tmm2",
     "c4e27b4b1420",
     {TileOp::kLoad, 6, 2, 0, 0, 0x1000, 0}},
    {"tileloadd 0x400(,%rcx,2),%tmm0",
     "c4e27b4b044d00040000",
     {TileOp::kLoad, 10, 0, 0, 0, 0x400, 2 * 0x2000}},
    {"tileloaddt1 (%rsi,%rdi,1),%tmm6",
     "c4e2794b343e",
     {TileOp::kLoadStreaming, 6, 6, 0, 0, 0x7000, 0x8000}},
    {"tilestored %tmm1,-0x400(%rbp,%r8,8)",
     "c4a27a4b8cc500fcffff",
     {TileOp::kStore, 10, 1, 0, 0, 0x6000 - 0x400, 8 * 0x9000}},
    {"tdpbssd %tmm6,%tmm4,%tmm1",
     "c4e24b5ecc",
     {TileOp::kMulS8S8, 5, 1, 4, 6, 0, 0}},
    {"tdpbsud %tmm7,%tmm5,%tmm2",
     "c4e2425ed5",
     {TileOp::kMulS8U8, 5, 2, 5, 7, 0, 0}},
    {"tdpbusd %tmm0,%tmm1,%tmm2",
     "c4e2795ed1",
     {TileOp::kMulU8S8, 5, 2, 1, 0, 0, 0}},
    {"tdpbuud %tmm3,%tmm2,%tmm7",
     "c4e2605efa",
     {TileOp::kMulU8U8, 5, 7, 2, 3, 0, 0}},
    {"tdpbf16ps %tmm3,%tmm2,%tmm7",
     "c4e2625cfa",
     {TileOp::kMulBF16BF16, 5, 7, 2, 3, 0, 0}},
};

bool Decode(const char* code, TileInstruction* instruction,
            const char** why_not) {
  std::string bytes = absl::HexStringToBytes(code);
  bytes.resize(15);
  return DecodeTileInstruction(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), NumberedRegisters(),
      instruction, why_not);
}

TEST(TileInstructionTest, Decodes) {
  for (const Decoded& d : kDecoded) {
    SCOPED_TRACE(d.what);
    TileInstruction actual;
    const char* why_not = nullptr;
    ASSERT_TRUE(Decode(d.code, &actual, &why_not)) << why_not;
    EXPECT_EQ(actual.op, d.expected.op);
    EXPECT_EQ(actual.bytes, d.expected.bytes);
    EXPECT_EQ(actual.bytes, static_cast<int>(std::strlen(d.code) / 2));
    EXPECT_EQ(actual.c, d.expected.c);
    EXPECT_EQ(actual.a, d.expected.a);
    EXPECT_EQ(actual.b, d.expected.b);
    EXPECT_EQ(actual.address, d.expected.address);
    EXPECT_EQ(actual.stride, d.expected.stride);
  }
}

TEST(TileInstructionTest, RefusesWhatIsUndefined) {
  const struct {
    const char* why_not;
    const char* code;
  } kCases[] = {
      {"no tile instruction", "0f0b"},    // ud2
      {"no tile instruction", "c5f877"},  // vzeroupper
      {"no tile instruction", "c4e27b5ccc"},
      {"no tile instruction", "c4e27849c8"},
      {"no tile instruction", "c4e27b49e9"},
      {"no tile instruction", "c4e2784908"},
      {"no tile instruction", "c4e2784b1c18"},
      {"no tile instruction", "c4e27b4bdc"},
      {"no tile instruction", "c4e24b5e0c24"},
      {"#UD: VEX.W is set", "c4e2cb5ecc"},
      {"#UD: VEX.L is set", "c4e24f5ecc"},
      {"#UD: there are eight tiles", "c4624b5ecc"},
      {"#UD: there are eight tiles", "c4c24b5ecc"},
      {"#UD: there are eight tiles", "c4e20b5ecc"},
      {"#UD: there are eight tiles", "c4627b49e8"},
      {"#UD: VEX.vvvv names an operand that there is not", "c4e27349e8"},
      {"#UD: a tile load or store without SIB byte", "c4e27b4b18"},
  };
  for (const auto& c : kCases) {
    TileInstruction instruction;
    const char* why_not = nullptr;
    EXPECT_FALSE(Decode(c.code, &instruction, &why_not)) << c.why_not;
    EXPECT_STREQ(why_not, c.why_not);
  }
}

// ## Execution, by the instructions themselves

struct alignas(64) Config {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  void Set(int tile, int tile_rows, int tile_row_bytes) {
    rows[tile] = static_cast<std::uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<std::uint16_t>(tile_row_bytes);
  }
};

// C (tile 0) 7 x 5 int32, A (tile 1) 7 x 36 bytes, B (tile 2) 9 x 5 quads;
// tile 3 is whole.
Config OddConfig() {
  Config config;
  config.Set(0, 7, 20);
  config.Set(1, 7, 36);
  config.Set(2, 9, 20);
  config.Set(3, 16, 64);
  return config;
}

void LoadConfig(const Config& config) {
  asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
}
void Release() { asm volatile("tilerelease"); }
#define RUY_LIKE_TILE_MOVE(Name, kind, code)                    \
  void Name(kind* memory, std::ptrdiff_t stride) {              \
    asm volatile(code : : "r"(memory), "r"(stride) : "memory"); \
  }
RUY_LIKE_TILE_MOVE(Load0, const void, "tileloadd (%0,%1,1), %%tmm0")
RUY_LIKE_TILE_MOVE(Load1, const void, "tileloadd (%0,%1,1), %%tmm1")
RUY_LIKE_TILE_MOVE(StreamTo2, const void, "tileloaddt1 (%0,%1,1), %%tmm2")
RUY_LIKE_TILE_MOVE(Load3, const void, "tileloadd (%0,%1,1), %%tmm3")
RUY_LIKE_TILE_MOVE(Store0, void, "tilestored %%tmm0, (%0,%1,1)")
RUY_LIKE_TILE_MOVE(Store3, void, "tilestored %%tmm3, (%0,%1,1)")
#undef RUY_LIKE_TILE_MOVE
void MulS8S8() { asm volatile("tdpbssd %tmm2, %tmm1, %tmm0"); }
void MulS8U8() { asm volatile("tdpbsud %tmm2, %tmm1, %tmm0"); }
void MulU8S8() { asm volatile("tdpbusd %tmm2, %tmm1, %tmm0"); }
void MulU8U8() { asm volatile("tdpbuud %tmm2, %tmm1, %tmm0"); }
void MulBF16() { asm volatile("tdpbf16ps %tmm2, %tmm1, %tmm0"); }

class AmxEmulationTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAmxEmulated()) GTEST_SKIP() << "run it with --emulate_amx";
    Release();
    EmulatedTileUnit().ResetCounts();
  }
  void TearDown() override {
    if (IsAmxEmulated()) Release();
  }
};

TEST_F(AmxEmulationTest, TheDetectionFindsAmx) {
  EXPECT_NE(DetectCpuFeatures() & kCpuAmx, 0u);
  EXPECT_EQ(PathObstacle(Path::kAmx), "");
}

TEST_F(AmxEmulationTest, ConfigurationsComeBack) {
  const Config config = OddConfig();
  LoadConfig(config);
  EXPECT_TRUE(EmulatedTileUnit().is_configured());
  Config stored;
  stored.palette = 99;
  asm volatile("sttilecfg %0" : "=m"(stored));
  EXPECT_EQ(std::memcmp(&config, &stored, sizeof(config)), 0);
  Release();
  EXPECT_FALSE(EmulatedTileUnit().is_configured());
  asm volatile("sttilecfg %0" : "=m"(stored));
  const std::vector<char> zeros(sizeof(stored));
  EXPECT_EQ(std::memcmp(&stored, zeros.data(), sizeof(stored)), 0);
}

TEST_F(AmxEmulationTest, PaletteZeroReleases) {
  LoadConfig(OddConfig());
  Config none;
  none.palette = 0;
  LoadConfig(none);
  EXPECT_FALSE(EmulatedTileUnit().is_configured());
}

// A whole tile with a stride, to another stride: what lies between is neither
// read nor written.
TEST_F(AmxEmulationTest, LoadsAndStoresWithStrides) {
  const auto source = RandomVector<std::uint8_t>(16 * 100, 0, 255, 1);
  std::vector<std::uint8_t> target(16 * 80, 7);
  LoadConfig(OddConfig());
  Load3(source.data(), 100);
  Store3(target.data(), 80);
  for (int row = 0; row < 16; ++row) {
    for (int i = 0; i < 80; ++i) {
      ASSERT_EQ(target[row * 80 + i], i < 64 ? source[row * 100 + i] : 7);
    }
  }
  // Stride 0 repeats a row; a negative one goes backwards.
  Load3(source.data(), 0);
  Store3(target.data() + 15 * 80, -80);
  for (int i = 0; i < 16 * 64; ++i) {
    ASSERT_EQ(target[i / 64 * 80 + i % 64], source[i % 64]);
  }
}

// A load into a small tile touches no byte beyond it.
TEST_F(AmxEmulationTest, SmallTiles) {
  const auto source = RandomVector<std::uint8_t>(6 * 20 + 20, 0, 255, 2);
  std::vector<std::uint8_t> target(7 * 64, 9);
  LoadConfig(OddConfig());
  Load0(source.data(), 20);
  Store0(target.data(), 64);
  for (int row = 0; row < 7; ++row) {
    for (int i = 0; i < 64; ++i) {
      ASSERT_EQ(target[row * 64 + i], i < 20 ? source[row * 20 + i] : 9);
    }
  }
}

TEST_F(AmxEmulationTest, ZeroesAndForgetsAtANewConfiguration) {
  const std::vector<std::uint8_t> source(16 * 64, 5);
  std::vector<std::uint8_t> target(16 * 64);
  const std::vector<std::uint8_t> zeros(16 * 64);
  LoadConfig(OddConfig());
  Load3(source.data(), 64);
  asm volatile("tilezero %tmm3");
  Store3(target.data(), 64);
  EXPECT_EQ(target, zeros);
  Load3(source.data(), 64);
  LoadConfig(OddConfig());
  target = source;
  Store3(target.data(), 64);
  EXPECT_EQ(target, zeros);
}

TEST_F(AmxEmulationTest, Products) {
  struct Case {
    void (*multiply)();
    bool a_signed, b_signed;
  };
  for (const Case& c :
       {Case{MulS8S8, true, true}, Case{MulS8U8, true, false},
        Case{MulU8S8, false, true}, Case{MulU8U8, false, false}}) {
    auto a = RandomVector<std::uint8_t>(7 * 36, 0, 255, 3);
    auto b = RandomVector<std::uint8_t>(9 * 20, 0, 255, 4);
    a[0] = b[0] = 0x80;
    auto sums = RandomVector<std::int32_t>(7 * 5, INT32_MIN, INT32_MAX, 5);
    std::vector<std::int32_t> expected = sums;
    for (int m = 0; m < 7; ++m) {
      for (int n = 0; n < 5; ++n) {
        for (int k = 0; k < 36; ++k) {
          const std::uint8_t x = a[m * 36 + k];
          const std::uint8_t y = b[k / 4 * 20 + 4 * n + k % 4];
          const int product = (c.a_signed ? static_cast<std::int8_t>(x) : x) *
                              (c.b_signed ? static_cast<std::int8_t>(y) : y);
          expected[m * 5 + n] = static_cast<std::int32_t>(
              static_cast<std::uint32_t>(expected[m * 5 + n]) +
              static_cast<std::uint32_t>(product));
        }
      }
    }
    LoadConfig(OddConfig());
    Load0(sums.data(), 20);
    Load1(a.data(), 36);
    StreamTo2(b.data(), 20);
    c.multiply();
    Store0(sums.data(), 20);
    EXPECT_EQ(sums, expected);
  }
  const TileCounts& counts = EmulatedTileUnit().counts();
  EXPECT_EQ(counts.products, 4);
  EXPECT_EQ(counts.configurations, 4);
  EXPECT_EQ(counts.loads, 12);
  EXPECT_EQ(counts.streaming_loads, 4);
  EXPECT_EQ(counts.stores, 4);
}

// The processor's own flushing against its steps one by one, with all kinds of
// factors: random bits, most often of numbers whose products underflow.
TEST_F(AmxEmulationTest, BFloat16Products) {
  const auto as_float = [](std::uint16_t bits) {
    return static_cast<float>(BFloat16::FromBits(bits));
  };
  for (int seed = 0; seed < 50; ++seed) {
    auto a = RandomVector<std::uint16_t>(7 * 18, 0, 0xffff, seed);
    const auto b = RandomVector<std::uint16_t>(9 * 10, 0, 0xffff, seed + 50);
    if (seed % 5 != 0) {
      // Exponents next to those of b's that make the least normal product.
      for (int k = 0; k < 18; ++k) {
        for (int m = 0; m < 7; ++m) {
          std::uint16_t& bits = a[m * 18 + k];
          const int other = b[k / 2 * 10 + 2 * (m % 5) + k % 2] >> 7 & 255;
          const int exponent = std::max(0, 128 - other + bits % 5 - 3);
          bits = static_cast<std::uint16_t>((bits & 0x807f) | exponent << 7);
        }
      }
    }
    std::vector<float> sums(7 * 5);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = as_float(a[i]) * 0x1p-4f;
    }
    std::vector<float> expected = sums;
    for (int m = 0; m < 7; ++m) {
      for (int n = 0; n < 5; ++n) {
        float chains[2] = {0, 0};
        for (int k = 0; k < 18; ++k) {
          float& chain = chains[k % 2];
          chain = FlushingMultiplyAdd(as_float(a[m * 18 + k]),
                                      as_float(b[k / 2 * 10 + 2 * n + k % 2]),
                                      chain);
        }
        float& sum = expected[m * 5 + n];
        sum = FlushingSum(sum, FlushingSum(chains[0], chains[1]));
      }
    }
    LoadConfig(OddConfig());
    Load0(sums.data(), 20);
    Load1(a.data(), 36);
    StreamTo2(b.data(), 20);
    MulBF16();
    Store0(sums.data(), 20);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(sums[i])) << i;
      } else {
        EXPECT_EQ(std::signbit(sums[i]), std::signbit(expected[i])) << i;
        EXPECT_EQ(sums[i], expected[i]) << i;
      }
    }
  }
}

TEST_F(AmxEmulationTest, EachThreadHasItsTiles) {
  LoadConfig(OddConfig());
  std::thread([] {
    EXPECT_FALSE(EmulatedTileUnit().is_configured());
    LoadConfig(OddConfig());
    Release();
  }).join();
  EXPECT_TRUE(EmulatedTileUnit().is_configured());
}

// ## Faults

using AmxEmulationDeathTest = AmxEmulationTest;

void LoadChanged(void (*change)(Config*)) {
  Config config = OddConfig();
  change(&config);
  LoadConfig(config);
}

TEST_F(AmxEmulationDeathTest, BadConfigurations) {
  const struct {
    void (*change)(Config*);
    const char* message;
  } kCases[] = {
      {[](Config* c) { c->palette = 2; }, "no such palette"},
      {[](Config* c) { c->start_row = 1; }, "start_row"},
      {[](Config* c) { c->reserved[0] = 1; }, "reserved bytes"},
      {[](Config* c) { c->reserved[13] = 1; }, "reserved bytes"},
      {[](Config* c) { c->rows[1] = 17; }, "too large"},
      {[](Config* c) { c->row_bytes[1] = 65; }, "too large"},
      {[](Config* c) { c->rows[3] = 0; }, "bytes but no rows"},
      {[](Config* c) { c->row_bytes[3] = 0; }, "rows but no bytes"},
      {[](Config* c) { c->Set(8, 16, 64); }, "a tile that there is not"},
  };
  for (const auto& c : kCases) {
    EXPECT_DEATH(LoadChanged(c.change),
                 std::string("LDTILECFG faults: .*") + c.message);
  }
}

TEST_F(AmxEmulationDeathTest, UseWithoutConfiguration) {
  alignas(64) char memory[1024] = {};
  EXPECT_DEATH(Load3(memory, 64), "TILELOADD faults: .*no tiles");
  EXPECT_DEATH(StreamTo2(memory, 64), "TILELOADDT1 faults: .*no tiles");
  EXPECT_DEATH(Store3(memory, 64), "TILESTORED faults: .*no tiles");
  EXPECT_DEATH(asm volatile("tilezero %tmm3"), "TILEZERO faults: .*no tiles");
  EXPECT_DEATH(MulS8S8(), "TDPBSSD faults: .*no tiles");
  LoadConfig(OddConfig());
  EXPECT_DEATH(asm volatile("tilezero %tmm4"), "this tile is not configured");
  EXPECT_DEATH(asm volatile("tdpbssd %tmm4, %tmm1, %tmm0"),
               "this tile is not configured");
}

TEST_F(AmxEmulationDeathTest, TilesThatDoNotMatch) {
  const struct {
    void (*change)(Config*);
    const char* message;
  } kCases[] = {
      {[](Config* c) { c->rows[1] = 6; }, "rows of C and A"},
      {[](Config* c) { c->row_bytes[2] = 24; }, "columns of C and B"},
      {[](Config* c) { c->rows[2] = 8; }, "depths of A and B"},
      {[](Config* c) { c->row_bytes[0] = c->row_bytes[2] = 18; },
       "multiple of 4"},
      {[](Config* c) { c->row_bytes[1] = 35; }, "multiple of 4"},
  };
  for (const auto& c : kCases) {
    LoadChanged(c.change);
    EXPECT_DEATH(MulU8S8(), std::string("TDPBUSD faults: .*") + c.message);
  }
  LoadConfig(OddConfig());
  // As bytes: the assembler refuses them too. C and the two factors are tiles
  // 0, 1, 1; 0, 1, 0; 0, 0, 2.
  EXPECT_DEATH(asm volatile(".byte 0xc4, 0xe2, 0x72, 0x5e, 0xc1"),
               "TDPBSUD faults: .*same tile");
  EXPECT_DEATH(asm volatile(".byte 0xc4, 0xe2, 0x78, 0x5e, 0xc1"),
               "TDPBUUD faults: .*same tile");
  EXPECT_DEATH(asm volatile(".byte 0xc4, 0xe2, 0x68, 0x5e, 0xc0"),
               "TDPBUUD faults: .*same tile");
}

TEST_F(AmxEmulationDeathTest, OtherIllegalInstructions) {
  EXPECT_DEATH(asm volatile("ud2"), "illegal instruction: no tile instruction");
}

// A bad address is the program's own fault, not the emulation's.
TEST_F(AmxEmulationDeathTest, BadAddresses) {
  if (kAddressSanitizer) {
    GTEST_SKIP() << "AddressSanitizer ends the program in its own way";
  }
  LoadConfig(OddConfig());
  EXPECT_EXIT(Load3(reinterpret_cast<const void*>(64), 64),
              testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace ruy_like

#endif  // __x86_64__
