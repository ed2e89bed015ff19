# SPDX-License-Identifier: BSD-3-Clause
# Runs a portfile without vcpkg, for the release configuration and no features: these functions take the arguments of vcpkg's
# own, refuse others as they do, and leave the same files.
#
#   cmake -DPORTFILE=<file> -DPORT=<name> -DPACKAGES=<folder> -DBUILD=<folder> -DXSIMD=<prefix> -P vcpkg_stand_ins.cmake

cmake_minimum_required(VERSION 3.25)
set(CURRENT_PACKAGES_DIR ${PACKAGES})
set(FEATURES core)

# parse(<options> <names of one value> <names of several> <arguments>...); anything else is an error, as it is to vcpkg
macro(parse options one_value several)
    cmake_parse_arguments(arg "${options}" "${one_value}" "${several}" ${ARGN})
    if(DEFINED arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION} was passed extra arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
endmacro()
function(execute)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_features)
    parse("" "OUT_FEATURE_OPTIONS;PREFIX" "FEATURES;INVERTED_FEATURES" ${ARGN})
    set(options)
    while(arg_FEATURES)
        list(POP_FRONT arg_FEATURES feature variable)
        if(feature IN_LIST FEATURES)
            list(APPEND options -D${variable}=ON)
        else()
            list(APPEND options -D${variable}=OFF)
        endif()
    endwhile()
    set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    parse("DISABLE_PARALLEL_CONFIGURE;WINDOWS_USE_MSBUILD;NO_CHARSET_FLAG" "SOURCE_PATH;GENERATOR;LOGFILE_BASE"
          "OPTIONS;OPTIONS_DEBUG;OPTIONS_RELEASE;MAYBE_UNUSED_VARIABLES" ${ARGN})
    execute(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${BUILD} -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=${XSIMD}
            -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION=ON
            -DCMAKE_INSTALL_LIBDIR:STRING=lib ${arg_OPTIONS} ${arg_OPTIONS_RELEASE})
endfunction()

function(vcpkg_cmake_install)
    parse("DISABLE_PARALLEL;ADD_BIN_TO_PATH" "" "" ${ARGN})
    execute(${CMAKE_COMMAND} --build ${BUILD} --target install)
endfunction()

function(vcpkg_cmake_config_fixup)
    parse("DO_NOT_DELETE_PARENT_CONFIG_PATH;NO_PREFIX_CORRECTION" "PACKAGE_NAME;CONFIG_PATH;TOOLS_PATH" "" ${ARGN})
    set(target ${CURRENT_PACKAGES_DIR}/share/${PORT})
    file(MAKE_DIRECTORY ${target})
    file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
    file(COPY ${files} DESTINATION ${target})
    file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH})
    file(GLOB files ${target}/*.cmake)
    foreach(file IN LISTS files)  # the package is two folders up now
        file(READ ${file} text)
        set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
        string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
        string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
        file(WRITE ${file} "${text}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
    parse("SKIP_CHECK" "" "RELEASE_FILES;DEBUG_FILES;SYSTEM_LIBRARIES;SYSTEM_PACKAGES;IGNORE_FLAGS" ${ARGN})
endfunction()

function(vcpkg_install_copyright)
    parse("" "COMMENT" "FILE_LIST" ${ARGN})
    file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${PORTFILE})
