// SPDX-License-Identifier: BSD-3-Clause
// Biases corrected by calibration: equal to the mean difference of float and quantized weights, computed output by output.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;

struct net
    : zp::model<
          zp::input<9, 8, 4>,
          zp::conv2d<"a", conv{.out_channels = 6, .kernel = 3, .stride = 2, .padding = 1, .groups = 2}>, zp::hardswish,
          zp::conv2d<"b", conv{.kernel = 5, .padding = 2, .groups = zp::depthwise}>, zp::relu,
          zp::conv_transpose2d<"c", zp::conv_transpose{.out_channels = 5, .kernel = 3, .stride = 2, .padding = 1}>,
          zp::relu6, zp::flatten, zp::linear<"d", 7>> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using coarse = zp::quantizer<zp::qint4, zp::per_channel_affine, zp::per_channel_min_max_observer>;
struct corrected : zp::qconfig<activations, coarse, zp::correct_biases> {};
struct plain : zp::qconfig<activations, coarse> {};
struct in_float : zp::qconfig<activations, coarse, zp::correct_biases, zp::requantize_with<zp::float_bias>> {};

const std::vector<std::vector<float>>& data() {
    static const auto all = made_up::inputs<net>(5, 7, -0.5f, 2);
    return all;
}

/// Mean over data and outputs of what one output channel's weights give more than the float ones: output by output.
std::vector<double> mean_differences(const zp::node_view& v, const std::vector<float>& errors,
                                     const std::vector<std::vector<float>>& inputs) {
    const zp::node& row = v.n;
    const bool is_connected = zp_test::is(row, zp::op::linear);
    const zp::kernel::conv2d_geometry w = is_connected ? row.op->geometry(v) : zp::geometry_of_window(v);
    const int group_in = w.in.channels / w.groups, group_out = row.weights.channels / w.groups;
    const int taps = w.kernel_height * w.kernel_width;
    std::vector<double> sums(static_cast<std::size_t>(row.weights.channels));
    const auto place = [&](int out, int tap, int stride, int padding, int extent) {
        if (!zp_test::is(row, zp::op::conv_transpose2d)) return out * stride - padding + tap;
        const int up = out + padding - tap;
        return up >= 0 && up % stride == 0 ? up / stride : extent;
    };
    for (const std::vector<float>& x : inputs)
        for (int y = 0; y != w.out.height; ++y)
            for (int column = 0; column != w.out.width; ++column)
                for (int c = 0; c != row.weights.channels; ++c)
                    for (int k = 0; k != taps * group_in; ++k) {
                        const int tap = k / group_in, ky = tap / w.kernel_width, kx = tap % w.kernel_width;
                        const int iy = place(y, ky, w.stride_height, w.padding_top, w.in.height),
                                  ix = place(column, kx, w.stride_width, w.padding_left, w.in.width);
                        if (iy < 0 || iy >= w.in.height || ix < 0 || ix >= w.in.width) continue;
                        const int channel = c / group_out * group_in + k % group_in;
                        sums[static_cast<std::size_t>(c)] +=
                            double{errors[static_cast<std::size_t>(c * taps * group_in + k)]} *
                            double{x[static_cast<std::size_t>((iy * w.in.width + ix) * w.in.channels + channel)]};
                    }
    for (double& sum : sums) sum /= static_cast<double>(inputs.size()) * w.out.height * w.out.width;
    return sums;
}

template <class Config> auto converted() {
    return zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<net>(2)), data()));
}

