// SPDX-License-Identifier: BSD-3-Clause
// streaming: a model over a sequence, run one step at a time, with the numbers that the whole sequence gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/stream_window.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/stages.hpp>
#include <zeropoint/pass/stream.hpp>

namespace zp {
inline namespace v0 {
namespace detail {
inline constexpr window_operator stream_window{&info_of<operators::stream_window, op::window>,
                                               &keyed_rules_of<operators::stream_window>};

template <class Stage> struct streamed_nodes {
    static constexpr auto wide = stream_nodes<2 * Stage::loose.size>(Stage::loose, stream_window);
    static constexpr auto loose = [] {
        auto g = shrink<wide.size>(wide);
        if (g.error.broken != rule::none) return g;
        pack_float_rows(g);
        return choose_algorithms<typename Stage::architecture>(g, [](const node& n) { return n.by.policy; });
    }();
    static constexpr const auto& table = loose;  // what the verdict looks at
};
}  // namespace detail

namespace detail {
/// What files and images of a stage are signed with, where it has such.
template <class Stage> struct signed_as {};
template <class Stage>
    requires requires { Stage::arithmetic; }
struct signed_as<Stage> {
    using config = typename Stage::config;
    static constexpr const char* arithmetic = Stage::arithmetic;
};
}  // namespace detail

/// One step of a float, dynamically quantized or int8 stage.
template <class Stage> struct streaming_nodes : detail::signed_as<Stage> {
    using net = typename Stage::net;
    using architecture = typename Stage::architecture;
    using policies = typename Stage::policies;
    static_assert(sizeof(verdict_behind<source<net>, detail::streamed_nodes<Stage>>) != 0);
    static constexpr auto loose = detail::streamed_nodes<Stage>::loose;
    /// Of small steps, calls through pointers and reading of nodes cost as much as all else.
    static constexpr bool runs_inlined = [] {
        std::int64_t macs = 0;
        for (int i = 0; i != loose.size; ++i) macs += macs_of(loose.view(i));
        return loose.size <= 64 && macs <= 32768;
    }();
    template <int N> static constexpr void place(graph<N>& g) { place_kept(g); }
};

namespace detail {
/// What a sequence leaves in the memory of a step's network, begun anew.
template <class Network> void begin_sequence(const Network& network, std::byte* memory) noexcept {
    for (const node& n : Network::rows()) {
        if (!n.flags.keeps_state) continue;
        std::byte* states = memory + n.at.state_offset;
        std::memset(states, 0, static_cast<std::size_t>(n.at.state_bytes));
        if (n.op != stream_window.op || n.is_float()) continue;
        const node_view v{Network::rows().data(), n};
        const state_list list = states_of(v);
        constexpr int ring = operators::stream_window::ring;
        std::memset(states + list.offset_of(ring), network.ranges()[n.out.qparams_id].zero_point,
                    static_cast<std::size_t>(list.bytes() - list.offset_of(ring)));
    }
}
}  // namespace detail

/// A model over a sequence of 1 x steps x features, one step at a time: `Network` is a float_model, a fused, a
/// dynamically_quantized or a quantized one. Before the first step there are zeros, as the model's padding has them.
///
///     zp::streaming<zp::quantized<keywords, my_qconfig>> stream(model);
///     stream(features, scores);                     // of one step; nothing is allocated
///
/// A step gives what the whole sequence gives at its place: int8 networks to the last bit, float rows but for the order of
/// their sums. Layers must look back only: conv1d of stride 1 behind a zero_pad2d on the left of (kernel - 1) * dilation,
/// recurrent layers and stacks of them that go forward, and layers that see one step at a time; others are errors of one sentence. It
/// keeps parameters of its own.
template <class Network> class streaming {
    using source_stage = typename Network::stage;
    using stage_type = stage<streaming_nodes<source_stage>>;

public:
    /// The network that a step runs.
    using network_type = network<stage_type>;
    static constexpr shape input_shape = network_type::input_shape, output_shape = network_type::output_shape;

    explicit streaming(const Network& model) {
        for (int id = 0; id != stage_type::table.qparams_count; ++id) network_.ranges()[id] = model.ranges()[id];
        for (int i = 0; i != stage_type::table.size; ++i)
            if (stage_type::table.nodes[i].at.parameter_bytes != 0) copy_parameters(model, i);
        reset();
    }

    /// Begins a sequence anew.
    void reset() noexcept { detail::begin_sequence(network_, memory_.bytes); }

    /// One step: x has the features, y the outputs; contiguous ranges of floats, checked as a network's.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y) noexcept(
        noexcept(std::declval<const network_type&>()(x, y, std::declval<typename network_type::workspace&>()))) {
        network_(x, y, memory_);
    }

    /// The network of one step, for tables.
    const network_type& step_network() const noexcept { return network_; }

private:
    /// Packed anew: other extents may take another algorithm.
    void copy_parameters(const Network& model, int i) {
        const node_view v = stage_type::table.view(i), from = source_stage::table.view(v.n.from.self);
        const auto at = static_cast<std::size_t>(v.n.from.self);
        // Only read: a preparation is for both ways.
        auto* block = const_cast<std::byte*>(model.parameters()) + from.n.at.parameter_offset;
        const node_parameters parameters = source_stage::unpacks[at]({from, model.ranges(), block});
        stage_type::packs[static_cast<std::size_t>(i)](
            {v, network_.ranges(), network_.parameters() + v.n.at.parameter_offset}, parameters);
    }

    network_type network_;
    typename network_type::workspace memory_;
};
/// Of what is no network: says so, and nothing else fails.
template <class Network>
    requires(!requires { typename Network::stage; })
class streaming<Network> {
    static_assert(sizeof(Network) == 0,
                  "streaming<Network>: Network must be a network of the model, such as zp::float_model<Net>, "
                  "zp::quantized<Net, QConfig> or zp::dynamically_quantized<Net>");

public:
    explicit streaming(const auto&) {}
    void reset() noexcept {}
    void operator()(const auto&, auto&&) noexcept {}
};

template <class Model> class in_place;

/// The same from a packed image of the step's network, zp::save_packed_image(stream.step_network(), path), where that lies: in a
/// mapped_file, whose pages are read when they are used, or in flash.
///
///     const zp::mapped_file image("decoder.image");
///     zp::streaming<zp::in_place<network>> stream(image.bytes());
///     if (!stream) return stop(zp::text_of(stream.problem()));
template <class Network> class streaming<in_place<Network>> {
    using network_type = in_place<typename streaming<Network>::network_type>;

public:
    static constexpr shape input_shape = network_type::input_shape, output_shape = network_type::output_shape;

    /// The image outlives it, at a 64-byte boundary. Looks at its header alone.
    explicit streaming(std::span<const std::byte> image) noexcept : network_(image) {
        if (network_) reset();
    }
    auto problem() const noexcept { return network_.problem(); }
    /// Whether it can be called. A call without looking is undefined where there is a problem.
    explicit operator bool() const noexcept { return static_cast<bool>(network_); }

    /// Begins a sequence anew.
    void reset() noexcept { detail::begin_sequence(network_, memory_.bytes); }
    /// One step: see above.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y) noexcept(
        noexcept(std::declval<const network_type&>()(x, y, std::declval<typename network_type::workspace&>()))) {
        network_(x, y, memory_);
    }
    /// The network of one step, which says whether the image is intact.
    const network_type& step_network() const noexcept { return network_; }

private:
    network_type network_;
    typename network_type::workspace memory_;
};

}  // namespace v0
}  // namespace zp
