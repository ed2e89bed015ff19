// An order of input channels in which few pairs of weights can saturate, for some panels together.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/panel_layout.hpp>
#include <zeropoint/kernel/saturation.hpp>

// With weights as training leaves them a few per cent of all pairs break the limits of saturation.hpp, but of the pairs
// of 16 channels nearly every one does. Which channels are paired is free, though, as long as activations come in the
// same order: one byte shuffle a block of 16 channels, when they are copied. Within a block there is nearly always a
// pairing with no or few bad pairs, if only some panels have to agree on it.

namespace zp {
inline namespace v0 {
namespace kernel {

/// For each pair of channels of a block, in how many panels and taps some output channel has a pair that does not fit.
struct pairing_costs {
    std::int32_t cost[shuffle_block][shuffle_block] = {};

    /// Adds a tap of a panel: `channels` filters, the block's weights of the first at `weights`.
    void add(const std::int8_t* weights, std::ptrdiff_t filter_size, int channels, pair_limits limits) {
        std::int16_t unfit[shuffle_block][shuffle_block] = {};
        for (int c = 0; c != channels; ++c, weights += filter_size) {
            std::int16_t positive[shuffle_block], negative[shuffle_block];
            for (int i = 0; i != shuffle_block; ++i) {
                positive[i] = static_cast<std::int16_t>(std::max<int>(weights[i], 0) - limits.positive);
                negative[i] = static_cast<std::int16_t>(std::max<int>(-weights[i], 0) - limits.negative);
            }
            for (int i = 0; i != shuffle_block; ++i) {
                const int up = positive[i] + limits.positive, down = negative[i] + limits.negative;
                for (int j = 0; j != shuffle_block; ++j) {
                    unfit[i][j] =
                        static_cast<std::int16_t>(unfit[i][j] | (positive[j] + up > 0) | (negative[j] + down > 0));
                }
            }
        }
        for (int i = 0; i != shuffle_block; ++i)
            for (int j = 0; j != shuffle_block; ++j) cost[i][j] += unfit[i][j];
    }

    /// order[0] with order[1], order[2] with order[3], ..., at nearly the least cost, unless that is far above
    /// `hopeless`. Bad pairs come together, two to a quad.
    void pair_up(std::uint8_t (&order)[shuffle_block], std::int32_t hopeless) const {
        exchange_partners(order);
        if (total(order) != 0 && total(order) <= hopeless) search(order);
        const auto of = [&](int i) { return cost[order[i]][order[i + 1]]; };
        for (int i = 2; i != shuffle_block; i += 2) {
            for (int j = i; j != 0 && of(j - 2) < of(j); j -= 2) {
                std::swap(order[j - 2], order[j]);
                std::swap(order[j - 1], order[j + 1]);
            }
        }
    }

private:
    std::int32_t total(const std::uint8_t (&order)[shuffle_block]) const {
        std::int32_t sum = 0;
        for (int i = 0; i != shuffle_block; i += 2) sum += cost[order[i]][order[i + 1]];
        return sum;
    }
    /// Pairs exchange partners until none gains.
    void exchange_partners(std::uint8_t (&order)[shuffle_block]) const {
        const auto of = [&](int a, int b) { return cost[order[a]][order[b]]; };
        for (bool better = true; better;) {
            better = false;
            for (int i = 0; i != shuffle_block; i += 2) {
                for (int j = i + 2; j != shuffle_block; j += 2) {
                    const std::int32_t now = of(i, i + 1) + of(j, j + 1), crossed = of(i, j) + of(i + 1, j + 1),
                                       swapped = of(i, j + 1) + of(j, i + 1);
                    if (std::min(crossed, swapped) >= now) continue;
                    std::swap(order[i + 1], crossed < swapped ? order[j] : order[j + 1]);
                    better = true;
                }
            }
        }
    }

    /// Branch and bound from the best order known, for a bounded number of steps.
    struct search_state {
        std::uint16_t free[shuffle_block] = {};  ///< partners at no cost
        std::uint8_t order[shuffle_block] = {};
        std::int32_t best = 0;
        int steps = 1000;
    };
    void search(std::uint8_t (&order)[shuffle_block]) const {
        search_state state;
        for (int i = 0; i != shuffle_block; ++i)
            for (int j = 0; j != shuffle_block; ++j)
                if (i != j && cost[i][j] == 0) state.free[i] = static_cast<std::uint16_t>(state.free[i] | 1 << j);
        state.best = total(order);
        extend(state, 0xffff, 0, 0, order);
    }
    void extend(search_state& state, unsigned left, int depth, std::int32_t sum,
                std::uint8_t (&order)[shuffle_block]) const {
        if (left == 0) {
            state.best = sum;
            std::copy_n(state.order, shuffle_block, order);
            return;
        }
        // The channel with the fewest good partners left comes first; those with none cost at least one, two of them
        // together.
        int chosen = 0, fewest = shuffle_block + 1, without = 0;
        for (int i = 0; i != shuffle_block; ++i) {
            if ((left >> i & 1) == 0) continue;
            const int partners = std::popcount(state.free[i] & left);
            without += partners == 0;
            if (partners < fewest) chosen = i, fewest = partners;
        }
        if (sum + (without + 1) / 2 >= state.best || --state.steps < 0) return;
        left &= ~(1u << chosen);
        for (std::int32_t allowed = 0; allowed < state.best - sum; ++allowed) {
            for (int j = 0; j != shuffle_block; ++j) {
                if ((left >> j & 1) == 0 || cost[chosen][j] != allowed) continue;
                state.order[depth] = static_cast<std::uint8_t>(chosen);
                state.order[depth + 1] = static_cast<std::uint8_t>(j);
                extend(state, left & ~(1u << j), depth + 2, sum + allowed, order);
                if (state.best == 0 || state.steps < 0) return;
            }
        }
    }
};

/// The shuffle of output channels [first, first + channels), that is of some panels of `width` channels. `weights` are
/// OHWI; shuffle[i] is the channel within i's block that comes to i. Channels past the last whole block stay.
inline void find_shuffle(const conv2d_geometry& g, const std::int8_t* weights, int first, int channels, int width,
                         pair_limits limits, std::uint8_t* shuffle) {
    const std::ptrdiff_t filter_size = g.depth();
    for (int block = 0; block + shuffle_block <= g.in.channels; block += shuffle_block) {
        pairing_costs costs;
        for (int c = first; c < first + channels; c += width) {
            const int count = std::min(width, first + channels - c);
            for (int tap = 0; tap != g.taps(); ++tap)
                costs.add(weights + c * filter_size + std::ptrdiff_t{tap} * g.in.channels + block, filter_size, count,
                          limits);
        }
        std::uint8_t order[shuffle_block];
        for (int i = 0; i != shuffle_block; ++i) order[i] = static_cast<std::uint8_t>(i);
        costs.pair_up(order, ((channels - 1) / width + 1) * g.taps() * 6);
        std::copy_n(order, shuffle_block, shuffle + block);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
