// SPDX-License-Identifier: BSD-3-Clause
// Block reconstruction: the weights of a residual block rounded together, so that the block's output comes nearest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <zeropoint/methods/adaround.hpp>
#include <zeropoint/methods/block_gradients.hpp>

// Li, Gong, Tan, Yang, Hu, Zhang, Yu, Wang, Gu, "BRECQ: Pushing the Limit of Post-Training Quantization by Block Reconstruction", 2021, with
// the mean squared error of a block's output. Activations within the block are rounded as they will be. Layers that are in no block are
// rounded by themselves, as adaround does.

namespace zp::inline v0 {

/// How zp::reconstruct_blocks works.
struct block_options {
    int iterations = 2'000;        ///< of Adam, a block
    double lr = 1e-2;              // Adam's rate
    int batch = 16;                ///< inputs of the network that an iteration sees
    std::size_t inputs = 512;      ///< inputs of the network whose values in front of and behind the block are kept
    float regularization = 0.01f;  ///< lambda
    rounding_schedule schedule{};  // of the regularization
    std::uint64_t seed = 1;        // of the choice of inputs
    adaround_options layers{};     ///< for layers that are in no block
};

namespace detail {

/// What a block gets and should give, for some inputs of the network: the first, and then others in their place as in a reservoir.
struct block_samples {
    std::vector<std::vector<float>> entries, targets;
    std::size_t most = 0;
    std::uint64_t seed = 0, seen = 0;

