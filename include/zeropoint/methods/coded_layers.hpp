// SPDX-License-Identifier: BSD-3-Clause
// The layers with filters that a quantized network keeps as codes, one after another: what each gets there, and what it should give.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/analysis/sensitivity.hpp>
#include <zeropoint/analysis/simulated.hpp>
#include <zeropoint/methods/each_input.hpp>
#include <zeropoint/methods/layer_samples.hpp>
#include <zeropoint/methods/weight_grid.hpp>
#include <zeropoint/methods/windows.hpp>

namespace zp::inline v0 {

/// One of them.
struct coded_layer {
    int row = 0;     // of the quantized network
    int from = 0;    // of the float network
    int target = 0;  // whose values it should give: itself, or the function that is fused behind it
    int input = 0;   // of the quantized network
    int float_input = 0;
    std::string name;
    layer_output output;
    weight_grid grid;
    std::vector<float> weights, rounded, bias;  // floats, and what their codes mean
    float input_step = 0;                       // the input's scale, where it has codes of at most 8 bits
};

/// What a method did to one layer: the mean squared error of its output over the data it saw, summed over channels.
struct layer_repair {
    std::string name;                      // the layer
    double before = 0, after = 0;          // the error before and after
    std::size_t weights = 0, changed = 0;  // codes, and how many are others than the nearest
};

namespace detail {

/// How many codes mean something else.
inline std::size_t count_changed(std::span<const float> a, std::span<const float> b) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i != a.size(); ++i) changed += a[i] != b[i];
    return changed;
}

}  // namespace detail

