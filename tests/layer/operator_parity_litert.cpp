// SPDX-License-Identifier: BSD-3-Clause
// LiteRT's functions, reductions, copies, resizing, matrix products and hybrid layer against golden vectors
// (scripts/golden/operators_litert_layers.py; its convolutions: operator_parity_requantized.cpp), and its comparisons
// (operators_litert.py).
#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/elementwise/compare.hpp>
#include <zeropoint/kernel/elementwise/prelu.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/movement/interpolate.hpp>
#include <zeropoint/kernel/movement/pad.hpp>
#include <zeropoint/kernel/movement/rearrange.hpp>
#include <zeropoint/kernel/normalize/l2_normalize.hpp>
#include <zeropoint/kernel/normalize/softmax.hpp>
#include <zeropoint/kernel/reduction/axis_extrema.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/requantization.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;
using kernel::resize_rule;
using zp_test::deviation_of;
using zp_test::golden_file;
using codes = std::vector<std::int8_t>;

const golden_file& golden() {
    static const golden_file file("operators_litert_layers");
    return file;
}
codes values(const std::string& name) { return golden().values<std::int8_t>(name); }

zp::shape image_shape(const std::string& name) {  // of [1, H, W, C]
    return {golden().extent(name, 1), golden().extent(name, 2), golden().extent(name, 3)};
}
codes of_size(const zp::shape& extents) { return codes(static_cast<std::size_t>(extents.size())); }

// Codes are the exact ones, and LiteRT's in all but `differing`, where they are neighbours.
void check_exact(const std::string& group, const codes& y, std::size_t differing) {
    CHECK(y == golden().exact<std::int8_t>(group));
    const auto distance = deviation_of(y, values(group + "/codes"));
    CHECK(distance.largest <= 1);
    CHECK(distance.differing == differing);
}

}  // namespace

TEST_CASE("operator parity: BATCH_MATMUL is LiteRT's in fixed point, and exact with one rounding to even") {
    const auto groups = golden().groups("BATCH_MATMUL/");
    CHECK(groups.size() == 3);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const bool transposed = group.find("adjoint") != group.npos;
        const int rows = golden().extent(group + "/a", 1), columns = golden().extent(group + "/codes", 2);
        const auto g = kernel::dense_matmul(rows, golden().extent(group + "/a", 2), columns, transposed,
                                            golden().extent(group + "/a", 0));
        const auto a = values(group + "/a"), b = values(group + "/b"), theirs = values(group + "/codes");
        const auto r = golden().ranges(group);
        const auto product = [&](const auto& epilogue) {
            zp::aligned_buffer scratch(kernel::matmul_plan<arch>(g).scratch_bytes);
            codes y(theirs.size());
            kernel::matmul<arch>(g, a.data(), r[0].zero_point, b.data(), r[1].zero_point, epilogue, y.data(),
                                 scratch.data());
            return y;
        };
        const kernel::output_codes out{r[2].zero_point, -128, 127, nullptr};
        const auto m = zp::quantize_multiplier(double{r[0].scale * r[1].scale} / double{r[2].scale});
        const std::vector<std::int32_t> multiplier(static_cast<std::size_t>(columns), m.multiplier),
            shift(multiplier.size(), m.shift);
        CHECK(product(kernel::fixed_point_double_rounding{multiplier.data(), shift.data(), out}) == theirs);
        CHECK(product(kernel::fixed_point_single_rounding{multiplier.data(), shift.data(), out}) ==
              values(group + (golden().has(group + "/single") ? "/single" : "/codes")));
        const kernel::nearest_even_per_tensor even{zp::requantize_multiplier(r[0].scale, r[1].scale, r[2].scale), out};
        check_exact(group, product(even), group.find("ties") != group.npos ? 4 : 0);
    }
}

TEST_CASE("operator parity: LOGISTIC, TANH, HARD_SWISH and PRELU give the exact codes, LiteRT's") {
    const auto table = [](const std::string& name, double (*f)(double)) {
        for (const std::string& group : golden().groups(name + "/")) {
            CAPTURE(group);
            const zp::qparams x = golden().range(group, 0), y = golden().range(group, 1);
            codes entries(kernel::lookup_table_size);
            kernel::make_lookup_table<std::int8_t>(f, x.scale, x.zero_point, y.scale, y.zero_point, -128, 127,
                                                   entries.data());
            check_exact(group, entries, 0);
        }
    };
    table("LOGISTIC", [](double x) { return 1 / (1 + std::exp(-x)); });
    table("TANH", [](double x) { return std::tanh(x); });
    table("HARD_SWISH", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; });
    for (const std::string& group : golden().groups("PRELU/")) {
        CAPTURE(group);
        const auto r = golden().ranges(group);
        const zp::shape extents = image_shape(group + "/x");
        std::vector<float> factors;
        for (const std::int8_t slope : values(group + "/slopes"))
            factors.push_back(kernel::make_prelu_factor(r[1].scale * static_cast<float>(slope - r[1].zero_point),
                                                        r[0].scale, r[2].scale));
        codes y = of_size(extents);
        kernel::prelu<arch>(
            values(group + "/x").data(), extents, factors.data(), extents.channels,
            kernel::make_prelu_parameters(r[0].scale, r[0].zero_point, r[2].scale, r[2].zero_point, -128, 127),
            y.data());
        check_exact(group, y, 0);
    }
}

