# SPDX-License-Identifier: BSD-3-Clause
# Install rules: the headers, a package that find_package(zeropoint) finds, and what pkg-config reads.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_DATADIR}/cmake/zeropoint)
install(TARGETS zeropoint EXPORT zeropointTargets FILE_SET HEADERS)
install(EXPORT zeropointTargets NAMESPACE zeropoint:: DESTINATION ${package_directory})
if(ZEROPOINT_INSTALL_COMPILED)
    install(TARGETS zeropoint_compiled EXPORT zeropointCompiledTargets)
    install(EXPORT zeropointCompiledTargets NAMESPACE zeropoint:: DESTINATION ${package_directory})
endif()
configure_package_config_file(cmake/zeropointConfig.cmake.in zeropointConfig.cmake INSTALL_DESTINATION ${package_directory}
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(zeropointConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/zeropointConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/zeropointConfigVersion.cmake
              cmake/zeropointFindDependency.cmake cmake/zeropoint_compile_for.cmake cmake/zeropoint_embed.cmake
        DESTINATION ${package_directory})

# pkg-config: zeropoint, and zeropoint-compiled beside its library. Where a file lies says where the rest is, so that the
# folder can be moved.
function(zeropoint_install_pkgconfig name directory)
    file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_${directory}}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
    foreach(kind IN ITEMS INCLUDEDIR LIBDIR)
        file(RELATIVE_PATH ${kind} ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_${kind}})
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_${directory}}/pkgconfig)
endfunction()
zeropoint_install_pkgconfig(zeropoint DATADIR)
if(ZEROPOINT_INSTALL_COMPILED)
    set(link_flags)
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND APPLE)
        set(link_flags -Wl,-dead_strip)
    elseif(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND UNIX)
        set(link_flags -Wl,--gc-sections)
    endif()
    zeropoint_install_pkgconfig(zeropoint-compiled LIBDIR)
endif()
