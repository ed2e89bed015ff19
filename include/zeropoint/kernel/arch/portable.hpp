// The primitives of the integer kernels in plain C++, for any machine and, with odd sizes, for testing the loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zp {
inline namespace v0 {
namespace kernel {

/// What every architecture supplies to the loops of gemm.hpp, depthwise.hpp and staging.hpp.
///   tile_rows, vectors, lanes     a tile is tile_rows x (vectors * lanes) int32 accumulators, all held in registers
///   has_batches                   whether int32 is an xsimd batch, so that epilogues can be applied to vectors
///   has_dot4                      whether dot4 can be called; else all panels take dot2
///   pair_sums_saturate            whether dot4 adds pairs of products in 16 saturating bits (dispatch per panel then)
///   interleaved_channel(lane)     the channel that interleave() brings to an int32 lane of a tile
template <int Rows, int Lanes, int Vectors> struct portable_operations {
    static constexpr const char* name = "portable";
    static constexpr int tile_rows = Rows, vectors = Vectors, lanes = Lanes;
    static constexpr bool has_batches = false;
    static constexpr bool has_dot4 = true;
    static constexpr bool pair_sums_saturate = false;
    static constexpr int interleaved_channel(int lane) { return lane; }

    template <class T, int Size> struct vector { T value[Size]; };
    using int32 = vector<std::int32_t, Lanes>;
    using int16 = vector<std::int16_t, 2 * Lanes>;
    using int8 = vector<std::int8_t, 4 * Lanes>;

    template <class Vector, class T> static Vector load(const T* from) {
        Vector loaded;
        static_assert(sizeof(loaded.value[0]) == sizeof(T));
        std::memcpy(&loaded, from, sizeof loaded);
        return loaded;
    }
    static void store(std::int32_t* to, const int32& from) { std::memcpy(to, &from, sizeof from); }

    /// 2 * Lanes int8 weights as int16.
    static int16 load_widened(const std::int8_t* from) {
        int16 loaded;
        for (int i = 0; i != 2 * Lanes; ++i) loaded.value[i] = from[i];
        return loaded;
    }

    /// The next depth pair (quad) of one activation row, for all lanes.
    static vector<std::int16_t, 2> broadcast(const std::int16_t* from) { return {{from[0], from[1]}}; }
    static vector<std::uint8_t, 4> broadcast(const std::uint8_t* from) {
        return {{from[0], from[1], from[2], from[3]}};
    }

    /// sums[lane] += a[0] * b[2 * lane] + a[1] * b[2 * lane + 1], modulo 2^32
    static void dot2(int32& sums, const vector<std::int16_t, 2>& a, const int16& b) {
        for (int i = 0; i != Lanes; ++i) {
            add_wrapping(sums.value[i], a.value[0] * b.value[2 * i] + a.value[1] * b.value[2 * i + 1]);
        }
    }
    static void dot2(int32& sums, const int16& a, const int16& b) {
        for (int i = 0; i != Lanes; ++i) {
            add_wrapping(sums.value[i], a.value[2 * i] * b.value[2 * i] + a.value[2 * i + 1] * b.value[2 * i + 1]);
        }
    }
    /// sums[lane] += a[0] * b[4 * lane] + ... + a[3] * b[4 * lane + 3]
    static void dot4(int32& sums, const vector<std::uint8_t, 4>& a, const int8& b) {
        for (int i = 0; i != Lanes; ++i) {
            std::int32_t dot = 0;
            for (int k = 0; k != 4; ++k) dot += a.value[k] * b.value[4 * i + k];
            add_wrapping(sums.value[i], dot);
        }
    }
    /// Keeps the compiler from moving work across; nothing to do here.
    static void fence(int32 (&)[Vectors]) {}

    /// Vectors * Lanes values of two rows as pairs (first[i], second[i]), in the order of interleaved_channel.
    static void interleave(const std::int16_t* first, const std::int16_t* second, int16 (&pairs)[Vectors]) {
        for (int i = 0; i != Vectors * Lanes; ++i) {
            pairs[i / Lanes].value[i % Lanes * 2] = first[i];
            pairs[i / Lanes].value[i % Lanes * 2 + 1] = second[i];
        }
    }
    /// The lanes of interleaved sums in the order of channels.
    static void restore_order(int32 (&)[Vectors]) {}

    /// to[i] = from[i] - zero_point
    template <class In>
    static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point, std::int16_t* to) {
        for (std::ptrdiff_t i = 0; i != count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
    }

private:
    /// Modulo 2^32: with the zero point folded into the bias, partial sums may leave the range that the result is in.
    static void add_wrapping(std::int32_t& sum, std::int32_t dot) {
        sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(dot));
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
