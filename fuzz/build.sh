#!/bin/bash -eu
# SPDX-License-Identifier: BSD-3-Clause
# As OSS-Fuzz builds: $CXX, $CXXFLAGS and $LIB_FUZZING_ENGINE come from it, programs and seeds go to $OUT. ZEROPOINT_INCLUDES are
# flags of xsimd's and doctest's headers, for instance what a configured build has in include_flags.txt.
cd "$(dirname "$0")/.."
flags="-std=c++20 -msse4.1 -Iinclude ${ZEROPOINT_INCLUDES:-}"
# shellcheck disable=SC2086
${HOST_CXX:-clang++} -O0 $flags fuzz/seeds.cpp -o "$OUT/seeds.program"
"$OUT/seeds.program" "$OUT/seeds"
rm "$OUT/seeds.program"
for file in fuzz/*.cpp; do
    name=$(basename "$file" .cpp)
    [ "$name" != seeds ] || continue
    # shellcheck disable=SC2086
    $CXX $CXXFLAGS $flags "$file" $LIB_FUZZING_ENGINE -o "$OUT/$name"
    (cd "$OUT/seeds/$name" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
done
rm -r "$OUT/seeds"
