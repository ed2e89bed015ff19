// SPDX-License-Identifier: BSD-3-Clause
// 3-D and transposed convolutions, matrix products and embeddings against golden vectors of PyTorch, LiteRT and ONNX Runtime
// (scripts/golden/operators_*.py).
#include <zeropoint/core/half_float.hpp>
#include <zeropoint/kernel/convolution/conv3d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose2d.hpp>
#include <zeropoint/kernel/convolution/conv_transpose3d.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/movement/embedding.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/operators/quantize_rows.hpp>
#include <zeropoint/scheme/requantization.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"
#include "../support/layouts.hpp"
#include "../support/matrix_forms.hpp"

namespace {

using arch = zp::default_architecture;
namespace kernel = zp::kernel;
using zp_test::golden_file;

template <class T> std::vector<T> channels_last(const std::vector<T>& x, const zp::shape& extents) {
    std::vector<T> y(x.size());
    kernel::nchw_to_nhwc<T, zp::portable>(x.data(), extents, y.data());
    return y;
}

template <class T, class Epilogue>
std::vector<T> run(const kernel::conv_transpose2d_geometry& g, const std::vector<T>& x, std::int32_t zero_point,
                   const kernel::conv2d_weights<std::int8_t>& weights, const Epilogue& epilogue) {
    const kernel::activation_codes codes{zero_point, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    using kernels = kernel::conv_transpose2d_kernels<arch, kernel::conv2d_algorithm::implicit_gemm>;
    zp::aligned_buffer packed(kernels::packed_bytes(g, weights.affine()));
    zp::aligned_buffer scratch(std::max<std::size_t>(kernels::scratch_bytes(g), 64));
    std::vector<T> y(static_cast<std::size_t>(g.out.size()));
    kernels::pack(g, weights, codes, packed.data());
    kernels::run(g, x.data(), codes, weights.affine(), packed.data(), epilogue, y.data(), scratch.data());
    return y;
}

}  // namespace

TEST_CASE("operator parity: rows of transposed convolutions are PyTorch's, in one and two dimensions") {
    const golden_file golden("operators_convolution");
    auto groups = golden.groups("conv_transpose1d/", "codes");
    for (const std::string& group : golden.groups("conv_transpose2d/", "codes")) groups.push_back(group);
    CHECK(groups.size() == 7);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const bool flat = golden.rank(group + "/x") == 3;
        const auto image = [&](const std::string& name) -> zp::shape {
            return {flat ? 1 : golden.extent(name, 2), golden.extent(name, flat ? 2 : 3), golden.extent(name, 1)};
        };
        const auto option = golden.values<std::int32_t>(group + "/options");
        const std::size_t across = flat ? 0 : 4;  // where the options of the width begin
        const auto extent = [&](std::size_t which) -> zp::extent { return {option[which], option[across + which]}; };
        zp::node rows[2];
        zp::builder b(rows, 2);
        const int x = b.input(image(group + "/x"));
        const zp::conv_transpose options{
            .out_channels = golden.extent(group + "/codes", 1),
            .kernel = {golden.extent(group + "/weight", 2), golden.extent(group + "/weight", flat ? 2 : 3)},
            .stride = extent(0),
            .padding = extent(1),
            .output_padding = extent(3),
            .dilation = extent(2),
            .groups = option[across + 4]};
        const int y = flat ? b.conv_transpose1d(x, "", options) : b.conv_transpose2d(x, "", options);
        zp::node& row = rows[y];
        const zp::node_view v{rows, row};
        CHECK(b.error.broken == zp::rule::none);
        CHECK(row.out.extents == image(group + "/codes"));
        CHECK(static_cast<std::size_t>(zp::parameters_of(v).arrays[0].rank) == golden.rank(group + "/weight"));
        zp_test::set_bytes(rows[0], 0);
        zp_test::set_bytes(row, 1);
        row.at.arena_offset = zp::in_user_output;
        row.weights.affine = true;

        // PyTorch's arithmetic: policy float_bias, one weight scale.
        const auto channels = static_cast<std::size_t>(row.weights.channels);
        const auto file_weights = golden.values<std::int8_t>(group + "/weight");
        zp::node_parameters parameters;
        zp::quantized_weights& weights = parameters.matrices.emplace_back();
        weights.codes.resize(file_weights.size());
        zp::array_from_file(zp::parameters_of(v).arrays[0], file_weights.data(),
                            reinterpret_cast<std::int8_t*>(weights.codes.data()));
        weights.scales.assign(channels, golden.values<float>(group + "/weight_scale")[0]);
        weights.zero_points.assign(channels, golden.values<std::int32_t>(group + "/weight_zero_point")[0]);
        weights.float_bias = golden.values<float>(group + "/bias");
        const auto scale = golden.values<float>(group + "/scale");
        const auto zero_point = golden.values<std::int32_t>(group + "/zero_point");
        const zp::qparams ranges[] = {{scale[0], zero_point[0]}, {scale[1], zero_point[1]}};
        constexpr zp::operators::matrix_key key = zp_test::with_algorithm(
            zp_test::key_of_bytes(zp::filter_kernels::conv_transpose2d), kernel::conv2d_algorithm::implicit_gemm);
        using form = zp_test::matrix_form<key, zp::float_bias>;
        row.at.parameter_bytes = form::parameter_bytes(v);
        zp::aligned_buffer block(static_cast<std::size_t>(row.at.parameter_bytes));
        zp::aligned_buffer scratch(std::max<std::size_t>(static_cast<std::size_t>(form::scratch_bytes(v)), 64));
        CHECK(form::pack({v, ranges, block.data()}, parameters).rule == nullptr);
        const zp::node_parameters read = form::unpack({v, ranges, block.data()});
        CHECK(read.matrices[0].codes == weights.codes);
        CHECK(read.matrices[0].float_bias == weights.float_bias);
        const auto in = channels_last(golden.values<std::uint8_t>(group + "/x"), rows[0].out.extents);
        std::vector<std::uint8_t> out(static_cast<std::size_t>(row.out.extents.size()));
        const void* const xs[] = {in.data()};
        void* const ys[] = {out.data()};
        const zp::context c{rows, block.data(), ranges, scratch.data(), xs, ys};
        form::run(row, c);
        CHECK(out == channels_last(golden.values<std::uint8_t>(group + "/codes"), row.out.extents));
    }
}

