// SPDX-License-Identifier: BSD-3-Clause
// The kinds of panel of a matrix product, as tile kernels see them: how weights are loaded and multiplied.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/arch/operations.hpp>

namespace zp::inline v0::kernel {

/// The kinds of panel of gemm/pack_panels.hpp, as tile kernels see them.
struct byte_quads {
    using activation = std::uint8_t;
    using weight = std::int8_t;
    static constexpr int depth = 4;
    /// Of architectures that take them where they lie, where.
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        if constexpr (requires(typename Operations::int32 & sums) {
                          Operations::dot4(sums, Operations::broadcast(std::declval<const activation*>()), panel);
                      })
            return panel;
        else return load_vector<Operations>(panel);
    }
    /// In a register.
    template <class Operations> [[gnu::always_inline]] static auto load_vector(const weight* panel) {
        return Operations::template load<typename Operations::int8>(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations a, Weights w) {
        Operations::dot4(sums, a, w);
    }
};
/// byte_quads whose pair sums are added up in int16 over a window of quads before they are widened.
struct windowed_quads : byte_quads {};
/// Of architectures that multiply whole tiles, of unsigned bytes: weights are 128 higher. Dot products flip the sign bit back.
struct offset_quads : byte_quads {
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        return load_vector<Operations>(panel);
    }
    template <class Operations> [[gnu::always_inline]] static auto load_vector(const weight* panel) {
        return Operations::flip_signs(byte_quads::load_vector<Operations>(panel));
    }
};
/// How an architecture stores quads that need no check.
template <class Arch> using quads_of = std::conditional_t<has_whole_tiles<Arch>, offset_quads, byte_quads>;
/// Activations a in [-128, 127] as magnitudes and flips. Where a is negative, all bits of the weight are flipped:
///
///     |a| * (w ^ 0xff) = |a| * (-w - 1) = a * w - |a|
///
/// so that sums lack the magnitudes that were flipped, which is one number a row whatever the weights are.
struct signed_quads {
    using activation = std::uint8_t;
    using weight = std::int8_t;
    static constexpr int depth = 4;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) { return panel; }
    template <class Operations> [[gnu::always_inline]] static auto load_vector(const weight* panel) {
        return byte_quads::load_vector<Operations>(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations magnitudes, Activations flips,
                                           Weights w) {
        Operations::dot4_flipped(sums, magnitudes, flips, w);
    }
};
struct widened_pairs {
    using activation = std::int16_t;
    using weight = std::int8_t;
    static constexpr int depth = 2;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        return Operations::load_widened(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations a, Weights w) {
        Operations::dot2(sums, a, w);
    }
};
struct word_pairs {
    using activation = std::int16_t;
    using weight = std::int16_t;
    static constexpr int depth = 2;
    template <class Operations> [[gnu::always_inline]] static auto load(const weight* panel) {
        return Operations::template load<typename Operations::int16>(panel);
    }
    template <class Operations, class Activations, class Weights>
    [[gnu::always_inline]] static void dot(typename Operations::int32& sums, Activations a, Weights w) {
        Operations::dot2(sums, a, w);
    }
};

}  // namespace zp::inline v0::kernel
