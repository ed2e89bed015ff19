// SPDX-License-Identifier: BSD-3-Clause
// Int8 networks to files and back: the same integers, the same bytes, for every kind of row and policy.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"
#include "edited_file.hpp"

namespace {

using zp::conv;

template <class DType, class Rule = zp::pytorch_rule>
using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer, Rule>;
template <class DType, class QScheme>
using channel_weights = zp::quantizer<DType, QScheme, zp::per_channel_min_max_observer>;
using usual_weights = channel_weights<zp::qint8, zp::per_channel_symmetric>;

struct usual : zp::qconfig<activations<zp::quint8>, usual_weights> {};
struct signed_codes
    : zp::qconfig<activations<zp::qint8>, channel_weights<zp::qint8_narrow, zp::per_channel_symmetric>> {};
struct affine_weights : zp::qconfig<activations<zp::quint8>, channel_weights<zp::quint8, zp::per_channel_affine>> {};
struct int4_weights
    : zp::qconfig<activations<zp::quint8_reduced>, channel_weights<zp::qint4, zp::per_channel_symmetric>> {};
struct with_float_bias : zp::qconfig<activations<zp::quint8>, channel_weights<zp::qint8, zp::per_channel_affine>,
                                     zp::requantize_with<zp::float_bias>> {};
struct fixed_point
    : zp::qconfig<activations<zp::qint8>, usual_weights, zp::requantize_with<zp::fixed_point_double_rounding>> {};
struct islands
    : zp::qconfig<activations<zp::quint8>, usual_weights, zp::keep_float<"a">, zp::for_layer<"fc", signed_codes>> {};

/// Convolutions of all algorithms, an add, a concat with a rescaled branch, tables fused and alone, a float batch norm or none.
struct net
    : zp::model<zp::input<6, 5, 3>, zp::conv2d<"a", conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::batch_norm2d<"bn">, zp::relu,
                zp::residual<zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                zp::hardswish,
                zp::concat<zp::conv2d<"grouped", conv{.out_channels = 4, .kernel = 2, .padding = 1, .groups = 4}>,
                           zp::conv2d<"b", conv{.out_channels = 5, .kernel = 2, .padding = 1, .bias = false}>>,
                zp::max_pool2d<2>, zp::concat<zp::sigmoid, zp::identity>, zp::flatten, zp::linear<"fc", 7>, zp::tanh> {
};

template <class Config> auto converted() {
    return zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<net>(1)), made_up::inputs<net>(4, 1)));
}

template <class Network> bool same_results(const Network& a, const Network& b) {
    bool same = true;
    for (const auto& x : made_up::inputs<net>(5, 9, -2, 2)) {
        std::vector<float> y(7), z(7);
        a(x, y);
        b(x, z);
        same = same && y == z;
    }
    return same;
}

template <class Config> void check_round_trip() {
    const auto model = converted<Config>();
    const auto bytes = zp::to_bytes(model);
    const auto again = zp::load<zp::quantized<net, Config>>(bytes);
    CHECK(std::equal(model.parameters(), model.parameters() + model.parameter_bytes, again.parameters()));
    CHECK(same_results(model, again));
    CHECK(zp::to_bytes(again) == bytes);
}

}  // namespace

TEST_CASE("int8 model: unsigned codes come back") { check_round_trip<usual>(); }
TEST_CASE("int8 model: signed codes come back") { check_round_trip<signed_codes>(); }
TEST_CASE("int8 model: affine unsigned weights come back") { check_round_trip<affine_weights>(); }
TEST_CASE("int8 model: 4-bit weights come back") { check_round_trip<int4_weights>(); }
TEST_CASE("int8 model: a float bias comes back") { check_round_trip<with_float_bias>(); }
TEST_CASE("int8 model: fixed-point multipliers come back") { check_round_trip<fixed_point>(); }
TEST_CASE("int8 model: float islands and mixed dtypes come back") { check_round_trip<islands>(); }

TEST_CASE("int8 model: what a file holds") {
    const auto model = converted<usual>();
    const auto all = edited_file::read(zp::to_bytes(model));
    CHECK(all.metadata.at("format") == "zeropoint.int8");
    CHECK(all.metadata.at("format_version") == "2");
    CHECK(all.metadata.at("signature").size() == 16);
    CHECK(all.metadata.at("network").find("net") != std::string::npos);
    CHECK(all.metadata.at("qconfig").find("usual") != std::string::npos);
    CHECK(all.metadata.at("zeropoint").find('.') != std::string::npos);
    for (const auto& [name, t] : all.tensors)
        CHECK(all.metadata.at("crc32." + name) == zp::hexadecimal(zp::crc32(t.bytes)));
    CHECK(all.tensors.at("a.weight").dtype == zp::file_dtype::I8);
    CHECK(all.tensors.at("a.weight").shape == zp::file_shape{8, 3, 3, 3});
    CHECK(all.tensors.at("a.weight_scale").shape == zp::file_shape{8});
    CHECK(all.tensors.at("a.bias").dtype == zp::file_dtype::I32);
    CHECK(all.tensors.at("depthwise.weight").shape == zp::file_shape{8, 1, 3, 3});
    CHECK(all.tensors.at("fc.weight").shape == zp::file_shape{7, 2 * 9 * 9});
    CHECK(all.tensors.at("fc.table").shape == zp::file_shape{1024});
    CHECK(all.tensors.count("bn.weight") == 0);
    CHECK(all.tensors.count("a.weight_zero_point") == 0);
    CHECK(all.tensors.at("activation.scale").shape.front() ==
          static_cast<std::int64_t>(decltype(model)::stage::table.qparams_count));
    const auto scale = zp::load_little_endian<float>(all.tensors.at("activation.scale").bytes.data());
    CHECK(scale == model.ranges()[0].scale);
    // Weights lie in PyTorch's order: quantizing the trained weight of output 5, input 2, row 1, column 0 gives byte 5, 2, 1, 0.
    const auto fused = zp::fuse(made_up::network<net>(1));
    const auto floats = made_up::parameters_of(fused, "a").weights;
    const std::vector<float> filter(floats.begin() + 5 * 27, floats.begin() + 6 * 27);
    const auto range = zp::choose_qparams<zp::qint8, zp::per_channel_symmetric>(
        *std::min_element(filter.begin(), filter.end()), *std::max_element(filter.begin(), filter.end()));
    for (int i = 0; i != 3; ++i)
        for (int tap = 0; tap != 9; ++tap)
            CHECK(static_cast<std::int8_t>(
                      all.tensors.at("a.weight").bytes[static_cast<std::size_t>(5 * 27 + i * 9 + tap)]) ==
                  zp::quantize<zp::qint8>(filter[static_cast<std::size_t>(tap * 3 + i)], range));
}

TEST_CASE("int8 model: a file on disk, and any architecture") {
    const std::string path =
        (std::filesystem::temp_directory_path() / "zeropoint_int8_model_test.safetensors").string();
    const auto model = converted<usual>();
    zp::save(model, path);
    CHECK(same_results(model, zp::load<zp::quantized<net, usual>>(path)));
    const auto portable = zp::load<zp::quantized<net, usual, zp::portable>>(path);
    for (const auto& x : made_up::inputs<net>(3, 10)) {
        std::vector<float> a(7), b(7);
        model(x, a);
        portable(x, b);
        CHECK(a == b);
    }
    CHECK(zp::to_bytes(portable) == zp::to_bytes(model));
    std::filesystem::remove(path);
}
