// SPDX-License-Identifier: BSD-3-Clause
// Weights in training: the codes that are made of them at each step, what those mean, and which of their scales are trained.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/training/coded_parameters.hpp>
#include <zeropoint/training/folded_norms.hpp>
#include <zeropoint/training/learned_step.hpp>
#include <zeropoint/training/trained_part.hpp>
#include <zeropoint/workflow/convert.hpp>

namespace zp::inline v0::detail {

/// An array of weights that are codes.
struct coded_weights {
    int row = 0, array = 0;             // of the prepared network
    std::size_t offset = 0, count = 0;  // in floats, of the parameters
    scale_layout layout;
    std::vector<qparams> channels;
    code_bounds bounds;
    // Scales that are trained.
    bool is_learned = false;
    std::size_t scales_at = 0;  // among all values, as many as channels
    std::vector<std::int32_t> zero_points;
};

/// Those of a prepared network of which `Quantized` is the int8 one. With a batch norm behind the weights all here is about the folded
/// ones, but for the learned scale of a channel, which is that of the weights as they are trained: times |f| it is the folded ones'.
template <class Prepared, class Quantized> class trained_weights {
    using stage = typename Prepared::stage;
    using arch = typename stage::architecture;
    static constexpr const auto& float_table = stage::table;
    static constexpr const auto& coded_table = Quantized::stage::table;

public:
    /// Codes of what the float network has now. visit(row of the int8 network, its parameters) for rows that have some.
    template <class Visit> static void make_codes(const Prepared& floats, Quantized& int8, const Visit& visit) {
        conversion_notes notes;
        convert_rows(floats, int8, notes, [&](int r, const node_parameters& all) {
            if (parameters_of(coded_table.view(r)).count != 0) visit(r, all);
        });
    }
    /// Finds the arrays, and appends first values of scales that are learned.
    void begin(const Prepared& floats, Quantized& int8, const folded_norms& norms, std::vector<float>& values) {
        all_.clear();
        make_codes(floats, int8, [&](int r, const node_parameters& parameters) { find(r, parameters); });
        for (coded_weights& weights : all_) {
            if (!weights.is_learned) continue;
            weights.scales_at = values.size();
            const std::vector<float> sizes = sizes_of_factors(weights, norms, values.data());
            for (std::size_t c = 0; c != weights.channels.size(); ++c) {
                values.push_back(weights.channels[c].scale / sizes[c]);
                weights.zero_points.push_back(weights.channels[c].zero_point);
            }
        }
    }
    void append_parts(std::vector<trained_part>& parts) const {
        for (const coded_weights& weights : all_)
            if (weights.is_learned)
                parts.push_back({display_name(Prepared::rows(), weights.row) + ".weight_scale", weights.scales_at,
                                 weights.channels.size(), parameter_group::scales, smallest_learned_scale});
    }
    /// Hands learned scales to convert.
    void give(Prepared& floats, const folded_norms& norms, const float* values) const {
        for (const coded_weights& weights : all_) {
            if (!weights.is_learned) continue;
            const std::vector<float> sizes = sizes_of_factors(weights, norms, values);
            std::vector<qparams> channels(weights.channels.size());
            for (std::size_t c = 0; c != channels.size(); ++c)
                channels[c] = {std::max(values[weights.scales_at + c] * sizes[c], smallest_learned_scale),
                               weights.zero_points[c]};
            floats.given().give_weights(weights.row, weights.array, std::move(channels));
        }
    }
    /// Writes what the codes of all rows mean to `meant`, the places of the prepared network's parameters.
    void make(const Prepared& floats, Quantized& int8, std::byte* meant) {
        make_codes(floats, int8, [&](int r, const node_parameters& parameters) { take(r, parameters, int8, meant); });
    }
    /// From the gradient by what codes mean to that by the folded weights `folded`: stopped where codes were clamped; and of learned
    /// scales.
    void finish_gradient(const float* folded, const folded_norms& norms, const float* values,
                         std::span<float> gradient) {
        for (const coded_weights& weights : all_) {
            const std::span<const float> w(folded + weights.offset, weights.count);
            const std::span<float> g = gradient.subspan(weights.offset, weights.count);
            if (!weights.is_learned) {
                mask_gradient(weights, w, g);
                continue;
            }
            const std::size_t count = weights.channels.size();
            const std::span<float> scales = gradient.subspan(weights.scales_at, count);
            learned_step_backward<arch>(w, g, weights.channels, count == 1 ? 1 : weights.layout.inner, weights.bounds,
                                        gradient_factor(gradient_scaling::lsq, w.size(), weights.bounds), g, scales);
            const std::vector<float> sizes = sizes_of_factors(weights, norms, values);
            for (std::size_t c = 0; c != count; ++c) scales[c] *= sizes[c];
        }
    }

private:
    /// |f| of each scale's channel; 1 where no norm is folded, where it is 0, and for one scale of all channels.
    static std::vector<float> sizes_of_factors(const coded_weights& weights, const folded_norms& norms,
                                               const float* values) {
        std::vector<float> sizes(weights.channels.size(), 1.0f);
        const folded_norm* norm = norms.behind(weights.row);
        if (norm == nullptr || sizes.size() != norm->channels) return sizes;
        sizes = folded_norms::factors(*norm, values);
        for (float& f : sizes) f = f == 0 ? 1.0f : std::fabs(f);
        return sizes;
    }
    void take(int r, const node_parameters& all, const Quantized& int8, std::byte* meant) {
        const node_view v = coded_table.view(r);
        const node_view from = float_table.view(v.n.from.self);
        const bool has_range = v.n.input_count != 0 && v.x_type().is_codes();
        const float x_scale = has_range ? int8.ranges()[v.x_type().qparams_id].scale : 1.0f;
        const qparams y = v.n.out.is_codes() ? int8.ranges()[v.n.out.qparams_id] : qparams{};
        floats_of_parameters<arch>(v, from, all, x_scale, y,
                                   reinterpret_cast<float*>(meant + from.n.at.parameter_offset));
        std::size_t matrices = 0;
        for_each_coded_array(v, [&](int array, const coded_array&) {
            const quantized_weights& weights = all.matrices[matrices++];
            for (coded_weights& known : all_)
                if (known.row == v.n.from.self && known.array == array) set_channels(known, weights);
        });
    }
    template <class Visit> static void for_each_coded_array(const node_view& v, Visit visit) {
        const parameter_list list = parameters_of(v);
        for (int i = 0; i != list.count; ++i) {
            const coded_array coding = coding_of(v, list.arrays[i]);
            if (!coding.is_float()) visit(i, coding);
        }
    }
    static void set_channels(coded_weights& known, const quantized_weights& weights) {
        known.channels.resize(weights.scales.size());
        for (std::size_t c = 0; c != known.channels.size(); ++c)
            known.channels[c] = {weights.scales[c], weights.zero_points.empty() ? 0 : weights.zero_points[c]};
    }
    /// The arrays of a row that are codes, and whether their scales are learned.
    void find(int r, const node_parameters& all) {
        const node_view v = coded_table.view(r);
        const node_view from = float_table.view(v.n.from.self);
        const parameter_list list = parameters_of(from);
        std::size_t matrices = 0;
        for_each_coded_array(v, [&](int array, const coded_array& coding) {
            const quantized_weights& weights = all.matrices[matrices++];
            if (weights.scales.empty() || coding.has_offsets || coding.has_groups) return;
            coded_weights found;
            found.row = v.n.from.self;
            found.array = array;
            found.offset = static_cast<std::size_t>(from.n.at.parameter_offset) / sizeof(float) +
                           static_cast<std::size_t>(list.offset_of(array));
            found.count = static_cast<std::size_t>(list.arrays[array].size());
            found.layout = layout_of_scales(list.arrays[array], weights.scales.size());
            set_channels(found, weights);
            found.bounds = {coding.quant_min, coding.quant_max};
            found.is_learned = learns_weights(v.n) && list.arrays[array].role == parameter_role::filters;
            all_.push_back(std::move(found));
        });
    }
    static bool learns_weights(const node& n) {
        using entries = typename stage::entries;
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
    static void mask_gradient(const coded_weights& weights, std::span<const float> w, std::span<float> g) {
        for_each_run(w.size(), weights.channels.size(), weights.channels.size() == 1 ? 1 : weights.layout.inner,
                     [&](std::size_t first, std::size_t count, std::size_t c) {
                         const qparams& by = weights.channels[c];
                         kernel::pass_inside<arch>(
                             w.data() + first, g.data() + first, count,
                             {by.scale, by.zero_point, weights.bounds.quant_min, weights.bounds.quant_max},
                             g.data() + first);
                     });
    }

    std::vector<coded_weights> all_;
};

}  // namespace zp::inline v0::detail
