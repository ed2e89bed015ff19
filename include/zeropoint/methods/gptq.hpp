// SPDX-License-Identifier: BSD-3-Clause
// GPTQ and sequential MSE: codes and scales of weights by the second moments of what they are multiplied with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/methods/coded_layers.hpp>
#include <zeropoint/methods/gptq_rounding.hpp>
#include <zeropoint/methods/second_moments.hpp>

namespace zp::inline v0 {

/// How the data are seen.
struct moment_options {
    std::size_t samples = 65'536;  ///< outputs of a layer whose inputs are summed up, of all that there are
    std::uint64_t seed = 1;        // of the choice of outputs
};

namespace detail {

/// How many steps each value has, values of a grid of at most 255 of them: the nearest whole number, which the quotient is off by less than 2^-14.
template <class Arch> void count_steps(const float* values, float step, std::span<float> steps) {
    constexpr float whole = 12582912;  // 1.5 * 2^23, beside which floats are whole numbers
    kernel::for_each_number<Arch>(steps.size(), [&](std::size_t i, auto kind) {
        using Number = decltype(kind);
        const Number steps_of = kernel::divide_numbers(kernel::load_number<Number>(values + i), Number(step));
        kernel::store_number(Number(Number(steps_of + Number(whole)) - Number(whole)), steps.data() + i);
    });
}

/// The second moments of a layer's inputs in the network as it is quantized so far, a matrix for each group.
template <class Arch, class Layers, class Batches>
std::vector<std::vector<double>> moments_of(Layers& walk, const coded_layer& layer, const window_reader& windows,
                                            const Batches& images, std::size_t inputs, const moment_options& how) {
    const double total = static_cast<double>(inputs) * windows.positions(),
                 share = static_cast<double>(how.samples) / total;
    const auto limit = share >= 1 ? std::numeric_limits<std::uint64_t>::max()
                                  : static_cast<std::uint64_t>(share * 18446744073709551615.0);
    std::vector<std::vector<double>> all;
    const auto take = [&](auto moments, double step, const auto& values_of) {
        std::uint64_t seen = 0;
        walk.visit_inputs_of(layer, images, [&](const float* x) {
            const float* const values = values_of(x);
            for (int position = 0; position != windows.positions(); ++position)
                if (counted_random(how.seed, seen++) <= limit) moments.add(values, position);
        });
        for (int g = 0; g != windows.groups(); ++g) all.push_back(moments.matrix(static_cast<std::size_t>(g), step));
    };
    if (layer.input_step == 0) {
        take(second_moments<Arch>(windows), 1, [](const float* x) { return x; });
    } else {  // the codes, less their zero point
        std::vector<float> steps(windows.values());
        take(second_moments<Arch, float>(windows), double{layer.input_step}, [&](const float* x) {
            count_steps<Arch>(x, layer.input_step, steps);
            return steps.data();
        });
    }
    return all;
}
/// Half of the sum over channels of d H d', d being rounded - weights: the mean squared error of the layer's sums.
template <class Arch>
double error_of(std::span<const std::vector<double>> h, const weight_grid& grid, std::span<const float> weights,
                std::span<const float> rounded) {
    const std::size_t group_out = grid.rows / h.size();
    std::vector<double> d(grid.depth);
    double sum = 0;
    for (std::size_t row = 0; row != grid.rows; ++row) {
        for (std::size_t k = 0; k != grid.depth; ++k)
            d[k] = double{rounded[row * grid.depth + k]} - double{weights[row * grid.depth + k]};
        sum += quadratic_form<Arch>(h[row / group_out], d) / 2;
    }
    return sum;
}
template <class Stage, class Batches> std::size_t count_inputs(const Batches& images) {
    return visit_inputs<Stage>(images, [](const void* const*) {});
}

}  // namespace detail

/// The same calibrated network with weights on their codes' grid, chosen by GPTQ: the layers in order, moments of the inputs that each has in
/// the network as it is quantized so far. Convolutions are matrices over their windows, one a group. `images` are what zp::calibrate
/// takes, and are gone through once a layer. `report` gets a line a layer; its errors are of sums in front of the activation.
template <class Net, class QConfig, class Arch, class Batches>
calibrated<Net, QConfig, Arch> gptq(const calibrated<Net, QConfig, Arch>& source, const Batches& images,
                                    const gptq_options& how = {}, std::vector<layer_repair>* report = nullptr,
                                    const moment_options& data = {}) {
    if (!(how.damping >= 0) || data.samples < 1)
        raise<value_error>("gptq: expected damping of at least 0 and samples above 0");
    using layers = coded_layers<Net, QConfig, Arch>;
    layers walk(source);
    const std::size_t inputs = detail::count_inputs<prepared_stage<Net, QConfig, Arch>>(images);
    if (report != nullptr) report->clear();
    for (const int row : layers::rows()) {
        const coded_layer layer = walk.layer(row);
        const window_reader windows(layers::float_view(layer.from));
        const auto h = detail::moments_of<Arch>(walk, layer, windows, images, inputs, data);
        std::vector<float> values = layer.weights;
        const auto group_out = static_cast<std::size_t>(windows.group_out());
        for (std::size_t g = 0; g != h.size(); ++g)
            gptq_round<Arch>(h[g], layer.grid, g * group_out, group_out, how,
                             std::span(values).subspan(g * group_out * layer.grid.depth, group_out * layer.grid.depth));
        layer_repair done{layer.name, detail::error_of<Arch>(h, layer.grid, layer.weights, layer.rounded),
                          detail::error_of<Arch>(h, layer.grid, layer.weights, values), values.size(),
                          detail::count_changed(values, layer.rounded)};
        if (!(done.after < done.before)) {  // damping can make it so, where the nearest codes are as good as any
            values = layer.rounded;
            done.after = done.before;
            done.changed = 0;
        }
        walk.set_weights(layer, values);
        if (report != nullptr) report->push_back(std::move(done));
    }
    return walk.take();
}

/// How zp::sequential_mse works.
struct sequential_mse_options {
    int candidates = 20;    ///< scales that are tried: k / candidates of the qconfig's own, for k = 1 to candidates
    moment_options data{};  // how the data are seen
};

/// The same calibrated network with scales of weights for which the outputs of each layer come nearest, tried one after another: AIMET's
/// sequential MSE. Weights stay floats, so that adaround and gptq may follow. An error of the sums is d H d' / 2, exactly that over the
/// data; layers are gone through in order, and inputs are those of the network as it is quantized so far.
template <class Net, class QConfig, class Arch, class Batches>
calibrated<Net, QConfig, Arch> sequential_mse(const calibrated<Net, QConfig, Arch>& source, const Batches& images,
                                              const sequential_mse_options& how = {},
                                              std::vector<layer_repair>* report = nullptr) {
    if (how.candidates < 1 || how.data.samples < 1)
        raise<value_error>("sequential_mse: expected candidates and samples above 0");
    using layers = coded_layers<Net, QConfig, Arch>;
    layers walk(source);
    const std::size_t inputs = detail::count_inputs<prepared_stage<Net, QConfig, Arch>>(images);
    if (report != nullptr) report->clear();
    for (const int row : layers::rows()) {
        const coded_layer layer = walk.layer(row);
        const window_reader windows(layers::float_view(layer.from));
        const auto h = detail::moments_of<Arch>(walk, layer, windows, images, inputs, how.data);
        const weight_grid& grid = layer.grid;
        const std::size_t parts = grid.ranges.size() == 1 ? 1 : grid.rows, each = grid.ranges.size() / parts,
                          group_out = grid.rows / h.size();
        std::vector<double> best(parts, infinity), last(parts);
        weight_grid chosen = grid;
        std::vector<double> d(grid.depth);
        for (int k = 1; k <= how.candidates;
             ++k) {  // the last is the qconfig's own, which is kept where none is better
            weight_grid tried = grid;
            for (qparams& range : tried.ranges)
                range.scale *= static_cast<float>(k) / static_cast<float>(how.candidates);
            std::fill(last.begin(), last.end(), 0.0);
            for (std::size_t r = 0; r != grid.rows; ++r) {
                for (std::size_t i = 0; i != grid.depth; ++i) {
                    const float weight = layer.weights[r * grid.depth + i];
                    d[i] = double{tried.nearest(weight, r, i)} - double{weight};
                }
                last[parts == 1 ? 0 : r] += quadratic_form<Arch>(h[r / group_out], d) / 2;
            }
            for (std::size_t part = 0; part != parts; ++part) {
                if (!(last[part] <= best[part])) continue;
                best[part] = last[part];
                for (std::size_t g = part * each; g != (part + 1) * each; ++g) chosen.ranges[g] = tried.ranges[g];
            }
        }
        layer_repair done{layer.name, 0, 0, layer.weights.size(), 0};
        for (std::size_t part = 0; part != parts; ++part) done.before += last[part], done.after += best[part];
        std::vector<float> rounded(layer.weights.size());
        for (std::size_t i = 0; i != rounded.size(); ++i)
            rounded[i] = chosen.nearest(layer.weights[i], i / grid.depth, i % grid.depth);
        done.changed = detail::count_changed(rounded, layer.rounded);
        walk.give_weights(layer, chosen.ranges);
        if (report != nullptr) report->push_back(std::move(done));
    }
    return walk.take();
}

}  // namespace zp::inline v0