TEST_CASE("operator parity: 3-D convolutions are PyTorch's, with a scale a tensor or a channel") {
    const golden_file golden("operators_convolution");
    const auto groups = golden.groups("conv3d/", "codes");
    CHECK(groups.size() == 3);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto options = golden.values<std::int32_t>(group + "/options");
        const auto extent = [&](const std::string& name, std::size_t axis) {
            return golden.extent(group + "/" + name, axis);
        };
        kernel::conv3d_geometry g;
        kernel::conv2d_geometry& p = g.plane;
        p.in = {extent("x", 3), extent("x", 4), extent("x", 1)};
        p.out = {extent("codes", 3), extent("codes", 4), extent("codes", 1)};
        g.in_depth = extent("x", 2), g.out_depth = extent("codes", 2);
        g.kernel_depth = extent("weight", 2), p.kernel_height = extent("weight", 3),
        p.kernel_width = extent("weight", 4);
        g.stride_depth = options[0], g.padding_front = options[1], g.dilation_depth = options[2];
        p.stride_height = options[4], p.padding_top = options[5], p.dilation_height = options[6];
        p.stride_width = options[8], p.padding_left = options[9], p.dilation_width = options[10];
        p.groups = options[12];
        const auto file_weights = golden.values<std::int8_t>(group + "/weight");
        std::vector<std::int8_t> weights(file_weights.size());
        layouts::oihw_to_ohwi(file_weights.data(), p.out.channels, p.group_in(), g.taps(), weights.data());
        // Planes lie one behind another: to the layout they are rows.
        const zp::shape x_shape{g.in_depth * p.in.height, p.in.width, p.in.channels},
            y_shape{g.out_depth * p.out.height, p.out.width, p.out.channels};

        const auto scale = golden.values<float>(group + "/scale");
        const auto zero_point = golden.values<std::int32_t>(group + "/zero_point");
        auto weight_scale = golden.values<float>(group + "/weight_scale");
        auto weight_zero = golden.values<std::int32_t>(group + "/weight_zero_point");
        std::vector<float> bias = golden.values<float>(group + "/bias"), multiplier;
        weight_scale.resize(bias.size(), weight_scale[0]);
        weight_zero.resize(bias.size(), weight_zero[0]);
        for (std::size_t c = 0; c != bias.size(); ++c) {
            const float product = scale[0] * weight_scale[c];
            bias[c] /= product;
            multiplier.push_back(product / scale[1]);
        }
        const std::int32_t low = options[13] != 0 ? zero_point[1] : 0;
        const kernel::float_bias epilogue{multiplier.data(), bias.data(), {zero_point[1], low, 255, nullptr}};
        const kernel::conv2d_weights<std::int8_t> source{weights.data(), weight_zero.data(), nullptr};
        const kernel::activation_codes codes{zero_point[0], 0, 255};
        using kernels = kernel::conv3d_kernels<arch, kernel::conv2d_algorithm::implicit_gemm>;
        zp::aligned_buffer packed(kernels::packed_bytes(g, true));
        zp::aligned_buffer scratch(kernels::scratch_bytes(g));
        const auto x = channels_last(golden.values<std::uint8_t>(group + "/x"), x_shape);
        std::vector<std::uint8_t> y(static_cast<std::size_t>(g.out_size()));
        kernels::pack(g, source, codes, packed.data());
        kernels::run(g, x.data(), codes, packed.data(), epilogue, y.data(), scratch.data());
        CHECK(y == channels_last(golden.values<std::uint8_t>(group + "/codes"), y_shape));
    }
}

