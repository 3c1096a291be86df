# ruy_like_keep_float_traps(<target>): no floating-point instruction of the
# target's sources so far runs where the source does not say so. GCC keeps to
# that; clang computes both sides of a
# `condition ? 0 : static_cast<int>(value)` unless it is told.
#
# For what may run outside of a ScopedFloatState, with exceptions unmasked.
# Kernels and pack routines run within one, and could not be vectorized so.
include(CheckCXXSourceCompiles)

function(ruy_like_keep_float_traps target)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  set(option -ffp-exception-behavior=maytrap)
  # For a processor that it cannot do this for, clang warns.
  set(CMAKE_REQUIRED_FLAGS "${option} -Werror")
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("int main() {}" RUY_LIKE_HAVE_FLOAT_TRAPS)
  if(RUY_LIKE_HAVE_FLOAT_TRAPS)
    get_target_property(sources ${target} SOURCES)
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS ${option})
  endif()
endfunction()
