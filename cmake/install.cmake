# Install rules: the headers, and a package that find_package(zeropoint) finds.

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
              cmake/zeropointFindDependency.cmake cmake/zeropoint_compile_for.cmake
        DESTINATION ${package_directory})