TEST_CASE("operator parity: transposed 3-D convolutions are PyTorch's") {
    const golden_file golden("operators_convolution");
    const auto groups = golden.groups("conv_transpose3d/", "codes");
    CHECK(groups.size() == 1);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto o = golden.values<std::int32_t>(group + "/options");
        const auto volume = [&](const std::string& name) -> zp::shape {
            const auto extent = [&](std::size_t axis) { return golden.extent(group + "/" + name, axis); };
            return {extent(3), extent(4), extent(1), extent(2)};
        };
        const zp::shape taps = volume("weight");
        zp::node rows[2];
        zp::builder b(rows, 2);
        const zp::volume_conv_transpose options{.out_channels = volume("codes").channels,
                                                .kernel = {taps.depth, taps.height, taps.width},
                                                .stride = {o[0], o[4], o[8]},
                                                .padding = {o[1], o[5], o[9]},
                                                .output_padding = {o[3], o[7], o[11]},
                                                .dilation = {o[2], o[6], o[10]},
                                                .groups = o[12]};
        const zp::node& row = rows[b.conv_transpose3d(b.input(volume("x")), "", options)];
        CHECK(b.error.broken == zp::rule::none);
        CHECK(row.out.extents == volume("codes"));
        const zp::node_view v{rows, row};
        const kernel::conv_transpose3d_geometry g = zp::transposed_volume_window(v);
        const auto file_weights = golden.values<std::int8_t>(group + "/weight");
        std::vector<std::int8_t> weights(file_weights.size());
        zp::array_from_file(zp::parameters_of(v).arrays[0], file_weights.data(), weights.data());

        // PyTorch's arithmetic: policy float_bias, one weight scale.
        const auto scale = golden.values<float>(group + "/scale");
        const auto zero_point = golden.values<std::int32_t>(group + "/zero_point");
        const float product = scale[0] * golden.values<float>(group + "/weight_scale")[0];
        std::vector<float> bias = golden.values<float>(group + "/bias");
        for (float& value : bias) value /= product;
        const std::vector<float> multiplier(bias.size(), product / scale[1]);
        const std::vector<std::int32_t> weight_zero(bias.size(),
                                                    golden.values<std::int32_t>(group + "/weight_zero_point")[0]);
        const kernel::float_bias epilogue{multiplier.data(), bias.data(), {zero_point[1], 0, 255, nullptr}};
        const kernel::conv2d_weights<std::int8_t> source{weights.data(), weight_zero.data(), nullptr};
        const kernel::activation_codes codes{zero_point[0], 0, 255};
        using kernels = kernel::conv_transpose3d_kernels<arch, kernel::conv2d_algorithm::implicit_gemm>;
        zp::aligned_buffer packed(kernels::packed_bytes(g, true));
        zp::aligned_buffer scratch(kernels::scratch_bytes(g));
        // Planes lie one behind another: to the layout they are rows.
        const auto rows_of = [](const zp::shape& s) { return zp::shape{s.depth * s.height, s.width, s.channels}; };
        const zp::shape x_shape = rows_of(v.x_shape()), y_shape = rows_of(v.y_shape());
        const auto x = channels_last(golden.values<std::uint8_t>(group + "/x"), x_shape);
        std::vector<std::uint8_t> y(static_cast<std::size_t>(g.out_size()));
        kernels::pack(g, source, codes, packed.data());
        kernels::run(g, x.data(), codes, true, packed.data(), epilogue, y.data(), scratch.data());
        CHECK(y == channels_last(golden.values<std::uint8_t>(group + "/codes"), y_shape));
    }
}

