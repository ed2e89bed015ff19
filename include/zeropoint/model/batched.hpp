// SPDX-License-Identifier: BSD-3-Clause
// Several inputs in one call: rows of all of them as one product, and what looks at an image once for each, node by node.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/graph/cut.hpp>
#include <zeropoint/graph/graph.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/model/port_ranges.hpp>
#include <zeropoint/model/stage.hpp>
#include <zeropoint/operators/matrix_int8.hpp>
#include <zeropoint/pass/plan.hpp>

// Values of the inputs stand one behind the other, so that N vectors, N sequences or the pixels of N images are one value of N times as many
// rows. Whatever computes a row from that row runs once over all of them, by the form for so many rows: it is joined. Everything else runs
// N times, before the next node does, so that its weights come from memory once:
//
//                       one input            joined                                      by image
//     linear            1 x 1 x 784          1 x N x 784                                 -
//     conv2d, 1x1       14 x 14 x 96         14 N x 14 x 96                              -
//     conv2d, 3x3       14 x 14 x 96         -                                           N times 14 x 14 x 96
//
// Winograd's convolutions get all images in one call, and transform filters once for the tiles of all of them.

namespace zp::inline v0 {
namespace detail {

/// N values of an extent as one, along its outermost extent above 1.
constexpr shape times(shape s, int n) {
    s.*pixel_extents[static_cast<std::size_t>(row_axis(s))] *= n;
    return s;
}
/// The nodes of a stage with N times as many rows each, for the forms of those that are joined.
template <class Stage, int N> struct joined_nodes {
    using architecture = typename Stage::architecture;
    using policies = typename Stage::policies;
    static constexpr auto loose = [] {
        auto g = Stage::loose;
        for (int i = 0; i != g.size; ++i) {
            node& n = g.nodes[i];
            if (n.weights.packed_int16) n.weights.packed_int16 = n.weights.affine;  // one row alone prefers words
            n.out.extents = times(n.out.extents, N);
        }
        for (int i = 0; i != g.size; ++i) {
            node& n = g.nodes[i];
            if (n.op->multiplies && n.out.is_codes() && has_rows_apart(Stage::loose.view(i)))
                n.weights.packed_int16 = takes_int16_panels<architecture>(g.view(i));
        }
        return g;
    }();

    template <int I> static constexpr bool computes_alike() {
        using form = form_at<joined_nodes, I>;
        constexpr node_view v = {loose.nodes, loose.nodes[I]};
        if (!v.n.is_float()) return true;  // integers
        if constexpr (requires { requires form::is_whole; }) return false;
        const shape& s = v.y_shape();
        const int rows = s.*pixel_extents[static_cast<std::size_t>(row_axis(s))], one = rows / N;
        return computes_rows<form>(v, {0, one}) && computes_rows<form>(v, {rows - one, rows});
    }
    /// Whether node I runs once over all inputs.
    template <int I> static constexpr bool joins() {
        if constexpr (N == 1 || !has_rows_apart({Stage::loose.nodes, Stage::loose.nodes[I]})) return false;
        else return computes_alike<I>();
    }
};

/// A stage over N inputs: the nodes of all of them with their places, and those of one with the same places.
template <class Stage, int N> struct batched_stage {
    using net = typename Stage::net;
    using architecture = typename Stage::architecture;
    using joined = joined_nodes<Stage, N>;
    static constexpr int size = Stage::loose.size;
    static constexpr std::array<bool, static_cast<std::size_t>(size)> joins =
        for_each_node<bool, size>([]<int I>() { return joined::template joins<I>(); });

    template <int I> static constexpr auto find_form() {
        if constexpr (joins[static_cast<std::size_t>(I)]) return std::type_identity<form_at<joined, I>>();
        else return std::type_identity<form_at<Stage, I>>();
    }
    template <int I> static constexpr bool takes_images() {
        return !joins[static_cast<std::size_t>(I)] && requires(const node_view& v) {
            form_at<Stage, I>::scratch_bytes_of_images(v, N);
        };
    }
    /// Nodes that are called once for all images, of which their kernels know.
    static constexpr std::array<bool, static_cast<std::size_t>(size)> takes_all_images =
        for_each_node<bool, size>([]<int I>() { return takes_images<I>(); });

    template <int I> using form = typename decltype(find_form<I>())::type;
    template <int I> static constexpr node_view view_of_form() {
        if (joins[static_cast<std::size_t>(I)]) return {joined::loose.nodes, joined::loose.nodes[I]};
        return {Stage::loose.nodes, Stage::loose.nodes[I]};
    }

    static constexpr graph<size> table = [] {
        graph<size> g = joined::loose;
        constexpr auto bytes = for_each_node<form_bytes, size>([]<int I>() -> form_bytes {
            constexpr node_view v = view_of_form<I>();
            if constexpr (takes_images<I>())
                return {parameter_bytes_of<form<I>>(v), form<I>::scratch_bytes_of_images(v, N)};
            else return {parameter_bytes_of<form<I>>(v), scratch_bytes_of<form<I>>(v)};
        });
        for (int i = 0; i != g.size; ++i) {
            g.nodes[i].at.parameter_bytes = bytes[static_cast<std::size_t>(i)].parameters;
            g.nodes[i].at.scratch_bytes = bytes[static_cast<std::size_t>(i)].scratch;
            g.nodes[i].at.state_bytes = states_of(Stage::loose.view(i)).bytes();
        }
        place_parameters(g);
        place_activations(g);
        for (int i = 0; i != g.size; ++i) g.nodes[i].rules = nullptr;
        return g;
    }();
    /// Nodes of one input, in the places of all.
    static constexpr graph<size> of_one = [] {
        graph<size> g = Stage::loose;
        for (int i = 0; i != g.size; ++i) {
            g.nodes[i].at = table.nodes[i].at;
            g.nodes[i].rules = nullptr;
        }
        return g;
    }();
    static constexpr auto steps =
        for_each_node<run_function, size>([]<int I>() -> run_function { return run_of<form<I>>(); });
    /// Of those that are joined: other nodes have the blocks that they have alone.
    static constexpr auto packs = for_each_node<pack_function, size>([]<int I>() -> pack_function {
        if constexpr (joins[static_cast<std::size_t>(I)]) return pack_of<form<I>>();
        else return nullptr;
    });
};

template <class Range> inline constexpr bool has_planes = false;
template <class Range> inline constexpr bool has_planes<nchw_values<Range>> = true;
template <class... Ranges> inline constexpr bool has_planes<input_ranges<Ranges...>> = (has_planes<Ranges> || ...);
template <fixed_string Name, class Range>
inline constexpr bool has_planes<named_range<Name, Range>> = has_planes<std::remove_const_t<Range>>;

}  // namespace detail

/// N inputs in one call, of a network of any stage: the integers of N single calls. Linear layers, 1x1 convolutions and whatever else
/// computes row by row are one call of N times as many rows; other nodes run for one input after another before the next node does. Floats
/// are those of single calls as well: what would add them up in another order is not joined.
///
///     const zp::batched<decltype(model), 8> eight(model);    // packs the weights for so many rows, once
///     static decltype(eight)::workspace memory;
///     eight(images, scores, memory);                         // 8 inputs one behind the other, and 8 outputs
///
/// It keeps parameters of its own, so that the network it is made of need not stay. A call is const, allocates nothing and may be
/// made by many threads at once, each with a workspace of its own.
template <class Network, int N> class batched {
    static_assert(N >= 1, "batched<Network, N>: N, the number of inputs, must be at least 1");
    using single = typename Network::stage;
    using stage_type = detail::batched_stage<single, N>;
    static_assert(
        [] {
            for (const node& n : single::loose)
                if (n.flags.keeps_state) return false;
            return true;
        }(),
        "batched<Network, N>: this network goes on from where the call before ended, so that its inputs are steps of "
        "one "
        "sequence: a batch needs inputs that do not depend on one another");

public:
    using stage = stage_type;
    /// How many inputs a call has.
    static constexpr int batch = N;
    /// Bytes of the workspace's arena, and of the parameters.
    static constexpr int arena_bytes = stage::table.arena_bytes, parameter_bytes = stage::table.parameter_bytes;
    /// The rows, with the extents of all inputs together.
    static constexpr std::span<const node> rows() { return stage::table.nodes; }
    /// Whether a row is computed for all inputs at once.
    static constexpr bool is_joined(int row) { return stage::joins[static_cast<std::size_t>(row)]; }

    /// The memory that one call works in.
    struct workspace {
        /// The arena.
        alignas(buffer_alignment) std::byte bytes[arena_bytes == 0 ? 1 : arena_bytes];
    };

    /// Takes the parameters of a network, and packs those anew that are multiplied for all inputs at once.
    explicit batched(const Network& model) : parameters_(static_cast<std::size_t>(parameter_bytes)) {
        for (std::size_t id = 0; id != ranges_.size(); ++id) ranges_[id] = model.ranges()[id];
        for (int i = 0; i != stage::size; ++i) copy_parameters(model, i);
    }

    /// x: N inputs one behind the other, y: N outputs; contiguous ranges, checked as a network's call checks them, with those of several
    /// inputs or outputs as zp::in and zp::out. Images have their channels innermost: zp::nchw is of one image.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y, workspace& memory) const noexcept(is_checked_early<Input, Output>) {
        static_assert(N == 1 || !detail::has_planes<Input>,
                      "batched(zp::nchw(x), y, memory): zp::nchw is of one image: bring each image's channels "
                      "innermost first, with "
                      "zp::kernel::nchw_to_nhwc");
        const auto xs = input_side<Input>::checked(x, memory.bytes);
        const auto ys = output_side<Output>::checked(y);
        run(xs.data(), ys.data(), memory.bytes);
    }
    /// The same over plain pointers, one a port, without checks.
    void run(const void* const* xs, void* const* ys, std::byte* arena) const noexcept {
        const context all{stage::table.nodes, parameters_.data(), ranges_.data(), arena, xs, ys, arena};
        context one = all, images = all;
        one.nodes = images.nodes = stage::of_one.nodes;
        images.images = N;
        for (int i = 0; i != stage::size; ++i) {
            const run_function step = stage::steps[static_cast<std::size_t>(i)];
            if (stage::table.nodes[i].op->is_input) continue;
            if (is_joined(i)) step(stage::table.nodes[i], all);
            else if (stage::takes_all_images[static_cast<std::size_t>(i)]) step(stage::of_one.nodes[i], images);
            else
                for (int image = 0; image != N; ++image) run_image(step, stage::of_one.nodes[i], one, image);
        }
    }

private:
    template <class Input> using input_side = detail::input_side<stage_type, Input>;
    template <class Output> using output_side = detail::output_side<stage_type, std::remove_reference_t<Output>>;
    template <class Input, class Output>
    static constexpr bool is_checked_early = input_side<Input>::is_early&& output_side<Output>::is_early;

    void copy_parameters(const Network& model, int i) {
        const node &to = stage::table.nodes[i], &from = single::table.nodes[i];
        if (to.at.parameter_bytes == 0) return;
        std::byte* block = parameters_.data() + to.at.parameter_offset;
        // Only read: a preparation is for both ways.
        auto* packed = const_cast<std::byte*>(model.parameters()) + from.at.parameter_offset;
        const pack_function pack = stage::packs[static_cast<std::size_t>(i)];
        const unpack_function unpack = single::unpacks[static_cast<std::size_t>(i)];
        if (pack == nullptr || unpack == nullptr)
            std::memcpy(block, packed, static_cast<std::size_t>(to.at.parameter_bytes));
        else
            pack({stage::table.view(i), ranges_.data(), block},
                 unpack({single::table.view(i), model.ranges(), packed}));
    }

    aligned_buffer parameters_;
    std::array<qparams, static_cast<std::size_t>(single::table.qparams_count) + 1> ranges_{};
};

}  // namespace zp::inline v0
