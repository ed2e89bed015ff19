// SPDX-License-Identifier: BSD-3-Clause
// A whole model: what goes in, layers one after another, and what comes out.
#pragma once

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/core/has_told.hpp>
#include <zeropoint/graph/ports.hpp>
#include <zeropoint/graph/sequential.hpp>
#include <zeropoint/operators/common.hpp>

namespace zp::inline v0 {

/// Gives the last node of Layer a name, so that a qconfig, a report or zp::from can speak of an add, a pool, an activation. Inputs are
/// named so too: `named<"mask", input<1, 128, 1>>`.
template <fixed_string Name, class Layer> struct named {
    static constexpr int nodes = Layer::nodes;
    static constexpr int lower(builder& b, int x) {
        const int y = Layer::lower(b, x);
        b.nodes[y].name = Name.text;
        return y;
    }
};

/// The extents of what goes in: input<Height, Width, Channels>, or of a volume input<Depth, Height, Width, Channels>, whose
/// planes lie one behind the other. A model begins with one; as a layer anywhere else it is a further input, and the layers behind it
/// go on from there. Where there are several, each has a name: `named<"left", input<8, 8, 3>>`.
template <int... Extents> struct input {
    static constexpr int count = sizeof...(Extents);  // how many extents are given: 3, or 4 of a volume
    static_assert(
        (count == 3 || count == 4) && ((Extents > 0) && ...),
        "input<Height, Width, Channels>, or input<Depth, Height, Width, Channels>: each extent must be at least "
        "1; a vector of K values is input<1, 1, K>");
    /// Height, width, channels and depth.
    static constexpr shape extents = [] {
        const int given[] = {Extents..., 1, 1, 1};
        return count == 4 ? shape{given[1], given[2], given[3], given[0]} : shape{given[0], given[1], given[2]};
    }();
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int) { return b.input(extents); }
};

/// Integers go in, token ids for one, which zp::embedding turns into vectors: a sequence of 1 x Count. A layer as zp::input is.
template <int Count> struct indices {
    static_assert(Count >= 1, "indices<Count>: Count must be at least 1");
    static constexpr int index_count = Count;  // how many integers
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int) { return b.indices(Count); }
};

/// Goes on from an earlier value: an input, or a layer, of that name.
template <fixed_string Name> struct from {
    static constexpr int nodes = 0;
    static constexpr int lower(builder& b, int x) {
        for (int i = 0; i != b.size; ++i)
            if (!b.nodes[i].op->is_output && Name.view() == b.nodes[i].name) return i;
        b.fail(rule::unknown_name);
        if (b.error.broken != rule::unknown_name || b.error.name != nullptr) return x;
        b.error.name = Name.text;
        name_search search(Name.view());
        for (int i = 0; i != b.size; ++i)
            if (search.is_nearer(b.nodes[i].name)) b.error.nearest = b.nodes[i].name;
        return x;
    }
};

/// Gives the value in front of it to the caller, and passes it on. Outputs count in the order in which they stand; a model without any has
/// one, what its last layer gives.
template <fixed_string Name> struct output {
    static_assert(Name.text[0] != 0, "output<\"name\">: an output has a name");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.output(x, Name.text); }
};

namespace detail {
/// What a model may begin with: needs nothing in front of it.
template <class Layer> inline constexpr bool begins_model = requires { Layer::extents; }
|| requires { Layer::index_count; };
template <fixed_string Name, class Layer> inline constexpr bool begins_model<named<Name, Layer>> = begins_model<Layer>;
}  // namespace detail

/// A network. Derive a struct of your own from it, so that its short name and not its layers enter every symbol:
/// `struct digits : zp::model<zp::input<8, 8, 1>, zp::conv2d<"conv1", ...>, ...> {};`
/// Anything else with a static `nodes` (an upper bound) and `lower(builder&)` is a model too: a free-form graph as a function.
template <class Input, class... Layers> struct model {
    static constexpr int nodes = 1 + nodes_of<Layers...>;
    static constexpr void lower(builder& b) {
        if constexpr (has_told<Input>) b.fail(rule::told_by_itself);
        else if constexpr (detail::begins_model<Input>) sequential<Layers...>::lower(b, Input::lower(b, -1));
        else b.fail(rule::no_input);
    }
};

}  // namespace zp::inline v0
