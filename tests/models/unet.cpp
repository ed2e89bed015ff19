// SPDX-License-Identifier: BSD-3-Clause
// U-Net against PyTorch's module: the names and shapes of all parameters, the outputs.
#include <zeropoint/models/unet.hpp>

#include "pytorch_parity.hpp"

TEST_CASE("U-Net: parameters and outputs are PyTorch's") {
    networks::compare_with_pytorch<zp::models::unet<zp::input<32, 48, 3>, 2, 16>>("unet");
}

TEST_CASE("U-Net with transposed convolutions: parameters and outputs are PyTorch's") {
    using zp::models::unet_growth;
    networks::compare_with_pytorch<zp::models::unet<zp::input<32, 48, 3>, 2, 8, unet_growth::transposed>>(
        "unet_transposed");
}
