// SPDX-License-Identifier: BSD-3-Clause
// Int8 files that are damaged or belong to another network: always a file_error that names the tensor, what was expected
// and what was found, and never a network.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/extent.hpp"
#include "../support/made_up.hpp"
#include "edited_file.hpp"

namespace {

using edited_file::changed;
using zp::conv;

using activations = zp::quantizer<zp::quint8_reduced, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint4, zp::per_channel_affine, zp::per_channel_min_max_observer>;
struct config : zp::qconfig<activations, weights, zp::keep_float<"norm">> {};
struct with_float_bias
    : zp::qconfig<activations, weights, zp::keep_float<"norm">, zp::requantize_with<zp::float_bias>> {};
struct fixed_point
    : zp::qconfig<activations, weights, zp::keep_float<"norm">, zp::requantize_with<zp::fixed_point_double_rounding>> {
};

/// A fused table, one on its own, a float layer, an add; as few bytes as possible.
struct net
    : zp::model<zp::input<2, 2, 2>, zp::conv2d<"conv", conv{.out_channels = 2}>, zp::hardswish, zp::max_pool2d<2>,
                zp::batch_norm2d<"norm">, zp::named<"gate", zp::sigmoid>, zp::residual<zp::relu>, zp::linear<"fc", 2>> {
};

template <class Config = config> std::vector<std::byte> file() {
    return zp::to_bytes(
        zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<net>(1)), made_up::inputs<net>(4, 1))));
}
const std::vector<std::byte>& usual_file() {
    static const std::vector<std::byte> bytes = file();
    return bytes;
}
template <class Config = config> std::string error_of(const std::vector<std::byte>& bytes) {
    return edited_file::error_of<zp::quantized<net, Config>>(bytes);
}
template <class Change> std::string error_after(Change change) { return error_of(changed(usual_file(), change)); }

/// The message names the file and this tensor, and has what was expected and found.
void says(const std::string& message, const std::string& tensor, const std::string& expected,
          const std::string& found) {
    INFO(message);
    CHECK(message.find("m.safetensors") == 0);
    CHECK(message.find("\"" + tensor + "\"") != std::string::npos);
    CHECK(message.find("expected " + expected) != std::string::npos);
    CHECK(message.find("found " + found) != std::string::npos);
}

}  // namespace

TEST_CASE("damaged int8 model: a file that ends early is refused wherever it ends") {
    const auto& whole = usual_file();
    REQUIRE(error_of(whole) == "");
    std::size_t refused = 0, tried = 0;
    for (std::size_t size = 0; size < whole.size(); size += zp_test::fewer_problems, ++tried) {
        const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const std::string message = error_of(part);
        refused += message.find("m.safetensors: ") == 0 && message.find("expected") != std::string::npos &&
                   message.find("found") != std::string::npos;
    }
    CHECK(refused == tried);
}

TEST_CASE("damaged int8 model: no byte of the file can be anything without an error or another valid network") {
    const auto& whole = usual_file();
    std::size_t refused = 0, tried = 0;
    for (std::size_t i = 0; i < whole.size(); i += zp_test::fewer_problems, ++tried)
        for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
            auto bytes = whole;
            bytes[i] ^= static_cast<std::byte>(flip);
            const std::string message = error_of(bytes);
            INFO("byte ", i, ": ", message);
            CHECK(message.find("not a file_error") == std::string::npos);
            refused += !message.empty();
        }
    CHECK(refused > tried);
}

TEST_CASE("damaged int8 model: missing and unexpected tensors") {
    const auto all = edited_file::read(usual_file());
    CHECK(all.tensors.size() == 2 + 5 + 4 + 1 + 4);
    for (const auto& [name, t] : all.tensors) {
        const std::string message = error_after([&, key = name](auto& edited) { edited.tensors.erase(key); });
        INFO(message);
        CHECK(message.find("m.safetensors: expected a tensor \"" + name + "\", found none; the file has: ") == 0);
    }
    // norm.num_batches_tracked may be there, and is not.
    for (const std::string name : {"conv.scale", "fc.table", "gate", "norm.table", "activation.scales"}) {
        const std::string message = error_after([&](auto& edited) {
            edited.tensors[name] = {zp::file_dtype::U8, {1}, edited_file::byte_vector(1)};
            edited.metadata["crc32." + name] = "";  // written with the tensors'
        });
        INFO(message);
        CHECK(message.find("expected no tensors but the 17 that are needed, found also \"" + name + "\"") !=
              std::string::npos);
    }
}

