// What calibration keeps for the correction of biases: the mean input of every weight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/tap_sums.hpp>
#include <zeropoint/layer/node.hpp>
#include <zeropoint/layer/quantize_filters.hpp>

// Quantized weights w' differ from w, and so do mean outputs: E[y'] - E[y] = sum (w' - w) * E[x], over the products of one
// output. convert takes this off the bias (Nagel, van Baalen, Blankevoort, Welling, "Data-Free Quantization Through Weight
// Equalization and Bias Correction", 2019, section 4.2). There E[x] is derived from batch norms; here it is the mean over
// the calibration data, tap by tap, so that the sum above is the exact mean difference over these data, with padding.

namespace zp {
inline namespace v0 {

/// The sums of the inputs that each weight of the weighted rows of a prepared stage was multiplied with. A stage whose qconfig
/// corrects no biases has none.
template <class Stage, bool Wanted = Stage::entries::corrects_biases> class input_sums {
    static constexpr const auto& table = Stage::table;

    static constexpr bool is_counted(const node& row) { return is_weighted(row.kind) && !row.keep_float; }
    static constexpr kernel::conv3d_geometry window_of(const node& row) {
        if (row.kind == op::conv3d) return volume_window(row);
        kernel::conv3d_geometry g;
        g.plane = row.window;
        if (row.kind == op::conv_transpose3d) {  // as many taps and outputs
            g.kernel_depth = row.depth.kernel;
            g.out_depth = row.out.depth;
        }
        return g;
    }
    /// Where the sums of each row begin, and behind the last where they end.
    using offset_array = std::array<std::size_t, static_cast<std::size_t>(Stage::table.size) + 1>;
    static constexpr offset_array offsets = [] {
        offset_array begins{};
        std::size_t end = 0;
        for (int i = 0; i != table.size; ++i) {
            begins[static_cast<std::size_t>(i)] = end;
            const kernel::conv3d_geometry g = window_of(table.nodes[i]);
            if (is_counted(table.nodes[i])) end += static_cast<std::size_t>(g.taps() * g.plane.in.channels);
        }
        begins[static_cast<std::size_t>(table.size)] = end;
        return begins;
    }();

public:
    /// Adds the values of row `producer` to the sums of all layers that read them.
    void observe(int producer, const float* values) {
        for (int i = 0; i != table.size; ++i) {
            const node& row = table.nodes[i];
            if (!is_counted(row) || row.inputs[0] != producer) continue;
            double* sums = sums_.data() + offsets[static_cast<std::size_t>(i)];
            if (row.kind == op::conv_transpose2d) kernel::add_tap_sums(transposed_window(row), values, sums);
            else if (row.kind == op::conv_transpose3d)
                kernel::add_tap_sums(transposed_volume_window(row), values, sums);
            else kernel::add_tap_sums(window_of(row), values, sums);
        }
    }
    void merge(const input_sums& other) {
        for (std::size_t i = 0; i != sums_.size(); ++i) sums_[i] += other.sums_[i];
    }
    /// The means of a weighted row after so many inputs of the network.
    mean_inputs means_of(int i, std::uint64_t samples) const {
        const node& row = table.nodes[i];
        const kernel::conv3d_geometry g = window_of(row);
        const auto begin = sums_.begin() + static_cast<std::ptrdiff_t>(offsets[static_cast<std::size_t>(i)]),
                   end = sums_.begin() + static_cast<std::ptrdiff_t>(offsets[static_cast<std::size_t>(i) + 1]);
        mean_inputs result{{begin, end}, g.plane.in.channels, g.plane.group_in(), g.plane.group_out()};
        const double count = static_cast<double>(samples) * g.plane.out.pixels() * g.out_depth;
        for (double& mean : result.values) mean /= count;
        return result;
    }

private:
    std::vector<double> sums_ = std::vector<double>(offsets.back());
};
template <class Stage> class input_sums<Stage, false> {
public:
    void observe(int, const float*) {}
    void merge(const input_sums&) {}
};

}  // namespace v0
}  // namespace zp
