// SPDX-License-Identifier: BSD-3-Clause
// AdaRound's weights between codes and their gradients: those of the formula, and the same bits on every architecture and tail.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/soft_rounding.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

struct soft_case {
    floats variables, floors, scales, lowest, highest, gradient;

    explicit soft_case(std::size_t count)
        : variables(arrays::reals(count, 1, -5, 5)),
          floors(count),
          scales(arrays::reals(count, 2, 0.01f, 2)),
          lowest(count),
          highest(count),
          gradient(arrays::reals(count, 3)) {
        // The ends of h at -2.397895 and 2.397895, far beyond them, and in the middle.
        const float special[] = {0, -2.3978f, -2.398f, 2.3978f, 2.398f, -200, 200, 1e-30f};
        for (std::size_t i = 0; i < count; i += 3) variables[i] = special[i / 3 % std::size(special)];
        for (std::size_t i = 0; i != count; ++i) {
            floors[i] = static_cast<float>(static_cast<int>(i * 7 % 9) - 4);  // below, within and above -2 to 1
            lowest[i] = i % 2 == 0 ? -2 : -3;
            highest[i] = lowest[i] + 3;
        }
    }
};
struct soft_result {
    floats up, slopes, weights, gradient;
};
template <class Arch> soft_result computed(const soft_case& of) {
    const std::size_t count = of.variables.size();
    soft_result y{floats(count), floats(count), floats(count), of.gradient};
    const kernel::soft_codes codes{of.floors.data(),  of.scales.data(), of.lowest.data(),
                                   of.highest.data(), y.up.data(),      y.slopes.data()};
    kernel::soft_weights<Arch>(of.variables.data(), codes, count, y.weights.data());
    kernel::soft_weights_gradient<Arch>(codes, count, y.gradient.data());
    return y;
}

}  // namespace

TEST_CASE("soft_weights: the formula's values, within 1e-6") {
    const soft_case one(240);
    const soft_result y = computed<zp::default_architecture>(one);
    std::size_t flat = 0, clamped = 0;
    for (std::size_t i = 0; i != one.variables.size(); ++i) {
        CAPTURE(one.variables[i]);
        const double sigmoid = 1 / (1 + std::exp(-double{one.variables[i]})), raw = 1.2 * sigmoid - 0.1;
        const bool moves = raw >= 0 && raw <= 1;
        const double slope = moves ? 1.2 * sigmoid * (1 - sigmoid) : 0;
        CHECK(std::abs(double{y.up[i]} - std::clamp(raw, 0.0, 1.0)) < 1e-6);
        CHECK(std::abs(double{y.slopes[i]} - slope) < 1e-6);
        const double scale = double{one.scales[i]}, code = double{one.floors[i]} + double{y.up[i]};
        const double kept = std::clamp(code, double{one.lowest[i]}, double{one.highest[i]});
        CHECK(std::abs(double{y.weights[i]} - scale * kept) < 1e-6);
        const double chained = code == kept ? double{one.gradient[i]} * scale * double{y.slopes[i]} : 0;
        CHECK(std::abs(double{y.gradient[i]} - chained) < 1e-6);
        flat += !moves;
        clamped += code != kept;
    }
    CHECK(flat > 20);
    CHECK(clamped > 20);
}

TEST_CASE("soft_weights: the same bits on every architecture and tail") {
    for (const std::size_t count : {0u, 1u, 3u, 4u, 7u, 8u, 9u, 15u, 67u}) {
        const soft_case one(count);
        const soft_result expected = computed<zp::portable>(one);
        arrays::for_each_architecture([&]<class Arch>() {
            const soft_result y = computed<Arch>(one);
            CHECK(arrays::same_bits(y.up, expected.up));
            CHECK(arrays::same_bits(y.slopes, expected.slopes));
            CHECK(arrays::same_bits(y.weights, expected.weights));
            CHECK(arrays::same_bits(y.gradient, expected.gradient));
        });
    }
}