TEST_CASE("damaged int8 model: every tensor of another dtype, and of another shape") {
    for (const auto& [name, t] : edited_file::read(usual_file()).tensors) {
        const std::string was = zp::describe(t.dtype, t.shape);
        const bool is_float_layer = name.find("norm") == 0;
        const std::string expected = is_float_layer ? "F32, F64, F16 or BF16 " + zp::to_string(t.shape) : was;
        zp::file_dtype other = zp::file_dtype::I8;
        if (t.dtype == zp::file_dtype::F32) other = zp::file_dtype::I32;
        if (t.dtype == zp::file_dtype::I32) other = zp::file_dtype::F32;
        if (t.dtype == zp::file_dtype::I8) other = zp::file_dtype::U8;
        says(error_after([&, key = name](auto& edited) { edited.tensors[key].dtype = other; }), name, expected,
             zp::describe(other, t.shape));
        zp::file_shape flat = t.shape;
        flat.push_back(1);
        says(error_after([&, key = name](auto& edited) { edited.tensors[key].shape = flat; }), name, expected,
             zp::describe(t.dtype, flat));
    }
}

TEST_CASE("damaged int8 model: scales that are none") {
    for (const float bad :
         {0.0f, -0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        says(error_after([&](auto& edited) { edited.tensors["activation.scale"].set(1, bad); }), "activation.scale",
             "finite scales above 0", zp::number_text(bad));
        says(error_after([&](auto& edited) { edited.tensors["conv.weight_scale"].set(1, bad); }), "conv.weight_scale",
             "finite scales above 0", zp::number_text(bad));
    }
}

TEST_CASE("damaged int8 model: zero points outside of the codes") {
    for (const std::int32_t bad :
         {-1, 128, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()})
        says(error_after([&](auto& edited) { edited.tensors["activation.zero_point"].set(0, bad); }),
             "activation.zero_point", "zero points from 0 to 127", std::to_string(bad));
    for (const std::int32_t bad : {-9, 8, std::numeric_limits<std::int32_t>::max()})
        says(error_after([&](auto& edited) { edited.tensors["fc.weight_zero_point"].set(1, bad); }),
             "fc.weight_zero_point", "zero points from -8 to 7", std::to_string(bad));
}

TEST_CASE("damaged int8 model: codes outside of their dtype's range") {
    for (const std::int8_t bad : {std::int8_t{-9}, std::int8_t{8}, std::int8_t{-128}, std::int8_t{127}})
        says(error_after([&](auto& edited) { edited.tensors["conv.weight"].set(3, bad); }), "conv.weight",
             "weights from -8 to 7", std::to_string(bad));
    for (const std::uint8_t bad : {std::uint8_t{128}, std::uint8_t{255}}) {
        says(error_after([&](auto& edited) { edited.tensors["conv.table"].set(200, bad); }), "conv.table",
             "codes from 0 to 127", std::to_string(bad));
        says(error_after([&](auto& edited) { edited.tensors["gate.table"].set(0, bad); }), "gate.table",
             "codes from 0 to 127", std::to_string(bad));
    }
    for (const std::int32_t bad : {(1 << 30) + 1, -(1 << 30) - 1, std::numeric_limits<std::int32_t>::min()})
        says(error_after([&](auto& edited) { edited.tensors["fc.bias"].set(0, bad); }), "fc.bias",
             "values within half of int32", std::to_string(bad));
}

TEST_CASE("damaged int8 model: numbers of float layers and float biases that are none") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    says(error_after([&](auto& edited) { edited.tensors["norm.weight"].set(1, nan); }), "norm.weight", "finite numbers",
         "NaN at flat index 1");
    says(error_after([&](auto& edited) { edited.tensors["norm.running_var"].set(0, -1.0f); }), "norm.running_var",
         "variances of at least 0", "-1");
    const auto whole = file<with_float_bias>();
    REQUIRE(error_of<with_float_bias>(whole) == "");
    for (const float bad : {nan, std::numeric_limits<float>::infinity()})
        says(error_of<with_float_bias>(changed(whole, [&](auto& edited) { edited.tensors["fc.bias"].set(1, bad); })),
             "fc.bias", "finite values", std::to_string(bad));
}

