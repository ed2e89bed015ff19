// A whole model: what goes in, and layers one after another.
#pragma once

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/sequential.hpp>
#include <zeropoint/operators/common.hpp>

namespace zp {
inline namespace v0 {

/// Gives the last node of Layer a name, so that a qconfig or a report can speak of an add, a pool, an activation.
template <fixed_string Name, class Layer> struct named {
    static constexpr int nodes = Layer::nodes;
    static constexpr int lower(builder& b, int x) {
        const int y = Layer::lower(b, x);
        b.nodes[y].name = Name.text;
        return y;
    }
};

/// The extents of what goes in: input<Height, Width, Channels>, or of a volume input<Depth, Height, Width, Channels>, whose
/// planes lie one behind the other.
template <int... Extents> struct input {
    static constexpr int count = sizeof...(Extents);
    static_assert(
        (count == 3 || count == 4) && ((Extents > 0) && ...),
        "input<Height, Width, Channels>, or input<Depth, Height, Width, Channels>: each extent must be at least "
        "1; a vector of K values is input<1, 1, K>");
    static constexpr shape extents = [] {
        const int given[] = {Extents..., 1, 1, 1};
        return count == 4 ? shape{given[1], given[2], given[3], given[0]} : shape{given[0], given[1], given[2]};
    }();
};

/// Integers go in, token ids for one, which zp::embedding turns into vectors: a sequence of 1 x Count.
template <int Count> struct indices {
    static_assert(Count >= 1, "indices<Count>: Count must be at least 1");
    static constexpr int index_count = Count;
};

/// A network. Derive a struct of your own from it, so that its short name and not its layers enter every symbol:
/// `struct digits : zp::model<zp::input<8, 8, 1>, zp::conv2d<"conv1", ...>, ...> {};`
/// Anything else with a static `nodes` (an upper bound) and `lower(builder&)` is a model too: a free-form graph as a function.
template <class Input, class... Layers> struct model {
    static constexpr int nodes = 1 + nodes_of<Layers...>;
    static constexpr void lower(builder& b) {
        if constexpr (requires { Input::extents; }) sequential<Layers...>::lower(b, b.input(Input::extents));
        else if constexpr (requires { Input::index_count; })
            sequential<Layers...>::lower(b, b.indices(Input::index_count));
        else b.fail(rule::no_input);
    }
};

}  // namespace v0
}  // namespace zp
