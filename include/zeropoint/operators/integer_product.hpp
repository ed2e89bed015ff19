// SPDX-License-Identifier: BSD-3-Clause
// Products of codes and int8 weights that leave their sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/gemm/implicit_gemm.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/gemm/small_linear.hpp>

namespace zp::inline v0 {

/// sums[row][c] = sum of (x[row] - zero_point) * w[c], w being `channels` x `depth` int8 codes: symmetric, packed once. Sums of
/// codes of 8 bits are int32, those of codes of 16 bits int64.
template <class Arch> struct integer_product_kernel {
    int depth, channels;

    constexpr kernel::conv2d_geometry geometry(int rows) const { return kernel::geometry_of({rows, depth, channels}); }
    constexpr std::size_t packed_bytes() const { return kernel::panel_layout<Arch>(geometry(1), false).bytes; }
    constexpr std::size_t scratch_bytes(int rows) const {
        return kernel::implicit_gemm_plan<Arch>(geometry(rows)).scratch_bytes;
    }
    void pack(const std::int8_t* weights, kernel::activation_codes codes, std::byte* packed) const {
        kernel::pack_panels<Arch>(geometry(1), kernel::conv2d_weights<std::int8_t>{weights, nullptr, nullptr}, codes,
                                  packed);
    }
    /// The inverse.
    void unpack(const std::byte* packed, kernel::activation_codes codes, std::int8_t* weights) const {
        std::vector<std::int32_t> zeros(static_cast<std::size_t>(channels));
        kernel::unpack_panels<Arch>(geometry(1), nullptr, codes, packed, weights, zeros.data());
    }
    /// x: rows x depth codes, as `codes` says, which are those that weights were packed for.
    template <class Code, class Sum>
    void run(const Code* x, int rows, kernel::activation_codes codes, const std::byte* packed, Sum* sums,
             std::byte* scratch) const noexcept {
        kernel::implicit_gemm<Arch>(geometry(rows), x, codes, packed, keep_sums(), sums, scratch);
    }

private:
    struct keep_sums {
        template <class OtherArch, class From, class Sum>
        static void copy(const From* sums, int rows, int count, Sum* y, std::ptrdiff_t pitch) noexcept {
            for (int row = 0; row != rows; ++row)
                std::copy_n(sums + row * kernel::panel_width<OtherArch>, count, y + row * pitch);
        }
        template <class OtherArch, class Sum>
        void finish_tile(const std::int32_t* sums, int rows, int, int count, Sum* y,
                         std::ptrdiff_t pitch) const noexcept {
            copy<OtherArch>(sums, rows, count, y, pitch);
        }
        template <class OtherArch>
        void finish_int64_tile(const std::int64_t* sums, int rows, int, int count, std::int64_t* y,
                               std::ptrdiff_t pitch) const noexcept {
            copy<OtherArch>(sums, rows, count, y, pitch);
        }
    };
};

}  // namespace zp::inline v0
