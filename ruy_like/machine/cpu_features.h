// Machine: its instruction sets, the paths they permit, cache sizes.
//
// Asked by Context (paths) and by plans (cache sizes). The decisions are pure
// functions over recorded data, so that tests cover other CPUs than the test
// machine's; the Detect functions apply them to this one. Nothing here knows
// what a kernel is.
#ifndef RUY_LIKE_MACHINE_CPU_FEATURES_H_
#define RUY_LIKE_MACHINE_CPU_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ruy_like/export.h"
#include "ruy_like/path.h"

namespace ruy_like {

// The instructions that paths.inc can ask for. A bit means that the processor
// supports it, and the operating system as well, as far as the enabled register
// state shows.
enum CpuFeature : uint32_t {
  kCpuAvx2 = 1 << 0,
  kCpuFma = 1 << 1,
  kCpuAvxVnni = 1 << 2,     // VEX-encoded, 256 bits
  kCpuAvx512 = 1 << 3,      // F, BW, DQ and VL together
  kCpuAvx512Vnni = 1 << 4,  // 512 bits; VL comes with kCpuAvx512
  // AMX-TILE, AMX-INT8 and AMX-BF16 together. Linux must be asked for
  // permission before their first use; DetectedPaths and MayRun do that.
  kCpuAmx = 1 << 5,
  kCpuNeon = 1 << 6,      // 64-bit Arm's, with its fused multiply-add
  kCpuNeonDot = 1 << 7,   // SDOT and UDOT
  kCpuNeonI8mm = 1 << 8,  // SMMLA
  kCpuF16c = 1 << 9,      // x86's conversions between float and Float16
  kCpuWasm128 = 1 << 10,  // WebAssembly's SIMD128
  // AVX512-BF16 on processors whose VDPBF16PS multiplies faster than fused
  // multiply-adds of floats do: AMD's, by a factor of two. On Intel's with
  // AVX512-BF16 it takes four times as long (doc/tuning.md).
  kCpuFastAvx512Bf16 = 1 << 11,
  kCpuNeon32 = 1 << 12,    // 32-bit Arm's NEON
  kCpuNeonBf16 = 1 << 13,  // BFMMLA
  kCpuRvv = 1 << 14,       // RISC-V's V: vectors of 128 bits or more
  kCpuAvx = 1 << 15,
};
using CpuFeatures = uint32_t;

struct CpuFeatureName {
  CpuFeature feature;
  const char* name;
};
inline constexpr CpuFeatureName kCpuFeatureNames[] = {
    {kCpuAvx, "avx"},
    {kCpuAvx2, "avx2"},
    {kCpuFma, "fma"},
    {kCpuF16c, "f16c"},
    {kCpuAvxVnni, "avxvnni"},
    {kCpuAvx512, "avx512(f,bw,dq,vl)"},
    {kCpuAvx512Vnni, "avx512vnni"},
    {kCpuFastAvx512Bf16, "avx512bf16(faster than fma)"},
    {kCpuAmx, "amx(tile,int8,bf16)"},
    {kCpuNeon, "neon"},
    {kCpuNeonDot, "dotprod"},
    {kCpuNeonI8mm, "i8mm"},
    {kCpuNeonBf16, "bf16"},
    {kCpuWasm128, "simd128"},
    {kCpuNeon32, "neon"},
    {kCpuRvv, "v"},
};

// Their names, separated by blanks: "avx2 fma".
std::string CpuFeatureNames(CpuFeatures features);

// ## x86 feature detection

struct CpuidRegisters {
  uint32_t eax, ebx, ecx, edx;
};

// Where CPUID data comes from: the processor, or a table in a test.
class CpuidSource {
 public:
  virtual ~CpuidSource() = default;
  virtual CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) const = 0;
  // XCR0, the register state that the operating system has enabled. Called only
  // if CPUID says that the XGETBV instruction may be used.
  virtual uint64_t Xcr0() const = 0;
};

