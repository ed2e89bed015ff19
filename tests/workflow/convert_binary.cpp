// SPDX-License-Identifier: BSD-3-Clause
// Operators of two activations, prelu, sums and means: float, int8 row by row against the definitions, files, SQNR.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/kernel/reference/elementwise.hpp>
#include <zeropoint/kernel/reference/reduction.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/operators/prelu.hpp>
#include <zeropoint/operators/sum.hpp>
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
        rows.push_back({row.out.extents, {}});
        for (int k = 0; k != row.out.extents.size(); ++k) {
            const double value = row.out.storage == zp::scalar_type::float32
                                     ? double{static_cast<const float*>(values)[k]}
                                     : double(row.out.storage == zp::scalar_type::int8
                                                  ? int{static_cast<const std::int8_t*>(values)[k]}
                                                  : int{static_cast<const std::uint8_t*>(values)[k]});
            rows.back().values.push_back(value);
        }
    });
    return rows;
}

std::vector<int> codes_of(const trace_row& row) {
    std::vector<int> codes;
    for (const double value : row.values) codes.push_back(static_cast<int>(value));
    return codes;
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

/// The position of `out`, some axes of which are folded, to which a position of `in` is added.
std::size_t folded_position(const zp::shape& in, const zp::shape& out, int position) {
    const int c = position % in.channels, column = position / in.channels % in.width,
              row = position / in.channels / in.width;
    return static_cast<std::size_t>(((out.height == 1 ? 0 : row) * out.width + (out.width == 1 ? 0 : column)) *
                                        out.channels +
                                    (out.channels == 1 ? 0 : c));
}

/// The real result of an operator of two numbers.
double real_result(std::string_view kind, double a, double b) {
    if (kind == "mul") return a * b;
    if (kind == "add") return a + b;
    if (kind == "sub") return a - b;
    if (kind == "div") return a / b;
    if (kind == "maximum") return std::max(a, b);
    if (kind == "minimum") return std::min(a, b);
    if (kind == "hypot") return std::hypot(a, b);
    return (a - b) * (a - b);
}
int code_result(std::string_view kind, int a, const operand_grid& of_a, int b, const operand_grid& of_b,
                const output_grid& of_y) {
    if (kind == "mul")
        return reference::mul(a, of_a.scale, of_a.zero_point, b, of_b.scale, of_b.zero_point, of_y.scale,
                              of_y.zero_point, of_y.quant_min, of_y.quant_max);
    if (kind == "add")
        return reference::add(a, of_a.scale, of_a.zero_point, b, of_b.scale, of_b.zero_point, of_y.scale,
                              of_y.zero_point, of_y.quant_min, of_y.quant_max);
    if (kind == "sub") return reference::sub(a, of_a, b, of_b, of_y);
    if (kind == "div") return reference::div(a, of_a, b, of_b, of_y);
    if (kind == "maximum") return reference::maximum(a, of_a, b, of_b, of_y);
    if (kind == "minimum") return reference::minimum(a, of_a, b, of_b, of_y);
    if (kind == "hypot") return reference::hypot<float>(a, of_a, b, of_b, of_y);
    return reference::squared_difference(a, of_a, b, of_b, of_y);
}

constexpr const zp::operator_kind* tested[] = {&zp::op::mul,
                                               &zp::op::add,
                                               &zp::op::sub,
                                               &zp::op::div,
                                               &zp::op::maximum,
                                               &zp::op::minimum,
                                               &zp::op::squared_difference,
                                               &zp::op::hypot,
                                               &zp::op::prelu,
                                               &zp::op::sum,
                                               &zp::op::mean};

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
        if (!zp_test::is_one_of(row, tested)) continue;
        const std::string_view kind = row.op->name;
        const trace_row& a = rows[static_cast<std::size_t>(row.inputs[0])];
        const auto* slopes = reinterpret_cast<const float*>(model.parameters() + row.at.parameter_offset);
        std::vector<double> expected(rows[i].values.size());
        if (row.input_count == 2) {
            for (int k = 0; k != row.out.extents.size(); ++k)
                expected[static_cast<std::size_t>(k)] =
                    real_result(kind, value_at(a, row.out.extents, k),
                                value_at(rows[static_cast<std::size_t>(row.inputs[1])], row.out.extents, k));
        } else if (kind == "prelu") {
            for (std::size_t k = 0; k != expected.size(); ++k) {
                const double slope =
                    slopes[row.weights.count == 1 ? 0 : k % static_cast<std::size_t>(row.weights.count)];
                expected[k] = a.values[k] > 0 ? a.values[k] : slope * a.values[k];
            }
        } else {
            for (int k = 0; k != a.extents.size(); ++k)
                expected[folded_position(a.extents, row.out.extents, k)] += a.values[static_cast<std::size_t>(k)];
            if (kind == "mean")
                for (double& value : expected) value = value * row.out.extents.size() / a.extents.size();
        }
        ++found.rows;
        for (std::size_t k = 0; k != expected.size(); ++k) {
            const bool bounded = zp_test::has_clamp(row, zp::op::clamp);
            if (row.fused.clamp != nullptr)
                expected[k] = std::max(expected[k], bounded ? double{row.fused.lowest} : 0.0);
            if (zp_test::has_clamp(row, zp::op::relu6)) expected[k] = std::min(expected[k], 6.0);
            if (bounded) expected[k] = std::min(expected[k], double{row.fused.highest});
            if (!(std::abs(rows[i].values[k] - expected[k]) <= 1e-5 * (std::abs(expected[k]) + 1e-3)))
                found.differences +=
                    "row " + std::to_string(i) + " " + std::string(kind) + " value " + std::to_string(k) + "\n";
        }
    }
    return found;
}

