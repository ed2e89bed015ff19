// SPDX-License-Identifier: BSD-3-Clause
// Reproducible numbers: the same on every machine, whatever its standard library.
#pragma once

#include <cstdint>

namespace zp_test {

/// A fixed sequence of 32-bit numbers (splitmix64).
class generator {
public:
    explicit generator(std::uint64_t seed) : state_(seed) {}
    std::uint32_t operator()() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
    }
    /// Uniform in [low, high).
    float real(float low, float high) { return low + (high - low) * static_cast<float>((*this)() >> 8) * 0x1p-24f; }
    /// Uniform in [low, high].
    int integer(int low, int high) {
        return low + static_cast<int>((*this)() % static_cast<std::uint32_t>(high - low + 1));
    }

private:
    std::uint64_t state_;
};

}  // namespace zp_test
