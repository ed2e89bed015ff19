// SPDX-License-Identifier: BSD-3-Clause
// calibrate_sequences: calibrate, of a network whose states go on from one input to the next, as zp::stateful runs it.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/stateful.hpp>

namespace zp::inline v0 {
namespace detail {

/// A prepared network that goes on from input to input: what observe_batch takes for one.
template <class Prepared> class prepared_sequence {
    using running = zp::stage<stateful_nodes<typename Prepared::stage>>;

public:
    using stage = typename Prepared::stage;
    static constexpr bool takes_indices = Prepared::takes_indices;
    static constexpr auto inputs() { return Prepared::inputs(); }
    static constexpr auto rows() { return Prepared::rows(); }

    explicit prepared_sequence(Prepared& network)
        : network_(network), memory_(Prepared::template memory_bytes_of<running>()) {}
    void begin() {
        for (const node& n : running::table)
            if (n.flags.keeps_state)
                std::memset(memory_.data() + n.at.state_offset, 0, static_cast<std::size_t>(n.at.state_bytes));
    }
    void observe(const void* const* xs) {
        network_.template observe_as<running>(xs, memory_.data(), network_.samples() + 1,
                                              [](int, const auto& see) { see(); });
    }

private:
    Prepared& network_;
    aligned_buffer memory_;
};

}  // namespace detail

/// Observes sequences: each element of `sequences` is what a batch of zp::calibrate is, and holds the inputs of one sequence in their
/// order, such as the frames of a recording. States go on from one input to the next, as in zp::stateful, and begin with zeros in each
/// sequence. `progress(calibration_progress)` is called after each, counting sequences as batches. Call it again on the result to go on.
template <class Net, class Config, class Arch, class Sequences, class Progress = void (*)(const calibration_progress&)>
calibrated<Net, Config, Arch> calibrate_sequences(
    prepared<Net, Config, Arch> network, const Sequences& sequences,
    Progress progress = [](const calibration_progress&) {}) {
    detail::prepared_sequence<prepared<Net, Config, Arch>> running(network);
    detail::observe_batches(network, sequences, progress, [&](const auto& sequence) {
        running.begin();
        detail::observe_batch(running, sequence);
    });
    return calibrated<Net, Config, Arch>(std::move(network));
}

}  // namespace zp::inline v0