/// The rows of an int8 network against their definitions over the codes they read.
template <class Network> comparison compare_codes(const Network& model, const std::vector<float>& x) {
    comparison found;
    const auto rows = trace(model, x);
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const zp::node& row = model.rows()[i];
        if (!zp_test::is_one_of(row, tested)) continue;
        const std::string_view kind = row.op->name;
        const auto grid = [&](int r) {
            const zp::qparams& range = model.ranges()[model.rows()[static_cast<std::size_t>(r)].out.qparams_id];
            return operand_grid{range.scale, range.zero_point};
        };
        const trace_row& a = rows[static_cast<std::size_t>(row.inputs[0])];
        const operand_grid of_a = grid(row.inputs[0]), own = grid(static_cast<int>(i));
        output_grid of_y{own.scale, own.zero_point, row.out.quant_min, row.out.quant_max};
        if (row.fused.clamp != nullptr) of_y.quant_min = std::max(row.out.quant_min, own.zero_point);
        const auto code_of_bound = [&](float bound) {
            const int rounded = static_cast<int>(std::nearbyint(bound * (1 / own.scale))) + own.zero_point;
            return std::clamp(rounded, row.out.quant_min, row.out.quant_max);
        };
        if (zp_test::has_clamp(row, zp::op::relu6)) of_y.quant_max = code_of_bound(6);
        if (zp_test::has_clamp(row, zp::op::clamp))
            of_y.quant_min = code_of_bound(row.fused.lowest), of_y.quant_max = code_of_bound(row.fused.highest);
        const double low = double{own.scale} * (of_y.quant_min - own.zero_point);
        const double high = double{own.scale} * (of_y.quant_max - own.zero_point);
        std::vector<int> expected(rows[i].values.size());
        std::vector<double> exact(expected.size());
        const auto real = [](double code, const operand_grid& g) { return double{g.scale} * (code - g.zero_point); };
        if (row.input_count == 2) {
            const trace_row& b = rows[static_cast<std::size_t>(row.inputs[1])];
            const operand_grid of_b = grid(row.inputs[1]);
            for (int k = 0; k != row.out.extents.size(); ++k) {
                const double left = value_at(a, row.out.extents, k), right = value_at(b, row.out.extents, k);
                expected[static_cast<std::size_t>(k)] =
                    code_result(kind, static_cast<int>(left), of_a, static_cast<int>(right), of_b, of_y);
                exact[static_cast<std::size_t>(k)] = real_result(kind, real(left, of_a), real(right, of_b));
            }
        } else if (kind == "prelu") {
            const auto* slopes = reinterpret_cast<const float*>(model.parameters() + row.at.parameter_offset);
            for (std::size_t k = 0; k != expected.size(); ++k) {
                const float slope =
                    slopes[row.weights.count == 1 ? 0 : k % static_cast<std::size_t>(row.weights.count)];
                expected[k] = reference::prelu(static_cast<int>(a.values[k]), of_a, slope, of_y);
                const double value = real(a.values[k], of_a);
                exact[k] = value > 0 ? value : value * double{slope};
            }
        } else {
            const int divisor = kind == "mean" ? a.extents.size() / row.out.extents.size() : 1;
            const std::vector<int> codes = codes_of(a);
            reference::sum_axes(a.extents, row.out.extents, codes.data(), of_a, divisor, of_y, expected.data());
            for (int k = 0; k != a.extents.size(); ++k)
                exact[folded_position(a.extents, row.out.extents, k)] +=
                    real(a.values[static_cast<std::size_t>(k)], of_a) / divisor;
        }
        ++found.rows;
        double signal = 0, noise = 0;
        for (std::size_t k = 0; k != expected.size(); ++k) {
            if (rows[i].values[k] != expected[k])
                found.differences += "row " + std::to_string(i) + " " + std::string(kind) + " value " +
                                     std::to_string(k) + ": " + std::to_string(rows[i].values[k]) + ", expected " +
                                     std::to_string(expected[k]) + "\n";
            const double wanted = row.fused.clamp != nullptr ? std::clamp(exact[k], low, high) : exact[k];
            signal += wanted * wanted;
            noise += std::pow(real(rows[i].values[k], own) - wanted, 2);
        }
        found.least_sqnr = std::min(found.least_sqnr, 10 * std::log10(signal / noise));
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
template <class Net, class Config> void check(int rows, double least_sqnr) {
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
        CHECK(of_trained.rows == rows);
        CHECK(of_codes.rows == rows);
        CHECK(of_codes.least_sqnr > least_sqnr);
        CHECK(trace(int8, x).back().values == trace(loaded, x).back().values);
    }
}

