// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and linear layers of a training step behind a C interface, for compare_gradients.py.
#include <algorithm>
#include <cstddef>
#include <limits>

#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;

/// Square images: `numbers` are height, in and out channels, kernel, stride, groups; the padding keeps the size at stride 1.
kernel::conv2d_geometry geometry_of(const int* numbers) {
    const int extent = numbers[0], size = numbers[3], stride = numbers[4], padding = size / 2;
    const int out = (extent + 2 * padding - size) / stride + 1;
    return {{extent, extent, numbers[1]},
            {out, out, numbers[2]},
            size,
            size,
            stride,
            stride,
            padding,
            padding,
            1,
            1,
            numbers[5]};
}

}  // namespace

extern "C" {

/// Floats that each of the calls below may use.
std::size_t zp_gradient_scratch(const int* numbers) {
    const kernel::conv2d_geometry g = geometry_of(numbers);
    return std::max({kernel::conv2d_batch_scratch<arch>(g), kernel::conv2d_input_gradient_scratch<arch>(g),
                     kernel::conv2d_weight_gradient_scratch<arch>(g)});
}

/// `what`: 0 gives y of x, 1 dx of dy, 2 adds to dw; images NHWC, one behind another, weights OHWI.
void zp_gradient_run(int what, const int* numbers, int samples, float* x, float* w, float* y, float* scratch,
                     int repeats) {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    const kernel::conv2d_geometry g = geometry_of(numbers);
    const kernel::float_batch xs{x, g.in.size()}, ys{y, g.out.size()};
    for (int i = 0; i != repeats; ++i) {
        if (what == 0) kernel::conv2d_batch<arch>(g, samples, xs, w, nullptr, -infinite, infinite, ys, scratch);
        if (what == 1) kernel::conv2d_input_gradient<arch>(g, samples, ys, w, xs, scratch);
        if (what == 2) kernel::conv2d_weight_gradient<arch>(g, samples, xs, ys, w, scratch);
    }
}

}  // extern "C"
