// SPDX-License-Identifier: BSD-3-Clause
// docs/embedded.md
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/deploy.hpp>
#include <zeropoint/embedded.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace {

// [type]
struct keyword_net
    : zp::model<zp::input<49, 10, 1>, zp::conv2d<"conv", zp::conv{.out_channels = 8, .kernel = {10, 4}, .stride = 2}>,
                zp::relu, zp::conv2d<"depthwise", zp::conv{.kernel = 3, .groups = zp::depthwise}>, zp::relu,
                zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 12>> {};

using int8_keyword_net = zp::quantized<keyword_net, zp::default_qconfig, zp::portable>;
// [/type]

// What zeropoint_embed() makes.
alignas(64) std::byte flash[zp::in_place<int8_keyword_net>::image_bytes];
std::span<const std::byte, sizeof flash> keyword_image() { return flash; }
constexpr std::size_t keyword_image_bytes = sizeof flash;

const char* told = nullptr;
int stop(const char* why) {
    told = why;
    return 1;
}

// [run]
using model_type = zp::in_place<int8_keyword_net>;
static_assert(keyword_image_bytes == model_type::image_bytes, "pack the image again");

model_type::workspace memory;  // all that a call works in
float spectrogram[49 * 10], scores[12];

int listen() {
    const model_type model(keyword_image());  // two pointers into flash
    if (!model) return stop(zp::text_of(model.problem()));
    model(spectrogram, scores, memory);
    return 0;
}
// [/run]

// [budget]
static_assert(sizeof(model_type::workspace) <= 8 * 1024, "RAM");
static_assert(model_type::image_bytes <= 4 * 1024, "flash");
// [/budget]

}  // namespace

TEST_CASE("docs/embedded.md") {
    const auto prepared = zp::prepare<zp::default_qconfig>(made_up::network<keyword_net>());
    const auto int8 = zp::convert(zp::calibrate(prepared, made_up::inputs<keyword_net>(4)));
    const auto int8_file = zp::to_bytes(int8);

    CHECK(listen() == 1);
    CHECK(std::string(told).find("expected a packed image") == 0);
    // [pack]
    const auto model = zp::load<int8_keyword_net>(int8_file);
    const std::vector<std::byte> image = zp::packed_image(model);  // or zp::save_packed_image(model, "keyword.image")
    // [/pack]
    std::copy(image.begin(), image.end(), flash);
    const auto x = made_up::inputs<keyword_net>(1).front();
    std::copy(x.begin(), x.end(), spectrogram);
    CHECK(listen() == 0);
    std::array<float, 12> wanted;
    model(spectrogram, wanted);
    CHECK(std::memcmp(wanted.data(), scores, sizeof scores) == 0);
    // [intact]
    const model_type placed(keyword_image());
    const bool is_good = placed && placed.is_intact();  // reads all of it: at the start, not in each call
    // [/intact]
    CHECK(is_good);
}
