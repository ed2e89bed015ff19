// SPDX-License-Identifier: BSD-3-Clause
// Where a network's parameters lie: in memory of its own, or in somebody else's, flash for instance.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp {
inline namespace v0 {

/// A stage whose networks own no parameters: they are where the network is told. See in_place.
template <class Stage> struct placed_stage : Stage { static constexpr bool is_placed = true; };

namespace detail {

template <class Stage> concept owns_parameters = !requires { Stage::is_placed; };

/// On the heap: ranges, and behind them, at a 64-byte boundary, the block. One class for all stages, whose copies are compiled once.
class own_parameters {
public:
    own_parameters(int block_bytes, int ranges)
        : block_at_(align_up(static_cast<std::size_t>(ranges + 1) * sizeof(qparams))),
          bytes_(block_at_ + static_cast<std::size_t>(block_bytes)) {
        for (int i = 0; i <= ranges; ++i) new (bytes_.data() + static_cast<std::size_t>(i) * sizeof(qparams)) qparams;
    }
    std::byte* block() noexcept { return bytes_.data() + block_at_; }
    const std::byte* block() const noexcept { return bytes_.data() + block_at_; }
    qparams* ranges() noexcept { return reinterpret_cast<qparams*>(bytes_.data()); }
    const qparams* ranges() const noexcept { return reinterpret_cast<const qparams*>(bytes_.data()); }

private:
    std::size_t block_at_;
    aligned_buffer bytes_;
};

/// Two pointers to what outlives the network and does not change.
class placed_parameters {
public:
    constexpr placed_parameters(const std::byte* block, const qparams* ranges) noexcept
        : block_(block), ranges_(ranges) {}
    constexpr const std::byte* block() const noexcept { return block_; }
    constexpr const qparams* ranges() const noexcept { return ranges_; }

private:
    const std::byte* block_;
    const qparams* ranges_;
};

template <class Stage>
using parameter_memory = std::conditional_t<owns_parameters<Stage>, own_parameters, placed_parameters>;

}  // namespace detail
}  // namespace v0
}  // namespace zp
