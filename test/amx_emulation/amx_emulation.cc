#include "test/amx_emulation/amx_emulation.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/path.h"

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#include <unistd.h>
#define RUY_LIKE_CAN_EMULATE_AMX 1
#endif

namespace ruy_like {
namespace {

bool emulated = false;
thread_local TileUnit tile_unit;

#if RUY_LIKE_CAN_EMULATE_AMX

// By number in machine code.
constexpr int kRegisters[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// From a signal handler, so nothing that allocates or locks.
void Say(const char* text) {
  const std::size_t bytes = std::strlen(text);
  if (write(STDERR_FILENO, text, bytes) < 0) std::abort();
}

void OnIllegalInstruction(int, siginfo_t*, void* context) {
  greg_t* const saved = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  GeneralRegisters registers;
  for (int i = 0; i < 16; ++i) {
    registers.number[i] = static_cast<std::uint64_t>(saved[kRegisters[i]]);
  }
  registers.rip = static_cast<std::uint64_t>(saved[REG_RIP]);
  const char* fault;
  // Tile instructions that follow are carried out as well: to be interrupted
  // takes longer than most of them.
  for (bool is_first = true;; is_first = false) {
    TileInstruction instruction;
    if (!DecodeTileInstruction(
            reinterpret_cast<const std::uint8_t*>(registers.rip), registers,
            &instruction, &fault)) {
      if (!is_first) return;
      Say("AMX emulation: illegal instruction: ");
      break;
    }
    fault = tile_unit.Execute(instruction);
    if (fault != nullptr) {
      Say("AMX emulation: ");
      Say(NameOf(instruction.op));
      Say(" faults: ");
      break;
    }
    registers.rip += instruction.bytes;
    saved[REG_RIP] += instruction.bytes;
  }
  Say(fault);
  Say("\n");
  std::abort();
}

bool InstallHandler() {
  struct sigaction action = {};
  action.sa_sigaction = OnIllegalInstruction;
  // A fault inside of it, say at a guard page, is the program's own.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return sigaction(SIGILL, &action, nullptr) == 0;
}

#else

bool InstallHandler() { return false; }

#endif

}  // namespace

bool TakeEmulateAmxFlag(int* argc, char** argv) {
  for (int i = 1; i < *argc; ++i) {
    if (std::strcmp(argv[i], "--emulate_amx") != 0) continue;
    for (; i < *argc; ++i) argv[i] = argv[i + 1];
    --*argc;
    return true;
  }
  return false;
}

std::string EmulateAmx() {
  const CpuFeatures features = DetectCpuFeatures();
  if ((features & kCpuAmx) != 0) return "this machine has AMX of its own";
  if ((CompiledPaths() & Path::kAmx) == Path::kNone) return "not compiled";
  if ((PathsWithFeatures(features | kCpuAmx) & Path::kAmx) == Path::kNone) {
    return "this machine lacks AVX-512-VNNI";
  }
  if (!InstallHandler()) return "no handler for SIGILL can be installed here";
  SetEmulatedCpuFeatures(kCpuAmx);
  emulated = true;
  return "";
}

bool IsAmxEmulated() { return emulated; }

TileUnit& EmulatedTileUnit() { return tile_unit; }

}  // namespace ruy_like
