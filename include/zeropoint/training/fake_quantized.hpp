// A network that is trained as the int8 one that it will be: float weights, and the codes that are made of them at each step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/io/model_tensors.hpp>
#include <zeropoint/observe/learned_step.hpp>
#include <zeropoint/training/block_runner.hpp>
#include <zeropoint/training/coded_parameters.hpp>
#include <zeropoint/training/learned_step.hpp>
#include <zeropoint/training/make_tape.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/trained_part.hpp>
#include <zeropoint/workflow/convert.hpp>

namespace zp {
inline namespace v0 {

namespace detail {

/// What training knows about the range of an activation. A slot is of one qparams_id.
struct range_slot {
    bool is_used = false;  // codes of it are made, and an observer chooses it
    bool is_learned = false, has_offset = false;
    bool follows = false;  // a moving average of what batches have
    float averaging_constant = 0;
    bool has_begun = false;
    moving_range average;
    learned_qparams chosen;  // where it does not follow: as calibrated, the first value of what is learned
};
/// The scales of an array of weights that are learned.
struct scale_slot {
    int row = 0, array = 0;         // of the prepared network
    std::size_t at = 0, count = 0;  // among all learned values
    std::vector<std::int32_t> zero_points;
};
/// An array of weights that are codes: what to mask of its gradient.
struct coded_weights {
    int row = 0, array = 0;
    std::size_t offset = 0;  // in floats, of the parameters
    scale_layout layout;
    std::vector<qparams> channels;
    code_bounds bounds;
    int scales = -1;  // which scale_slot
};

}  // namespace detail

/// What zp::prepare_qat gives, zp::train trains and zp::convert makes int8. Its forward pass in training is that of the int8 network: the
/// codes that zp::convert gives have the values that it was trained with.
///
/// Weights are floats, quantized at each step by the observer of the qconfig, or by a scale that is learned where that is a
/// zp::learned_step. Of activations a zp::moving_average_min_max_observer follows the batches until observers are frozen, a
/// zp::learned_step is trained, and any other stays where calibration has set it.
template <class Net, class Config, class Arch = default_architecture> class fake_quantized {
public:
    using net = Net;
    using config = Config;
    using architecture = Arch;
    using prepared_type = prepared<Net, Config, Arch>;
    using quantized_type = quantized<Net, Config, Arch>;
    using prepared_stage_type = typename prepared_type::stage;
    using quantized_stage_type = typename quantized_type::stage;

    explicit fake_quantized(prepared_type from) : floats_(std::move(from)) {
        values_.resize(parameter_floats());
        std::copy_n(reinterpret_cast<const float*>(floats_.parameters()), parameter_floats(), values_.data());
        meant_ = aligned_buffer(static_cast<std::size_t>(prepared_type::parameter_bytes));
        find_slots();
        if (floats_.samples() != 0) begin();
    }

    /// Whether ranges are known: from calibration, or because a first batch was seen.
    bool has_ranges() const { return has_ranges_; }
    /// Calibrates with an input: one pointer a port. Then begin().
    void observe(const void* const* xs) { floats_.observe(xs); }
    /// Takes the ranges that were calibrated.
    void begin() {
        for (int id = 0; id != static_cast<int>(slots_.size()); ++id) begin_slot(id);
        begin_values();
    }

    // ---- what the trainer sees ----

    static constexpr std::span<const port> inputs() { return prepared_type::inputs(); }
    static constexpr std::span<const node> rows() { return prepared_type::rows(); }
    /// Of the first output, on which losses are.
    static constexpr shape output_shape_of_training() { return prepared_type::output_shape; }
    static std::string row_name(int row) { return display_name(rows(), row); }
    /// After the last step: the float weights, and ranges for convert.
    void finish() {
        if (has_ranges_) static_cast<void>(pack());
    }

    tape make_tape(int block) const {
        return detail::coded_tape_maker<prepared_stage_type, quantized_stage_type>::make(block, [&](int id) {
            return slots_[static_cast<std::size_t>(id)].is_used && slots_[static_cast<std::size_t>(id)].is_learned;
        });
    }
    /// All that is trained: parameters in the places of the float network, then learned scales and zero points.
    std::span<float> values() { return values_; }
    std::span<const float> values() const { return values_; }
    const std::vector<trained_part>& parts() const { return parts_; }

    /// Makes codes of the current values, as convert does, and what they mean as floats.
    tape_parameters pack() {
        std::copy_n(values_.data(), parameter_floats(), reinterpret_cast<float*>(floats_.parameters()));
        give();
        make_codes([&](int r, const node_parameters& all) { take_meaning(r, all); });
        return {meant_.data(), int8_.parameters(), int8_.ranges()};
    }
    /// What values mean where codes are made by nobody yet.
    tape_parameters floats() const { return {reinterpret_cast<const std::byte*>(values_.data()), nullptr, nullptr}; }
    int ranges() const { return static_cast<int>(slots_.size()); }
    /// Follows what a batch had in front of rounding, by qparams_id; empty ranges were not seen.
    void follow(std::span<const observed_range> seen) {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            detail::range_slot& slot = slots_[id];
            if (!slot.is_used || !slot.follows || seen[id].empty()) continue;
            slot.average.add(seen[id].min, seen[id].max, !slot.has_begun, slot.averaging_constant);
            slot.has_begun = true;
        }
    }
    /// From the gradient of what was computed with to that of what is trained: stopped where weights were clamped, and of the learned
    /// scales. `gradient` is as long as values(); its parameters come as the tape has given them.
    void finish_gradient(std::span<float> gradient, std::span<const range_gradient> of_ranges) {
        for (const detail::coded_weights& weights : coded_) {
            const std::span<const float> w(values_.data() + weights.offset, size_of_array(weights));
            const std::span<float> g = gradient.subspan(weights.offset, w.size());
            if (weights.scales < 0) {
                mask_gradient(weights, w, g);
                continue;
            }
            const detail::scale_slot& slot = scales_[static_cast<std::size_t>(weights.scales)];
            std::vector<qparams> channels = weights.channels;
            if (channels.size() != slot.count) channels.resize(slot.count, channels.front());
            learned_step_backward<Arch>(w, g, channels, channels.size() == 1 ? 1 : weights.layout.inner, weights.bounds,
                                        gradient_factor(gradient_scaling::lsq, w.size(), weights.bounds), g,
                                        gradient.subspan(slot.at, slot.count));
        }
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            const detail::range_slot& slot = slots_[id];
            if (!slot.is_used || !slot.is_learned) continue;
            const float factor = activation_factors_[id];
            gradient[learned_at_[id]] = factor * of_ranges[id].scale;
            if (slot.has_offset) gradient[learned_at_[id] + 1] = factor * of_ranges[id].zero_point;
        }
    }