    void add(std::span<const float> entry, std::span<const float> target) {
        const std::uint64_t number = seen++;
        auto at = static_cast<std::size_t>(number);
        if (at >= most) at = static_cast<std::size_t>(counted_random(seed, number) % (number + 1));
        if (at >= most) return;
        if (at >= entries.size()) entries.resize(at + 1), targets.resize(at + 1);
        entries[at].assign(entry.begin(), entry.end());
        targets[at].assign(target.begin(), target.end());
    }
};

/// The layers of a block with what is learned of them.
template <class Arch> struct block_layers {
    std::vector<coded_layer> layers;
    std::vector<std::size_t> places;  // in the block
    std::vector<learned_rounding<Arch>> roundings;
};

/// visit(entries, targets) of those samples.
template <class Visit>
auto with_samples(const block_samples& samples, std::span<const std::size_t> chosen, Visit visit) {
    std::vector<const float*> entries, targets;
    for (const std::size_t i : chosen) {
        entries.push_back(samples.entries[i].data());
        targets.push_back(samples.targets[i].data());
    }
    return visit(std::span<const float* const>(entries), std::span<const float* const>(targets));
}
template <class Arch> double block_loss_of_all(block_gradients<Arch>& block, const block_samples& samples) {
    double sum = 0;
    std::vector<std::size_t> chosen;
    for (std::size_t begin = 0; begin < samples.entries.size(); begin += block.batch()) {
        chosen.clear();
        for (std::size_t i = begin; i < samples.entries.size() && i < begin + block.batch(); ++i) chosen.push_back(i);
        sum += static_cast<double>(chosen.size()) *
               with_samples(samples, chosen, [&](const auto& x, const auto& y) { return block.loss(x, y); });
    }
    return sum / static_cast<double>(samples.entries.size());
}

/// The values of the codes that are chosen for the layers of a block; the nearest ones' where these are not worse.
template <class Arch>
std::vector<std::vector<float>> round_block(block_layers<Arch>& of, block_gradients<Arch>& block,
                                            const block_samples& samples, const block_options& how,
                                            layer_repair& report) {
    const auto use = [&](const auto& values_of) {
        for (std::size_t l = 0; l != of.layers.size(); ++l)
            block.set_filters(of.places[l], values_of(l), of.layers[l].bias);
    };
    use([&](std::size_t l) -> const std::vector<float>& { return of.layers[l].rounded; });
    report.before = block_loss_of_all(block, samples);
    std::vector<std::size_t> chosen(std::min(static_cast<std::size_t>(how.batch), samples.entries.size()));
    const std::uint64_t seed = counted_random(how.seed, static_cast<std::uint64_t>(of.layers.front().row));
    for (int step = 0; step != how.iterations; ++step) {
        choose_samples(seed, static_cast<std::size_t>(step), samples.entries.size(), chosen);
        for (std::size_t l = 0; l != of.layers.size(); ++l) of.roundings[l].soft_weights(block.weights(of.places[l]));
        with_samples(samples, chosen, [&](const auto& x, const auto& y) { block.differentiate(x, y); });
        for (std::size_t l = 0; l != of.layers.size(); ++l) {
            const std::span<float> gradient = block.weight_gradient(of.places[l]);
            of.roundings[l].chain(gradient);
            if (how.schedule.regularizes(step, how.iterations))
                of.roundings[l].add_regularization(
                    how.regularization, static_cast<float>(how.schedule.beta(step, how.iterations)), gradient);
            of.roundings[l].step(gradient, how.lr);
        }
    }
    std::vector<std::vector<float>> values;
    for (const learned_rounding<Arch>& rounding : of.roundings) values.push_back(rounding.weights());
    use([&](std::size_t l) -> const std::vector<float>& { return values[l]; });
    report.after = block_loss_of_all(block, samples);
    if (!(report.after < report.before)) {
        report.after = report.before;
        for (std::size_t l = 0; l != values.size(); ++l) values[l] = of.layers[l].rounded;
    }
    for (std::size_t l = 0; l != values.size(); ++l) {
        report.weights += values[l].size();
        report.changed += count_changed(values[l], of.layers[l].rounded);
    }
    return values;
}

/// Which values of prepared rows are rounded, and how.
template <class Net, class QConfig, class Arch>
std::vector<value_rounding> roundings_of(const calibrated<Net, QConfig, Arch>& source) {
    std::vector<value_rounding> all(source.rows().size());
    const auto int8 = convert(source);
    for (const node& n : int8.rows())
        if (n.out.is_codes() && !n.op->is_boundary && !n.op->is_output)
            all[static_cast<std::size_t>(n.from.value())] = {true, n.out, int8.ranges()[n.out.qparams_id]};
    return all;
}

}  // namespace detail

/// The same calibrated network with weights on their codes' grid, as adaround gives it, but the layers of each residual block together.
/// `images` are what zp::calibrate takes, and are gone through once a block or layer. `report` gets a line a block or layer.
template <class Net, class QConfig, class Arch, class Batches>
calibrated<Net, QConfig, Arch> reconstruct_blocks(const calibrated<Net, QConfig, Arch>& source, const Batches& images,
                                                  const block_options& how = {},
                                                  std::vector<layer_repair>* report = nullptr) {
    using layers = coded_layers<Net, QConfig, Arch>;
    using float_stage = prepared_stage<Net, QConfig, Arch>;
    detail::check_options(how.layers);
    if (how.iterations < 1 || how.batch < 1 || how.inputs < 1 || !(how.lr > 0))
        raise<value_error>("reconstruct_blocks: expected iterations, batch, inputs and lr above 0");
    layers walk(source);
    const std::span<const node> loose(float_stage::loose.nodes, static_cast<std::size_t>(float_stage::loose.size));
    const std::vector<residual_block> blocks = find_residual_blocks(loose);
    const std::vector<value_rounding> rounding = detail::roundings_of(source);
    const std::vector<int> rows = layers::rows();
    const auto block_with = [&](int float_row) -> const residual_block* {
        for (const residual_block& block : blocks)
            if (std::find(block.rows.begin(), block.rows.end(), float_row) != block.rows.end()) return &block;
        return nullptr;
    };
    if (report != nullptr) report->clear();
    std::vector<const residual_block*> done_blocks;
    for (const int row : rows) {
        const coded_layer layer = walk.layer(row);
        const residual_block* block = block_with(layer.from);
        layer_repair done{layer.name};
        if (block == nullptr) {
            const window_reader windows(layers::float_view(layer.from));
            layer_samples samples(windows, how.layers.samples,
                                  counted_random(how.layers.seed, static_cast<std::uint64_t>(row)));
            walk.visit(layer, images,
                       [&](const float* x, const float*, const float* target) { samples.add(x, target); });
            walk.set_weights(layer, detail::round_layer<Arch>(layer, samples, how.layers, done));
        } else {
            if (std::find(done_blocks.begin(), done_blocks.end(), block) != done_blocks.end()) continue;
            done_blocks.push_back(block);
            detail::block_layers<Arch> of;
            int entry = -1;  // of the quantized network
            for (const int other : rows) {
                coded_layer one = walk.layer(other);
                const auto at = std::find(block->rows.begin(), block->rows.end(), one.from);
                if (at == block->rows.end()) continue;
                if (one.float_input == block->entry && entry < 0) entry = one.input;
                of.places.push_back(static_cast<std::size_t>(at - block->rows.begin()));
                of.roundings.emplace_back(one.weights, one.grid);
                if (!of.layers.empty()) done.name += " + " + one.name;
                of.layers.push_back(std::move(one));
            }
            block_gradients<Arch> gradients(loose, *block, rounding, static_cast<std::size_t>(how.batch));
            // Layers of the block that stay in float compute with their own weights.
            for (std::size_t r = 0; r != block->rows.size(); ++r) {
                const node_view v = layers::float_view(block->rows[r]);
                if (!detail::has_filters(v.n)) continue;
                const auto* floats = reinterpret_cast<const float*>(walk.result.parameters() + v.n.at.parameter_offset);
                gradients.set_filters(
                    r, {floats, static_cast<std::size_t>(v.n.weights.count)},
                    {floats + parameters_of(v).offset_of(1), static_cast<std::size_t>(v.n.weights.channels)});
            }
            detail::block_samples samples{
                {}, {}, how.inputs, counted_random(how.seed, static_cast<std::uint64_t>(row))};
            walk.visit(entry < 0 ? layer.input : entry, block->entry, block->rows.back(), images,
                       [&](const float* x, const float*, const float* target) {
                           samples.add({x, gradients.entry_size()}, {target, gradients.exit_size()});
                       });
            const auto values = detail::round_block<Arch>(of, gradients, samples, how, done);
            for (std::size_t l = 0; l != values.size(); ++l) walk.set_weights(of.layers[l], values[l]);
        }
        if (report != nullptr) report->push_back(std::move(done));
    }
    return walk.take();
}

}  // namespace zp::inline v0
