// SPDX-License-Identifier: BSD-3-Clause
// The code of the page on decoders.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/io/mapped_file.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/models/llama.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/made_up.hpp"

// [model]
constexpr zp::models::llama_extents small{.length = 8,  // tokens of a call that has them all at once
                                          .channels = 64,
                                          .layers = 1,
                                          .heads = 4,
                                          .key_heads = 2,
                                          .depth = 16,
                                          .inner = 128,
                                          .vocabulary = 100,
                                          .context = 32};  // places that are kept
struct decoder : zp::models::llama_lm<small> {};
// [/model]

// [checkpoint]
constexpr zp::models::llama_extents of_qwen() {
    auto extents = zp::models::qwen2_5_0_5b;
    extents.context = 4096;
    return extents;
}
struct qwen : zp::models::llama_lm<of_qwen()> {};
// [/checkpoint]

TEST_CASE("decoders.md") {
    const auto trained = made_up::network<decoder>(3);  // zp::load<decoder>("llama.safetensors")
    const std::vector<std::int32_t> prompt{3, 14, 15, 92};
    // [quantize]
    using four_bits = zp::dynamic_qconfig<zp::dynamic_group_policy<zp::qint4, 32>>;
    using network = zp::dynamically_quantized<decoder, four_bits>;
    const network model = zp::quantize_dynamic<four_bits>(trained);
    // [/quantize]
    // [stream]
    const auto stream = std::make_unique<zp::streaming<network>>(model);
    std::vector<float> scores(100);
    for (const std::int32_t token : prompt) (*stream)(std::array{token}, scores);
    std::vector<std::int32_t> text;
    while (text.size() != 60) {  // nothing is allocated for a token, and the last 32 are seen
        text.push_back(static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
        (*stream)(std::array{text.back()}, scores);
    }
    stream->reset();  // a new text
    // [/stream]
    CHECK(text.size() == 60);
    const std::string path = (std::filesystem::temp_directory_path() / "zeropoint_decoders.image").string();
    // [image]
    zp::save_packed_image(stream->step_network(), path);  // once; it is of the architecture of this program
    {
        const zp::mapped_file image(path);
        const auto placed = std::make_unique<zp::streaming<zp::in_place<network>>>(image.bytes());
        if (!*placed) throw std::runtime_error(zp::text_of(placed->problem()));
        (*placed)(std::array{text.front()}, scores);
    }
    // [/image]
    std::filesystem::remove(path);
}
