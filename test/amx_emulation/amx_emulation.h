// Test: AMX on a machine that has none.
//
// A tile instruction is an illegal one there and raises SIGILL. The handler
// that EmulateAmx() installs decodes it (tile_instruction.h), carries it out
// (tile_unit.h) for the thread that it came from, and goes on behind it and the
// tile instructions that follow at once; what
// a processor with AMX would raise #UD or #GP for ends the program with a
// message. So the very machine code of the AMX path is tested: operands, order
// of loads and stores, state per thread. It says nothing about speed, but that
// an instruction takes a microsecond or two.
//
// Test programs ask for it with --emulate_amx (support/test_main.cc); it is
// linked into those alone.
#ifndef RUY_LIKE_TEST_AMX_EMULATION_AMX_EMULATION_H_
#define RUY_LIKE_TEST_AMX_EMULATION_AMX_EMULATION_H_

#include <string>

#include "test/amx_emulation/tile_unit.h"

namespace ruy_like {

// True if argv has --emulate_amx, which is taken out of it.
bool TakeEmulateAmxFlag(int* argc, char** argv);

// Installs the handler and tells the detection that there is AMX. Call it
// before anything asks for paths. Returns why not, then nothing has happened:
// the machine has AMX of its own, or lacks another feature that the AMX path
// needs. Empty on success.
std::string EmulateAmx();

bool IsAmxEmulated();

// The tiles of the calling thread.
TileUnit& EmulatedTileUnit();

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_AMX_EMULATION_AMX_EMULATION_H_
