// SPDX-License-Identifier: BSD-3-Clause
// The ranges of activations in training: which of them follow the batches, which are trained, and which stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/observe/fixed_range.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/training/block_runner.hpp>
#include <zeropoint/training/learned_step.hpp>
#include <zeropoint/training/trained_part.hpp>
#include <zeropoint/workflow/prepare.hpp>

namespace zp::inline v0::detail {

/// What training knows about the range of an activation. A slot is of one qparams_id.
struct range_slot {
    bool is_used = false;  // codes of it are made, and an observer chooses it
    bool is_learned = false, has_offset = false;
    bool follows = false;  // a moving average of what batches have
    float averaging_constant = 0;
    bool has_begun = false;
    moving_range average;
    learned_qparams chosen;      // where it does not follow: as calibrated, the first value of what is learned
    std::size_t learned_at = 0;  // among all trained values; 0: not yet
    float gradient_factor = 1;
    code_bounds bounds{};
    std::string name;
};

/// The slots of a prepared network of which `Quantized` is the int8 stage. `Prepared` is the network, `floats` below that one.
template <class Prepared, class Quantized> class trained_ranges {
    using stage = typename Prepared::stage;
    static constexpr const auto& float_table = stage::table;
    static constexpr const auto& coded_table = Quantized::table;

public:
    explicit trained_ranges(const Prepared& floats) : slots_(static_cast<std::size_t>(float_table.qparams_count)) {
        const auto use = [&](int id) { slots_[static_cast<std::size_t>(id)].is_used = true; };
        for (int r = 0; r != coded_table.size; ++r) {
            const node& n = coded_table.nodes[r];
            if (!n.out.is_codes()) continue;
            use(n.out.qparams_id);
            if (n.from.lut >= 0) use(n.fused.lut_qparams_id);
        }
        std::vector<std::size_t> sizes(slots_.size());  // of what is observed; 0 where nothing is
        for (int i = 0; i != float_table.size; ++i) {
            const node& n = float_table.nodes[i];
            if (n.flags.observed && n.out.qparams_id >= 0 && !has_known_range(n))
                sizes[static_cast<std::size_t>(n.out.qparams_id)] = static_cast<std::size_t>(n.out.extents.size());
        }
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            range_slot& slot = slots_[id];
            slot.is_used = slot.is_used && sizes[id] != 0;
            if (!slot.is_used) continue;
            slot.name = display_name(Prepared::rows(), observer_set<stage>::reporter(static_cast<int>(id)));
            floats.observers().visit(static_cast<int>(id), [&](const auto& watched) {
                using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
                using observer = typename quantizer::observer_type;
                slot.bounds = bounds_of<typename quantizer::dtype>;
                if constexpr (switches_of<observer>.learns) {
                    slot.is_learned = true;
                    slot.has_offset = !quantizer::qscheme::is_symmetric;
                    slot.gradient_factor = zp::gradient_factor(gradient_scaling::lsq, sizes[id], slot.bounds);
                } else if constexpr (switches_of<observer>.observes) {
                    slot.follows = true;
                    slot.averaging_constant = static_cast<float>(observer::averaging_constant);
                }
            });
        }
    }
    std::size_t size() const { return slots_.size(); }
    bool learns(int id) const { return trains(slots_[static_cast<std::size_t>(id)]); }