using zp::axes;
using zp::identity;

/// One value a pixel, from 0.5 to 3: a divisor.
struct divisor : zp::sequential<zp::mean<axes::channels>, zp::clamp<500, 3000>> {};

/// Every operator with operands of one shape, a vector, one value a pixel, a row, a column, and clamps behind some.
struct every_operator
    : zp::model<zp::input<7, 6, 20>, zp::mul<identity, zp::prelu<"a", 20>>, zp::sub<identity, zp::prelu<"b">>, zp::relu,
                zp::maximum<zp::prelu<"c">, zp::mean<>>, zp::minimum<zp::mean<>, identity>, zp::div<identity, divisor>,
                zp::squared_difference<identity, zp::sequential<zp::prelu<"d">, zp::mean<>>>,
                zp::hypot<identity, zp::mean<axes::height>>, zp::mul<identity, zp::mean<axes::channels>>, zp::relu6,
                zp::concat<zp::mul<zp::sum<axes::width>, identity>, zp::sub<identity, zp::sum<axes::height>>>,
                zp::mean<>> {};

/// Sums whose operands spread: a vector, one value a pixel, a row, a column, both operands at once, behind a convolution that would
/// take a sum of equal shapes into its epilogue.
struct spreading_sums
    : zp::model<zp::input<5, 7, 19>, zp::add<zp::prelu<"a", 19>, zp::mean<>>, zp::relu,
                zp::add<zp::mean<axes::channels>, identity>,
                zp::add<zp::conv2d<"b", zp::conv{.out_channels = 19}>, zp::mean<axes::width>>, zp::relu6,
                zp::add<zp::mean<axes::height>, zp::conv2d<"c", zp::conv{.out_channels = 19}>>,
                zp::add<zp::mean<axes::image>, zp::mean<axes::channels>>> {};

