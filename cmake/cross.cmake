# What the toolchain files of cross builds have in common: Linux on another
# processor, from a Debian host, with gcc or, where CMAKE_CXX_COMPILER says so
# (preset arm64-clang), with clang. <arch>.cmake sets, before it includes this,
#
#   RUY_LIKE_TARGET     Debian's name of the architecture
#   RUY_LIKE_PROCESSOR  what CMAKE_SYSTEM_PROCESSOR is to be
#   RUY_LIKE_TRIPLET    of the target's library folders
#   RUY_LIKE_COMPILER   the cross compiler's prefix, which names its C library's
#                       folder too
#   RUY_LIKE_QEMU       qemu's name of the processor
#
# `third_party/install.sh <word>` installs the compiler and the emulator and makes
# the folder RUY_LIKE_SYSROOT of libraries. Programs of the build, tests among
# them, are run under the emulator; the environment variable QEMU_CPU chooses
# the processor that it is.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RUY_LIKE_PROCESSOR})
set(CMAKE_LIBRARY_ARCHITECTURE ${RUY_LIKE_TRIPLET})

set(RUY_LIKE_SYSROOT
  ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${RUY_LIKE_TARGET}
  CACHE PATH "Libraries of the target: third_party/sysroot.sh makes them")
get_filename_component(RUY_LIKE_SYSROOT ${RUY_LIKE_SYSROOT} ABSOLUTE)
# try_compile() projects read this file again, without the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUY_LIKE_SYSROOT)

if(NOT CMAKE_CXX_COMPILER)
  set(CMAKE_CXX_COMPILER ${RUY_LIKE_COMPILER}-g++)
endif()
set(CMAKE_CXX_COMPILER_TARGET ${RUY_LIKE_COMPILER})  # clang's alone
# Else the C interface's tests find the host's own.
set(CMAKE_C_COMPILER ${RUY_LIKE_COMPILER}-gcc)

# A program in C names none of the libraries that libruy_like_c.so needs.
set(CMAKE_EXE_LINKER_FLAGS_INIT
  -Wl,-rpath-link,${RUY_LIKE_SYSROOT}/usr/lib/${RUY_LIKE_TRIPLET})

set(CMAKE_FIND_ROOT_PATH ${RUY_LIKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR}
  ${RUY_LIKE_SYSROOT}/usr/lib/${RUY_LIKE_TRIPLET}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${RUY_LIKE_SYSROOT})

# The C library beside the loader: else i386's finds the host's own 32-bit one,
# where there is one, of another version, and the first thread hangs.
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-${RUY_LIKE_QEMU}-static -L /usr/${RUY_LIKE_COMPILER}
  -E LD_LIBRARY_PATH=${RUY_LIKE_SYSROOT}/usr/lib/${RUY_LIKE_TRIPLET}:/usr/${RUY_LIKE_COMPILER}/lib)
