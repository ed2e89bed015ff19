// SPDX-License-Identifier: BSD-3-Clause
// A quantized convolution or matrix product that is ready to be timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

#include "measure.hpp"
#include "operands.hpp"

namespace bench {

/// u8 codes in, u8 codes out: packing done, the epilogue included.
class convolution {
public:
    convolution(const zp::kernel::conv2d_geometry& geometry, zp::kernel::conv2d_algorithm algorithm,
                weights distribution, zp::kernel::activation_codes codes);

    void operator()() noexcept;
    work of_one_call() const;
    /// The algorithm that was taken, its panel kernels, and the packed and scratch KiB.
    std::string description() const;

private:
    zp::kernel::conv2d_geometry geometry_;
    zp::kernel::conv2d_algorithm algorithm_;
    zp::kernel::activation_codes codes_;
    std::vector<float> multipliers_;
    zp::aligned_buffer packed_, scratch_, x_, y_;
};

/// A product of M x K activations and K x N weights as the kernels know it.
constexpr zp::kernel::conv2d_geometry matrix_product(int m, int n, int k) {
    return {.in = {m, 1, k}, .out = {m, 1, n}};
}

/// Whether conv2d can compute a geometry by an algorithm.
bool supports(const zp::kernel::conv2d_geometry& geometry, zp::kernel::conv2d_algorithm algorithm);
/// All values of conv2d_algorithm, also those that come after this was written.
std::vector<zp::kernel::conv2d_algorithm> all_algorithms();

/// Measures one convolution.
void measure_convolution(benchmark::State& state, const zp::kernel::conv2d_geometry& geometry,
                         zp::kernel::conv2d_algorithm algorithm, weights distribution,
                         zp::kernel::activation_codes codes);
/// The same over int16 codes, with weights as trained ones are spread.
void measure_int16_convolution(benchmark::State& state, const zp::kernel::conv2d_geometry& geometry,
                               zp::kernel::conv2d_algorithm algorithm);
/// Whether conv2d can compute a geometry over int16 codes by an algorithm.
bool supports_int16(const zp::kernel::conv2d_geometry& geometry, zp::kernel::conv2d_algorithm algorithm);

}  // namespace bench