/// Each on the input itself, with a scale of its own: a sigmoid stands between it and the concat.
template <class Layer> using alone = zp::sequential<Layer, zp::sigmoid>;
struct side_by_side
    : zp::model<
          zp::input<16, 16, 8>,
          zp::concat<
              alone<zp::mul<identity, zp::mean<axes::width>>>, alone<zp::sub<identity, zp::mean<>>>,
              alone<zp::squared_difference<identity, zp::mean<>>>, alone<zp::hypot<identity, zp::mean<axes::channels>>>,
              alone<zp::div<identity, zp::clamp<500, 3000>>>, alone<zp::maximum<identity, zp::mean<axes::channels>>>,
              alone<zp::minimum<identity, zp::mean<axes::channels>>>, alone<zp::prelu<"slopes", 8>>>> {};

}  // namespace

TEST_CASE("convert: operators of two activations, prelu, sums and means in every stage") {
    constexpr double any = -zp::infinity;  // one grid of the concat holds both sums and differences
    check<every_operator, config<zp::quint8>>(23, any);
    check<every_operator, config<zp::qint8>>(23, any);
}

TEST_CASE("convert: sums whose operands spread, in every stage") {
    check<spreading_sums, config<zp::quint8>>(12, 30);
    check<spreading_sums, config<zp::qint8>>(12, 30);
    for (const zp::node& row : zp::quantized<spreading_sums, config<zp::quint8>>::rows())
        CHECK_FALSE(row.fused.adds_input_1);
}

TEST_CASE("convert: at least 30 dB of signal over the noise of each operator, on normal data") {
    check<side_by_side, config<zp::quint8>>(14, 30);
}

TEST_CASE("convert: scales that an operator cannot compute with are an error of the file") {
    using int8_network = zp::quantized<side_by_side, config<zp::quint8>>;
    const auto trained = made_up::network<side_by_side>(9);
    auto int8 = zp::convert(zp::calibrate(zp::prepare<config<zp::quint8>>(zp::fuse(trained)),
                                          std::vector<std::vector<float>>{normal(2048, 1)}));
    for (const zp::node& row : int8.rows())
        if (row.op->kind == &zp::op::sub) int8.ranges()[row.out.qparams_id].scale = 1e-12f;
    CHECK_THROWS_WITH_AS(zp::load<int8_network>(zp::to_bytes(int8), "memory"), doctest::Contains("too far apart"),
                         zp::file_error);
}

TEST_CASE("convert: scales that a product of matrices cannot compute with are an error of the file") {
    struct product : zp::model<zp::input<1, 4, 4>, zp::matmul<zp::identity, zp::identity>> {};
    using int8_network = zp::quantized<product, config<zp::quint8>>;
    auto int8 = zp::convert(zp::calibrate(zp::prepare<config<zp::quint8>>(zp::fuse(made_up::network<product>(9))),
                                          std::vector<std::vector<float>>{normal(16, 1)}));
    CHECK_NOTHROW(zp::load<int8_network>(zp::to_bytes(int8), "memory"));
    for (const zp::node& row : int8.rows())
        if (row.out.is_codes()) int8.ranges()[row.out.qparams_id].scale = row.op->is_boundary ? 1e25f : 1e-3f;
    CHECK_THROWS_WITH_AS(zp::load<int8_network>(zp::to_bytes(int8), "memory"), doctest::Contains("too far apart"),
                         zp::file_error);
}
