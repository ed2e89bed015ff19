# SPDX-License-Identifier: BSD-3-Clause
# The port of the checkout that this folder belongs to.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        compiled ZEROPOINT_INSTALL_COMPILED
)
if(NOT "compiled" IN_LIST FEATURES)
    set(VCPKG_BUILD_TYPE release)  # headers are the same in both
endif()

# ZEROPOINT_COMPILED_FLAGS of a triplet, such as "-mavx2 -mfma", are the architecture of zeropoint::compiled and of its users.
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DZEROPOINT_DEPENDENCY_SOURCES=installed
        -DZEROPOINT_BUILD_TESTS=OFF
        -DZEROPOINT_BUILD_EXAMPLES=OFF
        -DZEROPOINT_BUILD_BENCH=OFF
        "-DZEROPOINT_COMPILED_FLAGS=${ZEROPOINT_COMPILED_FLAGS}"
        ${FEATURE_OPTIONS}
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/zeropoint)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
