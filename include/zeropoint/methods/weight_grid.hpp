// SPDX-License-Identifier: BSD-3-Clause
// The codes that the weights of a layer can have, and what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/analysis/coded_arrays.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {

/// Scales and zero points of weights `rows x depth`: one for all, one a row, or one for each `group` weights of each row.
struct weight_grid {
    std::size_t rows = 1, depth = 1, group = 1;
    std::vector<qparams> ranges;
    std::int32_t quant_min = 0, quant_max = 0;

    const qparams& at(std::size_t row, std::size_t k) const {
        if (ranges.size() == 1) return ranges.front();
        if (ranges.size() == rows) return ranges[row];
        return ranges[row * ((depth + group - 1) / group) + k / group];
    }
    /// The value of the code nearest to w, as convert chooses it.
    float nearest(float w, std::size_t row, std::size_t k) const {
        const qparams& range = at(row, k);
        return dequantize(quantize(w, range, quant_min, quant_max), range);
    }
};

/// That of an array of a converted network.
inline weight_grid grid_of(const coded_values& coded, int group) {
    weight_grid grid;
    grid.rows = coded.channels;
    grid.depth = coded.depth();
    grid.group = group == 0 ? grid.depth : static_cast<std::size_t>(group);
    grid.quant_min = coded.quant_min;
    grid.quant_max = coded.quant_max;
    for (std::size_t i = 0; i != coded.scales.size(); ++i) {
        const std::size_t zero = coded.zero_points.size() == coded.scales.size() ? i : 0;
        grid.ranges.push_back({coded.scales[i], coded.zero_points.empty() ? 0 : coded.zero_points[zero]});
    }
    return grid;
}

}  // namespace zp::inline v0
