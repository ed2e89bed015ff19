// SPDX-License-Identifier: BSD-3-Clause
// Quantized conv2d and linear layers against golden vectors made by PyTorch (scripts/golden/quantized_ops.py).
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/scheme/bias.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"
#include "../support/layouts.hpp"
#include "../support/matrix_forms.hpp"

namespace {

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("quantized_ops");
    return file;
}

std::vector<std::string> groups(const std::string& prefix) { return golden().groups(prefix, "x"); }
template <class T> std::vector<T> values(const std::string& name) { return golden().values<T>(name); }

// One golden problem as the two rows of a graph, and what it was made of.
struct problem {
    explicit problem(const std::string& group)
        : x(values<std::uint8_t>(group + "/x")),
          weight(values<std::int8_t>(group + "/weight")),
          weight_scale(values<float>(group + "/weight_scale")),
          bias(values<float>(group + "/bias")),
          fbgemm(values<std::uint8_t>(group + "/fbgemm")) {
        const auto scales = values<float>(group + "/activation_scale");
        const auto zero_points = values<std::int32_t>(group + "/activation_zero_point");
        input = {scales[0], zero_points[0]};
        output = {scales[1], zero_points[1]};
        weight_zero_point = values<std::int32_t>(group + "/weight_zero_point");
        if (golden().has(group + "/qnnpack")) qnnpack = values<std::uint8_t>(group + "/qnnpack");

        const zp::file_shape shape = golden().extents(group + "/x"), filters = golden().extents(group + "/weight");
        const auto geometry = values<std::int32_t>(group + "/geometry");
        const auto extent = [](const zp::file_shape& s, std::size_t i) { return static_cast<int>(s[i]); };
        zp::builder b(rows, 2);
        images = extent(shape, 0);
        if (shape.size() == 4) {
            b.conv2d(b.input({extent(shape, 2), extent(shape, 3), extent(shape, 1)}), "",
                     {.out_channels = extent(filters, 0),
                      .kernel = {extent(filters, 2), extent(filters, 3)},
                      .stride = {geometry[0], geometry[1]},
                      .padding = {geometry[2], geometry[3]},
                      .dilation = {geometry[4], geometry[5]},
                      .groups = geometry[6]});
        } else {
            b.linear(b.input({1, 1, extent(shape, 1)}), "", extent(filters, 0));
        }
        REQUIRE(b.error.broken == zp::rule::none);
        zp_test::set_bytes(rows[0], 0);
        zp_test::set_bytes(rows[1], 1);
        rows[1].at.arena_offset = zp::in_user_output;
        zp::operators::fuse_activation(rows[1], geometry[7] != 0 ? zp::op::relu : zp::op::none);
        weight_scale.resize(static_cast<std::size_t>(rows[1].weights.channels),
                            weight_scale[0]);  // one a tensor becomes one a channel
        weight_zero_point.resize(static_cast<std::size_t>(rows[1].weights.channels), weight_zero_point[0]);
        rows[1].weights.affine =
            std::set(weight_zero_point.begin(), weight_zero_point.end()) != std::set<std::int32_t>{0};
        rows[1].by.algorithm = zp::operators::choose_algorithm<zp::default_architecture>({rows, rows[1]});
    }

    // All images through our layer, in PyTorch's order (channels outermost).
    template <class Requantization> std::vector<std::uint8_t> run() {
        std::vector<std::uint8_t> result;
        zp_test::with_matrix_form<zp_test::key_of_bytes(zp::filter_kernels::conv2d), Requantization>(
            rows[1].by.algorithm,
            [&]<class Form>(std::type_identity<Form>) { result = run_form<Form, Requantization>(); });
        return result;
    }
    template <class Form, class Requantization> std::vector<std::uint8_t> run_form() {
        const zp::node_view v{rows, rows[1]};
        rows[1].at.parameter_bytes = Form::parameter_bytes(v);
        zp::node_parameters parameters;
        zp::quantized_weights& weights = parameters.matrices.emplace_back();
        weights.codes.resize(weight.size());
        zp::array_from_file(zp::parameters_of(v).arrays[0], weight.data(),
                            reinterpret_cast<std::int8_t*>(weights.codes.data()));
        weights.scales = weight_scale;
        weights.float_bias = bias;
        if (rows[1].weights.affine) weights.zero_points = weight_zero_point;
        if (!Requantization::has_float_bias)
            for (std::size_t c = 0; c != bias.size(); ++c)
                weights.bias.push_back(zp::quantize_bias(bias[c], input.scale, weight_scale[c]));
        zp::aligned_buffer block(static_cast<std::size_t>(rows[1].at.parameter_bytes));
        const zp::qparams ranges[] = {input, output};
        CHECK(Form::pack({v, ranges, block.data()}, parameters).rule == nullptr);
        zp::aligned_buffer scratch(static_cast<std::size_t>(Form::scratch_bytes(v)));
        const auto in = static_cast<std::size_t>(rows[0].out.extents.size()),
                   out = static_cast<std::size_t>(rows[1].out.extents.size());
        std::vector<std::uint8_t> nhwc(in), y(out), result(out * static_cast<std::size_t>(images));
        for (std::size_t i = 0; i != static_cast<std::size_t>(images); ++i) {
            zp::kernel::nchw_to_nhwc(x.data() + i * in, rows[0].out.extents, nhwc.data());
            const void* const xs[] = {nhwc.data()};
            void* const ys[] = {y.data()};
            const zp::context c{rows, block.data(), ranges, scratch.data(), xs, ys};
            Form::run(rows[1], c);
            layouts::nhwc_to_nchw(y.data(), rows[1].out.extents, result.data() + i * out);
        }
        return result;
    }

    zp::node rows[2];
    int images = 1;
    std::vector<std::uint8_t> x;
    std::vector<std::int8_t> weight;
    std::vector<float> weight_scale, bias;
    std::vector<std::int32_t> weight_zero_point;
    zp::qparams input, output;
    std::vector<std::uint8_t> fbgemm, qnnpack;
};

int largest_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
    REQUIRE(a.size() == b.size());
    int largest = 0;
    for (std::size_t i = 0; i != a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

}  // namespace

TEST_CASE("float_bias equals PyTorch's fbgemm engine") {
    int count = 0;
    for (const char* prefix : {"conv2d/", "linear/"})
        for (const std::string& group : groups(prefix)) {
            CAPTURE(group);
            problem p(group);
            CHECK(p.run<zp::float_bias>() == p.fbgemm);
            ++count;
        }
    CHECK(count >= 40);
}

TEST_CASE("an int32 bias is at most one quantum from PyTorch's fbgemm and qnnpack engines") {
    for (const char* prefix : {"conv2d/", "linear/"})
        for (const std::string& group : groups(prefix)) {
            CAPTURE(group);
            problem p(group);
            const std::vector<std::uint8_t> ours = p.run<zp::nearest_even>();
            CHECK(largest_difference(ours, p.fbgemm) <= 1);
            CHECK(largest_difference(ours, p.qnnpack) <= 1);
        }
}

// Sums within a rounding error of a tie, where fbgemm's fused multiply-add for one scale a tensor is seen.
TEST_CASE("near ties: equal with a scale a channel, at most one quantum apart with one a tensor") {
    for (const std::string& group : groups("near_tie/")) {
        CAPTURE(group);
        problem p(group);
        const std::vector<std::uint8_t> ours = p.run<zp::float_bias>();
        if (group.find("per_tensor") == std::string::npos) CHECK(ours == p.fbgemm);
        else CHECK(largest_difference(ours, p.fbgemm) <= 1);
    }
}
