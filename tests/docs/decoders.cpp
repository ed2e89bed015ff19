// SPDX-License-Identifier: BSD-3-Clause
// The code of the page on decoders.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/io/mapped_file.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/models/llama.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/quantize_dynamic_file.hpp>
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

// [cache]
constexpr zp::models::llama_extents small_cache = [] {
    auto extents = small;
    extents.cache_bits = 8;
    return extents;
}();
struct with_small_cache : zp::models::llama_lm<small_cache> {};  // the same parameters, a quarter of the cache
// [/cache]

[[maybe_unused]] void quantize_qwen(const std::string& folder) {
    // [from_file]
    using small_network = zp::dynamically_quantized<qwen, zp::int4_dynamic_qconfig>;
    const auto model =
        zp::quantize_dynamic_file<small_network>(folder + "/model.safetensors");  // or "/model.safetensors.index.json"
    zp::save(model, folder + "/qwen.int4.safetensors");                           // which zp::load<small_network> reads
    // [/from_file]
}

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
    {
        using coded = zp::dynamically_quantized<with_small_cache, four_bits>;
        const auto of_codes = std::make_unique<zp::streaming<coded>>(
            zp::quantize_dynamic<four_bits>(made_up::network<with_small_cache>(3)));
        std::vector<float> near(100);
        for (const std::int32_t token : prompt) (*stream)(std::array{token}, scores);
        for (const std::int32_t token : prompt) (*of_codes)(std::array{token}, near);
        CHECK(std::inner_product(near.begin(), near.end(), scores.begin(), 0.0f) >
              0.99f * std::inner_product(scores.begin(), scores.end(), scores.begin(), 0.0f));
        CHECK(of_codes->state_bytes < stream->state_bytes);
        stream->reset();
    }
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
