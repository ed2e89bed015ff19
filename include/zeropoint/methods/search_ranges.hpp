// SPDX-License-Identifier: BSD-3-Clause
// Ranges of activations chosen by what they do to the network's outputs, one after another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/analysis/sensitivity.hpp>
#include <zeropoint/methods/each_input.hpp>
#include <zeropoint/workflow/calibration_report.hpp>

// Observers choose a range by the values of one activation: all of them, or the least squared error, or the least divergence. Which of these
// is best differs from network to network, and nothing in the values says it; the outputs do.

namespace zp::inline v0 {

/// How zp::search_ranges works.
struct range_search_options {
    std::size_t inputs =
        256;  ///< of the data, evenly chosen: what outputs are compared over. Few do not show what clipping costs
    /// Which parts of the range that was seen are tried, beside what the observer says.
    std::vector<float> parts{1.0f, 0.85f, 0.7f, 0.5f, 0.3f, 0.15f, 0.08f};
    double least_gain = 0.5;  ///< in dB: what gains less is chance, and clips what other data have
};
/// What search_ranges found: means over inputs of 10 log10(signal / noise) of all outputs.
struct range_search {
    /// In dB: with the ranges that observers chose, with all that was seen, and with those that were found.
    double by_observers = 0, by_min_max = 0, after = 0;
    std::vector<std::string> changed;  // "conv1: 0 to 3.2, seen to 12"
};

namespace detail {

/// Some inputs of a calibrated network and what its float network gives for them.
template <class Net, class QConfig, class Arch> class output_comparison {
    using network_type = calibrated<Net, QConfig, Arch>;
    using simulation = simulated<Net, QConfig, Arch>;
    using outputs = output_buffers<simulation>;

public:
    /// `limit` of the inputs, evenly chosen.
    template <class Batches> output_comparison(const network_type& source, const Batches& images, std::size_t limit) {
        using stage = prepared_stage<Net, QConfig, Arch>;
        const std::size_t count = visit_inputs<stage>(images, [](const void*const*) {}),
                          step = std::max<std::size_t>(1, count / limit);
        simulation model = simulate(source);
        model.disable_all();
        std::size_t number = 0;
        visit_inputs<stage>(images, [&](const void* const* xs) {
            if (number++ % step != 0 || inputs_.size() == limit) return;
            auto& own = inputs_.emplace_back();
            for (std::size_t p = 0; p != simulation::inputs().size(); ++p) {
                const auto* x = static_cast<const std::byte*>(xs[p]);
                own.emplace_back(x, x + 4 * simulation::inputs()[p].extents.size());  // floats, or indices of 32 bits
            }
            model.run(xs, wanted_.emplace_back().pointers.data(), *memory_);
        });
    }
    /// Mean SQNR of the outputs in dB; rare inputs with huge values count as much as others. At most 100 dB an input.
    double quality_of(const network_type& network) {
        const simulation model = simulate(network);
        double sum = 0;
        for (std::size_t i = 0; i != inputs_.size(); ++i) {
            std::vector<const void*> xs;
            for (const auto& x : inputs_[i]) xs.push_back(x.data());
            model.run(xs.data(), made_.pointers.data(), *memory_);
            const double signal = wanted_[i].energy(), noise = wanted_[i].distance(made_);
            sum += noise > signal * 1e-10 ? 10 * std::log10(std::max(signal, 1e-30) / noise) : 100.0;
        }
        return sum / static_cast<double>(inputs_.size());
    }

private:
    std::unique_ptr<typename simulation::workspace> memory_ = std::make_unique<typename simulation::workspace>();
    std::vector<std::vector<std::vector<std::byte>>> inputs_;  // of each, those of its ports
    std::vector<outputs> wanted_;
    outputs made_;
};

/// Whether a quantized stage rounds to the grid of a qparams_id: not where a sum or a function took its place.
template <class Stage> bool has_codes_of(int qparams_id) {
    for (int i = 0; i != Stage::table.size; ++i) {
        const node& n = Stage::table.nodes[i];
        if (n.out.is_codes() &&
            (n.out.qparams_id == qparams_id || (n.from.lut >= 0 && n.fused.lut_qparams_id == qparams_id)))
            return true;
    }
    return false;
}
/// The range of an activation that is a part of what it had, and of nothing else.
template <class Calibrated>
std::optional<qparams> part_of_seen(const Calibrated& source, int qparams_id, float part, observed_range& seen) {
    std::optional<qparams> found;
    const int row = source.observers().reporter(qparams_id);
    seen = source.range_of_values(row);
    if (!(seen.min < seen.max)) return found;
    source.observers().visit(qparams_id, [&](const auto& watched) {
        using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
        found =
            choose_observed_qparams<typename quantizer::dtype, typename quantizer::qscheme, typename quantizer::rule>(
                part * seen.min, part * seen.max, display_name(source.rows(), row));
    });
    return found;
}

}  // namespace detail

/// The same calibrated network with ranges of activations for which the outputs over `images` are nearest to the float network's. It begins
/// with the observers' ranges, with those of all values or with the same part of these everywhere, whichever is best for the network, and
/// tries parts of what was seen for one activation after another; what does not gain is not taken. So the result is, over these data, at
/// least as near as either. `images` are what zp::calibrate takes. The cost is a conversion and `inputs` inferences for each activation and part.
template <class Net, class QConfig, class Arch, class Batches>
calibrated<Net, QConfig, Arch> search_ranges(calibrated<Net, QConfig, Arch> source, const Batches& images,
                                             const range_search_options& how = {}, range_search* report = nullptr) {
    using float_stage = prepared_stage<Net, QConfig, Arch>;
    if (how.inputs < 1) raise<value_error>("search_ranges: expected inputs above 0");
    for (const float part : how.parts)
        if (!(part > 0 && part <= 1)) raise<value_error>("search_ranges: expected parts above 0 and at most 1");
    source.kept().clear();  // else each conversion would choose anew
    detail::output_comparison<Net, QConfig, Arch> outputs(source, images, how.inputs);
    std::vector<int> ids;  // whose ranges observers choose, in order of execution
    for (int i = 0; i != float_stage::table.size; ++i) {
        const node& n = float_stage::table.nodes[i];
        if (n.flags.observed && !n.is_indices() && !n.op->is_output && !has_known_range(n) &&
            detail::has_codes_of<quantized_stage<Net, QConfig, Arch>>(n.out.qparams_id))
            ids.push_back(n.out.qparams_id);
    }
    // What observers say is searched once, not in each conversion.
    given_qparams given = source.given();
    std::vector<qparams> first;
    const auto int8 = convert(source);
    for (const int id : ids) source.given().give_range(id, first.emplace_back(int8.ranges()[id]));
    observed_range seen;
    calibrated<Net, QConfig, Arch> result = source, by_min_max = source;
    for (const int id : ids)
        if (const auto range = detail::part_of_seen(source, id, 1, seen)) by_min_max.given().give_range(id, *range);
    range_search done;
    done.by_observers = outputs.quality_of(source);
    done.by_min_max = outputs.quality_of(by_min_max);
    done.after = std::max(done.by_observers, done.by_min_max);
    if (done.by_min_max > done.by_observers) result = by_min_max;
    // Rare outliers widen all ranges together: one that is right gains little while the others are wrong.
    for (const float part : how.parts) {
        if (part == 1) continue;  // by_min_max
        calibrated<Net, QConfig, Arch> all = source;
        for (const int id : ids)
            if (const auto range = detail::part_of_seen(source, id, part, seen)) all.given().give_range(id, *range);
        const double quality = outputs.quality_of(all);
        if (!(quality > done.after + how.least_gain)) continue;
        done.after = quality;
        result = std::move(all);
    }
    for (const int id : ids) {
        std::vector<qparams> tried{*source.given().range_of(id), *by_min_max.given().range_of(id)};
        for (const float part : how.parts)
            if (const auto range = detail::part_of_seen(source, id, part, seen); range && part != 1)
                tried.push_back(*range);
        std::optional<qparams> best;
        double gained = 0;
        for (const qparams& range : tried) {
            if (range == *result.given().range_of(id)) continue;
            calibrated<Net, QConfig, Arch> other = result;
            other.given().give_range(id, range);
            const double quality = outputs.quality_of(other);
            if (!(quality > (best ? gained : done.after + how.least_gain))) continue;
            gained = quality;
            best = range;
        }
        if (!best) continue;
        done.after = gained;
        result.given().give_range(id, *best);
        done.changed.push_back(display_name(source.rows(), source.observers().reporter(id)) + ": scale " +
                               number_text(best->scale) + ", seen from " + number_text(seen.min) + " to " +
                               number_text(seen.max));
    }
    for (std::size_t i = 0; i != ids.size(); ++i)
        if (const qparams& chosen = *result.given().range_of(ids[i]); chosen != first[i])
            given.give_range(ids[i], chosen);
    result.given() = std::move(given);
    if (report != nullptr) *report = std::move(done);
    return result;
}

}  // namespace zp::inline v0
