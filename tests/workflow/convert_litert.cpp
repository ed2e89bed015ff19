// SPDX-License-Identifier: BSD-3-Clause
// fixed_point_litert: the rows that LiteRT rounds in ways of its own, from what their inputs hold, by the formulas of docs/numerics.md.
#include <doctest/doctest.h>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "../support/made_up.hpp"

namespace {
namespace litert {

using codes = std::vector<std::int8_t>;

template <class Policy, class WeightScheme>
struct config : zp::qconfig<zp::quantizer<zp::qint8, zp::per_tensor_affine, zp::min_max_observer, zp::tflite_rule>,
                            zp::quantizer<zp::qint8_narrow, WeightScheme, zp::min_max_observer, zp::tflite_rule>,
                            zp::requantize_with<Policy>, zp::table_bits<8>> {};
struct net
    : zp::model<zp::input<7, 10, 5>, zp::conv2d<"a", zp::conv{.out_channels = 19, .kernel = 3, .padding = 1}>, zp::relu,
                zp::avg_pool2d<zp::pool{.kernel = 2, .stride = 2, .ceil_mode = true, .count_include_pad = false}>,
                zp::mul<zp::identity, zp::mean<zp::axes::channels>>, zp::mean<>, zp::flatten, zp::linear<"d", 33>> {};

/// The codes of every row.
template <class Network> std::vector<codes> rows_of(const Network& model, const std::vector<float>& x) {
    std::vector<codes> all(Network::rows().size());
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    const void* const xs[] = {x.data()};
    void* const ys[] = {y.data()};
    typename Network::workspace memory;
    model.run(xs, ys, memory.bytes, [&](int i, const void* values) {
        const zp::node& n = Network::rows()[static_cast<std::size_t>(i)];
        if (!n.out.is_codes()) return;
        const auto* from = static_cast<const std::int8_t*>(values);
        all[static_cast<std::size_t>(i)].assign(from, from + n.out.extents.size());
    });
    return all;
}

std::int8_t code(std::int64_t steps, const zp::qparams& y, std::int64_t lowest = -128) {
    return static_cast<std::int8_t>(std::clamp<std::int64_t>(steps + y.zero_point, lowest, 127));
}
/// Two roundings, the second of halves away from zero.
std::int64_t twice(std::int64_t x, std::int64_t multiplier, int shift) {
    if (shift > 0) x <<= shift;
    const std::int64_t high = (x * multiplier + (std::int64_t{1} << 30)) >> 31;
    if (shift >= 0) return high;
    const std::int64_t half = std::int64_t{1} << (-shift - 1), size = (std::abs(high) + half) >> -shift;
    return high < 0 ? -size : size;
}
std::int64_t once(std::int64_t x, std::int64_t multiplier, int shift) {
    const std::int64_t size = (std::abs(x) * multiplier + (std::int64_t{1} << (30 - shift))) >> (31 - shift);
    return x < 0 ? -size : size;
}

struct counts {
    int rows = 0, of_other_policy = 0;
};

/// Each such row beside its formula; and how many codes double rounding alone has otherwise, over the same inputs.
template <class WeightScheme> counts check(bool has_one_scale) {
    const auto calibrated =
        zp::calibrate(zp::prepare<config<zp::fixed_point_litert, WeightScheme>>(zp::fuse(made_up::network<net>(5))),
                      made_up::inputs<net>(4, 8));
    const auto model = zp::convert(calibrated);
    using network = std::remove_const_t<decltype(model)>;
    const auto file = zp::safetensors_file::parse(zp::to_bytes(model), "the file");
    const auto weights = file.template values<std::int8_t>(file.expect("d.weight"));
    const auto scales = file.template values<float>(file.expect("d.weight_scale"));
    const auto bias = file.template values<std::int32_t>(file.expect("d.bias"));
    counts found;
    for (const auto& image : made_up::inputs<net>(30, 84, -1.5f, 1.5f)) {
        const auto all = rows_of(model, image);
        for (std::size_t i = 0; i != all.size(); ++i) {
            const zp::node& n = network::rows()[i];
            const std::string_view kind = n.op->kind->name;
            if (kind != "linear" && kind != "mul" && kind != "mean" && kind != "avg_pool2d") continue;
            const auto input = [&](int k) { return static_cast<std::size_t>(n.inputs[k]); };
            const auto range = [&](std::size_t row) { return model.ranges()[network::rows()[row].out.qparams_id]; };
            const codes &x = all[input(0)], &y = all[i];
            const zp::shape in = network::rows()[input(0)].out.extents, out = n.out.extents;
            const zp::qparams x_range = range(input(0)), y_range = range(i);
            codes expected;
            if (kind == "linear") {
                for (std::size_t c = 0; c != 33; ++c) {
                    std::int64_t sum = bias[c];
                    for (std::size_t k = 0; k != 19; ++k) sum += (x[k] - x_range.zero_point) * weights[c * 19 + k];
                    const double product =
                        has_one_scale ? double{x_range.scale * scales[c]} : double{x_range.scale} * double{scales[c]};
                    const auto m = zp::quantize_multiplier(product / double{y_range.scale});
                    expected.push_back(code(once(sum, m.multiplier, m.shift), y_range));
                    found.of_other_policy += code(twice(sum, m.multiplier, m.shift), y_range) != expected.back();
                }
            } else if (kind == "mul") {
                const zp::qparams b_range = range(input(1));
                const float ratio = x_range.scale * b_range.scale / y_range.scale;
                const auto m = zp::quantize_multiplier(double{ratio});
                for (std::size_t k = 0; k != x.size(); ++k) {
                    const auto b = all[input(1)][k / static_cast<std::size_t>(in.channels)] - b_range.zero_point;
                    expected.push_back(code(twice((x[k] - x_range.zero_point) * b, m.multiplier, m.shift), y_range));
                    const double real = (x[k] - x_range.zero_point) * b * double{x_range.scale} * double{b_range.scale};
                    const auto nearest = static_cast<std::int64_t>(std::nearbyint(real / double{y_range.scale}));
                    found.of_other_policy += code(nearest, y_range) != expected.back();
                }
            } else if (kind == "mean") {
                const bool over_channels = out.channels == 1;
                const int divisor = in.size() / out.size();
                const auto m = zp::quantize_multiplier(double{x_range.scale} / double{y_range.scale});
                const int bits = static_cast<int>(std::floor(std::log2(divisor)));
                for (int k = 0; k != out.size(); ++k) {
                    std::int64_t sum = 0;
                    for (int j = 0; j != divisor; ++j)
                        sum += x[static_cast<std::size_t>(over_channels ? k * divisor + j : j * out.size() + k)] -
                               x_range.zero_point;
                    expected.push_back(
                        code(twice(sum, (std::int64_t{m.multiplier} << bits) / divisor, m.shift - bits), y_range));
                }
            } else {
                for (int row = 0; row != out.height; ++row)
                    for (int column = 0; column != out.width; ++column)
                        for (int c = 0; c != out.channels; ++c) {
                            int sum = 0, count = 0;
                            for (int r = 2 * row; r != std::min(2 * row + 2, in.height); ++r)
                                for (int k = 2 * column; k != std::min(2 * column + 2, in.width); ++k, ++count)
                                    sum += x[static_cast<std::size_t>((r * in.width + k) * in.channels + c)];
                            const double mean = double(sum) / count;
                            expected.push_back(static_cast<std::int8_t>(std::round(mean)));
                            const double z = x_range.zero_point;
                            found.of_other_policy += std::nearbyint(mean - z) + z != expected.back();
                        }
            }
            INFO(kind);
            CHECK(y == expected);
            ++found.rows;
        }
    }
    return found;
}

}  // namespace litert
}  // namespace

