// SPDX-License-Identifier: BSD-3-Clause
// Copies of boxes of values: nests of loops over axes that have a stride in the source and one in the destination. Every
// operator that only moves values is one such copy or a few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// One loop of a copy: how many values, and how far each lies behind the one before it, in values.
struct copy_axis {
    int extent = 1;
    std::ptrdiff_t from = 0, to = 0;  ///< `from` may be 0, the same value each time, or negative; `to` is positive
    constexpr bool operator==(const copy_axis&) const = default;
};

/// y[to + i0 * axes[0].to + i1 * axes[1].to + ...] = x[from + i0 * axes[0].from + i1 * axes[1].from + ...] for all
/// indices below the extents. No two positions of y are the same; x and y do not overlap.
struct box_copy {
    static constexpr int most_axes = 5;
    std::ptrdiff_t from = 0, to = 0;
    int count = 0;  ///< of axes
    copy_axis axes[most_axes];

    constexpr box_copy& along(int extent, std::ptrdiff_t from_stride, std::ptrdiff_t to_stride) {
        axes[count++] = {extent, from_stride, to_stride};
        return *this;
    }
    /// The same copy with the fewest axes, the one with the smallest stride in y last. An empty box has one axis of
    /// extent 0.
    constexpr box_copy simplified() const {
        box_copy sorted;
        sorted.from = from;
        sorted.to = to;
        for (int i = 0; i != count; ++i) {
            if (axes[i].extent == 0) {
                sorted.count = 0;
                return sorted.along(0, 0, 1);
            }
            if (axes[i].extent == 1) continue;
            int at = sorted.count++;
            for (; at > 0 && sorted.axes[at - 1].to < axes[i].to; --at) sorted.axes[at] = sorted.axes[at - 1];
            sorted.axes[at] = axes[i];
        }
        box_copy merged;
        merged.from = from;
        merged.to = to;
        for (int i = 0; i != sorted.count; ++i) {
            const copy_axis& inner = sorted.axes[i];
            copy_axis* outer = merged.count == 0 ? nullptr : &merged.axes[merged.count - 1];
            if (outer != nullptr && outer->from == inner.from * inner.extent && outer->to == inner.to * inner.extent)
                *outer = {outer->extent * inner.extent, inner.from, inner.to};
            else merged.axes[merged.count++] = inner;
        }
        if (merged.count == 0) merged.along(1, 1, 1);
        return merged;
    }
    /// Whether y would be x: nothing needs to be copied if both share memory.
    constexpr bool is_view() const {
        const box_copy all = simplified();
        return from == 0 && to == 0 && all.count == 1 && all.axes[0].from == 1 && all.axes[0].to == 1;
    }
};

/// `rows` runs of `length` values each.
template <class Arch, class T>
void copy_runs(const T* x, std::ptrdiff_t x_pitch, int rows, std::size_t length, T* y,
               std::ptrdiff_t y_pitch) noexcept {
    if (length * sizeof(T) >= 256) {
        for (int row = 0; row != rows; ++row) std::memcpy(y + row * y_pitch, x + row * x_pitch, length * sizeof(T));
        return;
    }
    with_fitting_vectors<Arch, T>(length, [=]<class Fitting>() noexcept {
        for (int row = 0; row != rows; ++row) {
            const T* from = x + row * x_pitch;
            T* to = y + row * y_pitch;
            if constexpr (has_vectors<Fitting>) {
                using values = xsimd::batch<T, Fitting>;
                for_each_overlapping(length, values::size,
                                     [=](std::size_t i) { values::load_unaligned(from + i).store_unaligned(to + i); });
            } else {
                for (std::size_t i = 0; i != length; ++i) to[i] = from[i];
            }
        }
    });
}

