// SPDX-License-Identifier: BSD-3-Clause
// Gradients of operators on two arrays, of which one may spread over the other; of where and prelu.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/elementwise/broadcast.hpp>
#include <zeropoint/kernel/float/float_binary.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// What dy is multiplied by, or what becomes of it: by_a and by_b of two floats or vectors and dy. The twins of namespace
/// binary.
namespace binary_gradients {

struct add {
    template <class Number> static Number by_a(const Number&, const Number&, const Number& dy) { return dy; }
    template <class Number> static Number by_b(const Number&, const Number&, const Number& dy) { return dy; }
};
struct sub {
    template <class Number> static Number by_a(const Number&, const Number&, const Number& dy) { return dy; }
    template <class Number> static Number by_b(const Number&, const Number&, const Number& dy) { return -dy; }
};
struct mul {
    template <class Number> static Number by_a(const Number&, const Number& b, const Number& dy) { return dy * b; }
    template <class Number> static Number by_b(const Number& a, const Number&, const Number& dy) { return dy * a; }
};
struct div {
    template <class Number> static Number by_a(const Number&, const Number& b, const Number& dy) {
        return divide_numbers<Number>(dy, b);
    }
    template <class Number> static Number by_b(const Number& a, const Number& b, const Number& dy) {
        return divide_numbers<Number>(Number(-dy * divide_numbers<Number>(a, b)), b);
    }
};
struct squared_difference {
    template <class Number> static Number by_a(const Number& a, const Number& b, const Number& dy) {
        const Number distance = a - b;
        return dy * (distance + distance);
    }
    template <class Number> static Number by_b(const Number& a, const Number& b, const Number& dy) {
        return by_a(b, a, dy);
    }
};
/// a / sqrt(a^2 + b^2), and 0 where both are 0: there PyTorch has a NaN.
struct hypot {
    template <class Number> static Number by_a(const Number& a, const Number& b, const Number& dy) {
        const Number length = binary::hypot{}(a, b);
        return choose_number(length > Number(0.0f), divide_numbers<Number>(Number(dy * a), length), Number(0.0f));
    }
    template <class Number> static Number by_b(const Number& a, const Number& b, const Number& dy) {
        return by_a(b, a, dy);
    }
};
/// Equal values share dy, as in PyTorch.
struct maximum {
    template <class Number> static Number by_a(const Number& a, const Number& b, const Number& dy) {
        const Number equal = choose_number(a == b, Number(dy * Number(0.5f)), Number(0.0f));
        return choose_number(a > b, dy, equal);
    }
    template <class Number> static Number by_b(const Number& a, const Number& b, const Number& dy) {
        return by_a(b, a, dy);
    }
};
struct minimum {
    template <class Number> static Number by_a(const Number& a, const Number& b, const Number& dy) {
        return maximum::by_a(b, a, dy);
    }
    template <class Number> static Number by_b(const Number& a, const Number& b, const Number& dy) {
        return maximum::by_a(a, b, dy);
    }
};
/// b is the slope below zero.
struct prelu {
    template <class Number> static Number by_a(const Number& a, const Number& b, const Number& dy) {
        return choose_number(a > Number(0.0f), dy, Number(dy * b));
    }
    template <class Number> static Number by_b(const Number& a, const Number&, const Number& dy) {
        return choose_number(a > Number(0.0f), Number(0.0f), Number(dy * a));
    }
};

}  // namespace binary_gradients

/// to += values, which stand at positions [first, first + count) of `full`, each at the position of an operand of extents `own`
/// that was spread over it. Values side by side for one position are summed up before, in double.
inline void add_to_operand(const float* values, const shape& own, const shape& full, std::size_t first,
                           std::size_t count, float* to) noexcept {
    const auto channels = static_cast<std::size_t>(full.channels), width = static_cast<std::size_t>(full.width);
    const std::size_t row_step = own.depth * own.height == 1 ? 0 : static_cast<std::size_t>(own.width * own.channels);
    const std::size_t pixel_step = own.width == 1 ? 0 : static_cast<std::size_t>(own.channels);
    std::size_t row = first / channels / width, column = first / channels % width, channel = first % channels;
    while (count != 0) {
        const std::size_t run = std::min(channels - channel, count);
        float* const place = to + row * row_step + column * pixel_step;
        if (own.channels != 1) {
            for (std::size_t i = 0; i != run; ++i) place[channel + i] += values[i];
        } else {
            double sum = 0;
            for (std::size_t i = 0; i != run; ++i) sum += static_cast<double>(values[i]);
            *place += static_cast<float>(sum);
        }
        values += run;
        count -= run;
        channel = 0;
        if (++column == width) {
            column = 0;
            ++row;
        }
    }
}