    // ---- for conversion, files and people ----

    /// The calibrated network with the trained weights and ranges: what convert is made from.
    const prepared_type& as_prepared() {
        static_cast<void>(pack());
        return floats_;
    }
    const quantized_type& packed() const { return int8_; }

    /// Ranges, for files: 7 numbers a qparams_id. What is learned is in values().
    std::vector<float> range_state() const {
        std::vector<float> state;
        for (const detail::range_slot& slot : slots_)
            for (const float value :
                 {slot.has_begun ? 1.0f : 0.0f, slot.average.min.value, slot.average.min.first, slot.average.max.value,
                  slot.average.max.first, slot.chosen.scale, slot.chosen.zero_point})
                state.push_back(value);
        return state;
    }
    void set_range_state(std::span<const float> state) {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            detail::range_slot& slot = slots_[id];
            const float* from = state.data() + 7 * id;
            slot.has_begun = from[0] != 0;
            slot.average.min = {from[1], from[2]};
            slot.average.max = {from[3], from[4]};
            slot.chosen = {from[5], from[6]};
            if (slot.is_used && slot.has_begun && !slot.follows && !slot.is_learned)
                floats_.given().give_range(static_cast<int>(id),
                                           {slot.chosen.scale, static_cast<std::int32_t>(slot.chosen.zero_point)});
        }
        begin_values();
    }
    static std::string training_signature() { return detail::signature_of_stage<quantized_stage_type>(0); }

