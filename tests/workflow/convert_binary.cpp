// Operators of two activations, prelu, sums and means: float, int8 row by row against the definitions, files, SQNR.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/io/int8_model.hpp>
#include <zeropoint/kernel/binary_reference.hpp>
#include <zeropoint/kernel/elementwise_reference.hpp>
#include <zeropoint/layer/operators/binary.hpp>
#include <zeropoint/layer/operators/prelu.hpp>
#include <zeropoint/layer/operators/sum.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace {

namespace reference = zp::kernel::reference;
using reference::operand_grid;
using reference::output_grid;

template <class Dtype>
struct config : zp::qconfig<zp::quantizer<Dtype, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// One row as it ran: its values as numbers, codes or floats.
struct trace_row {
    zp::shape extents;
    std::vector<double> values;
};
template <class Network> std::vector<trace_row> trace(const Network& model, const std::vector<float>& x) {
    typename Network::workspace memory;
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    std::vector<trace_row> rows;
    model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
        const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
        rows.push_back({row.out, {}});
        for (int k = 0; k != row.out.size(); ++k) {
            const double value = row.type == zp::scalar_type::float32 ? static_cast<const float*>(values)[k]
                                 : row.type == zp::scalar_type::int8  ? static_cast<const std::int8_t*>(values)[k]
                                                                      : static_cast<const std::uint8_t*>(values)[k];
            rows.back().values.push_back(value);
        }
    });
    return rows;
}

/// The value of an operand for a position of the result.
double value_at(const trace_row& x, const zp::shape& full, int position) {
    const int c = position % full.channels, column = position / full.channels % full.width,
              row = position / full.channels / full.width;
    const int from = ((x.extents.height == 1 ? 0 : row) * x.extents.width + (x.extents.width == 1 ? 0 : column)) *
                         x.extents.channels +
                     (x.extents.channels == 1 ? 0 : c);
    return x.values[static_cast<std::size_t>(from)];
}

/// The real result of an operator of two numbers.
double real_result(std::string_view kind, double a, double b) {
    if (kind == "mul") return a * b;
    if (kind == "sub") return a - b;
    if (kind == "div") return a / b;
    if (kind == "maximum") return std::max(a, b);
    if (kind == "minimum") return std::min(a, b);
    return (a - b) * (a - b);
}
int code_result(std::string_view kind, int a, const operand_grid& of_a, int b, const operand_grid& of_b,
                const output_grid& of_y) {
    if (kind == "mul")
        return reference::mul(a, of_a.scale, of_a.zero_point, b, of_b.scale, of_b.zero_point, of_y.scale,
                              of_y.zero_point, of_y.quant_min, of_y.quant_max);
    if (kind == "sub") return reference::sub(a, of_a, b, of_b, of_y);
    if (kind == "div") return reference::div(a, of_a, b, of_b, of_y);
    if (kind == "maximum") return reference::maximum(a, of_a, b, of_b, of_y);
    if (kind == "minimum") return reference::minimum(a, of_a, b, of_b, of_y);
    return reference::squared_difference(a, of_a, b, of_b, of_y);
}

/// What the rows of this test compute, beside convolutions: how many were compared, and their noise.
struct comparison {
    int rows = 0;
    double least_sqnr = 1e9;  // dB, of a row's real numbers against its operator on the real numbers it read
    std::string differences;
};

/// The float rows against plain loops over what they read.
template <class Network> comparison compare_floats(const Network& model, const std::vector<float>& x) {
    comparison found;
    const auto rows = trace(model, x);
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const zp::node& row = model.rows()[i];
        if (row.described == nullptr) continue;
        const std::string_view kind = row.described->kind;
        const trace_row& a = rows[static_cast<std::size_t>(row.inputs[0])];
        const auto* slopes = reinterpret_cast<const float*>(model.parameters() + row.parameter_offset);
        std::vector<double> expected(rows[i].values.size());
        if (row.input_count == 2) {
            for (int k = 0; k != row.out.size(); ++k)
                expected[static_cast<std::size_t>(k)] = real_result(
                    kind, value_at(a, row.out, k), value_at(rows[static_cast<std::size_t>(row.inputs[1])], row.out, k));
        } else if (kind == "prelu") {
            for (std::size_t k = 0; k != expected.size(); ++k) {
                const double slope = slopes[row.weights == 1 ? 0 : k % static_cast<std::size_t>(row.weights)];
                expected[k] = a.values[k] > 0 ? a.values[k] : slope * a.values[k];
            }
        } else {
            for (int k = 0; k != a.extents.size(); ++k) {
                const int c = k % a.extents.channels, column = k / a.extents.channels % a.extents.width,
                          r = k / a.extents.channels / a.extents.width;
                const int to = ((row.out.height == 1 ? 0 : r) * row.out.width + (row.out.width == 1 ? 0 : column)) *
                                   row.out.channels +
                               (row.out.channels == 1 ? 0 : c);
                expected[static_cast<std::size_t>(to)] += a.values[static_cast<std::size_t>(k)];
            }
            if (kind == "mean")
                for (double& value : expected) value = value * row.out.size() / a.extents.size();
        }
        ++found.rows;
        for (std::size_t k = 0; k != expected.size(); ++k) {
            if (zp::is_clamp(row.activation)) expected[k] = std::max(expected[k], 0.0);
            if (row.activation == zp::op::relu6) expected[k] = std::min(expected[k], 6.0);
            if (!(std::abs(rows[i].values[k] - expected[k]) <= 1e-5 * (std::abs(expected[k]) + 1e-3)))
                found.differences +=
                    "row " + std::to_string(i) + " " + std::string(kind) + " value " + std::to_string(k) + "\n";
        }
    }
    return found;
}

