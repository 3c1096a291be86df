# Toolchain file: 64-bit Arm (`third_party/install.sh arm`). test/run_arm.sh
# goes through the processors that matter.
set(RUY_LIKE_TARGET arm64)
set(RUY_LIKE_PROCESSOR aarch64)
set(RUY_LIKE_TRIPLET aarch64-linux-gnu)
set(RUY_LIKE_COMPILER aarch64-linux-gnu)
set(RUY_LIKE_QEMU aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
