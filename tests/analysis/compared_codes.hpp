// SPDX-License-Identifier: BSD-3-Clause
// The codes of a quantized network beside the values of its simulated one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <zeropoint/analysis/simulated.hpp>

namespace inspected {

/// How many codes of all rows differ from those that the simulated values stand for, and the largest difference.
struct difference {
    std::uint64_t values = 0, differing = 0;
    int largest = 0;
};
inline int code_at(const void* codes, zp::scalar_type storage, int k) {
    switch (storage) {
        case zp::scalar_type::uint8: return static_cast<const std::uint8_t*>(codes)[k];
        case zp::scalar_type::int16: return static_cast<const std::int16_t*>(codes)[k];
        default: return static_cast<const std::int8_t*>(codes)[k];
    }
}
template <class Int8, class Simulated>
difference compare_codes(const Int8& int8, const Simulated& simulated, const std::vector<std::vector<float>>& inputs) {
    difference found;
    const auto memory = std::make_unique<typename Int8::workspace>();
    typename Simulated::workspace own;
    std::vector<float> y(static_cast<std::size_t>(Int8::output_shape.size()));
    for (const std::vector<float>& x : inputs) {
        std::vector<std::vector<int>> codes(Int8::rows().size());
        const void* const xs[] = {x.data()};
        void* const ys[] = {y.data()};
        int8.run(xs, ys, memory->bytes, [&](int row, const void* values) {
            const zp::node& n = Int8::rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            for (int k = 0; k != n.out.extents.size(); ++k)
                codes[static_cast<std::size_t>(row)].push_back(code_at(values, n.out.storage, k));
        });
        simulated.run(xs, ys, own, [&](int row, const float* values) {
            const zp::node& n = Int8::rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            const zp::qparams& range = int8.ranges()[n.out.qparams_id];
            for (int k = 0; k != n.out.extents.size(); ++k) {
                const int code = static_cast<int>(std::lround(values[k] / range.scale)) + range.zero_point;
                const int apart = std::abs(code - codes[static_cast<std::size_t>(row)][static_cast<std::size_t>(k)]);
                ++found.values;
                found.differing += apart != 0;
                found.largest = std::max(found.largest, apart);
            }
        });
    }
    return found;
}

}  // namespace inspected
