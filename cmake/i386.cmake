# Toolchain file: 32-bit x86 with SSE2 (`third_party/install.sh i386`).
set(RUY_LIKE_TARGET i386)
set(RUY_LIKE_PROCESSOR i686)
set(RUY_LIKE_TRIPLET i386-linux-gnu)
set(RUY_LIKE_COMPILER i686-linux-gnu)
set(RUY_LIKE_QEMU i386)
# The x87 unit would round sums of floats when they leave its registers only, so
# that results depended on what the compiler spills; ruy_like refuses it.
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)

# Most x86 kernels run such programs themselves, and far faster.
execute_process(
  COMMAND /usr/${RUY_LIKE_COMPILER}/lib/ld-linux.so.2 --version
  RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
if(refused EQUAL 0)
  set(CMAKE_CROSSCOMPILING_EMULATOR
    /usr/${RUY_LIKE_COMPILER}/lib/ld-linux.so.2 --library-path
    /usr/${RUY_LIKE_COMPILER}/lib:${RUY_LIKE_SYSROOT}/usr/lib/${RUY_LIKE_TRIPLET})
endif()