TEST_CASE("operator parity: SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION give the exact codes, LiteRT's") {
    for (const std::string name : {"SOFTMAX/", "LOG_SOFTMAX/", "L2_NORMALIZATION/"}) {
        const auto groups = golden().groups(name);
        CHECK(groups.size() == 2);
        for (const std::string& group : groups) {
            CAPTURE(group);
            const zp::qparams x_range = golden().range(group, 0), y_range = golden().range(group, 1);
            const auto x = values(group + "/x");
            const auto rows = static_cast<std::size_t>(golden().extent(group + "/x", 0)), channels = x.size() / rows;
            const kernel::output_codes out{y_range.zero_point, -128, 127, nullptr};
            codes y(x.size());
            std::array<std::int32_t, kernel::softmax_table_size> table;
            kernel::make_softmax_table(x_range.scale, table.data());
            if (name[0] == 'S')
                kernel::softmax<arch>(x.data(), rows, channels, table.data(), y_range.scale, out, y.data());
            else if (name[1] == 'O')
                kernel::log_softmax<arch>(x.data(), rows, channels, table.data(),
                                          kernel::make_log_softmax_parameters(x_range.scale, y_range.scale), out,
                                          y.data());
            else
                kernel::l2_normalize<arch>(x.data(), rows, channels, x_range.zero_point, 1 / y_range.scale, out,
                                           y.data());
            check_exact(group, y, 0);
        }
    }
}

TEST_CASE("operator parity: MEAN gives the exact codes, LiteRT's but for ties; REDUCE_MAX and REDUCE_MIN copy") {
    std::size_t differing = 0;
    for (const std::string name : {"MEAN/", "REDUCE_MAX/", "REDUCE_MIN/"}) {
        const auto groups = golden().groups(name);
        CHECK(groups.size() == 4);
        for (const std::string& group : groups) {
            CAPTURE(group);
            const zp::shape in = image_shape(group + "/x");
            zp::shape out = in;
            for (const std::int32_t axis : golden().values<std::int32_t>(group + "/axes"))
                (axis == 1 ? out.height : axis == 2 ? out.width : out.channels) = 1;
            const auto x = values(group + "/x");
            const zp::qparams from = golden().range(group, 0), to = golden().range(group, 1);
            codes y = of_size(out);
            if (name == "MEAN/") {
                const auto ratio = zp::quantize_multiplier(double{from.scale} / double{to.scale});
                kernel::sum_axes<arch>(
                    in, out, x.data(),
                    kernel::make_fixed_point_mean(ratio.multiplier, ratio.shift, in.size() / out.size(),
                                                  from.zero_point, to.zero_point, -128, 127),
                    y.data());
                CHECK(y == values(group + "/codes"));  // LiteRT's fixed point
            }
            if (name == "MEAN/")
                kernel::sum_axes<arch>(in, out, x.data(),
                                       kernel::make_sum_parameters(from.scale, from.zero_point, in.size() / out.size(),
                                                                   to.scale, to.zero_point, -128, 127),
                                       y.data());
            else if (name == "REDUCE_MAX/")
                kernel::extremum_along<arch, kernel::larger_of>(in, out, x.data(), y.data());
            else kernel::extremum_along<arch, kernel::smaller_of>(in, out, x.data(), y.data());
            CHECK(y == golden().exact<std::int8_t>(group));
            const auto distance = deviation_of(y, values(group + "/codes"));
            CHECK(distance.largest <= 1);
            differing += distance.differing;
        }
    }
    CHECK(differing == 7);
}

