# SPDX-License-Identifier: BSD-3-Clause
# Toolchain of the presets with Clang: the one that CXX names, else the newest that this machine has, 14 or newer.
if("$ENV{CXX}" MATCHES "clang")
    set(names $ENV{CXX})
else()
    set(names clang++ clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
endif()
find_program(CMAKE_CXX_COMPILER NAMES ${names} REQUIRED)