TEST_CASE("operator parity: LiteRT's TRANSPOSE_CONV with a scale a channel, bit by bit") {
    for (const std::string group : {"TRANSPOSE_CONV/int8", "TRANSPOSE_CONV/ties"}) {
        CAPTURE(group);
        const golden_file golden(group == "TRANSPOSE_CONV/int8" ? "operators_litert" : "operators_litert_layers");
        const auto image = [&](const std::string& name) -> zp::shape {
            return {golden.extent(name, 1), golden.extent(name, 2), golden.extent(name, 3)};
        };
        kernel::conv_transpose2d_geometry g;
        g.in = image(group + "/x"), g.out = image(group + "/codes");
        g.kernel_height = golden.extent(group + "/weight", 1), g.kernel_width = golden.extent(group + "/weight", 2);
        const auto o = golden.options(group);
        g.stride_height = o.empty() ? 2 : o[0], g.stride_width = o.empty() ? 2 : o[1];
        const auto weights = golden.values<std::int8_t>(group + "/weight");
        const auto bias = golden.values<std::int32_t>(group + "/bias");
        const zp::qparams input = golden.range(group, 0), output = golden.range(group, 1);
        std::vector<std::int32_t> multiplier, shift;
        for (const float weight_scale : golden.values<float>(group + "/weight_scale")) {
            const auto m = zp::quantize_multiplier(double{input.scale} * double{weight_scale} / double{output.scale});
            multiplier.push_back(m.multiplier);
            shift.push_back(m.shift);
        }
        const kernel::output_codes codes{output.zero_point, -128, 127, nullptr};
        const auto run_with = [&](const auto& epilogue) {
            return run(g, golden.values<std::int8_t>(group + "/x"), input.zero_point,
                       {weights.data(), nullptr, bias.data()}, epilogue);
        };
        const auto theirs = golden.values<std::int8_t>(group + "/codes");
        CHECK(run_with(kernel::fixed_point_double_rounding{multiplier.data(), shift.data(), codes}) == theirs);
        if (golden.has(group + "/single"))
            CHECK(run_with(kernel::fixed_point_single_rounding{multiplier.data(), shift.data(), codes}) ==
                  golden.values<std::int8_t>(group + "/single"));
        CHECK(zp_test::deviation_of(theirs, golden.exact<std::int8_t>(group)).largest <= 1);
    }
}

TEST_CASE_TEMPLATE("operator parity: ONNX Runtime's MatMulInteger and QLinearMatMul", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_onnxruntime");
    const std::string dtype = std::is_signed_v<T> ? "qint8" : "quint8";
    const auto multiply = [&](const std::string& group, const auto& epilogue, auto out) {
        const auto a = golden.values<T>(group + "/a");
        const auto b = golden.values<std::int8_t>(group + "/b");
        const auto zero_point = golden.values<std::int32_t>(group + "/zero_point");
        const kernel::matmul_geometry g = kernel::dense_matmul(
            golden.extent(group + "/a", 0), golden.extent(group + "/a", 1), golden.extent(group + "/b", 1));
        zp::aligned_buffer scratch(kernel::matmul_plan<arch>(g).scratch_bytes);
        std::vector<decltype(out)> y(static_cast<std::size_t>(g.rows * g.columns));
        kernel::matmul<arch>(g, a.data(), zero_point[0], b.data(), zero_point[1], epilogue, y.data(), scratch.data());
        return y;
    };
    const std::string sums = "MatMulInteger/" + dtype, codes = "QLinearMatMul/" + dtype;
    CHECK(multiply(sums, kernel::accumulators{}, std::int32_t{}) == golden.values<std::int32_t>(sums + "/y"));
    const auto scale = golden.values<float>(codes + "/scale");
    const kernel::nearest_even_per_tensor epilogue{
        zp::requantize_multiplier(scale[0], scale[1], scale[2]),
        {golden.values<std::int32_t>(codes + "/zero_point")[2], std::numeric_limits<T>::min(),
         std::numeric_limits<T>::max(), nullptr}};
    CHECK(multiply(codes, epilogue, T{}) == golden.values<T>(codes + "/codes"));
}

