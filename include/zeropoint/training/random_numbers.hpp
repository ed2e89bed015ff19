// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that depend on where they are wanted, and on nothing else: not on threads, ranks, or what was drawn before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>

namespace zp::inline v0 {

/// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011): four random numbers of 32 bits for a
/// counter and a key.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
    for (int round = 0; round != 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0], b = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

/// The numbers of one place: number i is word i % 4 of philox4x32({i / 4, sample, epoch, purpose}, {seed, seed >> 32}). `purpose`
/// tells apart what draws in the same epoch for the same sample: a layer's number, or one's own.
struct random_numbers {
    std::uint64_t seed = 0;                            // of all numbers
    std::uint32_t purpose = 0, epoch = 0, sample = 0;  // what draws, in which epoch, for which sample

    /// Numbers 4 * block to 4 * block + 3.
    constexpr std::array<std::uint32_t, 4> four(std::uint32_t block) const {
        return philox4x32({block, sample, epoch, purpose},
                          {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    }
    /// Number i, below 2^34.
    constexpr std::uint32_t operator[](std::uint64_t i) const { return four(static_cast<std::uint32_t>(i / 4))[i % 4]; }
    /// Uniform in [0, 1), a multiple of 2^-24.
    constexpr float uniform(std::uint64_t i) const { return static_cast<float>((*this)[i] >> 8) * 0x1p-24f; }
    /// Uniform in [0, bound), from numbers 2i and 2i + 1: a value's probability is 1 / bound within 2^-64.
    constexpr std::uint32_t below(std::uint64_t i, std::uint32_t bound) const {
        const std::uint64_t high = (*this)[2 * i], low = (*this)[2 * i + 1];
        return static_cast<std::uint32_t>((high * bound + (low * bound >> 32)) >> 32);
    }
};

/// Purposes of the library's own, from the upper end; layers have their numbers.
inline constexpr std::uint32_t purpose_of_shuffling = 0xffffffffu;

/// 0 ... count - 1 in the order of an epoch (Fisher and Yates, from the last place down).
inline std::vector<std::uint32_t> shuffled(std::size_t count, std::uint64_t seed, std::uint32_t epoch) {
    if (count > std::numeric_limits<std::uint32_t>::max())
        raise<value_error>("shuffled: expected fewer than 2^32 samples, got " + std::to_string(count));
    const random_numbers random{seed, purpose_of_shuffling, epoch};
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[random.below(i - 1, static_cast<std::uint32_t>(i))]);
    return order;
}

/// 1 for values that are kept, 0 for those that are dropped, each with the given probability (to 2^-32): value i by number i. What
/// is kept is to be multiplied by 1 / (1 - probability).
inline void dropout_mask(const random_numbers& random, double probability, std::span<std::uint8_t> mask) {
    if (!(probability >= 0 && probability < 1))
        raise<value_error>("dropout_mask: the probability is " + number_text(probability) +
                           ", expected a number in [0, 1)");
    const auto limit = static_cast<std::uint32_t>(probability * 0x1p32);
    for (std::size_t first = 0; first < mask.size(); first += 4) {
        const auto words = random.four(static_cast<std::uint32_t>(first / 4));
        for (std::size_t k = 0; k != 4 && first + k != mask.size(); ++k) mask[first + k] = words[k] >= limit;
    }
}

}  // namespace zp::inline v0