/// Walks over the layers of a calibrated network; `result` is a copy in which those that are done have the codes that a method chose,
/// while `floats` keeps what they were made of.
template <class Net, class QConfig, class Arch> class coded_layers {
    using float_stage = prepared_stage<Net, QConfig, Arch>;
    using int8_stage = quantized_stage<Net, QConfig, Arch>;
    using simulation = simulated<Net, QConfig, Arch>;

public:
    calibrated<Net, QConfig, Arch> result;
    const network<float_stage> floats;

    explicit coded_layers(const calibrated<Net, QConfig, Arch>& source) : result(chosen(source)), floats(source) {
        fix_ranges();
    }
    /// Beside floats that are not those of `source`.
    template <class Stage>
    coded_layers(const calibrated<Net, QConfig, Arch>& source, const network<Stage>& of)
        : result(chosen(source)), floats([&] {
              network<float_stage> copy = source;
              std::copy_n(of.parameters(), of.parameter_bytes, copy.parameters());
              return copy;
          }()) {
        fix_ranges();
    }
    /// What the methods made of it: ranges and scales that none of them gave are the observers' again.
    calibrated<Net, QConfig, Arch> take() {
        result.given() = given_;
        return std::move(result);
    }

    /// With the ranges that convert would choose: once for all layers.
    static calibrated<Net, QConfig, Arch> chosen(const calibrated<Net, QConfig, Arch>& source) {
        if constexpr (qconfig_entries<QConfig>::kept_inputs == 0) return source;
        else if constexpr (requires { choose_by_outputs(source); }) return choose_by_outputs(source);
        else return detail::keeps_no_inputs<QConfig>(), source;
    }
    /// Rows of the quantized network, in order of execution.
    static std::vector<int> rows() {
        std::vector<int> all;
        for (int i = 0; i != int8_stage::table.size; ++i) {
            const node_view v = int8_stage::table.view(i);
            if (v.n.op->filters == filter_kernels::none || !v.n.op->multiplies) continue;
            const parameter_list list = parameters_of(float_view(v.n.from.self));
            if (!coding_of(v, list.arrays[0]).is_float()) all.push_back(i);
        }
        return all;
    }
    static node_view float_view(int row) { return float_stage::table.view(row); }

    /// A layer as `result` would be converted now.
    coded_layer layer(int row) const { return layer(row, convert(result)); }
    coded_layer layer(int row, const network<int8_stage>& int8) const {
        const node_view v = int8_stage::table.view(row);
        coded_layer found;
        found.row = row;
        found.from = v.n.from.self;
        found.target = v.n.from.lut >= 0 ? v.n.from.lut : v.n.from.self;
        found.input = v.n.inputs[0];
        const node_view from = float_view(found.from);
        found.float_input = from.n.inputs[0];
        found.name = display_name(floats.rows(), found.from);
        found.output = {from.n.fused.lowest, from.n.fused.highest};
        if (v.n.from.lut >= 0) {
            const node& function = float_stage::loose.nodes[v.n.from.lut];
            found.output.function = function.rules->value;
            found.output.parameter = function.parameter;
        }
        const preparation p{v, int8.ranges(), const_cast<std::byte*>(int8.parameters()) + v.n.at.parameter_offset};
        const auto arrays =
            coded_arrays(v, p.ranges, int8_stage::unpacks[static_cast<std::size_t>(row)](p), from,
                         reinterpret_cast<const float*>(result.parameters() + from.n.at.parameter_offset));
        found.grid = grid_of(arrays.front(), v.n.weights.group);
        found.weights = arrays.front().floats;
        found.rounded = arrays.front().rounded;
        found.bias = arrays.front().float_bias;
        if (const value_type& x = v.x_type(); x.is_codes() && x.quant_max - x.quant_min < 256)
            found.input_step = int8.ranges()[x.qparams_id].scale;
        return found;
    }

    /// visit(x, float x, target) for each input of `images`: the layer's input in the quantized network as `result` is now, the same in the
    /// float network, and what the layer should give.
    template <class Batches, class Visit>
    std::size_t visit(const coded_layer& layer, const Batches& images, Visit visit_layer) const {
        return visit(layer.input, layer.float_input, layer.target, images, visit_layer);
    }
    /// The same of any rows: the values of one of the quantized network, and of two of the float one.
    template <class Batches, class Visit>
    std::size_t visit(int row, int float_row, int target, const Batches& images, Visit visit_rows) const {
        const simulation quantized(result, convert(result));
        const auto memory = std::make_unique<typename simulation::workspace>();
        detail::output_buffers<simulation> ys;
        row_visitor<network<float_stage>> runner(floats);
        std::vector<float> x(static_cast<std::size_t>(float_stage::table.nodes[float_row].out.extents.size())),
            float_x(x.size());
        return visit_inputs<float_stage>(images, [&](const void* const* xs) {
            quantized.run(
                xs, ys.pointers.data(), *memory,
                [&](int i, const float* values) {
                    if (i == row) std::copy_n(values, x.size(), x.begin());
                },
                0, row + 1);
            runner.run(xs, [&](int i, const float* values) {
                if (i == float_row) std::copy_n(values, x.size(), float_x.begin());
                if (i == target) visit_rows(x.data(), float_x.data(), values);
            });
        });
    }

    /// visit(x) alone: nothing behind the layer's input runs, and no float network. Layers that are asked for in the order of rows go on where
    /// the one before has ended, for as many inputs as memory is kept for: `images` give the same ones each time.
    template <class Batches, class Visit>
    void visit_inputs_of(const coded_layer& layer, const Batches& images, Visit visit_layer) {
        const simulation quantized(result, convert(result));
        const auto shared = std::make_unique<typename simulation::workspace>();
        detail::output_buffers<simulation> ys;
        const int end = layer.input + 1;
        std::size_t number = 0;
        visit_inputs<float_stage>(images, [&](const void* const* xs) {
            const std::size_t input = number++;
            if (input == kept_.size() && input < most_kept)
                kept_.push_back({std::make_unique<typename simulation::workspace>(), 0});
            const bool is_kept = input < kept_.size();
            typename simulation::workspace& memory = is_kept ? *kept_[input].memory : *shared;
            quantized.run(
                xs, ys.pointers.data(), memory, [](int, const float*) {}, is_kept ? kept_[input].end : 0, end);
            if (is_kept) kept_[input].end = std::max(kept_[input].end, end);
            visit_layer(quantized.values(layer.input, memory));
        });
    }

    /// Gives a layer these weights, which lie on its grid: convert will make exactly their codes.
    void set_weights(const coded_layer& layer, std::span<const float> values) {
        const node_view from = float_view(layer.from);
        std::copy(values.begin(), values.end(),
                  reinterpret_cast<float*>(result.parameters() + from.n.at.parameter_offset));
        give_weights(layer, layer.grid.ranges);
    }
    void give_weights(const coded_layer& layer, const std::vector<qparams>& ranges) {
        forget_behind(layer);
        result.given().give_weights(layer.from, 0, ranges);
        given_.give_weights(layer.from, 0, ranges);
    }
    void set_bias(const coded_layer& layer, std::span<const float> values) {
        forget_behind(layer);
        const node_view from = float_view(layer.from);
        auto* block = reinterpret_cast<float*>(result.parameters() + from.n.at.parameter_offset);
        std::copy(values.begin(), values.end(), block + parameters_of(from).offset_of(1));
    }

private:
    /// An input of which rows in front of `end` have run.
    struct kept_input {
        std::unique_ptr<typename simulation::workspace> memory;
        int end = 0;
    };
    static constexpr std::size_t most_kept = (std::size_t{256} << 20) / simulation::workspace::bytes();

    /// Before a layer changes.
    void forget_behind(const coded_layer& layer) {
        for (kept_input& one : kept_) one.end = std::min(one.end, layer.row);
    }
    /// Until take(): what observers choose, which each of many conversions would search anew.
    void fix_ranges() {
        given_ = result.given();
        const auto int8 = convert(result);
        for (int i = 0; i != float_stage::table.size; ++i) {
            const node& n = float_stage::table.nodes[i];
            if (n.flags.observed && !n.is_indices())
                result.given().give_range(n.out.qparams_id, int8.ranges()[n.out.qparams_id]);
        }
        for (const int row : rows()) {
            const coded_layer one = layer(row, int8);
            result.given().give_weights(one.from, 0, one.grid.ranges);
        }
    }

    given_qparams given_;  // what was given, and what methods gave
    std::vector<kept_input> kept_;
};

}  // namespace zp::inline v0
