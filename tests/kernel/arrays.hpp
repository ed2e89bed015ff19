// What the tests of elementwise kernels share: architectures to run on, reproducible values, lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/code_vectors.hpp>

namespace arrays {

/// Calls `test.template operator()<Arch>()` for plain C++ and for every vector width that this build has.
template <class Arch = zp::default_architecture, class Test> void for_each_architecture(Test test) {
    test.template operator()<Arch>();
    if constexpr (zp::has_vectors<Arch>) for_each_architecture<zp::kernel::narrower_architecture<Arch>>(test);
}

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

inline std::vector<float> reals(std::size_t count, std::uint64_t seed, float low = -4.0f, float high = 4.0f) {
    generator next(seed);
    std::vector<float> values(count);
    for (float& value : values) value = next.real(low, high);
    return values;
}

/// Codes over the whole range of T, about one in four at an end of it.
template <class T> std::vector<T> codes(std::size_t count, std::uint64_t seed) {
    generator next(seed);
    std::vector<T> values(count);
    const int lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    for (T& value : values) {
        const int kind = next.integer(0, 7);
        value = static_cast<T>(kind == 0 ? lowest : kind == 1 ? highest : next.integer(lowest, highest));
    }
    return values;
}

/// Equality of bits: tells -0 from +0, and a NaN equals itself.
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace arrays
