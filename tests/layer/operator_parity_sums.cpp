// A convolution with a residual in one rounding against PyTorch's fused conv2d_add and conv2d_add_relu (engine onednn).
#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/operators/matrix.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/scheme/bias.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

TEST_CASE("operator parity: a residual in one rounding is at most one code from PyTorch's conv2d_add") {
    using kernels = zp::quantized_conv2d_kernels<zp::nearest_even, zp::default_architecture>;
    constexpr zp::kernel_needs everything = zp::kernel_needs::everything();
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
        for (short i = 0; i != 3; ++i) {
            rows[i].out.storage = zp::scalar_type::uint8;
            rows[i].out.quant_max = 255;
            rows[i].out.qparams_id = i;
        }
        sum.weight_type = zp::scalar_type::int8;
        sum.weight_min = -128, sum.weight_max = 127;
        sum.input_count = 2, sum.inputs[1] = static_cast<short>(other);
        sum.activation = options.back() != 0 ? zp::op::relu : zp::op::none;
        sum.arena_offset = zp::in_user_output;

        zp::quantized_weights weights;
        weights.codes.resize(weight.size());
        zp::weights_from_file(sum, weight.data(), reinterpret_cast<std::int8_t*>(weights.codes.data()));
        for (const std::int32_t weight_zero_point : values(std::int32_t{}, "weight_zero_point"))
            CHECK(weight_zero_point == 0);
        for (std::size_t c = 0; c != bias.size(); ++c) {
            weights.scales.push_back(weight_scale[c % weight_scale.size()]);
            weights.bias.push_back(zp::quantize_bias(bias[c], scale[0], weights.scales[c]));
        }
        std::vector<std::uint8_t> image_codes(x.size()), y(codes.size()), result(codes.size());
        zp::kernel::nchw_to_nhwc(x.data(), rows[0].out.extents, image_codes.data());
        zp::aligned_buffer arena(addend.size());
        zp::kernel::nchw_to_nhwc(addend.data(), sum.out, reinterpret_cast<std::uint8_t*>(arena.data()));
        for (const zp::conv2d_algorithm algorithm : zp::kernel::conv2d_algorithms) {
            if (!zp::kernel::supports(sum.window, algorithm)) continue;
            CAPTURE(zp::kernel::name_of(algorithm));
            sum.algorithm = algorithm;
            sum.parameter_bytes = kernels::parameter_bytes(sum);
            zp::aligned_buffer block(static_cast<std::size_t>(sum.parameter_bytes));
            kernels::write<everything>(sum, rows[0], weights, ranges[0], ranges[2], block.data(), scale[1]);
            zp::aligned_buffer memory(addend.size() + static_cast<std::size_t>(kernels::scratch_bytes(sum)) + 64);
            std::copy_n(arena.data(), addend.size(), memory.data());
            sum.scratch_offset = static_cast<int>(zp::align_up(addend.size()));
            const zp::context c{rows,
                                block.data(),
                                ranges,
                                memory.data(),
                                reinterpret_cast<const float*>(image_codes.data()),
                                reinterpret_cast<float*>(y.data())};
            zp::with_algorithm<everything>(
                algorithm, [&](auto name) { kernels::run<std::uint8_t, std::uint8_t, name, true>(sum, c); });
            zp::kernel::nhwc_to_nchw(y.data(), sum.out, result.data());
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
