// SPDX-License-Identifier: BSD-3-Clause
// A plugin over zeropoint::compiled: an int8 model behind one function.
#include <zeropoint/deploy.hpp>

struct tiny_model
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 4, .kernel = 3}>, zp::relu> {};

/// Whether the file is a model of this plugin.
extern "C" bool plugin_accepts(const unsigned char* file, std::size_t size) try {
    zp::load<zp::quantized<tiny_model, zp::default_qconfig>>(std::as_bytes(std::span(file, size)));
    return true;
} catch (const zp::file_error&) { return false; }
