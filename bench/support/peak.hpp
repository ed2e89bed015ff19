// SPDX-License-Identifier: BSD-3-Clause
// What this machine can do at most: the rates of loops that live in registers alone, measured while the benchmarks run.
#pragma once

#include <span>

namespace bench {

/// The instruction sequences that kernels are made of, from the primitives of kernel/arch.
enum class peak {
    dot2,       ///< int16 pairs: on AVX2 vpmaddwd and vpaddd
    dot4,       ///< byte quads: on AVX2 vpmaddubsw, vpmaddwd and vpaddd, the triple that rates are compared with
    windowed,   ///< byte quads added in 16 bits, widened once in eight: what 4-bit weights allow
    float_fma,  ///< float multiply and add
    copy,       ///< loads and stores of whole vectors within the first-level cache, in bytes
};
inline constexpr peak all_peaks[] = {peak::dot2, peak::dot4, peak::windowed, peak::float_fma, peak::copy};

const char* name_of(peak kind);

/// One burst of some 50 microseconds: 1e9 operations a second, two for a product and its sum; of copy, 1e9 bytes read and
/// written. Clocks drift and neighbours disturb: take one beside every measurement.
double measure_peak(peak kind);

}  // namespace bench
