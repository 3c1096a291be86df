# Toolchain file: 32-bit Arm with a floating-point unit
# (`third_party/install.sh armhf`).
set(RUY_LIKE_TARGET armhf)
set(RUY_LIKE_PROCESSOR armv7l)
set(RUY_LIKE_TRIPLET arm-linux-gnueabihf)
set(RUY_LIKE_COMPILER arm-linux-gnueabihf)
set(RUY_LIKE_QEMU arm)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