// LiteRT interpolates in fixed point of 10 bits a factor and rounds the codes, not their distances from the zero point.
TEST_CASE(
    "operator parity: RESIZE_BILINEAR is exact, LiteRT's within a code; RESIZE_NEAREST_NEIGHBOR takes its inputs") {
    std::size_t differing = 0;
    for (const std::string name : {"RESIZE_BILINEAR/", "RESIZE_NEAREST_NEIGHBOR/"}) {
        const auto groups = golden().groups(name);
        CHECK(groups.size() == 4);
        for (const std::string& group : groups) {
            CAPTURE(group);
            const auto options = golden().options(group);
            const resize_rule rule = options[0] != 0   ? resize_rule::align_corners
                                     : options[1] != 0 ? resize_rule::half_pixel
                                                       : resize_rule::corner;
            const zp::shape in = image_shape(group + "/x"), out = image_shape(group + "/codes");
            const auto x = values(group + "/x");
            const auto channels = static_cast<std::size_t>(in.channels);
            codes y = of_size(out);
            if (name == "RESIZE_BILINEAR/")
                kernel::interpolate_bilinear<arch>(kernel::make_linear_axis(rule, in.height, out.height),
                                                   kernel::make_linear_axis(rule, in.width, out.width), channels,
                                                   golden().range(group, 0).zero_point, x.data(), y.data());
            else
                kernel::interpolate_nearest<arch>(kernel::make_nearest_axis(rule, in.height, out.height),
                                                  kernel::make_nearest_axis(rule, in.width, out.width), channels,
                                                  x.data(), y.data());
            CHECK(y == golden().exact<std::int8_t>(group));
            const auto distance = deviation_of(y, values(group + "/codes"));
            CHECK(distance.largest <= 1);
            differing += distance.differing;
        }
    }
    CHECK(differing == 69);
}

TEST_CASE("operator parity: MAX_POOL_2D is LiteRT's") {
    const auto groups = golden().groups("MAX_POOL_2D/");
    CHECK(groups.size() == 2);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto o = golden().options(group);
        kernel::conv2d_geometry g;
        g.in = image_shape(group + "/x"), g.out = image_shape(group + "/codes");
        g.kernel_height = o[0], g.kernel_width = o[1], g.stride_height = o[2], g.stride_width = o[3];
        g.padding_top = o[4], g.padding_left = o[5];
        codes y = of_size(g.out);
        kernel::max_pool2d<arch>(g, values(group + "/x").data(), y.data());
        check_exact(group, y, 0);
    }
}

TEST_CASE("operator parity: copies are LiteRT's") {
    const auto check = [](const std::string& name, auto fill) {
        CAPTURE(name);
        const std::string group = name + "/0";
        const zp::shape in = image_shape(group + "/x"), out = image_shape(group + "/y");
        const auto x = values(group + "/x");
        codes y = of_size(out);
        fill(in, out, x.data(), golden().options(group), y.data());
        CHECK(y == values(group + "/y"));
    };
    using options = std::vector<std::int32_t>;
    using shape = zp::shape;
    using code = std::int8_t;
    check("CONCATENATION", [](const shape& in, const shape& out, const code* x, const options&, code* y) {
        const auto pixels = static_cast<std::size_t>(in.pixels());
        const int none[3] = {}, behind[3] = {0, 0, in.channels};
        kernel::copy_box<arch>(kernel::place_copy(in, none, out), x, y);
        const auto x1 = values("CONCATENATION/0/x1");
        const shape second{in.height, in.width, static_cast<int>(x1.size() / pixels)};
        kernel::copy_box<arch>(kernel::place_copy(second, behind, out), x1.data(), y);
    });
    const auto padded = [](kernel::pad_mode mode, code value) {
        return [=](const shape& in, const shape&, const code* x, const options& o, code* y) {
            const kernel::pad_sides sides{{o[0], o[2], o[4]}, {o[1], o[3], o[5]}};
            kernel::pad<arch>(in, sides, mode, value, x, y);
        };
    };
    check("PAD", padded(kernel::pad_mode::constant, static_cast<code>(golden().range("PAD/0", 0).zero_point)));
    check("MIRROR_PAD", padded(kernel::pad_mode::symmetric, 0));
    check("STRIDED_SLICE", [](const shape& in, const shape& out, const code* x, const options& o, code* y) {
        const int begin[3] = {o[0], o[1], o[2]}, step[3] = {o[3], o[4], o[5]};
        kernel::copy_box<arch>(kernel::slice_copy(in, begin, step, out), x, y);
    });
    check("TRANSPOSE", [](const shape& in, const shape&, const code* x, const options& o, code* y) {
        const int order[3] = {o[0] - 1, o[1] - 1, o[2] - 1};
        kernel::copy_box<arch>(kernel::permute_copy(in, order), x, y);
    });
    check("REVERSE_V2", [](const shape& in, const shape&, const code* x, const options& o, code* y) {
        const bool flipped[3] = {o[0] == 1, o[0] == 2, o[0] == 3};
        kernel::copy_box<arch>(kernel::flip_copy(in, flipped), x, y);
    });
    check("TILE", [](const shape& in, const shape&, const code* x, const options& o, code* y) {
        kernel::tile<arch>(in, o[0], o[1], o[2], x, y);
    });
    check("SPACE_TO_DEPTH", [](const shape& in, const shape&, const code* x, const options& o, code* y) {
        kernel::copy_box<arch>(kernel::space_to_depth_copy(in, o[0]), x, y);
    });
    check("DEPTH_TO_SPACE", [](const shape& in, const shape&, const code* x, const options& o, code* y) {
        kernel::copy_box<arch>(kernel::depth_to_space_copy(in, o[0]), x, y);
    });
    check("GATHER", [](const shape& in, const shape&, const code* x, const options& o, code* y) {
        kernel::gather<arch>(in, o[0] - 1, o.data() + 1, static_cast<int>(o.size()) - 1, x, y);
    });
}

