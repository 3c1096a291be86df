# Toolchain file: IBM Z, for its byte order, which is big-endian
# (`third_party/install.sh s390x`).
set(RUY_LIKE_TARGET s390x)
set(RUY_LIKE_PROCESSOR s390x)
set(RUY_LIKE_TRIPLET s390x-linux-gnu)
set(RUY_LIKE_COMPILER s390x-linux-gnu)
set(RUY_LIKE_QEMU s390x)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
