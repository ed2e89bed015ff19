// SPDX-License-Identifier: BSD-3-Clause
// Of any bytes: a model or a file_error, and a model that comes runs and is saved to the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "mutate.hpp"
#include "networks.hpp"

namespace fuzzed {

/// Stops the program, as a broken promise is to be seen.
inline void expect(bool holds) {
    if (!holds) std::abort();
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// A call with inputs that its ports take: small numbers, which are rows of every table here too.
template <class Network> std::vector<float> outputs_of(const Network& model) {
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    const auto memory = std::make_unique<typename Network::workspace>();
    if constexpr (Network::takes_indices) {
        const std::vector<std::int32_t> x(static_cast<std::size_t>(Network::input_shape.size()), 3);
        model(x, y, *memory);
    } else {
        std::vector<float> x(static_cast<std::size_t>(Network::input_shape.size()));
        for (std::size_t i = 0; i != x.size(); ++i) x[i] = 0.125f * static_cast<float>(static_cast<int>(i % 17) - 8);
        model(x, y, *memory);
    }
    return y;
}

template <class Model> int load_and_run(std::span<const std::byte> bytes) {
    try {
        const auto model = zp::load<Model>(bytes, "fuzzed");
        const std::vector<float> y = outputs_of(model);
        const auto again = zp::load<Model>(zp::to_bytes(model), "saved");
        expect(same_bits(y, outputs_of(again)));
    } catch (const zp::file_error&) {}
    return 0;
}

}  // namespace fuzzed

/// The entry that libFuzzer calls, of a model's type.
#define ZEROPOINT_FUZZ_MODEL(...)                                                       \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
        return fuzzed::load_and_run<__VA_ARGS__>(std::as_bytes(std::span(data, size))); \
    }
