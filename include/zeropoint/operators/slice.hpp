// SPDX-License-Identifier: BSD-3-Clause
// Parts of an image: slices along an axis, and the parts that split and chunk give.
#pragma once

#include <algorithm>
#include <limits>

#include <zeropoint/operators/rearrangement.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind slice{"slice"};
}

/// As the end of a slice: the end of the axis.
inline constexpr int to_end = std::numeric_limits<int>::max();

namespace operators {

/// begin, begin + step, ... along one axis, the others whole.
constexpr kernel::box_copy slice_along(const shape& in, axis along, int begin, int step, int extent) {
    int begins[3] = {}, steps[3] = {1, 1, 1};
    begins[static_cast<int>(along)] = begin;
    steps[static_cast<int>(along)] = step;
    shape out = in;
    extent_along(out, along) = extent;
    return kernel::slice_copy(in, begins, steps, out);
}

template <axis Along, int Begin, int End, int Step> struct slice : rearrangement<slice<Along, Begin, End, Step>> {
    static constexpr const char* kind = "slice";
    static constexpr bool takes_volumes = Along != axis::height;
    static constexpr int options[] = {static_cast<int>(Along), Begin, End, Step};
    /// Along channels each step by itself; along the sequence its first steps.
    static constexpr stream_rule stream = Along == axis::channels                           ? stream_rule::pointwise
                                          : Along == axis::width && Begin == 0 && Step == 1 ? stream_rule::cut_behind
                                                                                            : stream_rule::whole;

    static constexpr bool accepts(shape x) { return extent_along(output_shape(x), Along) > 0; }
    static constexpr int place(int index, int extent) {
        return std::clamp(index < 0 ? index + extent : index, 0, extent);
    }
    static constexpr shape output_shape(shape x) {
        const int extent = extent_along(x, Along), length = place(End, extent) - place(Begin, extent);
        extent_along(x, Along) = length <= 0 ? 0 : (length - 1) / Step + 1;
        return x;
    }
    static constexpr kernel::box_copy copy(const shape& x) {
        const int begin = place(Begin, extent_along(x, Along));
        return slice_along(x, Along, begin, Step, extent_along(output_shape(x), Along));
    }
};

template <int Index, int Count, axis Along> struct chunk : rearrangement<chunk<Index, Count, Along>> {
    static constexpr const char* kind = "chunk";
    static constexpr bool takes_volumes = Along != axis::height;
    static constexpr int options[] = {Index, Count, static_cast<int>(Along)};
    static constexpr stream_rule stream = Along == axis::channels ? stream_rule::pointwise : stream_rule::whole;

    static constexpr bool accepts(shape x) { return extent_along(output_shape(x), Along) > 0; }
    static constexpr int size(const shape& x) { return (extent_along(x, Along) + Count - 1) / Count; }
    static constexpr shape output_shape(shape x) {
        const int extent = extent_along(x, Along), each = size(x);
        extent_along(x, Along) = std::clamp(extent - Index * each, 0, each);
        return x;
    }
    static constexpr kernel::box_copy copy(const shape& x) {
        return slice_along(x, Along, Index * size(x), 1, extent_along(output_shape(x), Along));
    }
};

}  // namespace operators

/// Indices Begin, Begin + Step, ... below End along an axis, as Python's x[Begin:End:Step]: numbers below 0 count from the
/// end, numbers beyond an end mean that end. Several axes are several slices. A part of a split is a slice.
template <axis Along, int Begin, int End = to_end, int Step = 1>
struct slice : operator_layer<op::slice, "", operators::slice<Along, Begin, End, operators::at_least_one(Step)>> {
    static_assert(Step >= 1, "slice<Along, Begin, End, Step>: Step must be at least 1; zp::flip turns an axis round");
};

/// Part Index of Count, as PyTorch's x.chunk(Count, dim)[Index]: parts of equal size, the last may be smaller. As a branch:
/// `zp::concat<zp::chunk<0, 2>, zp::sequential<zp::chunk<1, 2>, ...>>`.
template <int Index, int Count, axis Along = axis::channels>
struct chunk : operator_layer<
                   op::slice, "",
                   operators::chunk<(0 <= Index && Index < Count ? Index : 0), operators::at_least_one(Count), Along>> {
    static_assert(0 <= Index && Index < Count,
                  "chunk<Index, Count, Along>: Index counts from 0 and must be below Count, the number of parts");
};

}  // namespace zp::inline v0
