// SPDX-License-Identifier: BSD-3-Clause
// What reads values along many axes, and layers along another axis than the channels: beside plain loops, in float and in codes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/argmax.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/rearrange.hpp>
#include <zeropoint/operators/softmax.hpp>
#include <zeropoint/operators/topk.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::axis;
using zp::extents;
using zp::order;
using zp::shape;

struct bytes : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                           zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct words : zp::qconfig<typename zp::int16_qconfig::activation, typename zp::int16_qconfig::weight> {};

/// x.reshape(extents).permute(axes) by its definition: digit by digit of each index of the result.
std::vector<float> permuted(const std::vector<float>& x, const std::vector<std::size_t>& of,
                            const std::vector<std::size_t>& axes) {
    std::vector<float> y(x.size());
    for (std::size_t to = 0; to != y.size(); ++to) {
        std::vector<std::size_t> index(of.size());
        std::size_t left = to;
        for (std::size_t k = axes.size(); k-- != 0; left /= of[axes[k]]) index[axes[k]] = left % of[axes[k]];
        std::size_t from = 0;
        for (std::size_t k = 0; k != of.size(); ++k) from = from * of[k] + index[k];
        y[to] = x[from];
    }
    return y;
}
template <class Network> std::vector<float> run(const Network& model, const std::vector<float>& x) {
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    model(x, y);
    return y;
}
using function = std::function<std::vector<float>(const std::vector<float>&)>;

/// Floats are moved; codes too, so that the result is that of the rounded input.
template <class Config, class Net> void check_codes(const zp::float_model<Net>& model, const function& moved) {
    const auto coded = zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(model)), made_up::inputs<Net>(4)));
    const auto loaded = zp::load<zp::quantized<Net, Config>>(zp::to_bytes(coded));
    const zp::node& input = coded.rows()[1];
    const zp::qparams range = coded.ranges()[input.out.qparams_id];
    for (std::vector<float> x : made_up::inputs<Net>(2, 7)) {
        const std::vector<float> y = run(coded, x);
        for (float& value : x) {
            const float code =
                std::clamp(std::nearbyint(value * (1 / range.scale)) + static_cast<float>(range.zero_point),
                           static_cast<float>(input.out.quant_min), static_cast<float>(input.out.quant_max));
            value = range.scale * (code - static_cast<float>(range.zero_point));
        }
        CHECK(y == moved(x));
        CHECK(run(loaded, x) == moved(x));
    }
}
template <class Net> void check(const shape& out, const function& moved) {
    const zp::float_model<Net> model;
    CHECK(model.output_shape == out);
    for (const auto& x : made_up::inputs<Net>(2)) CHECK(run(model, x) == moved(x));
    check_codes<bytes>(model, moved);
    check_codes<words>(model, moved);
}

template <class Extents, class Order, shape Output, class Input>
struct rearranged : zp::model<Input, zp::rearrange<Extents, Order, Output>> {};
struct windows : zp::model<zp::input<6, 9, 5>, zp::window_partition<3>> {};
struct there_and_back : zp::model<zp::input<6, 9, 5>, zp::window_partition<3>, zp::window_reverse<3, 6, 9>> {};
struct patched : zp::model<zp::input<6, 4, 3>, zp::patches<2>> {};

}  // namespace

TEST_CASE("rearrange: axes in another order, beside a loop over digits") {
    check<rearranged<extents<2, 3, 3, 3, 5>, order<0, 2, 1, 3, 4>, shape{6, 9, 5}, zp::input<6, 9, 5>>>(
        {6, 9, 5}, [](const auto& x) {
            return permuted(x, {2, 3, 3, 3, 5}, {0, 2, 1, 3, 4});
        });
    check<rearranged<extents<5, 3, 2, 7>, order<3, 2, 1, 0>, shape{1, 7, 30}, zp::input<5, 6, 7>>>(
        {1, 7, 30}, [](const auto& x) {
            return permuted(x, {5, 3, 2, 7}, {3, 2, 1, 0});
        });
    // Six axes of which two stay neighbours, and axes of one value.
    check<rearranged<extents<2, 3, 1, 2, 3, 2, 5>, order<4, 0, 1, 2, 6, 5, 3>, shape{3, 6, 20}, zp::input<6, 6, 10>>>(
        {3, 6, 20}, [](const auto& x) {
            return permuted(x, {2, 3, 1, 2, 3, 2, 5}, {4, 0, 1, 2, 6, 5, 3});
        });
    // A volume, depth first.
    check<rearranged<extents<4, 3, 2, 5>, order<1, 2, 0, 3>, shape{3, 2, 20}, zp::input<4, 3, 2, 5>>>(
        {3, 2, 20}, [](const auto& x) {
            return permuted(x, {4, 3, 2, 5}, {1, 2, 0, 3});
        });
}

