// SPDX-License-Identifier: BSD-3-Clause
// What kernels of gradients work on: the samples of a mini-batch, and numbers that are a vector or a float.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

// Three conventions of this room:
// - The gradient of an input is written, and the gradient of a parameter is added to what is there. So blocks of samples, one
//   after another, sum up in the order of their samples, and as many samples in one block give the same bits: but for
//   float_winograd.hpp, which sums the samples of a call first.
// - Sums have a fixed order, which depends on Arch alone: not on how many samples, rows or parts come together.
// - Only what is said to be read is read: activations that a kernel does not take need not be kept.

namespace zp::inline v0::kernel {

/// One tensor of each sample of a mini-batch: that of sample i begins at values + i * stride. Each is contiguous, NHWC.
template <class T> struct batch_of {
    T* values = nullptr;
    std::ptrdiff_t stride = 0;  ///< from a sample to the next, in values

    T* operator[](std::ptrdiff_t sample) const { return values + sample * stride; }
    operator batch_of<const T>() const requires(!std::is_const_v<T>) { return {values, stride}; }
};
using float_batch = batch_of<float>;
using const_float_batch = batch_of<const float>;

/// A vector of floats of Arch, or a float where it has none.
template <class Arch> struct number_of { using type = xsimd::batch<float, Arch>; };
template <class Arch>
    requires(!has_vectors<Arch>)
struct number_of<Arch> {
    using type = float;
};
template <class Arch> using number = typename number_of<Arch>::type;

/// a * b + c, rounded once where the machine can.
template <class Number>
[[gnu::always_inline]] inline Number multiply_add(const Number& a, const Number& b, const Number& c) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) return a * b + c;
    else return xsimd::fma(a, b, c);
}

/// As many floats as are known when this is compiled: a move or a few, and no call.
template <int Count> [[gnu::always_inline]] inline void copy_floats(const float* from, float* to) noexcept {
    std::memcpy(to, from, Count * sizeof(float));
}

/// Calls body(i, number) for i in [0, count): with vectors of Arch while they are full, then with floats.
template <class Arch, class Body>
[[gnu::always_inline]] inline void for_each_vector(std::size_t count, Body&& body) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        constexpr std::size_t size = vector_size<float, Arch>;
        for (; i + size <= count; i += size) body(i, number<Arch>());
    }
    for (; i != count; ++i) body(i, float());
}

/// x[i] in the lanes i of [from, to), and zeros in the others.
template <class Number> Number load_lanes(const float* x, int from, int to) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) {
        return from < to ? *x : 0.0f;
    } else {
        float lanes[Number::size] = {};
        for (int i = from; i < to; ++i) lanes[i] = x[i];
        return Number::load_unaligned(lanes);
    }
}
/// x[i] = lane i for i in [from, to).
template <class Number> void store_lanes(const Number& value, float* x, int from, int to) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) {
        if (from < to) *x = value;
    } else {
        float lanes[Number::size];
        value.store_unaligned(lanes);
        for (int i = from; i < to; ++i) x[i] = lanes[i];
    }
}

}  // namespace zp::inline v0::kernel
