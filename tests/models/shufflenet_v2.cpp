// SPDX-License-Identifier: BSD-3-Clause
// ShuffleNetV2 against PyTorch's module: the names and shapes of all parameters, the outputs.
#include <zeropoint/models/shufflenet_v2.hpp>

#include "pytorch_parity.hpp"

TEST_CASE("ShuffleNetV2: parameters and outputs are PyTorch's") {
    networks::compare_with_pytorch<zp::models::shufflenet_v2_x1_0<zp::input<64, 64, 3>>>("shufflenet_v2_x1_0");
}
