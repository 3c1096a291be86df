# An overlay port: builds the sources that it lies in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.."
  ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options
  FEATURES quantize RUY_LIKE_QUANTIZE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${options}
    -DRUY_LIKE_BUILD_TESTS=OFF -DRUY_LIKE_BUILD_BENCHMARKS=OFF
    -DRUY_LIKE_BUILD_EXAMPLES=OFF -DRUY_LIKE_BUILD_TOOLS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME ruy_like CONFIG_PATH lib/cmake/ruy_like)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
