# ruy_like_fetch(<name>): makes a dependency of FetchContent_Declare available as
# a static library of position-independent code, whatever the settings of the
# project that this one is a part of, whose warnings are not for it either.
# Installed only if this project is.
#
# ruy_like_note_host_target(<target>): sets RUY_LIKE_USES_HOST_TARGETS if that is
# a target of the project that this one is a part of: whether those may be
# exported is not ours to say.
include(FetchContent)

macro(ruy_like_note_host_target target)
  get_target_property(ruy_like_is_imported ${target} IMPORTED)
  if(NOT ruy_like_is_imported)
    set(RUY_LIKE_USES_HOST_TARGETS TRUE)
  endif()
endmacro()

function(ruy_like_fetch name)
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # else option() overrides these
  if(NOT DEFINED CMAKE_CXX_STANDARD)
    set(CMAKE_CXX_STANDARD 17)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    string(APPEND CMAKE_C_FLAGS " -w")
    string(APPEND CMAKE_CXX_FLAGS " -w")
  endif()
  FetchContent_GetProperties(${name})
  if(${name}_POPULATED)
    return()
  endif()
  # Not FetchContent_MakeAvailable, which can leave out a dependency's install
  # rules only from CMake 3.28 on.
  if(POLICY CMP0169)
    cmake_policy(SET CMP0169 OLD)
  endif()
  FetchContent_Populate(${name})
  set(exclude EXCLUDE_FROM_ALL)
  if(RUY_LIKE_INSTALL)
    set(exclude "")
  endif()
  add_subdirectory(${${name}_SOURCE_DIR} ${${name}_BINARY_DIR}
    ${exclude} SYSTEM)
endfunction()
