// SPDX-License-Identifier: BSD-3-Clause
// All inputs of calibration data, one after another, through a float network whose rows are looked at.
#pragma once

#include <cstddef>
#include <vector>

#include <zeropoint/analysis/input_stream.hpp>

namespace zp::inline v0 {
namespace detail {

/// A stage as the checks of batches see it: without observers, where it has none, and so without codes that they would know.
struct no_entries {
    struct quantizer {
        struct observer_type {};
        struct dtype {
            using storage = void;
        };
    };
    template <int> struct entry { using activation = quantizer; };
};
template <class Stage> struct stage_of_batches : Stage { using entries = no_entries; };
template <class Stage>
    requires requires { typename Stage::entries; }
struct stage_of_batches<Stage> : Stage {};

}  // namespace detail

/// visit(xs), one pointer an input of the model, for each input of `images`, which are what zp::calibrate takes for a network of Stage, or inputs that it kept.
/// Gives how many there were; that of none is shape_error.
template <class Stage, class Batches, class Visit> std::size_t visit_inputs(const Batches& images, Visit visit) {
    std::size_t count = 0;
    if constexpr (are_kept_inputs<Batches>) {
        images.for_each(visit);
        count = images.size();
    } else {
        detail::for_each_input<detail::stage_of_batches<Stage>>(images, [&](const void* const* xs) {
            visit(xs);
            ++count;
        });
    }
    return count;
}

/// Runs inputs through a float network, with memory of its own.
template <class Network> class row_visitor {
public:
    explicit row_visitor(const Network& network)
        : network_(network), arena_(static_cast<std::size_t>(Network::arena_bytes) + 1) {
        for (const port& p : Network::outputs())
            outputs_.emplace_back(sizeof(float) * static_cast<std::size_t>(p.extents.size()));
        for (aligned_buffer& output : outputs_) ys_.push_back(output.data());
    }
    /// visit(row, values) behind every row.
    template <class Visit> void run(const void* const* xs, Visit visit) {
        network_.run(xs, ys_.data(), arena_.data(),
                     [&](int row, const void* values) { visit(row, static_cast<const float*>(values)); });
    }

private:
    const Network& network_;
    aligned_buffer arena_;
    std::vector<aligned_buffer> outputs_;
    std::vector<void*> ys_;
};

/// visit(row, values) of every row of a float network, for each input of `images`.
template <class Network, class Batches, class Visit>
void for_each_input(const Network& network, const Batches& images, Visit visit) {
    row_visitor<Network> runner(network);
    visit_inputs<typename Network::stage>(images, [&](const void* const* xs) { runner.run(xs, visit); });
}

}  // namespace zp::inline v0
