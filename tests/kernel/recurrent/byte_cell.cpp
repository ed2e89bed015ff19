// SPDX-License-Identifier: BSD-3-Clause
// LSTM and GRU steps over 8-bit codes: the integers of their definition, on every architecture, and near the real functions.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/recurrent/byte_cell.hpp>
#include <zeropoint/kernel/reference/recurrent.hpp>

#include "../../support/arrays.hpp"
#include "../../support/extent.hpp"
#include "../../support/generator.hpp"

namespace {

namespace kernel = zp::kernel;
namespace reference = zp::kernel::reference;

/// How far arguments go: they have about `bits` bits behind the shift.
reference::recurrent_cell_integers random_cell(zp_test::generator& next, bool is_lstm, int inputs, int hidden, int bits,
                                               int extreme) {
    reference::recurrent_cell_integers cell{is_lstm, inputs, hidden, next.integer(1, 32), {}, {}, {}, {}, {}, {}};
    const int rows = (is_lstm ? 4 : 3) * hidden;
    const auto weights = [&](int depth) {
        std::vector<std::int8_t> all;
        for (int i = 0; i != rows * depth; ++i)
            all.push_back(static_cast<std::int8_t>(next.integer(0, 9) < extreme ? (next.integer(0, 1) ? 127 : -128)
                                                                                : next.integer(-128, 127)));
        return all;
    };
    cell.x = weights(inputs);
    cell.h = weights(hidden);
    const auto multiplier = [&](int depth) {
        // The sum of a row is at most 2^16 times its depth.
        int log2 = 0;
        while (1 << log2 < depth) ++log2;
        return 1 + next.integer(0, (1 << std::clamp(bits + cell.shift - 16 - log2, 0, 29)) - 1);
    };
    for (int row = 0; row != rows; ++row) {
        cell.x_multiplier.push_back(multiplier(inputs));
        cell.h_multiplier.push_back(multiplier(hidden));
        const std::int64_t most = std::int64_t{1} << (cell.shift + std::min(bits, 13));
        for (auto* bias : {&cell.x_bias, &cell.h_bias})
            bias->push_back(most / 1024 * next.integer(-1024, 1024) + next.integer(-1, 1));
    }
    return cell;
}

/// Some steps of one layer, of every form of the weights.
template <class Arch, bool IsLstm, bool Small, class Code, class Extents>
void compare(const reference::recurrent_cell_integers& cell, std::uint64_t seed, int zero_point, const Extents& e) {
    using cell_type = kernel::byte_cell<Arch, IsLstm, Small>;
    using activation = typename cell_type::activation;
    const kernel::cell_extents extents{cell.inputs, cell.hidden};
    const kernel::byte_codes codes{zero_point, std::is_signed_v<Code>};
    // Halves, which the definition adds, are in the biases.
    auto x_bias = cell.x_bias, h_bias = cell.h_bias;
    const auto hidden = static_cast<std::size_t>(cell.hidden);
    for (std::size_t row = 0; row != x_bias.size(); ++row) {
        x_bias[row] += std::int64_t{1} << (cell.shift - 1);
        if (!IsLstm && row >= 2 * hidden) h_bias[row] += std::int64_t{1} << (cell.shift - 1);
    }
    zp::aligned_buffer packed(cell_type::packed_bytes(extents));
    cell_type::pack(extents, codes, cell.x.data(), cell.h.data(),
                    {cell.x_multiplier.data(), cell.h_multiplier.data(), x_bias.data(), h_bias.data()}, packed.data());
    std::vector<std::int8_t> x(cell.x.size()), h(cell.h.size());
    cell_type::unpack(extents, packed.data(), x.data(), h.data());
    CHECK(x == cell.x);
    CHECK(h == cell.h);

    std::vector<activation> staged(static_cast<std::size_t>(cell_type::staged_inputs(extents))),
        room(static_cast<std::size_t>(cell_type::staged_state(extents)));
    std::vector<std::int16_t> carried = arrays::codes<std::int16_t>(hidden, seed), expected_carried = carried;
    std::vector<std::int8_t> state = arrays::codes<std::int8_t>(hidden, seed + 1), expected = state, y(hidden + 1, 77);
    carried.push_back(77);  // which no step may change
    state.push_back(77);
    for (std::uint64_t step = 0; step != 6; ++step) {
        const auto in = arrays::codes<Code>(static_cast<std::size_t>(cell.inputs), seed + 2 + step);
        reference::recurrent_step(cell, in.data(), zero_point, expected_carried, expected);
        cell_type::stage_input(e, codes, in.data(), staged.data());
        // In turns without an output, with one, and with a flipped one.
        const bool gives = step % 3 != 0, flips = step % 3 == 2;
        cell_type::step(e, packed.data(), cell.shift, staged.data(), state.data(), carried.data(), room.data(),
                        gives ? y.data() : nullptr, flips);
        if (gives)
            for (std::size_t i = 0; i != hidden; ++i)
                REQUIRE(static_cast<std::uint8_t>(y[i]) == static_cast<std::uint8_t>(expected[i] ^ (flips ? 128 : 0)));
        const std::vector<std::int16_t> found_carried(carried.begin(), carried.end() - 1);
        const std::vector<std::int8_t> found(state.begin(), state.end() - 1);
        REQUIRE(found_carried == expected_carried);
        REQUIRE(found == expected);
    }
    CHECK(carried.back() == 77);
    CHECK(state.back() == 77);
    CHECK(y.back() == 77);
}

template <class Arch, bool IsLstm, bool Small> void compare_extents() {
    zp_test::generator next(IsLstm ? 11 : 12);
    for (int hidden = 1; hidden <= 129; hidden += hidden < 36 ? 1 : hidden < 60 ? 7 : 31)
        for (int number = 0; number != zp_test::fewer(6); ++number) {
            const int inputs = next.integer(0, 2) == 0 ? 1 : next.integer(1, 37);
            const int bits = number == 0 ? 29 : next.integer(6, 20);
            CAPTURE(hidden);
            CAPTURE(inputs);
            CAPTURE(bits);
            const auto cell = random_cell(next, IsLstm, inputs, hidden, bits, number % 3 * 4);
            const kernel::cell_extents e{inputs, hidden};
            const auto seed = static_cast<std::uint64_t>(hidden * 100 + number);
            compare<Arch, IsLstm, Small, std::uint8_t>(cell, seed, next.integer(0, 255), e);
            compare<Arch, IsLstm, Small, std::int8_t>(cell, seed, next.integer(-128, 127), e);
        }
    // Extents that are known: with an input that is multiplied last, and one that is multiplied first.
    const auto narrow = random_cell(next, IsLstm, 3, 40, 15, 2), wide = random_cell(next, IsLstm, 21, 19, 15, 2);
    compare<Arch, IsLstm, Small, std::uint8_t>(narrow, 5, 128, kernel::fixed_cell<3, 40>());
    compare<Arch, IsLstm, Small, std::int8_t>(wide, 6, -3, kernel::fixed_cell<21, 19>());
    // A half at the end that is whole where vectors have eight lanes, or four.
    const auto half = random_cell(next, IsLstm, 9, 24, 15, 2);
    compare<Arch, IsLstm, Small, std::uint8_t>(half, 7, 131, kernel::fixed_cell<9, 24>());
}

/// Every word in vectors.
template <class Arch> void compare_words() {
    if constexpr (zp::has_vectors<Arch>) {
        using ops = kernel::operations<Arch>;
        const kernel::word_functions<ops> functions;
        constexpr int words = 2 * ops::lanes;
        for (int first = -32768; first < 32768; first += words) {
            std::int16_t in[words], tanh[words], sigmoid[words];
            for (int i = 0; i != words; ++i) in[i] = static_cast<std::int16_t>(first + i);
            const auto v = ops::template load<typename ops::int16>(in);
            ops::store(tanh, functions.tanh(v));
            ops::store(sigmoid, functions.sigmoid(v));
            for (int i = 0; i != words; ++i)
                if (tanh[i] != reference::tanh_of_word(in[i]) || sigmoid[i] != reference::sigmoid_of_word(in[i]))
                    FAIL_CHECK("at ", in[i], ": ", tanh[i], " ", sigmoid[i]);
        }
    }
}

double real_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("word_functions: tanh and sigmoid of every word are their definition") {
    for (int v = -32768; v != 32768; ++v) {
        if (kernel::word_tanh(v) != reference::tanh_of_word(v) ||
            kernel::word_sigmoid(v) != reference::sigmoid_of_word(v))
            FAIL_CHECK("at ", v);
    }
    compare_words<zp::default_architecture>();
}

TEST_CASE("word_functions: near tanh and sigmoid") {
    double tanh = 0, sigmoid = 0;
    const auto word = [](double x) {
        return static_cast<std::int64_t>(std::nearbyint(std::clamp(x, -32768.0, 32767.0)));
    };
    for (int i = -120000; i <= 120000; ++i) {
        const double x = i / 9973.0;
        tanh = std::max(tanh,
                        std::abs(static_cast<double>(reference::tanh_of_word(word(x * 4096))) / 32768 - std::tanh(x)));
        sigmoid =
            std::max(sigmoid, std::abs(static_cast<double>(reference::sigmoid_of_word(word(2 * x * 2048))) / 32768 -
                                       real_sigmoid(2 * x)));
    }
    CHECK(tanh < std::exp2(-11.8));
    CHECK(tanh > std::exp2(-12.5));
    CHECK(sigmoid < std::exp2(-12.6));
}

TEST_CASE("byte_cell: steps are their definition, of all hidden sizes and both codes") {
    arrays::for_each_architecture([]<class Arch>() {
        compare_extents<Arch, true, false>();
        compare_extents<Arch, false, false>();
        // Small layers have weights in words where bytes have no exact product, and half blocks where there are vectors.
        using ops = kernel::operations<Arch>;
        constexpr auto quads = ops::quads;
        if constexpr (ops::has_batches ||
                      (quads != kernel::quad_products::exact && quads != kernel::quad_products::exact_signed)) {
            compare_extents<Arch, true, true>();
            compare_extents<Arch, false, true>();
        }
    });
}

TEST_CASE("byte_cell: steps that are written down") {
    // One unit, one input, no weights: arguments are biases, 1.0 and so on, of scale 2^-12 and 2^-11.
    reference::recurrent_cell_integers lstm{true,
                                            1,
                                            1,
                                            1,
                                            {0, 0, 0, 0},
                                            {0, 0, 0, 0},
                                            {1, 1, 1, 1},
                                            {1, 1, 1, 1},
                                            {2 * 2048, 2 * 4096, 2 * 2048, -2 * 2048},
                                            {0, 0, 0, 0}};
    std::vector<std::int16_t> carried{1000};
    std::vector<std::int8_t> h{5};
    const std::int8_t x[] = {3};
    reference::recurrent_step(lstm, x, 0, carried, h);
    // sigmoid(1) = 0.7311, sigmoid(2) = 0.8808, tanh(0.5) = 0.4621, sigmoid(-1) = 0.2689
    CHECK(carried[0] == std::lround(0.8808 * 1000 + 0.7311 * 0.4621 * 2048));
    CHECK(h[0] == std::lround(0.2689 * std::tanh(carried[0] / 2048.0) * 128));
    reference::recurrent_cell_integers gru{
        false, 1, 1, 1, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {2 * 2048, -2 * 2048, 2 * 8192}, {0, 0, 2 * 4096}};
    carried = {-12345};
    reference::recurrent_step(gru, x, 0, carried, h);
    const double n = std::tanh(0.5 + 0.7311 * 0.25), now = n + 0.2689 * (-12345 / 32768.0 - n);
    CHECK(std::abs(carried[0] / 32768.0 - now) < 0.0005);
    CHECK(h[0] == std::lround(now * 128));
}
