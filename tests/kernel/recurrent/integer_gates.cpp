// Gates in integers: equal to their definition in double, where that is exact, and near the real functions.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/recurrent/integer_gates.hpp>

#include "../../support/extent.hpp"
#include "../../support/generator.hpp"

namespace {

namespace kernel = zp::kernel;

double clamped(double value, double low, double high) { return std::min(std::max(value, low), high); }
/// The nearest integer of value / 2^shift, halves to even.
double shifted(double value, int shift) { return std::nearbyint(std::ldexp(value, -shift)); }

/// A table's output in units of 2^-15: the definition.
double looked_up(bool is_tanh, double argument) {
    const double x = clamped(argument, -2048, 2047) / 256;
    return std::min(std::nearbyint(32768 * (is_tanh ? std::tanh(x) : 1 / (1 + std::exp(-x)))), 32767.0);
}

struct problem {
    std::size_t count;
    int shift;
    std::vector<std::int32_t> x_multiplier, h_multiplier, x_sums, h_sums;
    std::vector<std::int64_t> x_bias, h_bias;
    std::vector<std::int16_t> wide;

    problem(zp_test::generator& next, std::size_t gates)
        : count(static_cast<std::size_t>(next.integer(1, 20))), shift(next.integer(15, 30)) {
        // Arguments up to about 2^4 in units of 2^-(8 + shift): all below 2^53.
        const int sum_bits = next.integer(3, 18);
        for (std::size_t i = 0; i != gates * count; ++i) {
            const int most = std::min(1 << std::min(shift + 12 - sum_bits, 29), (1 << 30) - 1);
            x_multiplier.push_back(next.integer(1, most));
            h_multiplier.push_back(next.integer(1, most));
            x_sums.push_back(next.integer(-(1 << sum_bits), 1 << sum_bits));
            h_sums.push_back(next.integer(-(1 << sum_bits), 1 << sum_bits));
            x_bias.push_back(next.integer(-(1 << 29), 1 << 29));
            h_bias.push_back(next.integer(-(1 << 29), 1 << 29));
        }
        for (std::size_t i = 0; i != count; ++i) wide.push_back(static_cast<std::int16_t>(next.integer(-32768, 32767)));
    }
    kernel::gate_arguments arguments() const {
        return {x_multiplier.data(), h_multiplier.data(), x_bias.data(), h_bias.data(), shift};
    }
    double x(std::size_t k) const {
        return double(x_sums[k]) * double(x_multiplier[k]) + static_cast<double>(x_bias[k]);
    }
    double h(std::size_t k) const {
        return double(h_sums[k]) * double(h_multiplier[k]) + static_cast<double>(h_bias[k]);
    }
};

}  // namespace

TEST_CASE("integer_gates: an LSTM's step is its definition") {
    const kernel::gate_tables tables;
    zp_test::generator next(3);
    for (int number = 0; number != zp_test::fewer(600); ++number) {
        const problem p(next, 4);
        std::vector<std::int16_t> c = p.wide;
        std::vector<std::int8_t> h(p.count);
        kernel::integer_lstm_gates(tables, p.arguments(), p.x_sums.data(), p.h_sums.data(), p.count, c.data(),
                                   h.data());
        for (std::size_t i = 0; i != p.count; ++i) {
            const auto gate = [&](std::size_t g) {
                const std::size_t k = g * p.count + i;
                return looked_up(g == 2, shifted(p.x(k) + p.h(k), p.shift));
            };
            const double cell = clamped(shifted(gate(1) * p.wide[i] * 16 + gate(0) * gate(2), 19), -32768, 32767);
            const double out = clamped(shifted(gate(3) * looked_up(true, shifted(cell, 3)), 23), -128, 127);
            CAPTURE(number);
            CHECK(double(c[i]) == cell);
            CHECK(double(h[i]) == out);
        }
    }
}

TEST_CASE("integer_gates: a GRU's step is its definition") {
    const kernel::gate_tables tables;
    zp_test::generator next(4);
    for (int number = 0; number != zp_test::fewer(600); ++number) {
        const problem p(next, 3);
        std::vector<std::int16_t> wide = p.wide;
        std::vector<std::int8_t> h(p.count);
        kernel::integer_gru_gates(tables, p.arguments(), p.x_sums.data(), p.h_sums.data(), p.count, wide.data(),
                                  h.data());
        for (std::size_t i = 0; i != p.count; ++i) {
            const auto gate = [&](std::size_t g) {
                const std::size_t k = g * p.count + i;
                return looked_up(false, shifted(p.x(k) + p.h(k), p.shift));
            };
            const std::size_t k = 2 * p.count + i;
            const double fresh = looked_up(true, shifted(p.x(k) + gate(0) * shifted(p.h(k), 15), p.shift));
            const double state = clamped(shifted(fresh * 32768 + gate(1) * (p.wide[i] - fresh), 15), -32768, 32767);
            CAPTURE(number);
            CHECK(double(wide[i]) == state);
            CHECK(double(h[i]) == clamped(shifted(state, 8), -128, 127));
        }
    }
}