namespace {

template <kernel::comparison Which> std::size_t compared(const golden_file& file, const std::string& name) {
    const auto groups = file.groups(name + "/");
    CHECK(groups.size() == 3);
    std::size_t differing = 0;
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto a = file.values<std::int8_t>(group + "/a"), b = file.values<std::int8_t>(group + "/b");
        const zp::qparams x = file.range(group, 0), z = file.range(group, 1);
        const auto c = kernel::make_code_comparison<Which, std::int8_t>(x.scale, x.zero_point, z.scale, z.zero_point);
        codes y(a.size());
        kernel::compare_codes<arch, Which>(a.data(), b.data(), a.size(), c, y.data());
        CHECK(y == file.exact<std::int8_t>(group));
        differing += deviation_of(y, file.values<std::int8_t>(group + "/codes")).differing;
    }
    return differing;
}

}  // namespace

// LiteRT puts both operands on a grid of 1/256 of a step first, where different numbers may meet.
TEST_CASE("operator parity: comparisons are true of the real numbers; LiteRT's of rounded ones") {
    using enum kernel::comparison;
    const golden_file file("operators_litert");
    CHECK(compared<equal>(file, "EQUAL") == 2);
    CHECK(compared<not_equal>(file, "NOT_EQUAL") == 2);
    CHECK(compared<less>(file, "LESS") == 4);
    CHECK(compared<less_equal>(file, "LESS_EQUAL") == 4);
    CHECK(compared<greater>(file, "GREATER") == 3);
    CHECK(compared<greater_equal>(file, "GREATER_EQUAL") == 4);
}

// A range for each row, symmetric around zero: what zeropoint's dynamic layer computes with that rule and PerRow, but for a
// last bit: LiteRT rounds codes half away from zero, which no value here meets.
TEST_CASE("operator parity: the hybrid FULLY_CONNECTED is a dynamic linear layer with a range a row") {
    const auto groups = golden().groups("FULLY_CONNECTED_HYBRID/", "y");
    CHECK(groups.size() == 2);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const int rows = golden().extent(group + "/x", 0), depth = golden().extent(group + "/x", 1),
                  outputs = golden().extent(group + "/y", 1);
        const auto number = [&](const char* name) { return golden().values<float>(group + "/" + name); };
        const auto weight = values(group + "/weight");
        auto scales = number("weight_scale");
        scales.resize(static_cast<std::size_t>(outputs), scales[0]);
        const kernel::dynamic_linear_layout<arch> layout(depth, outputs, false);
        constexpr kernel::code_limits limits{-127, 127};
        zp::aligned_buffer packed(layout.bytes),
            scratch(kernel::dynamic_linear_scratch<arch>(layout.geometry(rows), rows).bytes);
        kernel::pack_dynamic_linear<arch>(layout, kernel::conv2d_weights<std::int8_t>{weight.data(), nullptr, nullptr},
                                          scales.data(), number("bias").data(), limits, packed.data());
        const auto theirs = number("y"), bias = number("bias"), row_scale = number("row_scale"), x = number("x");
        const auto choose = [](float low, float high) { return zp::qparams{std::max(-low, high) / 127, 0}; };
        std::vector<float> y(theirs.size());
        kernel::dynamic_linear<arch, std::int8_t, true>(layout, x.data(), rows, limits, choose, packed.data(), y.data(),
                                                        scratch.data());
        for (std::size_t row = 0; row != row_scale.size(); ++row) {
            float largest = 0;
            for (std::size_t k = 0; k != static_cast<std::size_t>(depth); ++k)
                largest = std::max(largest, std::abs(x[row * static_cast<std::size_t>(depth) + k]));
            CHECK(row_scale[row] == choose(-largest, largest).scale);
        }
        for (std::size_t i = 0; i != y.size(); ++i)
            CHECK(std::abs(y[i] - theirs[i]) <= 4e-6f * (1 + std::abs(theirs[i])));
    }
}