TEST_CASE("damaged int8 model: scales whose quotients no kernel can hold") {
    // Each is a valid scale; together they are not.
    const float huge = 1e38f, tiny = 1e-38f;
    const auto slots = edited_file::read(usual_file()).tensors.at("activation.scale").shape.front();
    const auto whole = file<fixed_point>();
    for (std::int64_t slot = 0; slot != slots; ++slot)
        for (const float scale : {huge, tiny}) {
            const auto change = [&](auto& edited) {
                edited.tensors["activation.scale"].set(static_cast<std::size_t>(slot), scale);
            };
            for (const std::string& message :
                 {error_of(changed(usual_file(), change)), error_of<fixed_point>(changed(whole, change))}) {
                INFO("slot ", slot, ", scale ", scale, ": ", message);
                CHECK(message.find("not a file_error") == std::string::npos);
                if (!message.empty()) CHECK(message.find("\"activation.scale\"") != std::string::npos);
            }
        }
}

TEST_CASE("damaged int8 model: a residual whose scale no sum can take") {
    struct block
        : zp::model<zp::input<1, 1, 2>, zp::linear<"a", 2>, zp::residual<zp::linear<"b", 2>, zp::linear<"last", 2>>> {};
    struct plain : zp::qconfig<activations, weights> {};
    const auto whole = zp::to_bytes(
        zp::convert(zp::calibrate(zp::prepare<plain>(made_up::network<block>(1)), made_up::inputs<block>(4, 1))));
    using network = zp::quantized<block, plain>;
    REQUIRE(network::rows().size() == 6);  // input, quantize, a, b, last + add, dequantize
    CHECK(edited_file::error_of<network>(whole) == "");
    // Each scale is fine beside the layers that make and read it, but not all of them together.
    const auto with_scales = [&](float of_a, float of_b, float of_weights, float of_sum) {
        return edited_file::error_of<network>(changed(whole, [&](auto& edited) {
            const float scales[] = {of_a, of_b, of_sum};
            for (std::size_t row = 0; row != 3; ++row) {
                const auto slot = static_cast<std::size_t>(network::rows()[row + 2].out.qparams_id);
                edited.tensors["activation.scale"].set(slot, scales[row]);
            }
            for (std::size_t c = 0; c != 2; ++c) edited.tensors["last.weight_scale"].set(c, of_weights);
        }));
    };
    const std::string rule = "a residual's scale between 2^-100 and 2^100 times input scale * weight scale at last";
    says(with_scales(1, 1e-8f, 1e-25f, 1), "activation.scale", rule, "scales 2^109 apart");
    says(with_scales(1e-11f, 1e10f, 4e9f, 1e11f), "activation.scale", rule, "scales 2^-102 apart");
    CHECK(with_scales(1, 1e-8f, 1e-20f, 1) == "");
}