/// How many biases differ by more than rounding from what they should be, and how many were not left as they were.
template <class Config> std::pair<int, int> wrong_and_changed() {
    using int8_network = zp::quantized<net, Config>;
    int8_network int8 = converted<Config>();
    const auto fused = zp::fuse(made_up::network<net>(2));
    int wrong = 0, changed = 0;
    for (std::size_t number = 0; number != int8.rows().size(); ++number) {
        const zp::node& row = int8.rows()[number];
        if (!row.op->multiplies) continue;
        const zp::node_view v = zp_test::view_of(int8.rows(), row);
        const zp::node_parameters parameters =
            int8_network::stage::unpacks[number]({v, int8.ranges(), int8.parameters() + row.at.parameter_offset});
        const zp::quantized_weights& q = parameters.matrices[0];
        const auto floats = made_up::parameters_of(fused, row.name);
        // The inputs of the row in float.
        std::vector<std::vector<float>> inputs;
        for (const std::vector<float>& image : data()) {
            const auto memory = std::make_unique<typename zp::fused<net>::workspace>();
            std::vector<float> y(7);
            fused.run(image.data(), y.data(), memory->bytes, [&](int i, const void* values) {
                for (const zp::node& reader : fused.rows())
                    if (std::string(reader.name) == row.name && reader.inputs[0] == i)
                        inputs.emplace_back(static_cast<const float*>(values),
                                            static_cast<const float*>(values) + v.x_shape().size());
            });
        }
        REQUIRE(inputs.size() == data().size());
        std::vector<float> errors(floats.weights.size());
        const std::size_t depth = errors.size() / floats.bias.size();
        for (std::size_t i = 0; i != errors.size(); ++i) {
            const int code = static_cast<std::int8_t>(q.codes[i]) - q.zero_points[i / depth];
            errors[i] = static_cast<float>(double{q.scales[i / depth]} * code - double{floats.weights[i]});
        }
        const std::vector<double> differences = mean_differences(v, errors, inputs);
        const double x_scale{int8.ranges()[v.x_type().qparams_id].scale};
        for (std::size_t c = 0; c != differences.size(); ++c) {
            const double wanted = double{floats.bias[c]} - differences[c];
            if (q.float_bias.empty()) {
                const double step = x_scale * double{q.scales[c]};
                wrong += std::fabs(q.bias[c] - wanted / step) > 0.51;
                changed += std::fabs(q.bias[c] - double{floats.bias[c]} / step) > 0.51;
            } else {
                wrong += std::fabs(double{q.float_bias[c]} - wanted) > 1e-6;
                changed += q.float_bias[c] != floats.bias[c];
            }
        }
    }
    return {wrong, changed};
}

/// The mean over channels of how far their means over the data are from those of the float network.
template <class Config> double shift_of_means() {
    const auto int8 = converted<Config>();
    const auto trained = made_up::network<net>(2);
    std::vector<double> shifts(7);
    for (const std::vector<float>& x : data()) {
        std::vector<float> a(7), b(7);
        trained(x, a);
        int8(x, b);
        for (std::size_t c = 0; c != 7; ++c) shifts[c] += double{b[c]} - double{a[c]};
    }
    double sum = 0;
    for (const double shift : shifts) sum += std::fabs(shift) / static_cast<double>(data().size());
    return sum / 7;
}

}  // namespace

TEST_CASE("bias correction: each bias less the mean error of its channel's weights") {
    const auto [wrong, changed] = wrong_and_changed<corrected>();
    CHECK(wrong == 0);
    CHECK(changed >= 20);  // of 24
}
TEST_CASE("bias correction: the same of biases that stay floats") {
    const auto [wrong, changed] = wrong_and_changed<in_float>();
    CHECK(wrong == 0);
    CHECK(changed == 24);
}
TEST_CASE("bias correction: none where it is not asked for") { CHECK(wrong_and_changed<plain>().second == 0); }

TEST_CASE("bias correction: mean outputs come nearer to the float network's") {
    const double with = shift_of_means<corrected>(), without = shift_of_means<plain>();
    MESSAGE("mean shift " << with << " corrected, " << without << " not");
    CHECK(with < 0.9 * without);  // what rounding the activations shifts is left
}

TEST_CASE("bias correction: networks that were calibrated in parts are merged") {
    auto first = zp::prepare<corrected>(made_up::network<net>(2)), second = first;
    for (std::size_t i = 0; i != data().size(); ++i) (i < 2 ? first : second).observe(data()[i].data());
    first.merge(second);
    auto whole = zp::prepare<corrected>(made_up::network<net>(2));
    for (const std::vector<float>& x : data()) whole.observe(x.data());
    for (int i = 0; i != static_cast<int>(whole.rows().size()); ++i) {
        const auto a = first.sums_of_inputs().means_of(i, first.samples()),
                   b = whole.sums_of_inputs().means_of(i, whole.samples());
        REQUIRE(a.values.size() == b.values.size());
        for (std::size_t k = 0; k != a.values.size(); ++k)
            CHECK(a.values[k] == doctest::Approx(b.values[k]).epsilon(1e-12));
    }
}