/// y[2 * i] = x[i], y[2 * i + 1] = x[distance + i] for i < count.
template <class Arch, class T>
[[gnu::always_inline]] inline void interleave_two(const T* x, std::ptrdiff_t distance, std::ptrdiff_t count,
                                                  T* y) noexcept {
    std::ptrdiff_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using values = xsimd::batch<T, Arch>;
        constexpr auto size = static_cast<std::ptrdiff_t>(values::size);
        for (; i + size <= count; i += size) {
            const values first = values::load_unaligned(x + i), second = values::load_unaligned(x + distance + i);
            xsimd::zip_lo(first, second).store_unaligned(y + 2 * i);
            xsimd::zip_hi(first, second).store_unaligned(y + 2 * i + size);
        }
    }
    for (; i != count; ++i) {
        y[2 * i] = x[i];
        y[2 * i + 1] = x[distance + i];
    }
}

/// body(offset in x, offset in y) for all indices of `count` axes, the last fastest.
template <class Body>
void for_each_offset(const copy_axis* axes, int count, std::ptrdiff_t from, std::ptrdiff_t to,
                     const Body& body) noexcept {
    if (count == 0) {
        body(from, to);
        return;
    }
    for (int i = 0; i != axes->extent; ++i, from += axes->from, to += axes->to)
        for_each_offset(axes + 1, count - 1, from, to, body);
}

/// Performs a copy: whole runs where the last axis is without gaps on both sides, a blocked transposition where another
/// axis is without gaps in x, value by value otherwise.
template <class Arch, class T> void copy_box(const box_copy& plan, const T* x, T* y) noexcept {
    if constexpr (std::is_same_v<T, std::int8_t>) {  // bytes are bytes
        copy_box<Arch>(plan, reinterpret_cast<const std::uint8_t*>(x), reinterpret_cast<std::uint8_t*>(y));
    } else {
        box_copy box = plan.simplified();
        const copy_axis inner = box.axes[--box.count];
        if (inner.extent == 0) return;
        const auto length = static_cast<std::size_t>(inner.extent);
        const auto outermost = [&](auto&& body) { for_each_offset(box.axes, box.count, box.from, box.to, body); };
        if (inner.to == 1 && inner.from == 1) {
            const copy_axis rows = box.count != 0 ? box.axes[--box.count] : copy_axis{};
            outermost([&](std::ptrdiff_t from, std::ptrdiff_t to) {
                copy_runs<Arch>(x + from, rows.from, rows.extent, length, y + to, rows.to);
            });
            return;
        }
        if (inner.to == 1 && inner.from == 0) {
            outermost([&](std::ptrdiff_t from, std::ptrdiff_t to) { std::fill_n(y + to, length, x[from]); });
            return;
        }
        // The axis that has no gaps in x, if there is one, and what remains without it.
        int columns_at = 0;
        while (columns_at != box.count && box.axes[columns_at].from != 1) ++columns_at;
        constexpr bool has_transposes = sizeof(T) != 2;
        if (has_transposes && inner.to == 1 && inner.from > 0 && columns_at != box.count) {
            const copy_axis columns = box.axes[columns_at];
            for (int i = columns_at + 1; i != box.count; ++i) box.axes[i - 1] = box.axes[i];
            --box.count;
            outermost([&](std::ptrdiff_t from, std::ptrdiff_t to) {
                if (length == 2 && columns.to == 2)
                    interleave_two<typename sixteen_bytes_of<Arch>::type>(x + from, inner.from, columns.extent, y + to);
                else
                    transpose_matrix<T, Arch>(x + from, static_cast<std::size_t>(inner.from), length,
                                              static_cast<std::size_t>(columns.extent), y + to,
                                              static_cast<std::size_t>(columns.to));
            });
            return;
        }
        outermost([&](std::ptrdiff_t from, std::ptrdiff_t to) {
            for (int i = 0; i != inner.extent; ++i) y[to + i * inner.to] = x[from + i * inner.from];
        });
    }
}

}  // namespace zp::inline v0::kernel
