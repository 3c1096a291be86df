# ruy_like_fetch(<name>): makes a dependency of FetchContent_Declare available as
# a static library of position-independent code whose names are hidden, so that
# shared libraries do not export them as their own, whatever the settings of the
# project that this one is a part of, whose warnings are not for it either.
# Optimised like our libraries. Installed only if this project is.
#
# ruy_like_note_host_target(<target> <name>): sets RUY_LIKE_USES_HOST_TARGETS if
# that is a target of the project that this one is a part of, and not one that
# ruy_like_fetch(<name>) made: whether those may be exported is not ours to say.
include(FetchContent)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/Optimization.cmake)

macro(ruy_like_note_host_target target name)
  get_target_property(ruy_like_is_imported ${target} IMPORTED)
  get_property(ruy_like_is_fetched GLOBAL PROPERTY RUY_LIKE_FETCHED_${name})
  if(NOT ruy_like_is_imported AND NOT ruy_like_is_fetched)
    set(RUY_LIKE_USES_HOST_TARGETS TRUE)
  endif()
endmacro()

function(ruy_like_fetch name)
  set(BUILD_SHARED_LIBS OFF)
  set(BUILD_TESTING OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_C_VISIBILITY_PRESET hidden)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # else option() overrides these
  if(NOT DEFINED CMAKE_CXX_STANDARD)
    set(CMAKE_CXX_STANDARD 17)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    string(APPEND CMAKE_C_FLAGS " -w ${RUY_LIKE_DEFAULT_OPTIMIZATION}")
    string(APPEND CMAKE_CXX_FLAGS " -w ${RUY_LIKE_DEFAULT_OPTIMIZATION}")
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
  set_property(GLOBAL PROPERTY RUY_LIKE_FETCHED_${name} TRUE)
endfunction()
