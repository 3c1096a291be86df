# Sets RUY_LIKE_DEFAULT_OPTIMIZATION to the option for our libraries, and for what
# they are built with, where a host project asks for no optimisation by a build
# type, its flags or its directory's options: without a word compilers do none,
# and a small product takes three times as long. Else to nothing.
set(RUY_LIKE_DEFAULT_OPTIMIZATION "")
get_directory_property(ruy_like_host_options COMPILE_OPTIONS)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES
   AND NOT " ${CMAKE_CXX_FLAGS} ${ruy_like_host_options}" MATCHES "[ ;:]-O"
   AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(RUY_LIKE_DEFAULT_OPTIMIZATION -O2)
endif()
