// SPDX-License-Identifier: BSD-3-Clause
// A convolution along a sequence that looks back alone.
#pragma once

#include <zeropoint/graph/sequential.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/pad.hpp>

namespace zp::inline v0 {

/// conv1d behind as many steps of zeros as its window reaches back, (kernel - 1) * dilation: step t of the output depends on steps up to t,
/// and with stride 1 there are as many as came. zp::streaming runs it, with strides as well. `causal_conv1d<"c1", conv{.out_channels = 16, .kernel = 3,
/// .dilation = 2}>`; parameters as conv1d's, "c1.weight", "c1.bias". Extents are 1 x length x channels; padding is left 0.
template <fixed_string Name, conv Options>
struct causal_conv1d : sequential<zero_pad2d<sides((Options.kernel.width - 1) * Options.dilation.width, 0, 0, 0)>,
                                  conv1d<Name, Options>> {
    static_assert(Options.padding.width == 0,
                  "causal_conv1d<Name, Options>: leave padding 0: the layer puts zeros in front by itself");
};

}  // namespace zp::inline v0
