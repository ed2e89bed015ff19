// SPDX-License-Identifier: BSD-3-Clause
// BERT's encoder against PyTorch's module: the names and shapes of all parameters, the outputs.
#include <zeropoint/models/bert_encoder.hpp>

#include "pytorch_parity.hpp"

TEST_CASE("BERT's encoder: parameters and outputs are PyTorch's") {
    networks::compare_with_pytorch<zp::models::bert_encoder<8>>("bert_encoder");
}
