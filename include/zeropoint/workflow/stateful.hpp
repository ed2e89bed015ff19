// SPDX-License-Identifier: BSD-3-Clause
// stateful: a network that is called with one part of a sequence after another, whose recurrent layers go on where the call before ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <zeropoint/workflow/running_stream.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp::inline v0 {
namespace detail {
template <class Stage> struct kept_rows {
    static constexpr auto loose = stateful_nodes_of(Stage::loose);
    static constexpr const auto& table = loose;  // what the verdict looks at
};
}  // namespace detail

/// A stage whose states are kept from call to call.
template <class Stage> struct stateful_nodes : detail::signed_as<Stage> {
    /// The stage whose states begin anew in each call. A row's provenance is the row there.
    using streamed = Stage;
    using net = typename Stage::net;
    using architecture = typename Stage::architecture;
    using policies = typename Stage::policies;
    static_assert(sizeof(verdict_behind<source<net>, detail::kept_rows<Stage>>) != 0);
    static constexpr auto loose = detail::kept_rows<Stage>::loose;
    template <int N> static constexpr void place(graph<N>& g) { place_kept(g); }
};

/// A network that sees a sequence part by part, such as frames of sound that go through convolutions into an LSTM: the states of its
/// recurrent layers, svdf layers and causal attention go on from call to call, as those of Keras's stateful layers do; all else sees the
/// part at hand alone. `Network` is a float_model, a fused, a dynamically_quantized or a quantized one; calibrate it with
/// zp::calibrate_sequences. It begins with states of zeros.
///
///     zp::stateful<zp::quantized<voice, my_qconfig>> stream(model);
///     stream(frame, probability);                   // nothing is allocated
///     stream.reset();                               // another recording
///
/// Where all layers look back only, zp::streaming (workflow/streaming.hpp) takes single steps instead, windows and all. Layers of both
/// directions are an error of one sentence, and so is a model without a state. It keeps parameters of its own. `Workers` is how many of
/// an executor a call may have: `stream(x, y, executor)`.
template <class Network, int Workers = 1>
class stateful : public detail::running_stream<network<stage<stateful_nodes<typename Network::stage>>>, Workers> {
    using base = detail::running_stream<network<stage<stateful_nodes<typename Network::stage>>>, Workers>;
    using base::network_;

public:
    explicit stateful(const Network& model) {
        std::copy_n(model.ranges(), Network::stage::table.qparams_count, network_.ranges());
        std::copy_n(model.parameters(), Network::parameter_bytes, network_.parameters());
        base::reset();
    }
};
/// Of what is no network: says so, and nothing else fails.
template <class Network, int Workers>
    requires(!requires { typename Network::stage; })
class stateful<Network, Workers> {
    static_assert(sizeof(Network) == 0,
                  "stateful<Network>: Network must be a network of the model, such as zp::float_model<Net>, "
                  "zp::quantized<Net, QConfig> or zp::dynamically_quantized<Net>");

public:
    explicit stateful(const auto&) {}
    void reset() noexcept {}
    void operator()(const auto&, auto&&) noexcept {}
};

template <class Model> class in_place;

/// The same from a packed image, zp::save_packed_image(stream.step_network(), path), where that lies: as zp::streaming of one.
template <class Network, int Workers>
class stateful<in_place<Network>, Workers>
    : public detail::placed_stream<in_place<typename stateful<Network>::network_type>, Workers> {
public:
    using detail::placed_stream<in_place<typename stateful<Network>::network_type>, Workers>::placed_stream;
};

}  // namespace zp::inline v0
