# Toolchain file: 64-bit Arm Linux from a Debian host of another architecture,
# with gcc or, where CMAKE_CXX_COMPILER says so (preset arm64-clang), with clang.
#
# `third_party/install.sh arm` installs the compiler and the emulator and makes
# the folder RUY_LIKE_SYSROOT of libraries. Programs of the build, tests among
# them, are run under the emulator; the environment variable QEMU_CPU chooses
# the processor that it is (test/run_arm.sh goes through those that matter).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(RUY_LIKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-arm64
  CACHE PATH "Libraries of the target: third_party/sysroot.sh makes them")
get_filename_component(RUY_LIKE_SYSROOT ${RUY_LIKE_SYSROOT} ABSOLUTE)
# try_compile() projects read this file again, without the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUY_LIKE_SYSROOT)

if(NOT CMAKE_CXX_COMPILER)
  set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
endif()
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)  # clang's alone

set(CMAKE_FIND_ROOT_PATH ${RUY_LIKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR}
  ${RUY_LIKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${RUY_LIKE_SYSROOT})

set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64-static -L /usr/aarch64-linux-gnu
  -E LD_LIBRARY_PATH=${RUY_LIKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
