// SPDX-License-Identifier: BSD-3-Clause
// Float networks from PyTorch state dicts and back: the order of weights, dtypes, and files that are not what they should be.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/unfused_batch_norm.hpp>

#include "../support/made_up.hpp"
#include "edited_file.hpp"

namespace {

using edited_file::changed;
using edited_file::error_of;
using zp::conv;

struct net : zp::model<zp::input<2, 3, 2>, zp::conv2d<"conv", conv{.out_channels = 4, .kernel = {1, 2}, .groups = 2}>,
                       zp::batch_norm2d<"bn">, zp::relu, zp::conv2d<"bare", conv{.out_channels = 3, .bias = false}>,
                       zp::batch_norm2d<"plain", zp::norm{.affine = false}>, zp::flatten, zp::linear<"fc", 2>> {};

zp::float_model<net> trained() { return made_up::network<net>(1); }
std::vector<std::byte> file() { return zp::to_bytes(trained()); }

template <class Model> bool same_parameters(const Model& a, const Model& b) {
    return std::equal(a.parameters(), a.parameters() + Model::parameter_bytes, b.parameters());
}

std::vector<float> numbers(int count) {
    std::vector<float> all;
    for (int i = 0; i != count; ++i) all.push_back(static_cast<float>(i));
    return all;
}

}  // namespace

TEST_CASE("float model: weights of a convolution come out x in x height x width") {
    struct one : zp::model<zp::input<2, 2, 3>, zp::conv2d<"c", conv{.out_channels = 2, .kernel = 2}>> {};
    zp::safetensors_writer writer;
    writer.add("c.weight", {2, 3, 2, 2}, numbers(24));
    writer.add("c.bias", {2}, std::vector<float>{0.5f, -0.5f});
    const auto model = zp::load<one>(writer.bytes());
    // The input is one at row 1, column 0, channel 2, else zero: y[o] = weight[o][2][1][0] + bias[o].
    std::vector<float> x(12), y(2);
    x[(1 * 2 + 0) * 3 + 2] = 1;
    model(x, y);
    CHECK(y == std::vector<float>{(0 * 3 + 2) * 4 + 2 + 0.5f, (1 * 3 + 2) * 4 + 2 - 0.5f});
    CHECK(zp::to_bytes(model) == [&] {
        writer.metadata("format", "pt");
        return writer.bytes();
    }());
}

TEST_CASE(
    "float model: a linear layer behind a flatten takes its columns channel by channel, as PyTorch numbers them") {
    struct one : zp::model<zp::input<2, 3, 2>, zp::flatten, zp::dropout, zp::linear<"l", 1>, zp::relu> {};
    zp::safetensors_writer writer;
    writer.add("l.weight", {1, 12}, numbers(12));
    writer.add("l.bias", {1}, std::vector<float>{100});
    writer.metadata("format", "pt");
    const auto model = zp::load<one>(writer.bytes());
    for (int row = 0; row != 2; ++row)
        for (int column = 0; column != 3; ++column)
            for (int c = 0; c != 2; ++c) {
                std::vector<float> x(12), y(1);
                x[static_cast<std::size_t>((row * 3 + column) * 2 + c)] = 1;
                model(x, y);
                CHECK(y[0] == static_cast<float>(100 + (c * 2 + row) * 3 + column));
            }
    CHECK(zp::to_bytes(model) == writer.bytes());
}

