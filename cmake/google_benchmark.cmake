# SPDX-License-Identifier: BSD-3-Clause
# Resolves Google Benchmark, which bench/ alone needs: the installed package, else Debian's unpacked without root, else
# its source. Afterwards the target benchmark::benchmark exists, or ZEROPOINT_GOOGLE_BENCHMARK_REASON says why not.

set(reasons)
foreach(source IN LISTS ZEROPOINT_DEPENDENCY_SOURCES)
    if(TARGET benchmark::benchmark)
        break()
    elseif(source STREQUAL "installed")
        set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
        find_package(benchmark 1.6 QUIET CONFIG)
        if(TARGET benchmark::benchmark)
            message(STATUS "zeropoint: Google Benchmark ${benchmark_VERSION}, the package in ${benchmark_DIR}")
        else()
            list(APPEND reasons "installed: no CMake package 'benchmark' was found")
        endif()
    elseif(source STREQUAL "debian")
        # The development package has the headers, the other one the shared library.
        set(prefix ${ZEROPOINT_DEPENDENCY_CACHE}/debian)
        zeropoint_unpack_debian_package(libbenchmark-dev bookworm ${prefix}/benchmark reason)
        if(NOT reason)
            zeropoint_unpack_debian_package(libbenchmark1debian bookworm ${prefix}/benchmark_library reason)
        endif()
        file(GLOB library ${prefix}/benchmark_library/usr/lib/*/libbenchmark.so.1debian)
        if(NOT reason AND NOT library)
            set(reason "${prefix}/benchmark_library has no libbenchmark.so.1debian")
        endif()
        if(reason)
            list(APPEND reasons "debian: ${reason}")
        else()
            find_package(Threads REQUIRED)
            add_library(benchmark::benchmark SHARED IMPORTED GLOBAL)
            set_target_properties(benchmark::benchmark PROPERTIES
                IMPORTED_LOCATION ${library} INTERFACE_INCLUDE_DIRECTORIES ${prefix}/benchmark/usr/include
                INTERFACE_LINK_LIBRARIES Threads::Threads)
            message(STATUS "zeropoint: Google Benchmark, Debian's in ${library}")
        endif()
    elseif(source STREQUAL "git")
        message(STATUS "zeropoint: fetching Google Benchmark from https://github.com/google/benchmark.git; if that fails, "
                       "install it, or configure with -DZEROPOINT_BUILD_BENCH=OFF")
        include(FetchContent)
        foreach(option ENABLE_TESTING ENABLE_GTEST_TESTS ENABLE_INSTALL INSTALL_DOCS ENABLE_WERROR)
            set(BENCHMARK_${option} OFF CACHE BOOL "" FORCE)
        endforeach()
        FetchContent_Declare(zeropoint_benchmark GIT_REPOSITORY https://github.com/google/benchmark.git
                             GIT_TAG eddb0241389718a23a42db6af5f0164b6e0139af SYSTEM)  # 1.9.4
        block()
            set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)  # its warnings are not ours
            FetchContent_MakeAvailable(zeropoint_benchmark)
        endblock()
    endif()
endforeach()
list(JOIN reasons "; " ZEROPOINT_GOOGLE_BENCHMARK_REASON)
