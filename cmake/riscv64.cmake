# Toolchain file: 64-bit RISC-V, by clang, which knows the vector extension, with the
# linker and libraries of Debian's cross gcc, which does not
# (`third_party/install.sh riscv`). Debian has no other libraries for it: Abseil and
# GoogleTest are built from their sources. Programs of the build, tests among them, are
# run under the emulator; the environment variable QEMU_CPU chooses the processor that
# it is.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET riscv64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64-static -L /usr/riscv64-linux-gnu)

# clang 19 warns of what libstdc++ 12 itself uses.
set(CMAKE_CXX_FLAGS_INIT -Wno-deprecated-declarations)
