// SPDX-License-Identifier: BSD-3-Clause
// Float inference of every layer against loops in double, over odd shapes and every option.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#include "../support/float_reference.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;
using zp::pool;

struct convolutions
    : zp::model<
          zp::input<11, 9, 3>, zp::conv2d<"a", conv{.out_channels = 10, .kernel = 3, .padding = 1}>,
          zp::conv2d<"b", conv{.out_channels = 6, .kernel = {3, 2}, .stride = {2, 1}, .padding = {0, 1}, .groups = 2}>,
          zp::conv2d<"c", conv{.kernel = 3, .padding = 2, .dilation = 2, .groups = zp::depthwise, .bias = false}>,
          zp::conv2d<"d", conv{.out_channels = 12, .kernel = 3, .padding = 1, .groups = zp::depthwise}>,
          zp::conv2d<"e", conv{.out_channels = 17}>, zp::relu, zp::conv2d<"f", conv{.out_channels = 4, .kernel = 2}>> {
};

struct pools
    : zp::model<
          zp::input<13, 11, 5>, zp::max_pool2d<pool{.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true}>,
          zp::avg_pool2d<pool{.kernel = 3, .stride = 1, .padding = 1}>,
          zp::avg_pool2d<pool{.kernel = 2, .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}>,
          zp::avg_pool2d<pool{.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}>,
          zp::adaptive_avg_pool2d<3, 4>, zp::max_pool2d<pool{.kernel = {1, 2}, .stride = 1, .dilation = {1, 2}}>,
          zp::adaptive_avg_pool2d<1>> {};

struct activations
    : zp::model<zp::input<3, 3, 7>, zp::conv2d<"a", conv{.out_channels = 9}>, zp::leaky_relu<200>,
                zp::conv2d<"b", conv{.out_channels = 8}>, zp::sigmoid, zp::batch_norm2d<"n1">, zp::hardswish,
                zp::conv2d<"c", conv{.out_channels = 33, .bias = false}>, zp::tanh,
                zp::conv2d<"d", conv{.out_channels = 5}>, zp::relu6, zp::dropout, zp::flatten,
                zp::linear<"fc", 6, zp::with_bias::no>,
                zp::batch_norm1d<"n2", zp::norm{.epsilon_millionths = 100000, .affine = false}>, zp::relu> {};

struct branches
    : zp::model<
          zp::input<6, 5, 4>,
          zp::concat<zp::conv2d<"a", conv{.out_channels = 3}>, zp::identity,
                     zp::sequential<zp::conv2d<"b", conv{.out_channels = 5, .kernel = 3, .padding = 1}>, zp::relu>>,
          zp::residual<zp::conv2d<"c", conv{.out_channels = 12}>, zp::residual<zp::batch_norm2d<"n">, zp::relu>>,
          zp::add_relu<zp::conv2d<"d", conv{.out_channels = 2}>, zp::conv2d<"e", conv{.out_channels = 2}>>,
          zp::quant_stub, zp::dequant_stub> {};

/// Every row against its definition, over what the rows before it have really left.
template <class Net> void check_rows(std::uint64_t seed) {
    const auto model = made_up::network<Net>(seed);
    typename zp::float_model<Net>::workspace memory;
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    for (const auto& x : made_up::inputs<Net>(3, seed, -3, 3)) {
        std::vector<float_reference::row_values> rows;
        model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
            const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
            const auto* floats = static_cast<const float*>(values);
            const float_reference::row_values found(floats, floats + row.out.extents.size());
            INFO("row ", i, ", ", std::string(row.op->name));
            if (i != 0) CHECK(float_reference::difference(found, float_reference::row_output(model, row, rows)) < 3e-6);
            rows.push_back(found);
        });
        CHECK(rows.size() == model.rows().size());
        CHECK(std::vector<double>(y.begin(), y.end()) == rows.back());
    }
}

}  // namespace

TEST_CASE("float layers: convolutions, strided, dilated, grouped and depthwise, equal loops in double") {
    check_rows<convolutions>(1);
}
TEST_CASE("float layers: pooling with padding, ceil_mode, dilation, and adaptive pooling, equal loops in double") {
    check_rows<pools>(2);
}
TEST_CASE("float layers: activations, batch norms and linear layers equal their formulas in double") {
    check_rows<activations>(3);
}
TEST_CASE("float layers: add, add_relu, concat and nested residuals equal loops in double") { check_rows<branches>(4); }