    /// Takes the ranges that `floats` has seen.
    void begin(Prepared& floats) {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            range_slot& slot = slots_[id];
            if (!slot.is_used) continue;
            floats.observers().visit(static_cast<int>(id), [&](const auto& watched) {
                using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
                using dtype = typename quantizer::dtype;
                using qscheme = typename quantizer::qscheme;
                const qparams* given = floats.given().range_of(static_cast<int>(id));
                const qparams chosen =
                    given != nullptr
                        ? *given
                        : watched.observer
                              .template calculate_qparams<dtype, qscheme, typename quantizer::rule>(slot.name)
                              .front();
                slot.chosen = {chosen.scale, static_cast<float>(chosen.zero_point)};
                const observed_range range = given == nullptr ? watched.observer.range()
                                                              : observed_range{dequantize(dtype::quant_min, chosen),
                                                                               dequantize(dtype::quant_max, chosen)};
                if (slot.follows) slot.average.add(range.min, range.max, true, slot.averaging_constant);
                slot.has_begun = true;
                if (!slot.follows && !slot.is_learned) floats.given().give_range(static_cast<int>(id), chosen);
            });
        }
    }
    /// Appends of each learned range its scale, and its zero point where it has one.
    void append_values(std::vector<float>& values) {
        for (range_slot& slot : slots_) {
            if (!trains(slot)) continue;
            slot.learned_at = values.size();
            values.push_back(slot.chosen.scale);
            if (slot.has_offset) values.push_back(slot.chosen.zero_point);
        }
    }
    void append_parts(std::vector<trained_part>& parts) const {
        for (const range_slot& slot : slots_) {
            if (!trains(slot)) continue;
            parts.push_back(
                {slot.name + ".scale", slot.learned_at, 1, parameter_group::scales, smallest_learned_scale});
            if (slot.has_offset)
                parts.push_back({slot.name + ".zero_point", slot.learned_at + 1, 1, parameter_group::scales});
        }
    }
    /// Hands to convert what training has chosen.
    void give(Prepared& floats, std::span<const float> values) const {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            const range_slot& slot = slots_[id];
            if (!slot.is_used || !slot.has_begun || !(slot.follows || slot.is_learned)) continue;
            floats.observers().visit(static_cast<int>(id), [&](const auto& watched) {
                using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
                using dtype = typename quantizer::dtype;
                if (slot.is_learned) {
                    learned_qparams now = slot.chosen;
                    if (slot.learned_at != 0 && slot.learned_at < values.size()) {
                        now.scale = values[slot.learned_at];
                        if (slot.has_offset) now.zero_point = values[slot.learned_at + 1];
                    }
                    floats.given().give_range(static_cast<int>(id), to_qparams(now, bounds_of<dtype>));
                    return;
                }
                const observed_range range = slot.average.values();
                floats.given().give_range(
                    static_cast<int>(id),
                    choose_observed_qparams<dtype, typename quantizer::qscheme, typename quantizer::rule>(
                        range.min, range.max, slot.name));
            });
        }
    }
    /// Follows what a batch had in front of rounding, by qparams_id; empty ranges were not seen.
    void follow(std::span<const observed_range> seen) {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            range_slot& slot = slots_[id];
            if (!slot.is_used || !slot.follows || seen[id].empty()) continue;
            slot.average.add(seen[id].min, seen[id].max, !slot.has_begun, slot.averaging_constant);
            slot.has_begun = true;
        }
    }
    /// The gradients of what is learned, in its places.
    void put_gradient(std::span<const range_gradient> of_ranges, std::span<float> gradient) const {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            const range_slot& slot = slots_[id];
            if (!trains(slot)) continue;
            gradient[slot.learned_at] = slot.gradient_factor * of_ranges[id].scale;
            if (slot.has_offset) gradient[slot.learned_at + 1] = slot.gradient_factor * of_ranges[id].zero_point;
        }
    }

    /// For files: 7 numbers a qparams_id. What is learned is among the values.
    std::vector<float> state() const {
        std::vector<float> state;
        for (const range_slot& slot : slots_)
            for (const float value :
                 {slot.has_begun ? 1.0f : 0.0f, slot.average.min.value, slot.average.min.first, slot.average.max.value,
                  slot.average.max.first, slot.chosen.scale, slot.chosen.zero_point})
                state.push_back(value);
        return state;
    }
    /// What no training comes to in such numbers, or nothing.
    std::string problem_of(std::span<const float> state) const {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            const range_slot& slot = slots_[id];
            const float* from = state.data() + 7 * id;
            const std::string place = " of range " + std::to_string(id);
            for (int i = 0; i != 7; ++i)
                if (!is_finite(from[i])) return number_text(from[i]) + place;
            if (from[0] != 0 && from[0] != 1) return "the mark " + number_text(from[0]) + place;
            if (!slot.is_used || from[0] == 0) continue;
            if (!(from[5] > 0)) return "the scale " + number_text(from[5]) + place;
            if (from[6] < static_cast<float>(slot.bounds.quant_min) ||
                from[6] > static_cast<float>(slot.bounds.quant_max))
                return "the zero point " + number_text(from[6]) + place;
        }
        return {};
    }
    void set_state(Prepared& floats, std::span<const float> state) {
        for (std::size_t id = 0; id != slots_.size(); ++id) {
            range_slot& slot = slots_[id];
            const float* from = state.data() + 7 * id;
            slot.has_begun = from[0] != 0;
            slot.average.min = {from[1], from[2]};
            slot.average.max = {from[3], from[4]};
            slot.chosen = {from[5], from[6]};
            if (slot.is_used && slot.has_begun && !slot.follows && !slot.is_learned)
                floats.given().give_range(static_cast<int>(id),
                                          {slot.chosen.scale, static_cast<std::int32_t>(slot.chosen.zero_point)});
        }
    }

private:
    static bool trains(const range_slot& slot) { return slot.is_used && slot.is_learned; }

    std::vector<range_slot> slots_;
};

}  // namespace zp::inline v0::detail
