// SPDX-License-Identifier: BSD-3-Clause
// Extrema, variances, lengths, and what sorts, repeats and requantizes, as layers: every stage, row by row.
#include <zeropoint/kernel/reference/reduction.hpp>
#include <zeropoint/operators/l2_normalization.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/reduce.hpp>
#include <zeropoint/operators/requantize.hpp>
#include <zeropoint/operators/topk.hpp>
#include <zeropoint/operators/variance.hpp>

#include "operator_rows.hpp"

namespace {

namespace reference = zp::kernel::reference;
using operator_rows::written;
using zp::axes;

/// Of tile, sort and topk, which move numbers whatever they mean.
std::vector<double> moved(const zp::node& row, const written& x) {
    std::vector<double> y;
    if (row.op->kind == &zp::op::tile) {
        for (int i = 0; i != row.out.extents.size(); ++i) {
            const int c = i % row.out.extents.channels, w = i / row.out.extents.channels % row.out.extents.width,
                      h = i / row.out.extents.channels / row.out.extents.width;
            y.push_back(x.numbers[static_cast<std::size_t>(
                (h % x.extents.height * x.extents.width + w % x.extents.width) * x.extents.channels +
                c % x.extents.channels)]);
        }
        return y;
    }
    for (auto values :
         reference::values_together(x.extents, {x.extents.height, x.extents.width, 1}, x.numbers.data())) {
        std::sort(values.begin(), values.end());
        if (row.op->options[1] != 0) std::reverse(values.begin(), values.end());
        y.insert(y.end(), values.begin(), values.begin() + row.out.extents.channels);
    }
    return y;
}
bool moves_numbers(const zp::node& row) { return row.op->kind == &zp::op::tile || row.op->kind == &zp::op::sort; }

constexpr const zp::operator_kind* tested[] = {
    &zp::op::reduce_max, &zp::op::reduce_min, &zp::op::reduce_prod,        &zp::op::sort,
    &zp::op::tile,       &zp::op::variance,   &zp::op::standard_deviation, &zp::op::l2_normalization};

std::vector<double> real_result(const zp::node& row, const std::vector<written>& operands) {
    const written& x = operands[0];
    if (moves_numbers(row)) return moved(row, x);
    std::vector<double> y(static_cast<std::size_t>(row.out.extents.size()));
    if (row.op->kind == &zp::op::l2_normalization) {
        const auto together =
            reference::values_together(x.extents, {x.extents.height, x.extents.width, 1}, x.numbers.data());
        std::size_t i = 0;
        for (const std::vector<double>& values : together) {
            double squares = 0;
            for (const double value : values) squares += value * value;
            for (const double value : values) y[i++] = squares == 0 ? 0.0 : value / std::sqrt(squares);
        }
        return y;
    }
    if (row.op->kind == &zp::op::reduce_max || row.op->kind == &zp::op::reduce_min) {
        reference::extremum_along(x.extents, row.out.extents, row.op->kind == &zp::op::reduce_max, x.numbers.data(),
                                  y.data());
        return y;
    }
    const auto together = reference::values_together(x.extents, row.out.extents, x.numbers.data());
    if (row.op->kind == &zp::op::reduce_prod) {
        for (std::size_t i = 0; i != y.size(); ++i) {
            y[i] = 1;
            for (const double value : together[i]) y[i] *= value;
        }
        return y;
    }
    for (std::size_t i = 0; i != y.size(); ++i) {
        const auto n = static_cast<double>(together[i].size());
        double mean = 0;
        for (const double value : together[i]) mean += value / n;
        for (const double value : together[i]) y[i] += (value - mean) * (value - mean);
        y[i] /= n - row.op->options[1];
        if (row.op->kind == &zp::op::standard_deviation) y[i] = std::sqrt(y[i]);
        if (zp_test::has_clamp(row, zp::op::relu6)) y[i] = std::min(y[i], 6.0);
    }
    return y;
}

template <int QuantMin, int QuantMax>
std::vector<double> code_result(const zp::node& row, const std::vector<written>& operands, const zp::qparams& range) {
    const written& x = operands[0];
    if (moves_numbers(row)) return moved(row, x);
    const std::vector<int> codes(x.numbers.begin(), x.numbers.end());
    std::vector<int> y(static_cast<std::size_t>(row.out.extents.size()));
    reference::output_grid of_y{range.scale, range.zero_point, QuantMin, QuantMax};
    if (row.op->kind == &zp::op::reduce_max || row.op->kind == &zp::op::reduce_min) {
        CHECK(range == x.range);
        reference::extremum_along(x.extents, row.out.extents, row.op->kind == &zp::op::reduce_max, codes.data(),
                                  y.data());
    } else if (row.op->kind == &zp::op::reduce_prod) {
        reference::product_along(x.extents, row.out.extents, codes.data(), x.range.zero_point, x.range.scale, of_y,
                                 y.data());
    } else if (row.op->kind == &zp::op::l2_normalization) {
        CHECK(range.scale == 2.0f / static_cast<float>(QuantMax - QuantMin + 1));
        const auto channels = static_cast<std::size_t>(row.out.extents.channels);
        for (std::size_t at = 0; at != y.size(); at += channels)
            reference::l2_normalize(codes.data() + at, channels, x.range.zero_point, of_y, y.data() + at);
    } else {
        if (zp_test::has_clamp(row, zp::op::relu6)) of_y.quant_min = range.zero_point;
        reference::moments_along(x.extents, row.out.extents, row.op->kind == &zp::op::standard_deviation,
                                 row.op->options[1], codes.data(), x.range.scale, of_y, y.data());
    }
    return {y.begin(), y.end()};
}

/// Along each set of axes; all of them come out as vectors.
template <class Layer> using pooled = zp::sequential<Layer, zp::tanh, zp::adaptive_avg_pool2d<1>>;
struct extrema
    : zp::model<zp::input<6, 5, 18>,
                zp::concat<pooled<zp::reduce_max<axes::height>>, pooled<zp::reduce_min<axes::width>>,
                           pooled<zp::reduce_max<>>, pooled<zp::reduce_min<axes::channels>>,
                           pooled<zp::reduce_max<axes::height | axes::channels>>,
                           pooled<zp::reduce_min<axes::width | axes::channels>>, pooled<zp::reduce_max<axes::all>>>> {};
struct moments
    : zp::model<zp::input<6, 5, 18>,
                zp::concat<pooled<zp::variance<axes::height>>, pooled<zp::standard_deviation<axes::width, 0>>,
                           pooled<zp::standard_deviation<>>, pooled<zp::variance<axes::channels, 0>>,
                           pooled<zp::standard_deviation<axes::height | axes::channels>>,
                           pooled<zp::sequential<zp::standard_deviation<axes::width | axes::channels>, zp::relu6>>>> {};
struct in_order
    : zp::model<zp::input<6, 5, 18>, zp::concat<zp::sort<>, zp::topk<7>, zp::topk<3, zp::sorted::ascending>>,
                zp::tile<2, 3, 2>, zp::sort<zp::sorted::descending>> {};
struct recoded : zp::model<zp::input<6, 5, 12>, zp::relu, zp::requantize<"signed">> {};
struct products : zp::model<zp::input<2, 3, 18>, zp::reduce_prod<axes::height>> {};
struct lengths : zp::model<zp::input<6, 5, 18>, zp::l2_normalization> {};

template <class Dtype, class Net> void check(int rows) {
    operator_rows::check<Net, operator_rows::config<Dtype>>(rows, tested, real_result,
                                                            code_result<Dtype::quant_min, Dtype::quant_max>);
}

}  // namespace