/// The described rows of an int8 network against their definitions over the codes they read.
template <class Network> comparison compare_codes(const Network& model, const std::vector<float>& x) {
    comparison found;
    const auto rows = trace(model, x);
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const zp::node& row = model.rows()[i];
        if (row.described == nullptr) continue;
        const std::string_view kind = row.described->kind;
        const auto grid = [&](int r) {
            const zp::qparams& range = model.ranges()[model.rows()[static_cast<std::size_t>(r)].slot];
            return operand_grid{range.scale, range.zero_point};
        };
        const trace_row& a = rows[static_cast<std::size_t>(row.inputs[0])];
        const operand_grid of_a = grid(row.inputs[0]), own = grid(static_cast<int>(i));
        output_grid of_y{own.scale, own.zero_point, row.quant_min, row.quant_max};
        if (zp::is_clamp(row.activation)) of_y.quant_min = std::max(row.quant_min, own.zero_point);
        if (row.activation == zp::op::relu6)
            of_y.quant_max =
                std::min(row.quant_max, static_cast<int>(std::nearbyint(6 * (1 / own.scale))) + own.zero_point);
        const double low = own.scale * (of_y.quant_min - own.zero_point),
                     high = own.scale * (of_y.quant_max - own.zero_point);
        std::vector<int> expected(rows[i].values.size());
        std::vector<double> exact(expected.size());
        const auto real = [](double code, const operand_grid& g) { return double{g.scale} * (code - g.zero_point); };
        if (row.input_count == 2) {
            const trace_row& b = rows[static_cast<std::size_t>(row.inputs[1])];
            const operand_grid of_b = grid(row.inputs[1]);
            for (int k = 0; k != row.out.size(); ++k) {
                const double left = value_at(a, row.out, k), right = value_at(b, row.out, k);
                expected[static_cast<std::size_t>(k)] =
                    code_result(kind, static_cast<int>(left), of_a, static_cast<int>(right), of_b, of_y);
                exact[static_cast<std::size_t>(k)] = real_result(kind, real(left, of_a), real(right, of_b));
            }
        } else if (kind == "prelu") {
            const auto* slopes = reinterpret_cast<const float*>(model.parameters() + row.parameter_offset);
            for (std::size_t k = 0; k != expected.size(); ++k) {
                const float slope = slopes[row.weights == 1 ? 0 : k % static_cast<std::size_t>(row.weights)];
                expected[k] = reference::prelu(static_cast<int>(a.values[k]), of_a, slope, of_y);
                const double value = real(a.values[k], of_a);
                exact[k] = value > 0 ? value : value * double{slope};
            }
        } else {
            const int divisor = kind == "mean" ? a.extents.size() / row.out.size() : 1;
            reference::sum_axes(a.extents, row.out, a.values.data(), of_a, divisor, of_y, expected.data());
            exact.clear();
        }
        ++found.rows;
        double signal = 0, noise = 0;
        for (std::size_t k = 0; k != expected.size(); ++k) {
            if (rows[i].values[k] != expected[k])
                found.differences += "row " + std::to_string(i) + " " + std::string(kind) + " value " +
                                     std::to_string(k) + ": " + std::to_string(rows[i].values[k]) + ", expected " +
                                     std::to_string(expected[k]) + "\n";
            if (exact.empty()) continue;
            const double wanted = zp::is_clamp(row.activation) ? std::clamp(exact[k], low, high) : exact[k];
            signal += wanted * wanted;
            noise += std::pow(real(rows[i].values[k], own) - wanted, 2);
        }
        if (!exact.empty()) found.least_sqnr = std::min(found.least_sqnr, 10 * std::log10(signal / noise));
    }
    return found;
}

/// Normally distributed values, by sums of twelve.
std::vector<float> normal(std::size_t count, std::uint64_t seed) {
    zp_test::generator next(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        value = -6;
        for (int i = 0; i != 12; ++i) value += next.real(0, 1);
    }
    return values;
}