TEST_CASE("convert: fixed_point_litert rounds linear, mul, mean and avg_pool2d as LiteRT does") {
    const auto per_channel = litert::check<zp::per_channel_symmetric>(false);
    CHECK(per_channel.rows == 30 * 5);
    CHECK(per_channel.of_other_policy > 100);
    CHECK(litert::check<zp::per_tensor_symmetric>(true).rows == 30 * 5);
}

TEST_CASE("convert: fixed_point_litert signs files with its own name") {
    using one = zp::quantized<litert::net, litert::config<zp::fixed_point_litert, zp::per_channel_symmetric>>;
    using other =
        zp::quantized<litert::net, litert::config<zp::fixed_point_double_rounding, zp::per_channel_symmetric>>;
    CHECK(zp::detail::signature_of_stage<one::stage>(0) != zp::detail::signature_of_stage<other::stage>(0));
}

TEST_CASE("convert: under fixed_point_litert padding that counts in an average is 0, as elsewhere") {
    struct padded : zp::model<zp::input<5, 6, 3>, zp::avg_pool2d<zp::pool{.kernel = 3, .stride = 2, .padding = 1}>> {};
    const auto of = [](auto policy) {
        using Policy = decltype(policy);
        const auto calibrated = zp::calibrate(
            zp::prepare<litert::config<Policy, zp::per_channel_symmetric>>(zp::fuse(zp::float_model<padded>())),
            made_up::inputs<padded>(4, 8, 0.5f, 2.0f));  // so that the code of 0 is none in the middle
        return litert::rows_of(zp::convert(calibrated), made_up::inputs<padded>(1, 9, 0.5f, 2.0f)[0]);
    };
    CHECK(of(zp::fixed_point_litert{}) == of(zp::fixed_point_double_rounding{}));
}
