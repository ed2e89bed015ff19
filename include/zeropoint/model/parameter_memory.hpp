// SPDX-License-Identifier: BSD-3-Clause
// Where a network's parameters lie: in memory of its own, or in somebody else's, flash for instance.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

/// A stage whose networks own no parameters: they are where the network is told. See in_place.
template <class Stage> struct placed_stage : Stage { static constexpr bool is_placed = true; };

namespace detail {

template <class Stage> concept owns_parameters = !requires { Stage::is_placed; };

/// On the heap, at a 64-byte boundary; ranges within the network. One class for all networks of as many ranges: what a class of its own
/// costs to compile, each network would pay.
template <int RangeCount> class own_parameters {
public:
    explicit own_parameters(int bytes) : block_(static_cast<std::size_t>(bytes)) {}
    std::byte* parameters() noexcept { return block_.data(); }
    const std::byte* parameters() const noexcept { return block_.data(); }
    qparams* ranges() noexcept { return ranges_.data(); }
    const qparams* ranges() const noexcept { return ranges_.data(); }

private:
    aligned_buffer block_;
    std::array<qparams, static_cast<std::size_t>(RangeCount) + 1> ranges_{};
};

/// Two pointers to what outlives the network and does not change.
class placed_parameters {
public:
    constexpr placed_parameters(const std::byte* block, const qparams* ranges) noexcept
        : block_(block), ranges_(ranges) {}
    constexpr const std::byte* parameters() const noexcept { return block_; }
    constexpr const qparams* ranges() const noexcept { return ranges_; }

private:
    const std::byte* block_;
    const qparams* ranges_;
};

template <class Stage>
using parameter_memory =
    std::conditional_t<owns_parameters<Stage>, own_parameters<Stage::table.qparams_count>, placed_parameters>;

}  // namespace detail
}  // namespace zp::inline v0
