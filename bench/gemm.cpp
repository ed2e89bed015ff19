// SPDX-License-Identifier: BSD-3-Clause
// Matrix products u8 x s8 to u8, weights packed ahead: by shape, by the distribution of the weights, by activation bits.
#include <string>

#include "support/convolution.hpp"

namespace {

struct shape {
    int m, n, k;
};
constexpr shape shapes[] = {{1, 16, 16},      {1, 64, 64},      {1, 256, 256},      {1, 1024, 1024},  {1, 4096, 4096},
                            {4, 1024, 1024},  {8, 32, 32},      {16, 64, 64},       {16, 1024, 1024}, {64, 768, 768},
                            {128, 768, 3072}, {512, 512, 512},  {1024, 1024, 1024}, {3136, 64, 64},   {3136, 64, 576},
                            {784, 128, 1152}, {196, 256, 2304}, {49, 512, 4608},    {12544, 64, 147}, {13, 17, 19},
                            {97, 101, 103}};

void add(const shape& s, const std::string& operands, bench::weights weights, zp::kernel::activation_codes codes) {
    const std::string name = "gemm/" + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
    benchmark::RegisterBenchmark((name + "/" + operands).c_str(), [=](benchmark::State& state) {
        bench::measure_convolution(state, bench::matrix_product(s.m, s.n, s.k), zp::kernel::conv2d_algorithm::automatic,
                                   weights, codes);
    })->UseManualTime();
}

[[maybe_unused]] const bool registered = [] {
    for (const shape& s : shapes) {
        for (const bench::weights weights : bench::all_weights)
            add(s, bench::name_of(weights), weights, bench::eight_bits);
        add(s, "7bit_activations", bench::weights::uniform, bench::seven_bits);
    }
    return true;
}();

}  // namespace