TEST_CASE_TEMPLATE("operator parity: ConvTranspose in QDQ with a scale a channel gives the exact codes", T,
                   std::uint8_t, std::int8_t) {
    const golden_file golden("operators_onnxruntime_layers");
    const std::string group = std::is_signed_v<T> ? "ConvTranspose/qint8" : "ConvTranspose/quint8";
    kernel::conv_transpose2d_geometry g;
    g.in = golden.image_shape(group + "/x"), g.out = golden.image_shape(group + "/codes");
    g.kernel_height = golden.extent(group + "/weight", 2), g.kernel_width = golden.extent(group + "/weight", 3);
    g.stride_height = golden.options(group)[0], g.stride_width = golden.options(group)[1];
    const auto weights = golden.values<std::int8_t>(group + "/weight");  // [C, O, height, width]
    const auto in = static_cast<std::size_t>(g.in.channels), out = static_cast<std::size_t>(g.out.channels),
               taps = static_cast<std::size_t>(g.kernel_height * g.kernel_width);
    std::vector<std::int8_t> ohwi(weights.size());
    for (std::size_t i = 0; i != weights.size(); ++i)
        ohwi[(i / taps % out * taps + i % taps) * in + i / taps / out] = weights[i];
    const auto bias = golden.values<std::int32_t>(group + "/bias");
    const zp::qparams input = golden.range(group, 0), output = golden.range(group, 1);
    std::vector<float> multiplier;
    for (const float scale : golden.values<float>(group + "/weight_scale"))
        multiplier.push_back(zp::requantize_multiplier(input.scale, scale, output.scale));
    const kernel::nearest_even epilogue{
        multiplier.data(), {output.zero_point, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), nullptr}};
    CHECK(run(g, golden.image<T>(group + "/x"), input.zero_point, {ohwi.data(), nullptr, bias.data()}, epilogue) ==
          golden_file::channels_last(golden.exact<T>(group), g.out));
}

TEST_CASE("operator parity: MatMulIntegerToFloat is ONNX Runtime's, within the last bits") {
    const golden_file golden("operators_onnxruntime_layers");
    const std::string group = "MatMulIntegerToFloat/0";
    const auto a = golden.values<std::uint8_t>(group + "/a");
    const auto b = golden.values<std::int8_t>(group + "/b");
    auto multiplier = golden.values<float>(group + "/b_scale");
    for (float& scale : multiplier) scale *= golden.values<float>(group + "/a_scale")[0];
    const kernel::matmul_geometry g = kernel::dense_matmul(3, 17, 5);
    zp::aligned_buffer scratch(kernel::matmul_plan<arch>(g).scratch_bytes);
    const auto theirs = golden.values<float>(group + "/y");
    std::vector<float> y(theirs.size());
    kernel::matmul<arch>(g, a.data(), golden.values<std::int32_t>(group + "/zero_point")[0], b.data(), 0,
                         kernel::dequantize_to_float{multiplier.data()}, y.data(), scratch.data());
    for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - theirs[i]) <= 2e-7f * std::abs(theirs[i]));
}

TEST_CASE("operator parity: GatherBlockQuantized with a block a row is an embedding of 4 bits") {
    const golden_file golden("operators_onnxruntime_layers");
    const std::string group = "GatherBlockQuantized/0";
    zp::quantized_rows<4> table;
    table.columns = 32;
    table.codes = golden.values<std::uint8_t>(group + "/table");
    for (const float scale : golden.values<float>(group + "/scale")) table.rows.push_back({scale, 8, 0});
    const auto indices = golden.values<std::int32_t>(group + "/indices");
    std::vector<float> y(indices.size() * 32);
    kernel::embedding<arch>(table.view(), indices.data(), indices.size(), y.data());
    CHECK(y == golden.values<float>(group + "/y"));
}