// All CpuFeature bits by the rules of Intel's and AMD's manuals.
CpuFeatures X86CpuFeatures(const CpuidSource& source);

// The processor that this runs on; null if it is not an x86.
const CpuidSource* HostCpuidSource();

// From Linux's auxiliary vector on RISC-V, AT_HWCAP. It is without the vector
// extension where the system has switched that off for the process.
CpuFeatures RiscvCpuFeaturesOfHwcap(uint64_t hwcap);

// This machine's features. On x86 cpuinfo reports those that every supported
// version of it knows, X86CpuFeatures() the others (AVX-VNNI, AVX512-BF16 and
// AMX), and all of them if cpuinfo cannot be initialized or is not in this
// build (processor.h). On Arm and RISC-V the operating system does
// (cpu_features_arm.h).
RUY_LIKE_EXPORT CpuFeatures DetectCpuFeatures();

// Adds `features` to those of the machine, for this process. If AMX is one of
// them, `amx_permitted` replaces the operating system's permission; null grants
// it. For test programs, which emulate the instructions or refuse their use.
// Must be called before anything asks for features or paths.
void SetEmulatedCpuFeatures(CpuFeatures features,
                            bool (*amx_permitted)() = nullptr);

// ## Paths

// The features that a single path needs (paths.inc).
CpuFeatures FeaturesOf(Path path);

// True if a permitted path may use VPERMI2B: it needs AVX-512-VNNI, and this
// processor has AVX512-VBMI, too, as Ice Lake, Zen 4 and newer ones do.
bool PermutesBytes(Path path);

// The paths whose features are all in `features`.
Path PathsWithFeatures(CpuFeatures features);

// Narrows `paths` to those named in `names`, the value of RUY_LIKE_PATHS;
// kPortable stays. Unknown names are ignored and reported in `warning`
// (empty if all is well); if no name is left, nothing is narrowed.
Path NarrowPaths(Path paths, const std::string& names, std::string* warning);

// Takes away the paths that need AMX unless `amx_permitted` says yes; that is
// called only if there are such paths.
Path WithoutRefusedAmx(Path paths, bool (*amx_permitted)());

// The paths among `allowed` that can be run here: compiled, supported by the
// processor and the operating system, and not excluded by RUY_LIKE_PATHS.
// kPortable is always among them. If that leaves a path that needs AMX, the
// operating system is asked for permission, once per process; without such a
// path in `allowed` nothing is asked. Thread-safe; what does not depend on
// `allowed` is found out at the first call.
Path DetectedPaths(Path allowed = kAllPaths);

// The same, without asking the operating system for permission.
Path MachinePaths();

// True if kernels of this path itself may run: asks for the operating system's
// permission if they need one. For a path of MachinePaths(), when a product
// needs it.
bool MayRun(Path owner);

// The paths of this processor architecture, and the portable one, compiled or
// not.
Path PathsOfThisArchitecture();

// Why DetectedPaths() lacks a path, for people to read; empty if it is there.
std::string PathObstacle(Path path);

// ## Caches

struct CacheSizes {
  ptrdiff_t l1d_bytes;   // of one core
  ptrdiff_t l2_bytes;    // of one core, or of the cluster that shares it
  ptrdiff_t l3_bytes;    // 0 if there is none
  int l3_sharing_cores;  // cores that share that L3; 1 if there is none
};

// `reported`, with impossible sizes (which virtual machines report) replaced by
// conservative ones.
CacheSizes PlausibleCacheSizes(const CacheSizes& reported);

// The sizes of the first core's caches, through PlausibleCacheSizes. Cached;
// thread-safe.
RUY_LIKE_EXPORT const CacheSizes& DetectedCacheSizes();

// Replaces them, for test programs; not while there are products.
void SetEmulatedCacheSizes(const CacheSizes& sizes);

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_CPU_FEATURES_H_
