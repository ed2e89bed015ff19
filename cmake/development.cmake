# SPDX-License-Identifier: BSD-3-Clause
# Flags for this repository's own tests, examples and benchmarks: none of them ever reaches a user of the library.

add_library(zeropoint_warnings INTERFACE)
target_compile_options(zeropoint_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: "literal" + std::string() is said to overlap itself, from -O2 on.
    target_compile_options(zeropoint_warnings INTERFACE -Wno-restrict)
endif()
add_library(zeropoint_development INTERFACE)
target_link_libraries(zeropoint_development INTERFACE zeropoint::zeropoint zeropoint_warnings)

# GCC collects its garbage from 128 MB on, however much memory there is: an eighth of the time of a large unit. Four are compiled at once.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # in MiB
    math(EXPR kilobytes "${memory} * 1024 / 8")
    target_compile_options(zeropoint_development INTERFACE --param=ggc-min-heapsize=${kilobytes})
endif()

# The fastest code this machine runs that every x86-64 of the last decade runs too; nothing where it does not apply.
if(NOT DEFINED ZEROPOINT_TEST_ARCH_FLAGS AND NOT CMAKE_CROSSCOMPILING)
    include(CheckCXXSourceRuns)
    set(CMAKE_REQUIRED_FLAGS "-mavx2 -mfma")
    check_cxx_source_runs([[
        #if !defined(__x86_64__)
        #error "not x86-64"
        #endif
        int main() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 0 : 1; }
    ]] ZEROPOINT_MACHINE_HAS_AVX2)
    if(ZEROPOINT_MACHINE_HAS_AVX2)
        set(flags -mavx2 -mfma)
    endif()
    unset(CMAKE_REQUIRED_FLAGS)
endif()
set(ZEROPOINT_TEST_ARCH_FLAGS "${flags}" CACHE STRING
    "Architecture flags of tests, examples and benchmarks, such as -march=x86-64-v3; empty for the compiler's baseline")
target_compile_options(zeropoint_development INTERFACE ${ZEROPOINT_TEST_ARCH_FLAGS})

# The preset `release` compiles all of them from headers alone, and so do scripts/architectures.
option(ZEROPOINT_LINK_COMPILED "Tests and examples link zeropoint::compiled, where they do not test the headers alone" OFF)

# A response file for whoever starts a compiler by hand: c++ -std=c++20 @build/dev/include_flags.txt file.cpp
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/include_flags.txt
     CONTENT "-I$<JOIN:$<TARGET_PROPERTY:zeropoint_development,INTERFACE_INCLUDE_DIRECTORIES>,\n-I>\n")
