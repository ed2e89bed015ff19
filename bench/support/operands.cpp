// SPDX-License-Identifier: BSD-3-Clause
// The generators behind operands.hpp.
#include "operands.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace bench {
namespace {

/// One filter of real weights, scaled so that the largest is 127 in magnitude.
template <class Draw> void fill_filter(std::int8_t* filter, int depth, Draw draw) {
    std::vector<double> reals(static_cast<std::size_t>(depth));
    double largest = 0;
    for (double& real : reals) largest = std::max(largest, std::abs(real = draw()));
    for (int k = 0; k != depth; ++k)
        filter[k] = static_cast<std::int8_t>(std::lround(reals[static_cast<std::size_t>(k)] * 127 / largest));
}

}  // namespace

const char* name_of(weights distribution) {
    switch (distribution) {
        case weights::uniform: return "uniform";
        case weights::gaussian: return "gaussian";
        case weights::laplace: return "laplace";
        case weights::four_bits: return "4bit";
    }
    return "?";
}

std::vector<std::int8_t> make_weights(weights distribution, int filters, int depth) {
    std::vector<std::int8_t> all(static_cast<std::size_t>(filters) * static_cast<std::size_t>(depth));
    std::mt19937 random(1);
    std::normal_distribution<double> gaussian;
    std::exponential_distribution<double> exponential;
    std::uniform_int_distribution<int> byte(-128, 127), nibble(-8, 7);
    for (int filter = 0; filter != filters; ++filter) {
        std::int8_t* first = all.data() + std::ptrdiff_t{filter} * depth;
        switch (distribution) {
            case weights::gaussian: fill_filter(first, depth, [&] { return gaussian(random); }); break;
            case weights::laplace:
                fill_filter(first, depth, [&] { return exponential(random) * (random() % 2 == 0 ? 1 : -1); });
                break;
            case weights::uniform:
                std::generate_n(first, depth, [&] { return static_cast<std::int8_t>(byte(random)); });
                break;
            case weights::four_bits:
                std::generate_n(first, depth, [&] { return static_cast<std::int8_t>(nibble(random)); });
                break;
        }
    }
    return all;
}

std::vector<std::uint8_t> make_activations(std::size_t count, zp::kernel::activation_codes codes) {
    std::mt19937 random(2);
    std::uniform_int_distribution<int> code(codes.min, codes.max);
    std::vector<std::uint8_t> all(count);
    for (std::uint8_t& value : all) value = static_cast<std::uint8_t>(code(random));
    return all;
}

}  // namespace bench