private:
    static constexpr std::size_t parameter_floats() {
        return static_cast<std::size_t>(prepared_type::parameter_bytes) / sizeof(float);
    }
    static std::size_t size_of_array(const detail::coded_weights& weights) {
        const parameter_list list = parameters_of(float_table.view(weights.row));
        return static_cast<std::size_t>(list.arrays[weights.array].size());
    }
    static constexpr const auto& float_table = prepared_stage_type::table;
    static constexpr const auto& coded_table = quantized_stage_type::table;

    /// Which ranges codes are made of, and how training treats them.
    void find_slots() {
        slots_.resize(static_cast<std::size_t>(float_table.qparams_count));
        learned_at_.resize(slots_.size());
        activation_factors_.resize(slots_.size(), 1.0f);
        const auto use = [&](int id) { slots_[static_cast<std::size_t>(id)].is_used = true; };
        for (int r = 0; r != coded_table.size; ++r) {
            const node& n = coded_table.nodes[r];
            if (!n.out.is_codes()) continue;
            use(n.out.qparams_id);
            if (n.from.lut >= 0) use(n.fused.lut_qparams_id);
        }
        bool is_observed[static_cast<std::size_t>(float_table.qparams_count) + 1]{};
        for (int i = 0; i != float_table.size; ++i) {
            const node& n = float_table.nodes[i];
            if (!n.flags.observed || n.out.qparams_id < 0 || has_known_range(n)) continue;
            const auto id = static_cast<std::size_t>(n.out.qparams_id);
            is_observed[id] = true;
            activation_factors_[id] = 1;
            sizes_of_ranges_.resize(slots_.size());
            sizes_of_ranges_[id] = static_cast<std::size_t>(n.out.extents.size());
        }
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            detail::range_slot& slot = slots_[id];
            slot.is_used = slot.is_used && is_observed[id];
            if (!slot.is_used) continue;
            floats_.observers().visit(static_cast<int>(id), [&](const auto& watched) {
                using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
                using observer = typename quantizer::observer_type;
                if constexpr (requires { observer::is_learned; }) {
                    slot.is_learned = true;
                    slot.has_offset = !quantizer::qscheme::is_symmetric;
                    const code_bounds bounds = bounds_of<typename quantizer::dtype>;
                    activation_factors_[id] = gradient_factor(gradient_scaling::lsq, sizes_of_ranges_[id], bounds);
                } else if constexpr (requires { observer::averaging_constant; }) {
                    slot.follows = true;
                    slot.averaging_constant = static_cast<float>(observer::averaging_constant);
                }
            });
        }
    }
    void begin_slot(int id) {
        detail::range_slot& slot = slots_[static_cast<std::size_t>(id)];
        if (!slot.is_used) return;
        const std::string where = display_name(prepared_type::rows(), observer_set<prepared_stage_type>::reporter(id));
        floats_.observers().visit(id, [&](const auto& watched) {
            using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
            using dtype = typename quantizer::dtype;
            const qparams* given = floats_.given().range_of(id);
            const qparams chosen =
                given != nullptr
                    ? *given
                    : watched.observer
                          .template calculate_qparams<dtype, typename quantizer::qscheme, typename quantizer::rule>(
                              where)
                          .front();
            slot.chosen = {chosen.scale, static_cast<float>(chosen.zero_point)};
            const observed_range range = given == nullptr ? watched.observer.range()
                                                          : observed_range{dequantize(dtype::quant_min, chosen),
                                                                           dequantize(dtype::quant_max, chosen)};
            if (slot.follows) slot.average.add(range.min, range.max, true, slot.averaging_constant);
            slot.has_begun = true;
            if (!slot.follows && !slot.is_learned) floats_.given().give_range(id, chosen);
        });
    }
    void begin_values() {
        begin_scales();
        parts_.clear();
        find_parts();
        has_ranges_ = true;
    }
    /// The values behind the parameters: of each learned range its scale, and its zero point where it has one; then scales of weights.
    void begin_scales() {
        values_.resize(parameter_floats());
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            if (!slots_[id].is_used || !slots_[id].is_learned) continue;
            learned_at_[id] = values_.size();
            values_.push_back(slots_[id].chosen.scale);
            if (slots_[id].has_offset) values_.push_back(slots_[id].chosen.zero_point);
        }
        scales_.clear();
        coded_.clear();
        give();
        make_codes([&](int r, const node_parameters& all) { find_coded_weights(r, all); });
        for (detail::scale_slot& slot : scales_) slot.at = values_.size(), append_scales(slot);
    }
    void append_scales(detail::scale_slot& slot) {
        for (const detail::coded_weights& weights : coded_)
            if (weights.row == slot.row && weights.array == slot.array)
                for (std::size_t c = 0; c != slot.count; ++c) {
                    values_.push_back(weights.channels[c].scale);
                    slot.zero_points.push_back(weights.channels[c].zero_point);
                }
    }
    /// Hands to convert what training has chosen.
    void give() {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            const detail::range_slot& slot = slots_[id];
            if (!slot.is_used || !slot.has_begun || !(slot.follows || slot.is_learned)) continue;
            const std::string where =
                display_name(prepared_type::rows(), observer_set<prepared_stage_type>::reporter(static_cast<int>(id)));
            floats_.observers().visit(static_cast<int>(id), [&](const auto& watched) {
                using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
                using dtype = typename quantizer::dtype;
                if (slot.is_learned) {
                    learned_qparams now = slot.chosen;
                    if (learned_at_[id] != 0 && learned_at_[id] < values_.size()) {
                        now.scale = values_[learned_at_[id]];
                        if (slot.has_offset) now.zero_point = values_[learned_at_[id] + 1];
                    }
                    floats_.given().give_range(static_cast<int>(id), to_qparams(now, bounds_of<dtype>));
                    return;
                }
                const observed_range range = slot.average.values();
                floats_.given().give_range(
                    static_cast<int>(id),
                    choose_observed_qparams<dtype, typename quantizer::qscheme, typename quantizer::rule>(
                        range.min, range.max, where));
            });
        }
        for (const detail::scale_slot& slot : scales_) {
            std::vector<qparams> channels(slot.count);
            for (std::size_t c = 0; c != slot.count; ++c)
                channels[c] = {std::max(values_[slot.at + c], smallest_learned_scale), slot.zero_points[c]};
            floats_.given().give_weights(slot.row, slot.array, std::move(channels));
        }
    }

    // ---- weights ----

    /// Codes of what the float network has now. visit(row of the int8 network, its parameters) for rows that have some.
    template <class Visit> void make_codes(const Visit& visit) {
        conversion_notes notes;
        detail::converter<prepared_type, quantized_type>(floats_, int8_, notes)
            .run([&](int r, const node_parameters& all) {
                if (parameters_of(coded_table.view(r)).count != 0) visit(r, all);
            });
    }
    void take_meaning(int r, const node_parameters& all) {
        const node_view v = coded_table.view(r);
        const node_view from = float_table.view(v.n.from.self);
        const bool has_range = v.n.input_count != 0 && v.x_type().is_codes();
        const float x_scale = has_range ? int8_.ranges()[v.x_type().qparams_id].scale : 1.0f;
        const qparams y = v.n.out.is_codes() ? int8_.ranges()[v.n.out.qparams_id] : qparams{};
        floats_of_parameters<Arch>(v, from, all, x_scale, y,
                                   reinterpret_cast<float*>(meant_.data() + from.n.at.parameter_offset));
        std::size_t matrices = 0;
        for_each_coded_array(v, [&](int array, const coded_array&) {
            const quantized_weights& weights = all.matrices[matrices++];
            for (detail::coded_weights& known : coded_)
                if (known.row == v.n.from.self && known.array == array) known.channels = channels_of(weights);
        });
    }
    template <class Visit> static void for_each_coded_array(const node_view& v, Visit visit) {
        const parameter_list list = parameters_of(v);
        for (int i = 0; i != list.count; ++i) {
            const coded_array coding = coding_of(v, list.arrays[i]);
            if (!coding.is_float()) visit(i, coding);
        }
    }
    static std::vector<qparams> channels_of(const quantized_weights& weights) {
        std::vector<qparams> channels(weights.scales.size());
        for (std::size_t c = 0; c != channels.size(); ++c)
            channels[c] = {weights.scales[c], weights.zero_points.empty() ? 0 : weights.zero_points[c]};
        return channels;
    }
    /// The arrays of a row that are codes, and whether their scales are learned.
    void find_coded_weights(int r, const node_parameters& all) {
        const node_view v = coded_table.view(r);
        const node_view from = float_table.view(v.n.from.self);
        const parameter_list list = parameters_of(from);
        std::size_t matrices = 0;
        for_each_coded_array(v, [&](int array, const coded_array& coding) {
            const quantized_weights& weights = all.matrices[matrices++];
            if (weights.scales.empty() || coding.has_offsets || coding.has_groups) return;
            detail::coded_weights found;
            found.row = v.n.from.self;
            found.array = array;
            found.offset = static_cast<std::size_t>(from.n.at.parameter_offset) / sizeof(float) +
                           static_cast<std::size_t>(list.offset_of(array));
            found.layout = layout_of_scales(list.arrays[array], weights.scales.size());
            found.channels = channels_of(weights);
            found.bounds = {coding.quant_min, coding.quant_max};
            if (learns_weights(v.n) && list.arrays[array].role == parameter_role::filters) {
                found.scales = static_cast<int>(scales_.size());
                scales_.push_back({found.row, array, 0, found.channels.size(), {}});
            }
            coded_.push_back(std::move(found));
        });
    }
    static bool learns_weights(const node& n) {
        using entries = typename prepared_stage_type::entries;
        bool learns = false;
        const auto one = [&]<class Entry>(std::type_identity<Entry>, int entry) {
            if constexpr (requires { Entry::weight::observer_type::is_learned; })
                learns = learns || (entry == n.config && n.out.is_codes());
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (one(std::type_identity<typename entries::template entry<static_cast<int>(I)>>{}, static_cast<int>(I)),
             ...);
        }
        (std::make_index_sequence<static_cast<std::size_t>(entries::count)>{});
        return learns;
    }
    void mask_gradient(const detail::coded_weights& weights, std::span<const float> w, std::span<float> g) {
        mask_.resize(w.size());
        for_each_run(w.size(), weights.channels.size(), weights.channels.size() == 1 ? 1 : weights.layout.inner,
                     [&](std::size_t first, std::size_t count, std::size_t c) {
                         const qparams& by = weights.channels[c];
                         kernel::fake_quantize<Arch>(
                             w.data() + first, count,
                             {by.scale, by.zero_point, weights.bounds.quant_min, weights.bounds.quant_max}, nullptr,
                             mask_.data() + first);
                     });
        kernel::fake_quantize_backward<Arch>(g.data(), mask_.data(), g.size(), g.data());
    }

    /// The arrays for the optimizer.
    void find_parts() {
        detail::append_parts_of_parameters<prepared_stage_type>(parts_);
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            if (!slots_[id].is_used || !slots_[id].is_learned) continue;
            const std::string name =
                display_name(prepared_type::rows(), observer_set<prepared_stage_type>::reporter(static_cast<int>(id)));
            parts_.push_back({name + ".scale", learned_at_[id], 1, parameter_group::scales, smallest_learned_scale});
            if (slots_[id].has_offset)
                parts_.push_back({name + ".zero_point", learned_at_[id] + 1, 1, parameter_group::scales});
        }
        for (const detail::scale_slot& slot : scales_)
            parts_.push_back({display_name(prepared_type::rows(), slot.row) + ".weight_scale", slot.at, slot.count,
                              parameter_group::scales, smallest_learned_scale});
    }

    prepared_type floats_;
    quantized_type int8_;
    std::vector<float> values_;
    aligned_buffer meant_;
    std::vector<detail::range_slot> slots_;
    std::vector<std::size_t> learned_at_, sizes_of_ranges_;
    std::vector<float> activation_factors_;
    std::vector<detail::scale_slot> scales_;
    std::vector<detail::coded_weights> coded_;
    std::vector<trained_part> parts_;
    std::vector<std::uint8_t> mask_;
    bool has_ranges_ = false;
};

/// A network to train as the int8 one that QConfig makes of it, from a float one with its batch norms folded. Ranges are known from
/// the first batch on. Next: zp::train(qat, data, options).
template <class QConfig, class Net, class Arch>
fake_quantized<Net, QConfig, Arch> prepare_qat(const fused<Net, Arch>& floats) {
    return fake_quantized<Net, QConfig, Arch>(prepare<QConfig>(floats));
}
template <class QConfig, class Net, class Arch>
fake_quantized<Net, QConfig, Arch> prepare_qat(const float_model<Net, Arch>& trained) {
    return prepare_qat<QConfig>(fuse(trained));
}
/// The same with the ranges of a calibration: the better beginning.
template <class Net, class Config, class Arch>
fake_quantized<Net, Config, Arch> prepare_qat(const calibrated<Net, Config, Arch>& observed) {
    return fake_quantized<Net, Config, Arch>(observed);
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

}  // namespace v0
}  // namespace zp
