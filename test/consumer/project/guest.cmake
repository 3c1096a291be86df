# What a project that is added to another one must leave alone.

# Variables that would change how the host's own targets are built, or which
# targets there are.
set(watched_variables
  BUILD_SHARED_LIBS BUILD_TESTING CMAKE_BUILD_TYPE CMAKE_CXX_EXTENSIONS
  CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_DEBUG CMAKE_CXX_FLAGS_RELEASE
  CMAKE_CXX_STANDARD CMAKE_CXX_STANDARD_REQUIRED CMAKE_CXX_VISIBILITY_PRESET
  CMAKE_EXE_LINKER_FLAGS CMAKE_INSTALL_PREFIX CMAKE_MODULE_PATH
  CMAKE_POSITION_INDEPENDENT_CODE CMAKE_PREFIX_PATH
  CMAKE_SHARED_LINKER_FLAGS CMAKE_VISIBILITY_INLINES_HIDDEN)
set(watched_properties
  COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES LINK_DIRECTORIES
  LINK_OPTIONS)

function(settings result)
  set(all "")
  foreach(variable IN LISTS watched_variables)
    if(DEFINED ${variable})
      string(APPEND all "${variable} is ${${variable}}\n")
    endif()
  endforeach()
  foreach(property IN LISTS watched_properties)
    get_property(value DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY ${property})
    string(APPEND all "${property} is ${value}\n")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

macro(remember_settings)
  settings(settings_before)
endmacro()

function(expect_settings_unchanged)
  settings(settings_after)
  if(NOT settings_before STREQUAL settings_after)
    message(FATAL_ERROR
      "ruy_like changed the host's settings from\n${settings_before}to\n"
      "${settings_after}")
  endif()
endfunction()

# No tests, and no targets but its own. (That nothing is installed is seen after
# the build, by run.sh.)
function(expect_well_behaved directory)
  get_property(tests DIRECTORY ${directory} PROPERTY TESTS)
  if(tests)
    message(FATAL_ERROR "${directory} adds tests: ${tests}")
  endif()
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    if(NOT target MATCHES "^ruy_like(_|$)")
      message(FATAL_ERROR "${directory} adds a target '${target}'")
    endif()
  endforeach()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  if(NOT subdirectories STREQUAL "" AND NOT RUY_LIKE_QUANTIZE)
    message(FATAL_ERROR "${directory} adds ${subdirectories}")
  endif()
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS LINK_OPTIONS)
    get_target_property(value ruy_like::ruy_like INTERFACE_${property})
    if(value)
      message(FATAL_ERROR "ruy_like hands on ${property} ${value}")
    endif()
  endforeach()
endfunction()
