# SPDX-License-Identifier: BSD-3-Clause
# Resolves xsimd, which the library needs, and for the tests and examples doctest and nlohmann_json: what is installed, else a Debian package unpacked without root, else git.
#
# Each way is tried in the order of ZEROPOINT_DEPENDENCY_SOURCES; a distribution that wants no downloads configures with
# -DZEROPOINT_DEPENDENCY_SOURCES=installed.

include(${CMAKE_CURRENT_LIST_DIR}/zeropointFindDependency.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/debian_package.cmake)

set(ZEROPOINT_DEPENDENCY_SOURCES installed debian git CACHE STRING
    "Where dependencies may come from, in this order: installed, debian (a package unpacked into the build tree), git")
set(ZEROPOINT_DEPENDENCY_CACHE ${PROJECT_BINARY_DIR}/_dependencies CACHE PATH
    "Where downloaded dependencies are kept; build trees may share it")

macro(zeropoint_find_nlohmann_json)
    zeropoint_find_dependency(nlohmann_json TARGET nlohmann_json::nlohmann_json VERSION 3.11 HEADER nlohmann/json.hpp
        VERSION_HEADER nlohmann/detail/abi_macros.hpp VERSION_MACRO NLOHMANN_JSON_VERSION ${ARGN})
endmacro()
macro(zeropoint_find_doctest)
    zeropoint_find_dependency(doctest TARGET doctest::doctest VERSION 2.4.11 BELOW 3 HEADER doctest/doctest.h
        VERSION_HEADER doctest/doctest.h VERSION_MACRO DOCTEST_VERSION ${ARGN})
endmacro()

# zeropoint_resolve(<package> TARGET <name> DEBIAN <suite> <debian package> GIT <url> <commit> <include directory in it>)
function(zeropoint_resolve package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET" "DEBIAN;GIT")
    set(reasons)
    foreach(source IN LISTS ZEROPOINT_DEPENDENCY_SOURCES)
        if(TARGET ${arg_TARGET})
            break()
        elseif(source STREQUAL "installed")
            cmake_language(CALL zeropoint_find_${package})
        elseif(source STREQUAL "debian")
            list(GET arg_DEBIAN 0 suite)
            list(GET arg_DEBIAN 1 debian_package)
            zeropoint_unpack_debian_package(${debian_package} ${suite} ${ZEROPOINT_DEPENDENCY_CACHE}/debian/${package}
                                            ${package}_REASON)
            if(NOT ${package}_REASON)
                cmake_language(CALL zeropoint_find_${package} PREFIXES ${ZEROPOINT_DEPENDENCY_CACHE}/debian/${package})
            endif()
        elseif(source STREQUAL "git")
            foreach(reason IN LISTS reasons)
                message(STATUS "zeropoint: ${reason}")
            endforeach()
            list(GET arg_GIT 0 url)
            list(GET arg_GIT 1 commit)
            list(GET arg_GIT 2 directory)
            message(STATUS "zeropoint: fetching ${package} from ${url}; if that fails, install ${package} "
                           "and point CMAKE_PREFIX_PATH at it")
            include(FetchContent)
            # The source directory is only unpacked, never added: its build would bring options and install rules.
            FetchContent_Declare(zeropoint_${package} GIT_REPOSITORY ${url} GIT_TAG ${commit} SOURCE_SUBDIR only-headers)
            FetchContent_MakeAvailable(zeropoint_${package})
            cmake_language(CALL zeropoint_find_${package} PREFIXES ${zeropoint_${package}_SOURCE_DIR}/${directory}
                                                                   ${zeropoint_${package}_SOURCE_DIR})
        else()
            message(FATAL_ERROR "ZEROPOINT_DEPENDENCY_SOURCES holds '${source}': it may hold installed, debian and git")
        endif()
        list(APPEND reasons "${source}: ${${package}_REASON}")
    endforeach()
    if(NOT TARGET ${arg_TARGET})
        list(JOIN reasons "\n  " reasons)
        message(FATAL_ERROR "zeropoint needs ${package} and did not find it.\n  ${reasons}\n"
                            "Install it, or point CMAKE_PREFIX_PATH at a directory that has it.")
    endif()
    # For the tests that start a compiler or another CMake themselves.
    get_target_property(directories ${arg_TARGET} INTERFACE_INCLUDE_DIRECTORIES)
    list(GET directories 0 directory)
    set(ZEROPOINT_${package}_INCLUDE_DIR ${directory} PARENT_SCOPE)
endfunction()

zeropoint_resolve(xsimd TARGET xsimd
    DEBIAN sid libxsimd-dev
    GIT https://github.com/xtensor-stack/xsimd.git e88a72831858123924f7118f345dfe5d70d95991 include)  # 14.3.0
if(ZEROPOINT_BUILD_EXAMPLES)
    zeropoint_resolve(nlohmann_json TARGET nlohmann_json::nlohmann_json
        DEBIAN trixie nlohmann-json3-dev
        GIT https://github.com/nlohmann/json.git 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03 include)  # 3.11.3
endif()
if(ZEROPOINT_BUILD_TESTS)
    zeropoint_resolve(doctest TARGET doctest::doctest
        DEBIAN trixie doctest-dev
        GIT https://github.com/doctest/doctest.git 1da23a3e8119ec5cce4f9388e91b065e20bf06f5 .)  # 2.4.12
endif()
