// SPDX-License-Identifier: BSD-3-Clause
// Operands smaller than the result: how kernels on two arrays of equal length meet a value for each channel or pixel.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/shape.hpp>

namespace zp::inline v0::kernel {

/// Whether an operand of extents `own` spreads over `full`: each of its extents is that of `full`, or 1; depth and height
/// are one extent.
constexpr bool broadcasts(const shape& own, const shape& full) {
    const auto fits = [](int extent, int whole) { return extent == whole || extent == 1; };
    const bool rows = (own.depth == full.depth && own.height == full.height) || own.depth * own.height == 1;
    return rows && fits(own.width, full.width) && fits(own.channels, full.channels);
}

/// The values of an NHWC operand as if it had the extents of the result. Those of a vector over channels, and of all
/// that repeats soon, are laid out once, others anew in each call.
template <class Arch, class T> class broadcast_operand {
public:
    /// How many values are there at a time.
    static constexpr std::size_t room = 512;

    /// broadcasts(own, full) must hold. Keeps the pointer.
    broadcast_operand(const T* values, const shape& own, const shape& full) noexcept
        : values_(values),
          whole_(own == full),
          width_(static_cast<std::size_t>(full.width)),
          channels_(static_cast<std::size_t>(full.channels)),
          row_step_(own.depth * own.height == 1 ? 0 : static_cast<std::size_t>(own.width * own.channels)),
          pixel_step_(own.width == 1 ? 0 : static_cast<std::size_t>(own.channels)),
          channel_step_(own.channels == 1 ? 0 : 1) {
        if (whole_ || row_step_ != 0) return;
        const std::size_t period = pixel_step_ != 0 ? width_ * channels_ : channel_step_ != 0 ? channels_ : 1;
        if (period > room) return;
        period_ = period;
        lay_out(0, period);
        for (std::size_t i = period; i != 2 * room; ++i) laid_out_[i] = laid_out_[i - period];
    }

    /// The values for positions [first, first + count) of the result, count <= room unless the operand is as large as
    /// the result. They stay until the next call.
    const T* operator()(std::size_t first, std::size_t count) noexcept {
        if (whole_) return values_ + first;
        if (period_ != 0) return laid_out_ + first % period_;
        lay_out(first, count);
        return laid_out_;
    }

private:
    void lay_out(std::size_t first, std::size_t count) noexcept {
        const std::size_t pixel = first / channels_;
        std::size_t row = pixel / width_, column = pixel % width_, channel = first % channels_;
        for (T* to = laid_out_; count != 0;) {
            const std::size_t run = std::min(channels_ - channel, count);
            const T* from = values_ + row * row_step_ + column * pixel_step_ + channel * channel_step_;
            if (channel_step_ != 0) std::copy_n(from, run, to);
            else std::fill_n(to, run, *from);
            to += run;
            count -= run;
            channel = 0;
            if (++column == width_) {
                column = 0;
                ++row;
            }
        }
    }

    const T* values_;
    bool whole_;
    std::size_t width_, channels_, row_step_, pixel_step_, channel_step_;
    std::size_t period_ = 0;  // after so many values they repeat; 0 where that is too many
    T laid_out_[2 * room];
};

/// Calls body(values of a, values of b, count, first) for runs of positions [first, first + count) that together are
/// all of `full`, each with values of both operands one after the other. Where both have the extents of the result that
/// is one call. broadcasts() must hold for both; the result may be written over an operand that has its extents.
template <class Arch, class A, class B, class Body>
[[gnu::always_inline]] inline void for_each_broadcast(const A* a, const shape& a_shape, const B* b,
                                                      const shape& b_shape, const shape& full, Body&& body) noexcept {
    const auto count = static_cast<std::size_t>(full.size());
    if (a_shape == full && b_shape == full) {
        body(a, b, count, std::size_t{0});
        return;
    }
    broadcast_operand<Arch, A> as(a, a_shape, full);
    broadcast_operand<Arch, B> bs(b, b_shape, full);
    constexpr std::size_t room = broadcast_operand<Arch, A>::room;
    for (std::size_t first = 0; first < count; first += room) {
        const std::size_t run = std::min(room, count - first);
        body(as(first, run), bs(first, run), run, first);
    }
}

}  // namespace zp::inline v0::kernel
