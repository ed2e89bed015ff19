// SPDX-License-Identifier: BSD-3-Clause
// A network that is trained as the int8 one that it will be: float weights, and the codes that are made of them at each step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/io/model_tensors.hpp>
#include <zeropoint/training/folded_norms.hpp>
#include <zeropoint/training/make_tape.hpp>
#include <zeropoint/training/trained_part.hpp>
#include <zeropoint/training/trained_ranges.hpp>
#include <zeropoint/training/trained_weights.hpp>
#include <zeropoint/workflow/convert.hpp>

namespace zp::inline v0 {

/// What zp::prepare_qat gives, zp::train trains and zp::convert makes int8. Its forward pass in training is that of the int8 network: the
/// codes that zp::convert gives have the values that it was trained with.
///
/// Weights are floats, quantized at each step by the observer of the qconfig, or by a scale that is learned where that is a
/// zp::learned_step. Of activations a zp::moving_average_min_max_observer follows the batches until observers are frozen, a
/// zp::learned_step is trained, and any other stays where calibration has set it.
///
/// Batch norms of a network that was fused before are gone. Of one that was not they are trained, unfolded: by the statistics of batches
/// (live), where values are rounded as they are rounded in the int8 network, in floats; or by their running statistics (frozen), where
/// they are folded at each step and the int8 network itself runs. convert folds them by their running statistics.
template <class Net, class Config, class Arch = default_architecture> class fake_quantized {
public:
    using net = Net;
    using config = Config;
    using architecture = Arch;
    using prepared_type = prepared<Net, Config, Arch>;
    using quantized_type = quantized<Net, Config, Arch>;
    using prepared_stage_type = typename prepared_type::stage;
    using quantized_stage_type = typename quantized_type::stage;

    explicit fake_quantized(prepared_type from) : floats_(std::move(from)), ranges_(floats_) {
        values_.resize(parameter_floats());
        std::copy_n(block(), parameter_floats(), values_.data());
        set_up();
    }
    /// With the batch norms of `written`, whose parameters, fused, are those of `from`: live.
    fake_quantized(prepared_type from, const float_model<Net, Arch>& written)
        : floats_(std::move(from)), ranges_(floats_) {
        norms_ = folded_norms(written.rows(), written.parameters(), prepared_type::rows(),
                              static_cast<std::size_t>(prepared_type::parameter_bytes), values_);
        norms_.fold(values_.data(), folded_into_block());
        live_ = aligned_buffer(norms_.floats() * sizeof(float));
        has_norms_ = !norms_.empty() || has_rows_of(op::unfused_batch_norm);
        is_live_ = has_norms_;
        set_up();
    }

    /// Whether ranges are known: from calibration, or because a first batch was seen.
    bool has_ranges() const { return has_ranges_; }
    /// Calibrates with an input: one pointer a port. Then begin().
    void observe(const void* const* xs) { floats_.observe(xs); }
    /// Takes the ranges that were calibrated.
    void begin() {
        ranges_.begin(floats_);
        begin_values();
    }

    /// Whether there are batch norms that are trained.
    bool has_batch_norms() const { return has_norms_; }
    /// Whether they take the statistics of batches.
    bool batch_norms_are_live() const { return is_live_; }
    /// They do from now on, or take their running statistics. Without batch norms that are trained it says nothing.
    void set_batch_norms_live(bool live) { is_live_ = live && has_norms_; }

    // ---- what the trainer sees ----

    static constexpr std::span<const port> inputs() { return prepared_type::inputs(); }
    static constexpr std::span<const port> outputs() { return prepared_type::outputs(); }
    static constexpr std::span<const node> rows() { return prepared_type::rows(); }
    static std::string row_name(int row) { return display_name(rows(), row); }
    /// After the last step: the float weights, and ranges for convert.
    void finish() {
        if (has_ranges_) static_cast<void>(pack());
    }

    tape make_tape(int samples) const {
        using maker = detail::coded_tape_maker<prepared_stage_type, quantized_stage_type>;
        const auto learns = [&](int id) { return ranges_.learns(id); };
        return is_live_ ? maker::make_live(samples, learns, norms_) : maker::make(samples, learns);
    }
    /// All that is trained: parameters in the places of the float network, arrays of batch norms, then learned scales and zero points.
    std::span<float> values() { return values_; }
    std::span<const float> values() const { return values_; }
    const std::vector<trained_part>& parts() const { return parts_; }

    /// Makes codes of the current values, as convert does, and what they mean as floats.
    tape_parameters pack() {
        fold();
        ranges_.give(floats_, values_);
        weights_.give(floats_, norms_, values_.data());
        weights_.make(floats_, int8_, meant_.data());
        if (!is_live_) return {meant_.data(), int8_.parameters(), int8_.ranges()};
        std::memcpy(live_.data(), meant_.data(), parameter_floats() * sizeof(float));
        norms_.unfold<Arch>(values_.data(), reinterpret_cast<float*>(live_.data()));
        return {live_.data(), nullptr, int8_.ranges()};
    }
    /// What values mean where codes are made by nobody yet.
    tape_parameters floats() {
        if (is_live_ || norms_.empty()) return {reinterpret_cast<const std::byte*>(values_.data()), nullptr, nullptr};
        fold();
        return {floats_.parameters(), nullptr, nullptr};
    }
    int ranges() const { return static_cast<int>(ranges_.size()); }
    /// Follows what a batch had in front of rounding, by qparams_id; empty ranges were not seen.
    void follow(std::span<const observed_range> seen) { ranges_.follow(seen); }
    /// From the gradient of what was computed with to that of what is trained: stopped where weights were clamped, and of the learned
    /// scales. `gradient` is as long as values(), and begins with what the tape has given.
    void finish_gradient(std::span<float> gradient, std::span<const range_gradient> of_ranges) {
        if (is_live_) norms_.to_folded<Arch>(values_.data(), gradient.data());
        weights_.finish_gradient(block(), norms_, values_.data(), gradient);
        if (is_live_) norms_.from_folded<Arch>(values_.data(), gradient.data());
        else norms_.unfold_gradient(values_.data(), gradient.data());
        ranges_.put_gradient(of_ranges, gradient);
    }

    // ---- for conversion, files and people ----

    /// The calibrated network with the trained weights and ranges: what convert is made from.
    const prepared_type& as_prepared() {
        static_cast<void>(pack());
        return floats_;
    }
    const quantized_type& packed() const { return int8_; }

    /// Ranges, for files: 7 numbers a qparams_id. What is learned is in values().
    std::vector<float> range_state() const { return ranges_.state(); }
    /// Of numbers from a file, as many as range_state() has: what is wrong with them, or nothing.
    std::string problem_of_range_state(std::span<const float> state) const { return ranges_.problem_of(state); }
    /// Where running variances are among the values, by the names of their norms: of at least 0.
    std::vector<trained_part> variances() const {
        std::vector<trained_part> all;
        detail::append_variances<prepared_stage_type>(all);
        norms_.append_variances(all);
        return all;
    }
    /// Ranges and values, if require(how many values such ranges have, their parts) raises nothing; else all stays as it was.
    template <class Require>
    void set_state(std::span<const float> ranges, std::span<const float> values, Require&& require) {
        fake_quantized next = *this;
        next.ranges_.set_state(next.floats_, ranges);
        next.begin_values();
        require(next.values_.size(), next.parts_);
        std::copy(values.begin(), values.end(), next.values_.begin());
        *this = std::move(next);
    }
    static std::string training_signature() { return detail::signature_of_stage<quantized_stage_type>(0); }

private:
    static constexpr std::size_t parameter_floats() {
        return static_cast<std::size_t>(prepared_type::parameter_bytes) / sizeof(float);
    }
    static bool has_rows_of(const operator_kind& kind) {
        return std::any_of(rows().begin(), rows().end(), [&](const node& n) { return n.op->kind == &kind; });
    }
    /// The float network's parameters, folded.
    float* block() { return reinterpret_cast<float*>(floats_.parameters()); }
    float* folded_into_block() {
        std::copy_n(values_.data(), parameter_floats(), block());
        return block();
    }
    void fold() { norms_.fold(values_.data(), folded_into_block()); }
    void set_up() {
        meant_ = aligned_buffer(static_cast<std::size_t>(prepared_type::parameter_bytes));
        if (floats_.samples() != 0) begin();
    }
    void begin_values() {
        values_.resize(norms_.empty() ? parameter_floats() : norms_.floats());
        ranges_.append_values(values_);
        ranges_.give(floats_, values_);
        weights_.begin(floats_, int8_, norms_, values_);
        parts_.clear();
        detail::append_parts_of_parameters<prepared_stage_type>(parts_);
        norms_.append_parts(parts_);
        ranges_.append_parts(parts_);
        weights_.append_parts(parts_);
        has_ranges_ = true;
    }

    prepared_type floats_;
    quantized_type int8_;
    std::vector<float> values_;
    folded_norms norms_;
    aligned_buffer meant_, live_;  // parameters as codes mean them; with norms that are live
    detail::trained_ranges<prepared_type, quantized_stage_type> ranges_;
    detail::trained_weights<prepared_type, quantized_type> weights_;
    std::vector<trained_part> parts_;
    bool has_ranges_ = false, has_norms_ = false, is_live_ = false;
};

/// A network to train as the int8 one that QConfig makes of it, from a float one with its batch norms folded. Ranges are known from
/// the first batch on. Next: zp::train(qat, data, options).
template <class QConfig, class Net, class Arch>
fake_quantized<Net, QConfig, Arch> prepare_qat(const fused<Net, Arch>& floats) {
    return fake_quantized<Net, QConfig, Arch>(prepare<QConfig>(floats));
}
/// From a float one as written: its batch norms are trained too, see training_options::freeze_batch_norms_after.
template <class QConfig, class Net, class Arch>
fake_quantized<Net, QConfig, Arch> prepare_qat(const float_model<Net, Arch>& trained) {
    return fake_quantized<Net, QConfig, Arch>(prepare<QConfig>(fuse(trained)), trained);
}
/// The same with the ranges of a calibration: the better beginning.
template <class Net, class Config, class Arch>
fake_quantized<Net, Config, Arch> prepare_qat(const calibrated<Net, Config, Arch>& observed) {
    return fake_quantized<Net, Config, Arch>(observed);
}
/// And with the batch norms of `trained`, of which `observed` was made.
template <class Net, class Config, class Arch>
fake_quantized<Net, Config, Arch> prepare_qat(const calibrated<Net, Config, Arch>& observed,
                                              const float_model<Net, Arch>& trained) {
    return fake_quantized<Net, Config, Arch>(observed, trained);
}

/// The int8 network: of the very codes that it was trained with. Raises calibration_error where no range is known yet.
template <class Net, class Config, class Arch>
quantized<Net, Config, Arch> convert(const fake_quantized<Net, Config, Arch>& trained) {
    if (!trained.has_ranges())
        raise<calibration_error>(
            "convert(qat): expected ranges of activations, but the network has seen no data: train it, "
            "or prepare_qat a calibrated network");
    fake_quantized<Net, Config, Arch> copy = trained;
    return convert(calibrated<Net, Config, Arch>(copy.as_prepared()));
}

}  // namespace zp::inline v0