TEST_CASE_TEMPLATE("operator parity: PyTorch's matmul of two activations", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_elementwise");
    const auto groups = golden.groups<T>("matmul/");
    CHECK(groups.size() == 3);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto a = golden.values<T>(group + "/a"), b = golden.values<T>(group + "/b");
        const auto r = golden.ranges(group);
        const kernel::matmul_geometry g =
            kernel::dense_matmul(golden.extent(group + "/a", 1), golden.extent(group + "/a", 2),
                                 golden.extent(group + "/b", 2), false, golden.extent(group + "/a", 0));
        const kernel::nearest_even_per_tensor epilogue{
            zp::requantize_multiplier(r[0].scale, r[1].scale, r[2].scale),
            {r[2].zero_point, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), nullptr}};
        zp::aligned_buffer scratch(kernel::matmul_plan<arch>(g).scratch_bytes);
        std::vector<T> y(static_cast<std::size_t>(g.batches * g.rows * g.columns));
        kernel::matmul<arch>(g, a.data(), r[0].zero_point, b.data(), r[1].zero_point, epilogue, y.data(),
                             scratch.data());
        CHECK(y == golden.exact<T>(group));
    }
}

namespace {

// A table as PyTorch packs it: the codes of each row, then scale and offset, as float or in half precision.
template <int Bits> zp::quantized_rows<Bits> unpacked_table(const golden_file& golden, const std::string& name) {
    const std::size_t ends = Bits == 8 ? 8 : 4;
    const auto bytes = golden.values<std::uint8_t>(name);
    const std::size_t pitch = static_cast<std::size_t>(golden.extent(name, 1));
    zp::quantized_rows<Bits> result;
    result.columns = static_cast<int>((pitch - ends) * 8 / Bits);
    for (std::size_t row = 0; row != bytes.size(); row += pitch) {
        const std::uint8_t* tail = bytes.data() + row + pitch - ends;
        result.codes.insert(result.codes.end(), bytes.data() + row, tail);
        float values[2];
        if constexpr (Bits == 8) {
            std::memcpy(values, tail, 8);
        } else {
            std::uint16_t halves[2];
            std::memcpy(halves, tail, 4);
            for (int i = 0; i != 2; ++i) values[i] = zp::float_from_float16(halves[i]);
        }
        result.rows.push_back({values[0], 0, values[1]});
    }
    return result;
}

// The largest difference, in units of the largest weight.
float distance(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    float most = 0;
    for (std::size_t i = 0; i != a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

template <int Bits> void check_embeddings(const std::string& kind) {
    const golden_file golden("operators_embedding");
    const auto rows = golden.groups("embedding_" + kind + "/", "y");
    const auto bags = golden.groups("embedding_bag_" + kind + "/", "y");
    CHECK(rows.size() == 3);
    CHECK(bags.size() == 3);
    for (const std::string& group : rows) {
        CAPTURE(group);
        const auto table = unpacked_table<Bits>(golden, group + "/table");
        const auto indices = golden.values<std::int32_t>(group + "/indices");
        const auto expected = golden.values<float>(group + "/y");
        std::vector<float> y(expected.size());
        kernel::embedding<arch>(table.view(), indices.data(), indices.size(), y.data());
        CHECK(distance(y, expected) < 1e-5f);  // PyTorch may fuse the product with the sum
    }
    for (const std::string& group : bags) {
        CAPTURE(group);
        const auto table = unpacked_table<Bits>(golden, group + "/table");
        const auto quantized = zp::quantize_rows<Bits>(golden.values<float>(group + "/weight"), table.columns);
        CHECK(quantized.codes == table.codes);
        for (std::size_t row = 0; row != table.rows.size(); ++row) {
            CHECK(quantized.rows[row].scale == table.rows[row].scale);
            CHECK(quantized.rows[row].offset == table.rows[row].offset);
        }
        const auto indices = golden.values<std::int32_t>(group + "/indices");
        const auto offsets = golden.values<std::int32_t>(group + "/offsets");
        const auto weights =
            golden.has(group + "/weights") ? golden.values<float>(group + "/weights") : std::vector<float>();
        const auto expected = golden.values<float>(group + "/y");
        std::vector<float> y(expected.size());
        kernel::embedding_bag<arch>(table.view(), indices.data(), indices.size(), offsets.data(), offsets.size(),
                                    weights.empty() ? nullptr : weights.data(), kernel::embedding_bag_mode::sum, -1,
                                    y.data());
        CHECK(distance(y, expected) < 1e-4f);
    }
}

}  // namespace

TEST_CASE("operator parity: PyTorch's 8-bit embeddings, and its packing of their tables") {
    check_embeddings<8>("byte");
}
TEST_CASE("operator parity: PyTorch's 4-bit embeddings, and its packing of their tables") {
    check_embeddings<4>("4bit");
}