TEST_CASE("float model: a linear layer as wide as the image in front of the one before it keeps its columns") {
    struct two : zp::model<zp::input<2, 1, 2>, zp::flatten, zp::linear<"a", 4, zp::with_bias::no>, zp::relu,
                           zp::linear<"b", 1, zp::with_bias::no>> {};
    zp::safetensors_writer writer;
    writer.add("a.weight", {4, 4}, std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    writer.add("b.weight", {1, 4}, numbers(4));
    const auto model = zp::load<two>(writer.bytes());
    // PyTorch's column 1 is row 1 of channel 0; here it is pixel 1, channel 0.
    std::vector<float> x{0, 0, 1, 0}, y(1);
    model(x, y);
    CHECK(y[0] == 1);
}

TEST_CASE("float model: what is saved comes back, number for number and byte for byte") {
    const auto model = trained();
    const auto bytes = zp::to_bytes(model);
    const auto again = zp::load<net>(bytes);
    CHECK(same_parameters(model, again));
    CHECK(zp::to_bytes(again) == bytes);
    const std::string path =
        (std::filesystem::temp_directory_path() / "zeropoint_float_model_test.safetensors").string();
    zp::save(model, path);
    CHECK(same_parameters(model, zp::load<net>(path)));
    CHECK(same_parameters(model, zp::load<zp::float_model<net>>(path)));
    std::filesystem::remove(path);
    CHECK_THROWS_AS(zp::load<net>(path), zp::file_error);
}

TEST_CASE("float model: half and double precision are read as floats, and PyTorch's counters are passed over") {
    const auto bytes = changed(file(), [](auto& all) {
        auto& bias = all.tensors["fc.bias"];
        bias.dtype = zp::file_dtype::F64;
        bias.bytes.resize(16);
        bias.set(0, 0.75), bias.set(1, -3.0);
        auto& mean = all.tensors["bn.running_mean"];
        mean.dtype = zp::file_dtype::F16;
        mean.bytes.resize(8);
        for (std::size_t i = 0; i != 4; ++i) mean.set(i, std::uint16_t{0x3c00});
        auto& variance = all.tensors["bn.running_var"];
        variance.dtype = zp::file_dtype::BF16;
        variance.bytes.resize(8);
        for (std::size_t i = 0; i != 4; ++i) variance.set(i, std::uint16_t{0x4000});
        all.tensors["bn.num_batches_tracked"] = {zp::file_dtype::I64, {}, edited_file::byte_vector(8)};
        all.tensors["plain.num_batches_tracked"] = {zp::file_dtype::I64, {}, edited_file::byte_vector(8)};
    });
    const auto model = zp::load<net>(bytes);
    const zp::node &bn = model.rows()[2], &fc = model.rows()[7];
    CHECK(zp_test::array_of(model, bn, 2)[3] == 1.0f);
    CHECK(zp_test::array_of(model, bn, 3)[3] == 2.0f);
    CHECK(zp_test::array_of(model, fc, 1)[0] == 0.75f);
}

TEST_CASE("float model: a batch norm without affine parameters has neither weight nor bias") {
    const auto all = edited_file::read(file());
    CHECK(all.tensors.count("plain.weight") == 0);
    CHECK(all.tensors.count("plain.running_var") == 1);
    CHECK(all.tensors.count("bare.bias") == 0);
    const auto model = zp::load<net>(file());
    const zp::node& bn = model.rows()[5];
    CHECK(zp_test::array_of(model, bn, 0)[0] == 1.0f);
    CHECK(zp_test::array_of(model, bn, 1)[0] == 0.0f);
}

TEST_CASE("float model: missing and unexpected tensors") {
    for (const std::string name : {"conv.weight", "conv.bias", "bn.weight", "bn.bias", "bn.running_mean",
                                   "bn.running_var", "bare.weight", "plain.running_mean", "fc.weight", "fc.bias"}) {
        const std::string message = error_of<net>(changed(file(), [&](auto& all) { all.tensors.erase(name); }));
        INFO(message);
        CHECK(message.find("m.safetensors: expected a tensor \"" + name + "\", found none; the file has: ") == 0);
    }
    for (const std::string name :
         {"bare.bias", "plain.weight", "fc.weights", "conv.num_batches_tracked", "conv.weight_scale"}) {
        const std::string message = error_of<net>(changed(file(), [&](auto& all) {
            all.tensors[name] = {zp::file_dtype::F32, {1}, edited_file::byte_vector(4)};
        }));
        INFO(message);
        CHECK(message.find("expected no tensors but the ") != std::string::npos);
        CHECK(message.find("\"" + name + "\"") != std::string::npos);
    }
}

TEST_CASE("float model: tensors of another shape or dtype") {
    const auto with_shape = [](const std::string& name, zp::file_shape shape) {
        return error_of<net>(changed(file(), [&](auto& all) {
            all.tensors[name].shape = shape;
            all.tensors[name].bytes.resize(*zp::byte_count_of(zp::file_dtype::F32, shape));
        }));
    };
    const auto says = [](const std::string& message, const std::string& name, const std::string& expected,
                         const std::string& found) {
        INFO(message);
        CHECK(message.find("\"" + name + "\"") != std::string::npos);
        CHECK(message.find("expected F32, F64, F16 or BF16 " + expected) != std::string::npos);
        CHECK(message.find("found " + found) != std::string::npos);
    };
    says(with_shape("conv.weight", {4, 1, 2, 1}), "conv.weight", "[4, 1, 1, 2]", "F32 [4, 1, 2, 1]");
    says(with_shape("conv.weight", {4, 2}), "conv.weight", "[4, 1, 1, 2]", "F32 [4, 2]");
    says(with_shape("fc.weight", {12, 2}), "fc.weight", "[2, 12]", "F32 [12, 2]");
    says(with_shape("fc.bias", {3}), "fc.bias", "[2]", "F32 [3]");
    says(with_shape("bn.running_var", {1, 4}), "bn.running_var", "[4]", "F32 [1, 4]");
    says(with_shape("bare.weight", {0, 4, 1, 1}), "bare.weight", "[3, 4, 1, 1]", "F32 [0, 4, 1, 1]");
    says(error_of<net>(changed(file(), [](auto& all) { all.tensors["fc.weight"].dtype = zp::file_dtype::I32; })),
         "fc.weight", "[2, 12]", "I32 [2, 12]");
}

TEST_CASE("float model: numbers that are none, and variances below zero") {
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (const auto& [name, t] : edited_file::read(file()).tensors)
        for (const float bad : {nan, infinity, -infinity}) {
            const std::string message =
                error_of<net>(changed(file(), [&, key = name](auto& all) { all.tensors[key].set(1, bad); }));
            INFO(message);
            CHECK(message.find("\"" + name + "\"") != std::string::npos);
            CHECK(message.find("expected finite numbers, found ") != std::string::npos);
            CHECK(message.find("at flat index 1") != std::string::npos);
        }
    const std::string message =
        error_of<net>(changed(file(), [](auto& all) { all.tensors["bn.running_var"].set(2, -0.5f); }));
    CHECK(message.find("\"bn.running_var\"") != std::string::npos);
    CHECK(message.find("expected variances of at least 0, found -0.5") != std::string::npos);

    struct unfused : zp::model<zp::input<1, 1, 4>, zp::unfused_batch_norm<"bn">> {};
    const std::string of_unfused = error_of<unfused>(changed(
        zp::to_bytes(made_up::network<unfused>(1)), [](auto& all) { all.tensors["bn.running_var"].set(2, -0.5f); }));
    CHECK(of_unfused.find("\"bn.running_var\": expected variances of at least 0, found -") != std::string::npos);
}

TEST_CASE("float model: a file that ends early is refused wherever it ends") {
    const auto whole = file();
    REQUIRE(error_of<net>(whole) == "");
    std::size_t refused = 0;
    for (std::size_t size = 0; size != whole.size(); ++size) {
        const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const std::string message = error_of<net>(part);
        refused += message.find("m.safetensors: ") == 0 && message.find("expected") != std::string::npos &&
                   message.find("found") != std::string::npos;
    }
    CHECK(refused == whole.size());
}

TEST_CASE("float model: the file of another network") {
    struct other : zp::model<zp::input<2, 3, 2>, zp::conv2d<"conv", conv{.out_channels = 4, .kernel = {1, 2}}>> {};
    const std::string message = error_of<other>(file());
    INFO(message);
    CHECK(message.find("\"conv.weight\"") != std::string::npos);
    CHECK(message.find("[4, 2, 1, 2]") != std::string::npos);
}