TEST_CASE("convert: the largest and the smallest along axes") { check<zp::qint8, extrema>(7); }

TEST_CASE("convert: sort, topk and tile move codes") { check<zp::quint8, in_order>(5); }

TEST_CASE("convert: products along axes") { check<zp::quint8, products>(1); }

TEST_CASE_TEMPLATE("convert: variance and standard deviation along axes", Dtype, zp::quint8, zp::qint8) {
    check<Dtype, moments>(6);
}

TEST_CASE_TEMPLATE("convert: l2_normalization", Dtype, zp::quint8, zp::qint8_reduced) { check<Dtype, lengths>(1); }

TEST_CASE("convert: requantize changes the dtype in the middle of a network") {
    using outer = operator_rows::config<zp::quint8>;
    struct config : zp::qconfig<typename outer::activation, typename outer::weight,
                                zp::for_layer<"signed", operator_rows::config<zp::qint8>>> {};
    const zp::float_model<recoded> trained{};
    std::vector<std::vector<float>> inputs;
    for (std::uint64_t seed = 0; seed != 4; ++seed) inputs.push_back(operator_rows::normal(360, seed));
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(zp::fuse(trained)), inputs));
    const auto loaded = zp::load<zp::quantized<recoded, config>>(zp::to_bytes(int8), "memory");
    REQUIRE(int8.rows().size() == 6);  // input, quantize, relu, the table, the layer, dequantize
    const auto range = [&](int row) {
        return int8.ranges()[int8.rows()[static_cast<std::size_t>(row)].out.qparams_id];
    };
    const zp::qparams from = range(2), to = range(4);
    CHECK(int8.rows()[2].out.storage == zp::scalar_type::uint8);
    CHECK(int8.rows()[4].out.storage == zp::scalar_type::int8);
    CHECK(!(from == to));
    const auto rows = [&](const auto& model, const std::vector<float>& x) {
        return operator_rows::trace(model, x, [&](const zp::node& row) { return model.ranges()[row.out.qparams_id]; });
    };
    for (const auto& x : inputs) {
        const auto of_int8 = rows(int8, x);
        std::vector<double> wanted;
        for (const double code : of_int8[2].numbers)
            wanted.push_back(reference::on_grid(static_cast<int>(code), {from.scale, from.zero_point},
                                                {to.scale, to.zero_point, -128, 127}));
        CHECK(of_int8[4].numbers == wanted);
        CHECK(rows(loaded, x).back().numbers == of_int8.back().numbers);
        std::vector<float> y(360);
        trained(x, y);
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(y[i] == std::max(x[i], 0.0f));
    }
}
