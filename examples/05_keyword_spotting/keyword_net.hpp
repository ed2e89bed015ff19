// SPDX-License-Identifier: BSD-3-Clause
// The network and how it is quantized: what the program that packs it and the program that runs it have in common.
#pragma once

#include <zeropoint/embedded.hpp>
#include <zeropoint/models/ds_cnn.hpp>

#include "spoken_words.hpp"

/// DS-CNN with 64 channels and four blocks, which MLPerf Tiny's keyword spotting has too.
struct keyword_net : zp::models::ds_cnn<zp::input<frames, coefficients, 1>, words> {};

struct keyword_qconfig : zp::default_qconfig {};

/// For microcontrollers: zp::portable is what every machine has. The smallest algorithms, as flash is scarce.
using int8_keyword_net = zp::quantized<keyword_net, keyword_qconfig, zp::portable>;
