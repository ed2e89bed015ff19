// SPDX-License-Identifier: BSD-3-Clause
// What runs a network call by call and keeps what its layers leave to the next: zp::streaming and zp::stateful.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/model/executor.hpp>
#include <zeropoint/operators/stream_window.hpp>
#include <zeropoint/pass/stream.hpp>

namespace zp::inline v0 {
namespace detail {
/// What files and images of a stage are signed with, where it has such.
template <class Stage> struct signed_as {};
template <class Stage>
    requires requires { Stage::arithmetic; }
struct signed_as<Stage> {
    using config = typename Stage::config;
    static constexpr const char* arithmetic = Stage::arithmetic;
};

inline constexpr window_operator stream_window{&info_of<operators::stream_window, op::window>,
                                               &keyed_rules_of<operators::stream_window>};

/// Fills what a window keeps as it is before a sequence: zeros, and in front of these what a maximum does not see.
template <class T> void begin_window(const node& n, T zero, std::byte* positions) noexcept {
    const auto options = options_of<stream_window_options>(n);
    constexpr T least = [] {
        if constexpr (std::numeric_limits<T>::has_infinity) return -infinity;
        else return std::numeric_limits<T>::lowest();
    }();
    auto* values = reinterpret_cast<T*>(positions);
    const int lowest = options.lowest * n.out.extents.channels, all = options.history * n.out.extents.channels;
    for (int i = 0; i != all; ++i) values[i] = i < lowest ? least : zero;
}

template <class Network, int Workers> struct workspace_of {
    using type = typename Network::template workspace_for<Workers>;
};
template <class Network> struct workspace_of<Network, 1> { using type = typename Network::workspace; };
/// The memory that a step's network works in, and what it keeps from step to step: behind all that one call needs.
template <class Network, int Workers> class stream_memory {
    static constexpr auto& table = Network::stage::table;
    static constexpr int state_begin = [] {
        int begin = table.arena_bytes;
        for (int i = 0; i != table.size; ++i)
            if (const node& n = table.nodes[i]; n.flags.keeps_state && n.at.state_offset < begin)
                begin = n.at.state_offset;
        return begin;
    }();

public:
    static constexpr int state_bytes = table.arena_bytes - state_begin;

    void begin_sequence(const qparams* ranges) noexcept {
        for (const node& n : Network::rows()) {
            if (!n.flags.keeps_state) continue;
            std::byte* states = workspace.bytes + n.at.state_offset;
            std::memset(states, 0, static_cast<std::size_t>(n.at.state_bytes));
            if (n.op != stream_window.op) continue;
            if (n.is_float()) begin_window(n, 0.0f, states);
            else if (n.out.storage == scalar_type::int16) begin_window(n, std::int16_t{0}, states);
            else if (n.out.storage == scalar_type::int8)
                begin_window(n, static_cast<std::int8_t>(ranges[n.out.qparams_id].zero_point), states);
            else begin_window(n, static_cast<std::uint8_t>(ranges[n.out.qparams_id].zero_point), states);
        }
    }
    std::span<const std::byte, state_bytes> state() const noexcept {
        return std::span<const std::byte, state_bytes>(workspace.bytes + state_begin, state_bytes);
    }
    void restore(std::span<const std::byte, state_bytes> from) noexcept {
        std::memcpy(workspace.bytes + state_begin, from.data(), from.size());
    }

    typename workspace_of<Network, Workers>::type workspace;
};

/// A step's network with its memory, for calls by up to so many workers.
template <class Network, int Workers> class running_stream {
public:
    /// The network that a step runs.
    using network_type = Network;
    /// Of one step: 1 x positions x features. A step takes as many positions of the input as the strides of the model multiply to, and
    /// gives as many of the output as the whole sequence has for those: of a model of stride 1 one, and one.
    static constexpr shape input_shape = Network::input_shape, output_shape = Network::output_shape;
    /// What is kept from step to step.
    static constexpr int state_bytes = stream_memory<Network, Workers>::state_bytes;

    /// Begins a sequence anew.
    void reset() noexcept { memory_.begin_sequence(network_.ranges()); }

    /// One step: x has the features, y the outputs; contiguous ranges of floats, checked as a network's.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y) noexcept(
        noexcept(std::declval<const Network&>()(x, y, std::declval<typename Network::workspace&>()))) {
        if constexpr (Workers == 1) network_(x, y, memory_.workspace);
        else network_(x, y, memory_.workspace, executors::serial());
    }
    /// The same by the workers of an executor, of which `Workers` have memory: see model/executor.hpp. The same results.
    template <class Input, class Output, class Executor>
    void operator()(const Input& x, Output&& y, const Executor& executor) {
        static_assert(Workers > 1 || sizeof(Executor) == 0,
                      "stream(x, y, executor): the stream has memory for one worker; make it a "
                      "zp::streaming<Network, workers>");
        if constexpr (Workers > 1) network_(x, y, memory_.workspace, executor);
    }

    /// Where a sequence is, as bytes for restore(): `std::ranges::copy(stream.state(), kept.begin())`, kept being a
    /// std::array<std::byte, stream.state_bytes>.
    std::span<const std::byte, state_bytes> state() const noexcept { return memory_.state(); }
    /// Goes on where a stream was whose state() these bytes are, of the same type and parameters. Nothing looks at them: others are
    /// undefined.
    void restore(std::span<const std::byte, state_bytes> from) noexcept { memory_.restore(from); }

    /// The network of one step, for tables; of an image, it says whether that is intact.
    const network_type& step_network() const noexcept { return network_; }

protected:
    template <class... Arguments> explicit running_stream(const Arguments&... arguments) : network_(arguments...) {}

    network_type network_;
    stream_memory<Network, Workers> memory_;
};

/// The same from a packed image, where that lies.
template <class Placed, int Workers> class placed_stream : public running_stream<Placed, Workers> {
    using base = running_stream<Placed, Workers>;

public:
    /// The image outlives it, at a 64-byte boundary. Looks at its header alone.
    explicit placed_stream(std::span<const std::byte> image) noexcept : base(image) {
        if (base::network_) base::reset();
    }
    auto problem() const noexcept { return base::network_.problem(); }
    /// Whether it can be called. A call without looking is undefined where there is a problem.
    explicit operator bool() const noexcept { return static_cast<bool>(base::network_); }
};
}  // namespace detail

}  // namespace zp::inline v0
