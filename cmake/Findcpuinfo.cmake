# Finds an installed libcpuinfo and makes the target cpuinfo::cpuinfo.
#
# By pkg-config, then by plain search, and never by the library's own CMake
# config: Debian's names a library file that the package does not hold, and
# that is an error which a caller can not catch. Installed beside our package
# config, for consumers need the same.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_cpuinfo QUIET libcpuinfo)
endif()
find_path(cpuinfo_INCLUDE_DIR cpuinfo.h HINTS ${PC_cpuinfo_INCLUDE_DIRS})
find_library(cpuinfo_LIBRARY cpuinfo HINTS ${PC_cpuinfo_LIBRARY_DIRS})
mark_as_advanced(cpuinfo_INCLUDE_DIR cpuinfo_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cpuinfo
  REQUIRED_VARS cpuinfo_LIBRARY cpuinfo_INCLUDE_DIR)

if(cpuinfo_FOUND AND NOT TARGET cpuinfo::cpuinfo)
  add_library(cpuinfo::cpuinfo UNKNOWN IMPORTED)
  set_target_properties(cpuinfo::cpuinfo PROPERTIES
    IMPORTED_LOCATION "${cpuinfo_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${cpuinfo_INCLUDE_DIR}")
endif()