TEST_CASE("damaged int8 model: metadata of another format, version or network") {
    CHECK(error_after([](auto& edited) { edited.metadata.clear(); }) ==
          "m.safetensors: expected metadata \"format\" of \"zeropoint.int8\", found none: it is no file that zp::save "
          "wrote of an int8 network; load a float state dict as the float model");
    CHECK(error_after([](auto& edited) {
              edited.metadata.erase("signature");
          }).find("m.safetensors: expected metadata \"signature\", found none among ") == 0);
    CHECK(error_after([](auto& edited) { edited.metadata["format"] = "pt"; }) ==
          "m.safetensors: expected metadata \"format\" of \"zeropoint.int8\", found \"pt\"; load a float state dict as "
          "the float model instead");
    CHECK(error_after([](auto& edited) { edited.metadata["format_version"] = "3"; }) ==
          "m.safetensors: expected format_version 1 or 2, found \"3\"; a newer zeropoint may have written it");
    const std::string message = error_after([](auto& edited) { edited.metadata["signature"] = "0123456789abcdef"; });
    CHECK(message.find("m.safetensors: expected signature ") == 0);
    CHECK(message.find("found 0123456789abcdef: it was saved from the network ") != std::string::npos);
    const std::string of_version_1 = error_after([](auto& edited) {
        edited.metadata = {{"format", "zeropoint.int8"}, {"format_version", "1"}, {"signature", "0123456789abcdef"}};
    });
    CHECK(of_version_1.find(
              "found 0123456789abcdef: it was saved from a network with other layers, or under another qconfig") !=
          std::string::npos);
}

TEST_CASE("damaged int8 model: files of format 1, which have neither checksums nor names, load as they did") {
    const auto old = changed(usual_file(), [](auto& edited) {
        const std::string signature = edited.metadata.at("signature");
        edited.metadata = {{"format", "zeropoint.int8"}, {"format_version", "1"}, {"signature", signature}};
    });
    using network = zp::quantized<net, config>;
    CHECK(zp::to_bytes(zp::load<network>(old)) == usual_file());
}

TEST_CASE("damaged int8 model: each bit of the data, flipped, is an error that names its tensor") {
    const auto original = zp::safetensors_file::parse(usual_file(), "m.safetensors");
    std::size_t tensors = 0, bits = 0;
    for (const zp::file_tensor& t : original.tensors()) {
        ++tensors;
        for (std::size_t bit = 0; bit < 8 * t.bytes.size(); bit += zp_test::fewer_problems, ++bits) {
            auto bytes = usual_file();
            const auto behind = original.tensors().back().bytes;  // the end of the file
            const auto data =
                static_cast<std::ptrdiff_t>(bytes.size()) - (behind.data() + behind.size() - t.bytes.data());
            bytes[static_cast<std::size_t>(data) + bit / 8] ^= std::byte{1} << (bit % 8);
            const std::string message = error_of(bytes);
            if (bit == 0) says(message, t.name, "bytes of the CRC-32 ", "");
            const bool is_told =
                message.find("tensor \"" + t.name + "\": expected bytes of the CRC-32 ") != std::string::npos &&
                message.find(": the file is damaged") != std::string::npos;
            if (!is_told) CHECK(message == "");
        }
    }
    CHECK(tensors > 10);
    CHECK(bits > 1000 / zp_test::fewer_problems);
}

TEST_CASE("damaged int8 model: a checksum that is missing, or another") {
    says(error_after([](auto& edited) { edited.metadata.erase("crc32.fc.weight"); }), "crc32.fc.weight", "metadata ",
         "none");
}

TEST_CASE("damaged int8 model: the file of another qconfig") {
    const std::string message = error_of<with_float_bias>(usual_file());
    CHECK(message.find("expected signature ") != std::string::npos);
    CHECK(message.find("it was saved from the network ") != std::string::npos);
    CHECK(message.find("net under the qconfig ") != std::string::npos);
    CHECK(message.find("config, by zeropoint 0.") != std::string::npos);
    CHECK(message.find("; load it as that, or, where layers or the qconfig have changed since, convert") !=
          std::string::npos);
}

TEST_CASE("damaged int8 model: a float file as int8, an int8 file as float") {
    const std::string as_int8 = error_of(zp::to_bytes(made_up::network<net>(1)));
    CHECK(as_int8 ==
          "m.safetensors: expected metadata \"format\" of \"zeropoint.int8\", found \"pt\"; load a float state dict as "
          "the float model instead");
    const std::string as_floats = edited_file::error_of<net>(usual_file());
    CHECK(as_floats.find("m.safetensors: expected a state dict of floats, found an int8 file of the network ") == 0);
    CHECK(as_floats.find("; load it as zp::quantized<Net, QConfig>") != std::string::npos);
}