/// What a reader of a spread operand sends back to it: to += the sums of dy, of extents `full`, over the axes along which `own`
/// has the extent 1. broadcasts(own, full) must hold. In the order of positions.
inline void add_spread_gradient(const float* dy, const shape& own, const shape& full, float* to) noexcept {
    add_to_operand(dy, own, full, 0, static_cast<std::size_t>(full.size()), to);
}

/// da and db += the gradients of a function of namespace binary by its operands; either may be null. `Function` is one of
/// binary_gradients, the operands spread over `full` as in for_each_broadcast(), dy has the extents `full`. With `Writes` operands that are not
/// spread are written, not added to.
template <class Arch, class Function, bool Writes = false>
void add_binary_gradient(const float* a, const shape& a_shape, const float* b, const shape& b_shape, const float* dy,
                         const shape& full, float* da, float* db) noexcept {
    constexpr std::size_t room = broadcast_operand<Arch, float>::room;
    broadcast_operand<Arch, float> as(a, a_shape, full), bs(b, b_shape, full);
    const auto size = static_cast<std::size_t>(full.size());
    for (std::size_t first = 0; first < size; first += room) {
        const std::size_t count = std::min(room, size - first);
        const float *const x = as(first, count), *const z = bs(first, count), *const given = dy + first;
        float values[room];
        const auto pass = [&](const shape& own, float* to, auto by) {
            if (to == nullptr) return;
            const bool whole = own == full;
            for_each_vector<Arch>(
                count, [&](std::size_t i, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    const Number value =
                        by(load_number<Number>(x + i), load_number<Number>(z + i), load_number<Number>(given + i));
                    if (!whole) store_number(value, values + i);
                    else if (Writes) store_number(value, to + first + i);
                    else store_number(Number(load_number<Number>(to + first + i) + value), to + first + i);
                });
            if (!whole) add_to_operand(values, own, full, first, count, to);
        };
        pass(a_shape, da, [](const auto& p, const auto& q, const auto& g) { return Function::by_a(p, q, g); });
        pass(b_shape, db, [](const auto& p, const auto& q, const auto& g) { return Function::by_b(p, q, g); });
    }
}

/// The same, written to da and db.
template <class Arch, class Function>
void binary_gradient(const float* a, const shape& a_shape, const float* b, const shape& b_shape, const float* dy,
                     const shape& full, float* da, float* db) noexcept {
    if (da != nullptr && !(a_shape == full)) std::fill_n(da, a_shape.size(), 0.0f);
    if (db != nullptr && !(b_shape == full)) std::fill_n(db, b_shape.size(), 0.0f);
    add_binary_gradient<Arch, Function, true>(a, a_shape, b, b_shape, dy, full, da, db);
}

/// The gradients of prelu() of an NHWC image: dx is written, dslopes, of `slope_count` slopes (1, or one a channel),
/// added to and may be null. At 0 the slope's side counts, as in PyTorch.
template <class Arch>
void prelu_gradient(const float* x, const shape& extents, const float* slopes, int slope_count, const float* dy,
                    float* dx, float* dslopes) noexcept {
    std::fill_n(dx, extents.size(), 0.0f);
    add_binary_gradient<Arch, binary_gradients::prelu>(x, extents, slopes, shape{1, 1, slope_count}, dy, extents, dx,
                                                       dslopes);
}

/// The gradients of where(): da is dy where the condition is not 0, db where it is, and 0 elsewhere; either may be null.
/// `channels` is how many values a condition is for.
template <class Arch>
void where_gradient(const float* condition, std::size_t conditions, std::size_t channels, const float* dy, float* da,
                    float* db) noexcept {
    for (std::size_t i = 0; i != conditions; ++i) {
        const bool first = condition[i] != 0;
        for (std::size_t at = i * channels; at != (i + 1) * channels; ++at) {
            if (da != nullptr) da[at] = first ? dy[at] : 0.0f;
            if (db != nullptr) db[at] = first ? 0.0f : dy[at];
        }
    }
}

}  // namespace zp::inline v0::kernel
