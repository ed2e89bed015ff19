// SPDX-License-Identifier: BSD-3-Clause
// streaming: a model over a sequence, run one step at a time, with the numbers that the whole sequence gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/running_stream.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp::inline v0 {
namespace detail {
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

/// One step of a float, dynamically quantized or int8 stage.
template <class Stage> struct streaming_nodes : detail::signed_as<Stage> {
    /// The stage that runs whole sequences. A row's provenance is the row there; what keeps positions has none.
    using streamed = Stage;
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

/// A model over a sequence of 1 x steps x features, one step at a time: `Network` is a float_model, a fused, a
/// dynamically_quantized or a quantized one. Before the first step there are zeros, as the model's padding has them.
///
///     zp::streaming<zp::quantized<keywords, my_qconfig>> stream(model);
///     stream(features, scores);                     // of one step; nothing is allocated
///
/// Where layers have strides a step takes several positions and gives one, or several where others have smaller ones: `input_shape` and
/// `output_shape` say how many. A step gives what the whole sequence gives at its place: int8 networks to the last bit, float
/// rows but for the order of their sums. Layers must look back only: a window of conv1d or a pool needs zeros in front, by its padding or
/// a zero_pad2d on the left, of (kernel - 1) * dilation + 1 - stride positions at least; conv_transpose1d takes padding 0; recurrent
/// layers and stacks of them go forward; others see one position at a time. Anything else is an error of one sentence. It keeps
/// parameters of its own.
///
/// Large layers, such as those of a decoder, are computed by several threads in zp::streaming<Network, 4> and
/// `stream(features, scores, zp::executors::thread_pool(4))`; `Workers` is at least 1.
template <class Network, int Workers = 1>
class streaming : public detail::running_stream<network<stage<streaming_nodes<typename Network::stage>>>, Workers> {
    using source_stage = typename Network::stage;
    using stage_type = stage<streaming_nodes<source_stage>>;
    using base = detail::running_stream<network<stage_type>, Workers>;
    using base::network_;

public:
    explicit streaming(const Network& model) {
        for (int id = 0; id != stage_type::table.qparams_count; ++id) network_.ranges()[id] = model.ranges()[id];
        for (int i = 0; i != stage_type::table.size; ++i)
            if (stage_type::table.nodes[i].at.parameter_bytes != 0) copy_parameters(model, i);
        base::reset();
    }

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
};
/// Of what is no network: says so, and nothing else fails.
template <class Network, int Workers>
    requires(!requires { typename Network::stage; })
class streaming<Network, Workers> {
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
template <class Network, int Workers>
class streaming<in_place<Network>, Workers>
    : public detail::placed_stream<in_place<typename streaming<Network>::network_type>, Workers> {
public:
    using detail::placed_stream<in_place<typename streaming<Network>::network_type>, Workers>::placed_stream;
};

}  // namespace zp::inline v0