TEST_CASE("rearrange: where nothing moves codes are a view") {
    using net = rearranged<extents<6, 1, 9, 5>, order<0, 2, 1, 3>, shape{9, 6, 5}, zp::input<6, 9, 5>>;
    check<net>({9, 6, 5}, [](const auto& x) { return x; });
    const auto rows = zp::quantized<net, bytes>::rows();
    CHECK(rows[2].at.arena_offset == rows[1].at.arena_offset);
    CHECK(rows[2].op->kind == &zp::op::rearrange);
}

TEST_CASE("rearrange: windows and patches, and back") {
    check<windows>({6, 9, 5}, [](const auto& x) { return permuted(x, {2, 3, 3, 3, 5}, {0, 2, 1, 3, 4}); });
    check<patched>({1, 6, 12}, [](const auto& x) { return permuted(x, {3, 2, 2, 2, 3}, {0, 2, 1, 3, 4}); });
    check<there_and_back>({6, 9, 5}, [](const auto& x) { return x; });
}

namespace {
template <axis Axis, class Layer> struct moved_axis : zp::model<zp::input<4, 5, 3>, zp::along<Axis, Layer>> {};

/// f of each line of 4 x 5 x 3 values along an axis of extent `count` and stride `step`, in place.
std::vector<float> lines(std::vector<float> x, std::size_t count, std::size_t step,
                         const std::function<void(std::vector<float>&)>& f) {
    for (std::size_t first = 0; first != x.size(); ++first) {
        if (first / step % count != 0) continue;
        std::vector<float> line;
        for (std::size_t i = 0; i != count; ++i) line.push_back(x[first + i * step]);
        f(line);
        for (std::size_t i = 0; i != line.size(); ++i) x[first + i * step] = line[i];
    }
    return x;
}
void softmax(std::vector<float>& line) {
    double sum = 0;
    for (const float value : line) sum += std::exp(double{value});
    for (float& value : line) value = static_cast<float>(std::exp(double{value}) / sum);
}
/// The largest difference in float, and in int8.
template <class Net> std::array<double, 2> errors(const function& reference) {
    const zp::float_model<Net> model;
    const auto coded = zp::convert(zp::calibrate(zp::prepare<bytes>(zp::fuse(model)), made_up::inputs<Net>(8)));
    std::array<double, 2> largest{};
    for (const auto& x : made_up::inputs<Net>(3, 5)) {
        const std::vector<float> wanted = reference(x), floats = run(model, x), codes = run(coded, x);
        REQUIRE(wanted.size() == floats.size());
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            largest[0] = std::max(largest[0], std::abs(double{wanted[i]} - double{floats[i]}));
            largest[1] = std::max(largest[1], std::abs(double{wanted[i]} - double{codes[i]}));
        }
    }
    return largest;
}
}  // namespace

TEST_CASE("along: softmax and its logarithm on each axis") {
    const auto near = [](const std::array<double, 2>& found, double code) {
        CHECK(found[0] < 1e-6);
        CHECK(found[1] < code);
    };
    near(errors<moved_axis<axis::height, zp::softmax>>([](const auto& x) { return lines(x, 4, 15, softmax); }),
         1 / 128.0);
    near(errors<moved_axis<axis::width, zp::softmax>>([](const auto& x) { return lines(x, 5, 3, softmax); }),
         1 / 128.0);
    near(errors<moved_axis<axis::channels, zp::softmax>>([](const auto& x) { return lines(x, 3, 1, softmax); }),
         1 / 128.0);
    near(errors<moved_axis<axis::width, zp::log_softmax>>([](const auto& x) {
             return lines(x, 5, 3, [](std::vector<float>& line) {
                 softmax(line);
                 for (float& value : line) value = std::log(value);
             });
         }),
         1 / 16.0);
}

TEST_CASE("along: sort, topk and argmax on each axis") {
    const zp::float_model<moved_axis<axis::height, zp::sort<>>> sorted;
    const zp::float_model<moved_axis<axis::width, zp::topk<2>>> two;
    const zp::float_model<moved_axis<axis::height, zp::argmax>> largest;
    CHECK(two.output_shape == shape{4, 2, 3});
    CHECK(largest.output_shape == shape{1, 5, 3});
    for (const auto& x : made_up::inputs<moved_axis<axis::height, zp::sort<>>>(3)) {
        CHECK(run(sorted, x) == lines(x, 4, 15, [](std::vector<float>& line) { std::sort(line.begin(), line.end()); }));
        const auto down =
            lines(x, 5, 3, [](std::vector<float>& line) { std::sort(line.begin(), line.end(), std::greater()); });
        const auto found = run(two, x), rows = run(largest, x);
        for (std::size_t row = 0; row != 4; ++row)
            for (std::size_t k = 0; k != 6; ++k) CHECK(found[row * 6 + k] == down[row * 15 + k]);
        for (std::size_t k = 0; k != 15; ++k) {
            std::size_t best = 0;
            for (std::size_t row = 1; row != 4; ++row)
                if (x[row * 15 + k] > x[best * 15 + k]) best = row;
            CHECK(rows[k] == static_cast<float>(best));
        }
    }
    check_codes<bytes>(sorted, [](const auto& x) {
        return lines(x, 4, 15, [](std::vector<float>& line) { std::sort(line.begin(), line.end()); });
    });
}
