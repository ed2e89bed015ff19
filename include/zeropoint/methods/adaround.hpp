// SPDX-License-Identifier: BSD-3-Clause
// AdaRound: weights rounded up or down so that outputs come nearest, layer after layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <zeropoint/methods/coded_layers.hpp>
#include <zeropoint/methods/learned_rounding.hpp>

namespace zp::inline v0 {

/// How zp::adaround works.
struct adaround_options {
    int iterations = 2'000;        ///< of Adam, a layer
    double lr = 1e-2;              // Adam's rate
    int batch = 256;               ///< outputs of a layer that an iteration sees
    std::size_t samples = 16'384;  ///< outputs of a layer that are kept, with the inputs under them
    float regularization = 0.01f;  ///< lambda
    rounding_schedule schedule{};  // of the regularization
    std::uint64_t seed = 1;        // of the choice of samples
};

namespace detail {

inline void check_options(const adaround_options& how) {
    if (how.iterations < 1 || how.batch < 1 || how.samples < 1 || !(how.lr > 0))
        raise<value_error>("adaround: expected iterations, batch, samples and lr above 0");
}
/// Numbers of samples: those of a batch, or all of them in turn.
inline void choose_samples(std::uint64_t seed, std::size_t step, std::size_t of, std::span<std::size_t> chosen) {
    for (std::size_t i = 0; i != chosen.size(); ++i)
        chosen[i] = static_cast<std::size_t>(counted_random(seed, step * chosen.size() + i) % of);
}
/// The loss over all samples.
template <class Arch>
double loss_of_all(reconstruction_loss<Arch>& loss, const layer_samples& samples, std::span<const float> weights) {
    std::vector<std::size_t> chosen;
    double sum = 0;
    for (std::size_t begin = 0; begin < samples.size(); begin += loss.batch()) {
        chosen.clear();
        for (std::size_t i = begin; i < samples.size() && i < begin + loss.batch(); ++i) chosen.push_back(i);
        sum += loss(samples, chosen, weights) * static_cast<double>(chosen.size());
    }
    return sum / static_cast<double>(samples.size());
}

/// The values of the codes that AdaRound chooses for one layer; those of the nearest ones where these are not worse.
template <class Arch>
std::vector<float> round_layer(const coded_layer& layer, const layer_samples& samples, const adaround_options& how,
                               layer_repair& report) {
    reconstruction_loss<Arch> loss(samples.windows(), layer.bias, layer.output, static_cast<std::size_t>(how.batch));
    learned_rounding<Arch> rounding(layer.weights, layer.grid);
    std::vector<float> soft(layer.weights.size()), gradient(layer.weights.size());
    std::vector<std::size_t> chosen(static_cast<std::size_t>(how.batch));
    const std::uint64_t seed = counted_random(how.seed, static_cast<std::uint64_t>(layer.row));
    for (int step = 0; step != how.iterations; ++step) {
        choose_samples(seed, static_cast<std::size_t>(step), samples.size(), chosen);
        rounding.soft_weights(soft);
        loss.differentiate(samples, chosen, soft, gradient);
        rounding.chain(gradient);
        if (how.schedule.regularizes(step, how.iterations))
            rounding.add_regularization(how.regularization, static_cast<float>(how.schedule.beta(step, how.iterations)),
                                        gradient);
        rounding.step(gradient, how.lr);
    }
    std::vector<float> values = rounding.weights();
    report.before = loss_of_all(loss, samples, layer.rounded);
    report.after = loss_of_all(loss, samples, values);
    if (!(report.after < report.before)) {
        values = layer.rounded;
        report.after = report.before;
    }
    report.weights = values.size();
    report.changed = count_changed(values, layer.rounded);
    return values;
}

}  // namespace detail

/// The same calibrated network with weights on their codes' grid, each code one of the two around its weight: the layers in order, inputs
/// from the network as it is quantized so far, targets from the float network, behind the activation. Scales are those that the qconfig's
/// observer chooses (take zp::mse_observer for few bits). `images` are what zp::calibrate takes, and are gone through once a layer;
/// labels are not needed. `report` gets a line a layer.
template <class Net, class QConfig, class Arch, class Batches>
calibrated<Net, QConfig, Arch> adaround(const calibrated<Net, QConfig, Arch>& source, const Batches& images,
                                        const adaround_options& how = {}, std::vector<layer_repair>* report = nullptr) {
    detail::check_options(how);
    using layers = coded_layers<Net, QConfig, Arch>;
    layers walk(source);
    if (report != nullptr) report->clear();
    for (const int row : layers::rows()) {
        const coded_layer layer = walk.layer(row);
        const window_reader windows(layers::float_view(layer.from));
        layer_samples samples(windows, how.samples, counted_random(how.seed, static_cast<std::uint64_t>(row) + 1'000));
        walk.visit(layer, images, [&](const float* x, const float*, const float* target) { samples.add(x, target); });
        layer_repair done{layer.name};
        walk.set_weights(layer, detail::round_layer<Arch>(layer, samples, how, done));
        if (report != nullptr) report->push_back(std::move(done));
    }
    return walk.take();
}

}  // namespace zp::inline v0
