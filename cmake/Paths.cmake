# Compiles the instruction-set paths that ruy_like/registry/paths.inc lists.
#
# ruy_like_add_paths(<target> <dir>) adds, for each path that this compiler and
# processor can build and RUY_LIKE_COMPILE_PATHS permits, <dir>/kernels/<name>.cc
# and, where it exists, <dir>/pack/<name>.cc with
# that path's flags (and the packs of the paths before it, which it may use), before
# the target's other sources: they take longest, and Ninja starts with the first. It
# writes the paths' lines to
# generated/ruy_like/compiled_paths.inc, from which the C++ side makes its
# registry, and to compiled_packs.inc the Enum of those that have a pack/<name>.cc,
# for tests. It prints what became of each path and sets, in the caller's scope,
#   RUY_LIKE_PATHS           names of all paths, worst first
#   RUY_LIKE_COMPILED_PATHS  names of those that are compiled
#   RUY_LIKE_PATH_OPTIONS_<name>  compile options of each of those
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

# Asks the compiler, not CMAKE_SYSTEM_PROCESSOR: right for cross builds and -m32.
check_cxx_source_compiles("
  #if !defined(__x86_64__)
  #error
  #endif
  int main() {}" RUY_LIKE_ARCH_x86)
check_cxx_source_compiles("
  #if !defined(__aarch64__)
  #error
  #endif
  int main() {}" RUY_LIKE_ARCH_arm)
check_cxx_source_compiles("
  #if !defined(__arm__) || !defined(__ARM_PCS_VFP)
  #error
  #endif
  int main() {}" RUY_LIKE_ARCH_arm32)
check_cxx_source_compiles("
  #if !defined(__wasm__)
  #error
  #endif
  int main() {}" RUY_LIKE_ARCH_wasm)
check_cxx_source_compiles("
  #if !defined(__riscv) || __riscv_xlen != 64
  #error
  #endif
  int main() {}" RUY_LIKE_ARCH_riscv)
set(RUY_LIKE_ARCH_any TRUE)

# In every build type: unoptimised intrinsics make the tests unusably slow. The
# sanitizer presets take -O1, for at -O2 gcc 12 needs 39 s instead of 8 s for one
# of these files with both sanitizers on.
set(RUY_LIKE_KERNEL_OPTIMIZATION -O3 CACHE STRING
  "Optimisation level of kernels and pack routines")
mark_as_advanced(RUY_LIKE_KERNEL_OPTIMIZATION)

# For programs that must be small: doc/binary_size.md. portable is always compiled,
# because it has a kernel for every product.
set(RUY_LIKE_COMPILE_PATHS "" CACHE STRING
  "Paths to compile, separated by semicolons; native for this machine's; nothing for all")

# No contraction: a * b + c must round alike in every path's scalar code.
set(RUY_LIKE_PATH_OPTIONS ${RUY_LIKE_KERNEL_OPTIMIZATION} -ffp-contract=off)
# gcc 12 moves loads and products of a step so far ahead, before registers are
# allocated, that it spills accumulators: in 25 of 170 inner loops of the NEON
# path, none without. Instructions are still scheduled afterwards.
if((RUY_LIKE_ARCH_arm OR RUY_LIKE_ARCH_arm32) AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND RUY_LIKE_PATH_OPTIONS -fno-schedule-insns)
endif()

# On Windows gcc does not align the stack for vectors of 32 and 64 bytes, and spills
# them with aligned moves, which fault. (Debian's spills with unaligned ones.) The
# assembler makes them unaligned. test/kernels/stack_alignment_test.cc spills some.
if(WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND RUY_LIKE_PATH_OPTIONS -Wa,-muse-unaligned-vector-move)
endif()

# Sets ${reason_var} to why the path can not be built, or to nothing.
function(_ruy_like_path_obstacle reason_var arch flags)
  set(${reason_var} "" PARENT_SCOPE)
  if(NOT RUY_LIKE_ARCH_${arch})
    set(${reason_var} "not ${arch}" PARENT_SCOPE)
    return()
  endif()
  foreach(flag IN LISTS flags)
    string(MAKE_C_IDENTIFIER "RUY_LIKE_HAVE_FLAG${flag}" have_flag)
    set(CMAKE_REQUIRED_QUIET TRUE)
    check_cxx_compiler_flag(${flag} ${have_flag})
    if(NOT ${have_flag})
      set(${reason_var} "the compiler lacks ${flag}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Sets ${result_var} to the macros that these options define.
function(_ruy_like_macros result_var)
  file(WRITE ${PROJECT_BINARY_DIR}/generated/empty.cc "")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} -dM -E ${PROJECT_BINARY_DIR}/generated/empty.cc
    OUTPUT_VARIABLE output ERROR_QUIET)
  string(REGEX MATCHALL "#define [A-Za-z0-9_]+" macros "${output}")
  set(${result_var} "${macros}" PARENT_SCOPE)
endfunction()

# Sets ${result_var} to the names of the best path among `lines` that this machine has
# and of those whose instructions it includes, which it takes kernels from: not from
# those of narrower vectors, for which registry_test vouches. To nothing if the compiler
# does not know the machine. Instructions are compared by the macros that a path's flags
# define.
function(_ruy_like_native_paths result_var lines)
  set(${result_var} "" PARENT_SCOPE)
  _ruy_like_macros(native -march=native)
  if(CMAKE_CROSSCOMPILING OR NOT native)
    message(STATUS "ruy_like: -march=native is unknown here, all paths are compiled")
    return()
  endif()
  _ruy_like_macros(plain)
  set(names "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\\([^,]+, ([a-z0-9]+), ([a-z0-9]+), .*\"([^\"]*)\"\\)$" line "${line}")
    set(name ${CMAKE_MATCH_1})
    set(arch ${CMAKE_MATCH_2})
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_3}")
    _ruy_like_macros(macros ${flags})
    if(RUY_LIKE_ARCH_${arch} AND macros)  # none: the compiler lacks a flag
      list(APPEND names ${name})
      list(REMOVE_ITEM macros ${plain})
      set(${name}_macros ${macros})
      list(REMOVE_ITEM macros ${native})
      if(NOT macros)
        set(best ${${name}_macros})
      endif()
    endif()
  endforeach()
  set(result "")
  foreach(name IN LISTS names)
    list(REMOVE_ITEM ${name}_macros ${best})
    if(NOT ${name}_macros)
      list(APPEND result ${name})
    endif()
  endforeach()
  if("avx512" IN_LIST result)
    list(REMOVE_ITEM result avx avx2 avxvnni)
  elseif("avx2" IN_LIST result)
    list(REMOVE_ITEM result avx)
  endif()
  set(${result_var} "${result}" PARENT_SCOPE)
endfunction()

function(ruy_like_add_paths target dir)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${dir}/registry/paths.inc)
  file(STRINGS ${dir}/registry/paths.inc lines REGEX "^RUY_LIKE_PATH\\(")
  set(permitted "${RUY_LIKE_COMPILE_PATHS}")
  if(permitted STREQUAL "native")
    _ruy_like_native_paths(permitted "${lines}")
  endif()
  set(sources "")
  set(all_paths "")
  set(compiled_paths "")
  set(compiled_lines "")
  set(compiled_packs "")
  # Pack routines that no compiled path may use so far.
  set(unused_packs "")
  set(unused_pack_lines "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES
       "^RUY_LIKE_PATH\\(([A-Za-z0-9]+), ([a-z0-9]+), (any|x86|arm|arm32|riscv|wasm), ([^,]+), \"([^\"]*)\"\\)$")
      message(FATAL_ERROR "${dir}/registry/paths.inc: can not read: ${line}")
    endif()
    set(enum ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    set(arch ${CMAKE_MATCH_3})
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_5}")
    list(APPEND all_paths ${name})

    _ruy_like_path_obstacle(obstacle ${arch} "${flags}")
    if(obstacle)
      message(STATUS "ruy_like path ${name}: dropped, ${obstacle}")
      continue()
    endif()
    set(options ${flags} ${RUY_LIKE_PATH_OPTIONS})
    # Without vectors clang does not unroll all loops that are to be: the hint is for
    # vectors in registers.
    if(name STREQUAL "portable" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      list(APPEND options -Wno-pass-failed)
    endif()
    # Calls check accesses there: what gcc inlines for vectors of 64 bytes looks at their
    # first and last byte alone, and is two fifths of these files' time.
    if(name MATCHES "^(avx512|amx)" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
       AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*address")
      list(APPEND options --param=asan-instrumentation-with-call-threshold=0)
    endif()
    set_source_files_properties(${dir}/kernels/${name}.cc
      ${dir}/pack/${name}.cc
      PROPERTIES COMPILE_OPTIONS "${options}")
    if(EXISTS ${dir}/pack/${name}.cc)
      list(APPEND unused_packs ${dir}/pack/${name}.cc)
      string(APPEND unused_pack_lines "RUY_LIKE_PACK_PATH(${enum})\n")
    endif()
    if(permitted AND NOT name IN_LIST permitted AND NOT name STREQUAL "portable")
      message(STATUS "ruy_like path ${name}: left out by RUY_LIKE_COMPILE_PATHS")
      continue()
    endif()
    message(STATUS "ruy_like path ${name}: compiled")
    list(APPEND compiled_paths ${name})
    string(APPEND compiled_lines "${line}\n")
    list(APPEND sources ${dir}/kernels/${name}.cc ${unused_packs})
    string(APPEND compiled_packs "${unused_pack_lines}")
    set(unused_packs "")
    set(unused_pack_lines "")
    set(RUY_LIKE_PATH_OPTIONS_${name} ${options} PARENT_SCOPE)
  endforeach()
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  get_target_property(others ${target} SOURCES)
  set_property(TARGET ${target} PROPERTY SOURCES ${sources} ${others})
  foreach(name IN LISTS permitted)
    if(NOT name IN_LIST all_paths)
      message(FATAL_ERROR
        "RUY_LIKE_COMPILE_PATHS: no path is called ${name}; there are ${all_paths}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/ruy_like/compiled_paths.inc
    CONTENT "// Made by cmake/Paths.cmake: the lines of paths.inc that are compiled.\n@compiled_lines@"
    @ONLY)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/ruy_like/compiled_packs.inc
    CONTENT "// Made by cmake/Paths.cmake: the compiled paths with pack routines of their own.\n@compiled_packs@"
    @ONLY)
  set(RUY_LIKE_PATHS ${all_paths} PARENT_SCOPE)
  set(RUY_LIKE_COMPILED_PATHS ${compiled_paths} PARENT_SCOPE)
endfunction()
