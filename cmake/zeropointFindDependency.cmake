# SPDX-License-Identifier: BSD-3-Clause
# Finds one header-only dependency: an existing target, a CMake package, or its bare headers. Installed beside
# zeropointConfig.cmake, because a consumer of the installed package meets the same packages in the same states.

# zeropoint_find_dependency(<package> TARGET <name> VERSION <least> [BELOW <first version refused>]
#     HEADER <file that users include> VERSION_HEADER <file with the version macros> VERSION_MACRO <prefix of them>
#     [PREFIXES <directory>...])
#
# Afterwards the target exists, or <package>_REASON in the caller's scope says what is missing. PREFIXES are searched
# for headers only, and before the system's.
function(zeropoint_find_dependency package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;VERSION;BELOW;HEADER;VERSION_HEADER;VERSION_MACRO" "PREFIXES")
    set(${package}_REASON "" PARENT_SCOPE)
    if(TARGET ${arg_TARGET})
        return()
    endif()

    # 1. The package. xsimd's own configuration wants xtl when its packager switched std::complex support of xtl on,
    # which zeropoint never uses: say no, unless the user has said something.
    if(NOT DEFINED XSIMD_ENABLE_XTL_COMPLEX)
        set(XSIMD_ENABLE_XTL_COMPLEX OFF)
    endif()
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
    set(wanted ${arg_VERSION})
    if(arg_BELOW)
        set(wanted ${arg_VERSION}...<${arg_BELOW})
    endif()
    if(NOT arg_PREFIXES)
        find_package(${package} ${wanted} QUIET CONFIG)
        if(TARGET ${arg_TARGET})
            message(STATUS "zeropoint: ${package} ${${package}_VERSION}, the package in ${${package}_DIR}")
            return()
        endif()
    endif()

    # 2. The headers, wherever the compiler or CMAKE_PREFIX_PATH has them.
    set(search)
    if(arg_PREFIXES)
        set(search NO_DEFAULT_PATH)
    endif()
    find_path(include_directory ${arg_HEADER} NO_CACHE PATHS ${arg_PREFIXES} PATH_SUFFIXES include usr/include ${search})
    if(NOT include_directory)
        set(${package}_REASON "no CMake package and no header <${arg_HEADER}> of ${package} ${wanted} was found" PARENT_SCOPE)
        return()
    endif()
    set(version)
    if(EXISTS ${include_directory}/${arg_VERSION_HEADER})
        file(STRINGS ${include_directory}/${arg_VERSION_HEADER} lines
             REGEX "^#define ${arg_VERSION_MACRO}_(MAJOR|MINOR|PATCH)[ ]")
        list(TRANSFORM lines REPLACE "^#define [A-Z_]+ +([0-9]+).*" "\\1")
        list(JOIN lines . version)
    endif()
    if(NOT version OR version VERSION_LESS arg_VERSION OR (arg_BELOW AND version VERSION_GREATER_EQUAL arg_BELOW))
        set(${package}_REASON "${include_directory} has ${package} '${version}', and ${wanted} is needed" PARENT_SCOPE)
        return()
    endif()
    message(STATUS "zeropoint: ${package} ${version}, the headers in ${include_directory}")
    add_library(${arg_TARGET} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${arg_TARGET} INTERFACE ${include_directory})
endfunction()

# What the library itself needs, in one place for the build and for consumers. Arguments go on to
# zeropoint_find_dependency().
macro(zeropoint_find_xsimd)
    zeropoint_find_dependency(xsimd TARGET xsimd VERSION 14.1 BELOW 15 HEADER xsimd/xsimd.hpp
        VERSION_HEADER xsimd/config/xsimd_config.hpp VERSION_MACRO XSIMD_VERSION ${ARGN})
endmacro()
