// SPDX-License-Identifier: BSD-3-Clause
// A convolution with a residual in one rounding against PyTorch's fused conv2d_add and conv2d_add_relu (engine onednn).
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/scheme/bias.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"
#include "../support/layouts.hpp"
#include "../support/matrix_forms.hpp"

TEST_CASE("operator parity: a residual in one rounding is at most one code from PyTorch's conv2d_add") {
    const zp_test::golden_file file("operators_convolution");
    for (const std::string group : {"conv2d_add/3x3", "conv2d_add_relu/3x3"}) {
        CAPTURE(group);
        const auto values = [&]<class T>(T, const char* name) { return file.values<T>(group + "/" + name); };
        const auto scale = values(float{}, "scale"), weight_scale = values(float{}, "weight_scale"),
                   bias = values(float{}, "bias");
        const auto zero_point = values(std::int32_t{}, "zero_point"), options = values(std::int32_t{}, "options");
        const auto codes = values(std::uint8_t{}, "codes"), x = values(std::uint8_t{}, "x"),
                   addend = values(std::uint8_t{}, "addend");
        const auto weight = values(std::int8_t{}, "weight");
        const zp::qparams ranges[] = {{scale[0], zero_point[0]}, {scale[1], zero_point[1]}, {scale[2], zero_point[2]}};

        zp::node rows[3];  // x, the addend, the sum
        zp::builder b(rows, 3);
        const zp::file_shape in = file.extents(group + "/x"), filters = file.extents(group + "/weight");
        const auto extent = [](std::int64_t size) { return static_cast<int>(size); };
        const int image = b.input({extent(in[2]), extent(in[3]), extent(in[1])});
        const int other = zp::relu::lower(b, image);
        b.conv2d(image, "",
                 {.out_channels = extent(filters[0]),
                  .kernel = {extent(filters[2]), extent(filters[3])},
                  .padding = {options[1], options[1]}});
        REQUIRE(b.error.broken == zp::rule::none);
        zp::node& sum = rows[2];
        const zp::node_view v{rows, sum};
        for (short i = 0; i != 3; ++i) zp_test::set_bytes(rows[i], i);
        sum.input_count = 2, sum.inputs[1] = static_cast<short>(other);
        sum.fused.adds_input_1 = true;
        zp::operators::fuse_activation(sum, options.back() != 0 ? zp::op::relu : zp::op::none);
        sum.at.arena_offset = zp::in_user_output;

        zp::node_parameters parameters;
        zp::quantized_weights& weights = parameters.matrices.emplace_back();
        weights.codes.resize(weight.size());
        zp::array_from_file(zp::parameters_of(v).arrays[0], weight.data(),
                            reinterpret_cast<std::int8_t*>(weights.codes.data()));
        for (const std::int32_t weight_zero_point : values(std::int32_t{}, "weight_zero_point"))
            CHECK(weight_zero_point == 0);
        for (std::size_t c = 0; c != bias.size(); ++c) {
            weights.scales.push_back(weight_scale[c % weight_scale.size()]);
            weights.bias.push_back(zp::quantize_bias(bias[c], scale[0], weights.scales[c]));
        }
        std::vector<std::uint8_t> image_codes(x.size()), y(codes.size()), result(codes.size());
        zp::kernel::nchw_to_nhwc(x.data(), rows[0].out.extents, image_codes.data());
        zp::aligned_buffer arena(addend.size());
        zp::kernel::nchw_to_nhwc(addend.data(), sum.out.extents, reinterpret_cast<std::uint8_t*>(arena.data()));
        for (const zp::conv2d_algorithm algorithm : zp::kernel::conv2d_algorithms) {
            if (!zp::operators::supports(v, algorithm)) continue;
            CAPTURE(zp::kernel::name_of(algorithm));
            const auto run = [&]<class Form>(std::type_identity<Form>) {
                sum.at.parameter_bytes = Form::parameter_bytes(v);
                zp::aligned_buffer block(static_cast<std::size_t>(sum.at.parameter_bytes));
                CHECK(Form::pack({v, ranges, block.data()}, parameters).rule == nullptr);
                zp::aligned_buffer memory(addend.size() + static_cast<std::size_t>(Form::scratch_bytes(v)) + 64);
                std::copy_n(arena.data(), addend.size(), memory.data());
                sum.at.scratch_offset = static_cast<int>(zp::align_up(addend.size()));
                const void* const xs[] = {image_codes.data()};
                void* const ys[] = {y.data()};
                const zp::context c{rows, block.data(), ranges, memory.data(), xs, ys};
                Form::run(sum, c);
            };
            zp_test::with_matrix_form<zp_test::key_of_bytes(zp::filter_kernels::conv2d, true), zp::nearest_even>(
                algorithm, run);
            layouts::nhwc_to_nchw(y.data(), sum.out.extents, result.data());
            int largest = 0, different = 0;
            for (std::size_t i = 0; i != codes.size(); ++i) {
                largest = std::max(largest, std::abs(codes[i] - result[i]));
                different += codes[i] != result[i];
            }
            CHECK(largest <= 1);
            CHECK(different <= 2);  // of 240: those next to a tie
        }
    }
}
