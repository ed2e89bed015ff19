# Toolchain of the preset "clang": whatever Clang this machine has, 14 or newer.
find_program(CMAKE_CXX_COMPILER REQUIRED
             NAMES clang++ clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