/// Through all stages, and a file, on normal data.
template <class Net, class Config> void check(int described, double least_sqnr) {
    const auto trained = made_up::network<Net>(9);
    std::vector<std::vector<float>> inputs;
    for (std::uint64_t seed = 0; seed != 8; ++seed)
        inputs.push_back(normal(static_cast<std::size_t>(zp::float_model<Net>::input_shape.size()), seed));
    const auto fused = zp::fuse(trained);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(fused), inputs));
    const auto loaded = zp::load<zp::quantized<Net, Config>>(zp::to_bytes(int8), "memory");
    for (const auto& x : inputs) {
        const comparison of_trained = compare_floats(trained, x), of_floats = compare_floats(fused, x);
        const comparison of_codes = compare_codes(int8, x), of_loaded = compare_codes(loaded, x);
        CHECK(of_trained.differences == "");
        CHECK(of_floats.differences == "");
        CHECK(of_codes.differences == "");
        CHECK(of_loaded.differences == "");
        CHECK(of_trained.rows == described);
        CHECK(of_codes.rows == described);
        CHECK(of_codes.least_sqnr > least_sqnr);
        CHECK(trace(int8, x).back().values == trace(loaded, x).back().values);
    }
}

using zp::conv;
template <zp::fixed_string Name> using pixelwise = zp::conv2d<Name, conv{.out_channels = 20}>;
template <zp::fixed_string Name> using vector = zp::sequential<zp::mean<>, pixelwise<Name>>;
/// One value a pixel, from 0.5 to 3: a divisor.
template <zp::fixed_string Name>
using divisor = zp::sequential<zp::conv2d<Name, conv{.out_channels = 1}>, zp::clamp<500, 3000>>;

/// Every operator with operands of one shape, a vector, one value a pixel, and clamps behind some.
struct every_operator
    : zp::model<zp::input<7, 6, 3>, zp::mul<pixelwise<"a">, pixelwise<"b">>, zp::sub<zp::identity, pixelwise<"c">>,
                zp::relu, zp::maximum<pixelwise<"d">, vector<"e">>, zp::minimum<vector<"f">, pixelwise<"g">>,
                zp::div<zp::identity, divisor<"h">>, zp::prelu<"one">,
                zp::squared_difference<pixelwise<"i">, vector<"j">>, zp::prelu<"each", 20>,
                zp::mul<zp::identity, zp::mean<zp::axes::channels>>, zp::relu6,
                zp::concat<zp::mul<zp::sum<zp::axes::width>, pixelwise<"k">>,
                           zp::sub<pixelwise<"l">, zp::sum<zp::axes::height>>>,
                zp::mean<>> {};

/// Alone on normal data: what an operator itself adds in noise.
struct products : zp::model<zp::input<16, 16, 8>, zp::mul<zp::identity, zp::mean<zp::axes::width>>> {};
struct differences : zp::model<zp::input<16, 16, 8>, zp::sub<zp::identity, zp::mean<>>> {};
struct squares : zp::model<zp::input<16, 16, 8>, zp::squared_difference<zp::identity, zp::mean<>>> {};
struct quotients : zp::model<zp::input<16, 16, 8>, zp::div<zp::identity, zp::clamp<500, 3000>>> {};
struct largest : zp::model<zp::input<16, 16, 8>, zp::maximum<zp::identity, zp::mean<zp::axes::channels>>> {};
struct smallest : zp::model<zp::input<16, 16, 8>, zp::minimum<zp::identity, zp::mean<zp::axes::channels>>> {};
struct slopes : zp::model<zp::input<16, 16, 8>, zp::prelu<"slopes", 8>> {};

}  // namespace

TEST_CASE("convert: operators of two activations, prelu, sums and means in every stage") {
    check<every_operator, config<zp::quint8>>(18, 20);
    check<every_operator, config<zp::qint8>>(18, 20);
}

TEST_CASE("convert: at least 30 dB of signal over the noise of each operator, on normal data") {
    check<products, config<zp::quint8>>(2, 30);
    check<differences, config<zp::quint8>>(2, 30);
    check<squares, config<zp::quint8>>(2, 30);
    check<quotients, config<zp::quint8>>(1, 30);
    check<largest, config<zp::quint8>>(2, 30);
    check<smallest, config<zp::quint8>>(2, 30);
    check<slopes, config<zp::quint8>>(1, 30);
}

TEST_CASE("convert: scales that an operator cannot compute with are an error of the file") {
    const auto trained = made_up::network<differences>(3);
    auto int8 = zp::convert(zp::calibrate(zp::prepare<config<zp::quint8>>(zp::fuse(trained)),
                                          std::vector<std::vector<float>>{normal(2048, 1)}));
    for (const zp::node& row : int8.rows())
        if (row.kind == zp::op::sub) int8.ranges()[row.slot].scale = 1e-12f;
    CHECK_THROWS_WITH_AS(zp::load<zp::quantized<differences, config<zp::quint8>>>(zp::to_bytes(int8), "memory"),
                         doctest::Contains("too far apart"), zp::file_error);
}
