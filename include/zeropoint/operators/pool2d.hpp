// SPDX-License-Identifier: BSD-3-Clause
// max_pool2d, avg_pool2d and adaptive_avg_pool2d, and the same along sequences.
#pragma once

#include <type_traits>

#include <zeropoint/graph/define.hpp>
#include <zeropoint/graph/extent.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>
#include <zeropoint/operators/window_extents.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind max_pool2d{"max_pool2d"}, avg_pool2d{"avg_pool2d"},
    adaptive_avg_pool2d{"adaptive_avg_pool2d"};
}

/// Options of a pooling window, with PyTorch's defaults: a stride of 0 means the kernel's extent.
struct pool {
    extent kernel = 2;    // rows and columns of the window
    extent stride = 0;    // from one window to the next
    extent padding = 0;   // rows and columns around the image, which a maximum does not see; at most half of the kernel
    extent dilation = 1;  // from one value of a window to the next: of max_pool2d
    bool ceil_mode = false;         // whether a last window that is partly outside counts
    bool count_include_pad = true;  // avg_pool2d
};

namespace operators {

struct pooling {
    static constexpr qparams_source range = qparams_source::of_input;
    static constexpr bool takes_int16 = true, signed_by_kind = true, homogeneous = true;
};
struct max_pool2d : pooling {
    static constexpr cut_rule cut = cut_rule::windowed;
    static constexpr stream_rule stream = stream_rule::pooled;
    static constexpr bool picks_values = true;
    static constexpr std::span<const char* const> option_names = window2d::names;

    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::max_pool2d<Arch>(geometry_of_window(o.at()), o.x(), o.y());
    }
};
struct avg_pool2d : pooling {
    static constexpr cut_rule cut = cut_rule::windowed;
    static constexpr stream_rule stream = stream_rule::pooled;
    /// Whether windows have padding that counts.
    static constexpr bool counts_padding(const node& n) {
        const auto window = options_of<window2d>(n);
        return window.count_include_pad != 0 && (window.padding_top != 0 || window.padding_left != 0);
    }
    /// Where padding counts, it counts below the last row too, of which a part knows nothing.
    static constexpr bool computes_alike(const node_view&, const node_view& whole) { return !counts_padding(whole.n); }
    static constexpr std::span<const char* const> option_names = window2d::names;

    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::avg_pool2d<Arch>(geometry_of_window(o.at()), options_of<window2d>(o.at().n).count_include_pad != 0,
                                 o.y_zero_point(), o.x(), o.y());
    }
};
/// The mean of the codes, ties away from zero: LiteRT's, where padding never counts. Where it does, it is 0 and not code 0.
struct avg_pool2d_of_codes : avg_pool2d {
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        if (counts_padding(o.at().n)) return avg_pool2d::forward<Arch>(o);
        kernel::avg_pool2d<Arch, kernel::ties_away_from_zero>(geometry_of_window(o.at()), false, 0, o.x(), o.y());
    }
};
struct adaptive_avg_pool2d : pooling {
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::adaptive_avg_pool2d<Arch>(o.x_shape(), o.y_shape(), o.y_zero_point(), o.x(), o.y());
    }
};

template <const operator_kind& Kind, class Operator>
constexpr int append_pool2d(builder& b, int x, const char* name, const pool& options) {
    node n = b.unary(info_of<Operator, Kind>, keyed_rules_of<Operator>, x, name);
    set_options(n, window2d{});
    const extent stride = options.stride == extent(0) ? options.kernel : options.stride;
    set_window(b, n, b.nodes[x].out.extents, options.kernel, stride, options.padding, options.dilation,
               options.ceil_mode);
    if (options.padding.height * 2 > options.kernel.height || options.padding.width * 2 > options.kernel.width)
        b.fail(rule::padding_too_large, b.nodes[x].out.extents, {options.padding.height, options.padding.width, 1});
    window2d window = options_of<window2d>(n);
    window.count_include_pad = options.count_include_pad;
    set_options(n, window);
    return b.append(n);
}

/// The same over a sequence of 1 x length x channels.
constexpr pool along_sequence(builder& b, int x, pool options) {
    if (b.nodes[x].out.extents.height != 1) b.fail(rule::sequence_expected, b.nodes[x].out.extents);
    const bool same = options.stride == extent(0);
    options.kernel.height = options.dilation.height = 1;
    if (!same) options.stride.height = 1;
    options.padding.height = 0;
    return options;
}

/// What a pooling layer is given: `pool{...}`, or an int for a square window with a stride of the same size.
template <auto Options> constexpr pool as_pool() {
    using options = std::remove_const_t<decltype(Options)>;
    static_assert(std::is_same_v<options, pool> || std::is_same_v<options, int>,
                  "max_pool2d / avg_pool2d / max_pool1d / avg_pool1d<Options>: Options must be an int such as 2, or a "
                  "zp::pool{.kernel = 3, .stride = 2}");
    if constexpr (std::is_same_v<options, pool>) return Options;
    else if constexpr (std::is_same_v<options, int>) return pool{.kernel = Options};
    else return {};
}

}  // namespace operators

template <> struct forms_of<op::max_pool2d> : forms_by_storage<operators::max_pool2d> {};
template <> struct forms_of<op::avg_pool2d> : forms_by_policy<operators::avg_pool2d, operators::avg_pool2d_of_codes> {};
template <> struct forms_of<op::adaptive_avg_pool2d> : forms_by_storage<operators::adaptive_avg_pool2d> {};

constexpr int builder::max_pool2d(int x, const char* name, const pool& options) {
    return operators::append_pool2d<op::max_pool2d, operators::max_pool2d>(*this, x, name, options);
}
constexpr int builder::avg_pool2d(int x, const char* name, const pool& options) {
    return operators::append_pool2d<op::avg_pool2d, operators::avg_pool2d>(*this, x, name, options);
}
constexpr int builder::adaptive_avg_pool2d(int x, const char* name, extent size_of_output) {
    node n = unary(info_of<operators::adaptive_avg_pool2d, op::adaptive_avg_pool2d>,
                   keyed_rules_of<operators::adaptive_avg_pool2d>, x, name);
    n.out.extents = {size_of_output.height, size_of_output.width, n.out.extents.channels};
    return append(n);
}

/// A window given as `pool{...}`, or as an int for a square window with a stride of the same size.
template <auto Options> struct max_pool2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.max_pool2d(x, "", operators::as_pool<Options>()); }
};
/// The mean of each window, given as max_pool2d's.
template <auto Options> struct avg_pool2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.avg_pool2d(x, "", operators::as_pool<Options>()); }
};

/// The same along a sequence of 1 x length x channels.
template <auto Options> struct max_pool1d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        return b.max_pool2d(x, "", operators::along_sequence(b, x, operators::as_pool<Options>()));
    }
};
/// avg_pool2d along a sequence of 1 x length x channels.
template <auto Options> struct avg_pool1d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        return b.avg_pool2d(x, "", operators::along_sequence(b, x, operators::as_pool<Options>()));
    }
};

/// Pools any input to Height x Width; `adaptive_avg_pool2d<1>` is the global average.
template <int Height, int Width = Height> struct adaptive_avg_pool2d {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.adaptive_avg_pool2d(x, "", {Height, Width}); }
};

/// Pools a sequence to Length vectors.
template <int Length> struct adaptive_avg_pool1d : adaptive_avg_pool2d<1, Length> {};

}  // namespace zp::inline v0
