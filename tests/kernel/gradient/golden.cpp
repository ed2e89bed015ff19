// SPDX-License-Identifier: BSD-3-Clause
// Gradients beside PyTorch's autograd in float64: scripts/golden/training_layers.py has the operands and what they are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/float_masked_softmax.hpp>
#include <zeropoint/kernel/float/float_matmul.hpp>
#include <zeropoint/kernel/gradient/activation_gradient.hpp>
#include <zeropoint/kernel/gradient/batch_norm_gradient.hpp>
#include <zeropoint/kernel/gradient/binary_gradient.hpp>
#include <zeropoint/kernel/gradient/clamp_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/gradient/conv_transpose2d_gradient.hpp>
#include <zeropoint/kernel/gradient/matmul_gradient.hpp>
#include <zeropoint/kernel/gradient/movement_gradient.hpp>
#include <zeropoint/kernel/gradient/normalize_gradient.hpp>
#include <zeropoint/kernel/gradient/pooling_gradient.hpp>
#include <zeropoint/kernel/gradient/recurrent_gradient.hpp>
#include <zeropoint/kernel/gradient/reduction_gradient.hpp>
#include <zeropoint/kernel/gradient/softmax_gradient.hpp>
#include <zeropoint/kernel/reduction/axis_extrema.hpp>

#include "../../support/golden_file.hpp"
#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using Arch = zp::default_architecture;
using gradients::distance;
using gradients::floats;
using zp::shape;

constexpr double bound = 1e-5;  // of the largest value

/// A group of a file: its tensors, and a gradient beside the one that is in the file.
struct group {
    const zp_test::golden_file& file;
    std::string name;

    floats values(const std::string& tensor) const { return file.values<float>(name + "/" + tensor); }
    std::vector<std::int32_t> ints(const std::string& tensor) const {
        return file.values<std::int32_t>(name + "/" + tensor);
    }
    std::size_t extent(const std::string& tensor, std::size_t axis) const {
        return static_cast<std::size_t>(file.extent(name + "/" + tensor, axis));
    }
    int samples() const { return file.extent(name + "/x", 0); }
    /// Of [samples][height][width][channels], or of three extents.
    shape image(const std::string& tensor) const {
        const std::string of = name + "/" + tensor;
        const std::size_t first = file.rank(of) - 3;
        return {file.extent(of, first), file.extent(of, first + 1), file.extent(of, first + 2)};
    }
    void compare(const floats& ours, const std::string& tensor) const {
        INFO(name, "/", tensor);
        CHECK(distance(ours, values(tensor)) < bound);
    }
};

template <class Test>
void for_each_group(const zp_test::golden_file& file, const std::string& prefix, const std::string& last, Test test) {
    const std::vector<std::string> names = file.groups(prefix, last);
    CHECK(!names.empty());
    for (const std::string& name : names) test(group{file, name});
}

floats room(std::size_t count) { return floats(count, NAN); }

template <class Geometry> Geometry window_of(const group& g, int kernel_height, int kernel_width) {
    const std::vector<std::int32_t> o = g.ints("options");
    return {g.image("x"), g.image("dy"), kernel_height, kernel_width, o[0], o[1], o[2], o[3], o[4], o[5], o[6]};
}

}  // namespace

TEST_CASE("PyTorch's gradients: convolutions and transposed ones") {
    const zp_test::golden_file file("training_convolutions");
    const auto compare = [](const group& g, auto geometry, auto input, auto weight) {
        const floats x = g.values("x"), w = g.values("weight"), dy = g.values("dy"), bias = g.values("bias");
        const std::ptrdiff_t in = geometry.in.size(), out = geometry.out.size();
        floats dx = room(x.size()), dw(w.size()), db(bias.size());
        input(geometry, g.samples(), {dy.data(), out}, w.data(), {dx.data(), in});
        weight(geometry, g.samples(), {x.data(), in}, {dy.data(), out}, dw.data());
        kernel::add_channel_sums<Arch>(g.samples(), {dy.data(), out}, geometry.out.pixels(), geometry.out.channels,
                                       db.data());
        g.compare(dx, "dx");
        g.compare(dw, "dweight");
        g.compare(db, "dbias");
    };
    using batch = kernel::const_float_batch;
    for_each_group(file, "conv2d/", "dx", [&](const group& g) {
        using geometry = kernel::conv2d_geometry;
        compare(
            g, window_of<geometry>(g, static_cast<int>(g.extent("weight", 1)), static_cast<int>(g.extent("weight", 2))),
            [](const geometry& of, int n, batch dy, const float* w, kernel::float_batch dx) {
                floats scratch = room(kernel::conv2d_input_gradient_scratch<Arch>(of));
                kernel::conv2d_input_gradient<Arch>(of, n, dy, w, dx, scratch.data());
            },
            [](const geometry& of, int n, batch x, batch dy, float* dw) {
                floats scratch = room(kernel::conv2d_weight_gradient_scratch<Arch>(of));
                kernel::conv2d_weight_gradient<Arch>(of, n, x, dy, dw, scratch.data());
            });
    });
    for_each_group(file, "conv_transpose2d/", "dx", [&](const group& g) {
        using geometry = kernel::conv_transpose2d_geometry;
        compare(
            g, window_of<geometry>(g, static_cast<int>(g.extent("weight", 1)), static_cast<int>(g.extent("weight", 2))),
            [](const geometry& of, int n, batch dy, const float* w, kernel::float_batch dx) {
                floats scratch = room(kernel::conv_transpose2d_input_gradient_scratch<Arch>(of));
                kernel::conv_transpose2d_input_gradient<Arch>(of, n, dy, w, dx, scratch.data());
            },
            [](const geometry& of, int n, batch x, batch dy, float* dw) {
                floats scratch = room(kernel::conv_transpose2d_weight_gradient_scratch<Arch>(of));
                kernel::conv_transpose2d_weight_gradient<Arch>(of, n, x, dy, dw, scratch.data());
            });
    });
}

TEST_CASE("PyTorch's gradients: pools") {
    const zp_test::golden_file file("training_convolutions");
    const auto window = [](const group& g) {
        const std::vector<std::int32_t> o = g.ints("options");
        const shape in = g.image("x");
        return kernel::conv2d_geometry{in, g.image("dy"), o[0], o[0], o[1], o[1], o[2], o[2], o[3], o[3], in.channels};
    };
    for_each_group(file, "max_pool2d/", "dx", [&](const group& g) {
        const floats x = g.values("x"), dy = g.values("dy");
        floats dx = room(x.size());
        kernel::max_pool2d_gradient<Arch>(window(g), x.data(), dy.data(), dx.data());
        g.compare(dx, "dx");
    });
    for_each_group(file, "avg_pool2d/", "dx", [&](const group& g) {
        const floats dy = g.values("dy");
        floats dx = room(g.values("x").size());
        kernel::avg_pool2d_gradient<Arch>(window(g), g.ints("options")[4] != 0, dy.data(), dx.data());
        g.compare(dx, "dx");
    });
    for_each_group(file, "adaptive_avg_pool2d/", "dx", [&](const group& g) {
        const floats dy = g.values("dy");
        floats dx = room(g.values("x").size());
        kernel::adaptive_avg_pool2d_gradient<Arch>(g.image("x"), g.image("dy"), dy.data(), dx.data());
        g.compare(dx, "dx");
    });
    CHECK(zp_test::unread_tensors("training_convolutions").empty());
}

TEST_CASE("PyTorch's gradients: norms") {
    const zp_test::golden_file file("training_layers");
    for_each_group(file, "batch_norm/", "dx", [&](const group& g) {
        const shape image = g.image("x");
        const auto channels = static_cast<std::size_t>(image.channels);
        const std::ptrdiff_t pixels = image.pixels(), stride = image.size();
        const bool trains = g.ints("options")[0] != 0;
        const floats x = g.values("x"), dy = g.values("dy"), weight = g.values("weight");
        CHECK(g.values("bias").size() == channels);
        floats mean = g.values("running_mean"), variance = g.values("running_variance");
        floats dx = room(x.size()), dweight(channels), dbias(channels), scratch = room(3 * channels);
        std::vector<double> sums(2 * channels);
        const kernel::const_float_batch xs{x.data(), stride}, dys{dy.data(), stride};
        const double count = static_cast<double>(g.samples()) * static_cast<double>(pixels);
        if (trains) {
            floats after_mean = mean, after_variance = variance;
            kernel::add_batch_sums<Arch>(g.samples(), xs, pixels, channels, sums.data());
            kernel::batch_statistics(channels, count, sums.data(), mean.data(), variance.data());
            kernel::update_running_statistics<Arch>(channels, count, 0.1f, mean.data(), variance.data(),
                                                    after_mean.data(), after_variance.data());
            g.compare(after_mean, "after_mean");
            g.compare(after_variance, "after_variance");
        } else {
            g.compare(mean, "after_mean");
            g.compare(variance, "after_variance");
        }
        sums.assign(sums.size(), 0.0);
        kernel::add_batch_norm_gradient_sums<Arch>(g.samples(), xs, dys, pixels, channels, mean.data(), sums.data());
        kernel::batch_norm_parameter_gradients<Arch>(channels, variance.data(), 1e-5f, sums.data(), dweight.data(),
                                                     dbias.data());
        kernel::batch_norm_input_gradient<Arch>(g.samples(), xs, dys, pixels, channels, weight.data(), mean.data(),
                                                variance.data(), 1e-5f, trains ? count : 0.0, sums.data(),
                                                {dx.data(), stride}, scratch.data());
        g.compare(dx, "dx");
        g.compare(dweight, "dweight");
        g.compare(dbias, "dbias");
    });
    const auto rows = [&](const std::string& name, bool has_weight, bool has_bias, auto gradient) {
        for_each_group(file, name, "dx", [&](const group& g) {
            const floats x = g.values("x"), dy = g.values("dy");
            const floats weight = has_weight ? g.values("weight") : floats();
            if (has_bias) CHECK(g.values("bias").size() == weight.size());
            floats dx = room(x.size()), dweight(weight.size()), dbias(weight.size());
            gradient(g, x.data(), dy.data(), weight.data(), dx.data(), dweight.data(), dbias.data());
            g.compare(dx, "dx");
            if (has_weight) g.compare(dweight, "dweight");
            if (has_bias) g.compare(dbias, "dbias");
        });
    };
    rows("layer_norm/", true, true,
         [](const group& g, const float* x, const float* dy, const float* w, float* dx, float* dw, float* db) {
             kernel::layer_norm_gradient<Arch>(x, dy, g.extent("x", 0), g.extent("x", 1), 1e-5f, w, dx, dw, db);
         });
    rows("rms_norm/", true, false,
         [](const group& g, const float* x, const float* dy, const float* w, float* dx, float* dw, float*) {
             kernel::rms_norm_gradient<Arch>(x, dy, g.extent("x", 0), g.extent("x", 1), 1e-5f, w, dx, dw);
         });
    rows("group_norm/", true, true,
         [](const group& g, const float* x, const float* dy, const float* w, float* dx, float* dw, float* db) {
             const auto groups = static_cast<std::size_t>(g.ints("options")[0]);
             kernel::group_norm_gradient<Arch>(x, dy, 6, 6, groups, 1e-5f, w, dx, dw, db);
         });
    rows("l2_normalize/", false, false,
         [](const group& g, const float* x, const float* dy, const float*, float* dx, float*, float*) {
             kernel::l2_normalize_gradient<Arch>(x, dy, g.extent("x", 0), g.extent("x", 1), dx);
         });
}

TEST_CASE("PyTorch's gradients: activations, corners among the values") {
    namespace f = kernel::functions;
    const zp_test::golden_file file("training_layers");
    const floats x = file.values<float>("activation/x"), positive = file.values<float>("activation/positive"),
                 dy = file.values<float>("activation/dy");
    const auto compare = [&](const std::string& name, auto gradient) {
        floats dx = room(dy.size());
        gradient(dx.data());
        group{file, "activation/" + name}.compare(dx, "dx");
    };
    const auto clamp = [&](const std::string& name, auto edges, float low, float high) {
        compare(name, [&](float* dx) {
            kernel::clamp_gradient<Arch, decltype(edges)::value>(x.data(), dy.data(), dy.size(), low, high, dx);
        });
    };
    using open = std::integral_constant<kernel::clamp_edges, kernel::clamp_edges::open>;
    using closed = std::integral_constant<kernel::clamp_edges, kernel::clamp_edges::closed>;
    clamp("relu", open(), 0, INFINITY);
    clamp("relu6", open(), 0, 6);
    clamp("hardtanh", open(), -1, 2);
    clamp("clamp", closed(), -1, 2);
    const auto function = [&]<class F>(const F&, const std::string& name) {
        const bool needs_positive = name == "log" || name == "sqrt" || name == "rsqrt";
        compare(name, [&](float* dx) {
            kernel::activation_gradient<Arch, F>(needs_positive ? positive.data() : x.data(), dy.data(), dy.size(),
                                                 0.125f, dx);
        });
    };
    function(f::leaky_relu(), "leaky_relu");
    function(f::sigmoid(), "sigmoid");
    function(f::tanh(), "tanh");
    function(f::hard_sigmoid(), "hard_sigmoid");
    function(f::hardswish(), "hardswish");
    function(f::silu(), "silu");
    function(f::gelu(), "gelu");
    function(f::gelu_tanh(), "gelu_tanh");
    function(f::softplus<2000, 3000>(), "softplus");
    function(f::mish(), "mish");
    function(f::elu<500>(), "elu");
    function(f::celu<2000>(), "celu");
    function(f::selu(), "selu");
    function(f::threshold<1000, 250>(), "threshold");
    function(f::softsign(), "softsign");
    function(f::abs(), "abs");
    function(f::square(), "square");
    function(f::exp(), "exp");
    function(f::log(), "log");
    function(f::sqrt(), "sqrt");
    function(f::rsqrt(), "rsqrt");
}

TEST_CASE("PyTorch's gradients: operators on two arrays") {
    namespace rules = kernel::binary_gradients;
    const zp_test::golden_file file("training_layers");
    const auto compare = [&]<class Rule>(const Rule&, const std::string& name) {
        const group g{file, "binary/" + name};
        const floats a = g.values("a"), b = g.values("b"), dy = g.values("dy");
        floats da = room(a.size()), db = room(b.size());
        kernel::binary_gradient<Arch, Rule>(a.data(), g.image("a"), b.data(), g.image("b"), dy.data(), g.image("dy"),
                                            da.data(), db.data());
        g.compare(da, "da");
        g.compare(db, "db");
    };
    compare(rules::mul(), "mul");
    compare(rules::div(), "div");
    compare(rules::sub(), "sub");
    compare(rules::maximum(), "maximum");
    compare(rules::minimum(), "minimum");
    compare(rules::squared_difference(), "squared_difference");
    for_each_group(file, "prelu/", "dx", [&](const group& g) {
        const floats x = g.values("x"), slopes = g.values("weight"), dy = g.values("dy");
        floats dx = room(x.size()), dslopes(slopes.size());
        kernel::prelu_gradient<Arch>(x.data(), g.image("x"), slopes.data(), static_cast<int>(slopes.size()), dy.data(),
                                     dx.data(), dslopes.data());
        g.compare(dx, "dx");
        g.compare(dslopes, "dweight");
    });
}

TEST_CASE("PyTorch's gradients: interpolation, padding, reductions") {
    const zp_test::golden_file file("training_layers");
    for_each_group(file, "interpolate/", "dx", [&](const group& g) {
        using kernel::resize_rule;
        const shape in = g.image("x"), out = g.image("dy");
        const auto channels = static_cast<std::size_t>(in.channels);
        const floats dy = g.values("dy");
        floats dx = room(g.values("x").size());
        const int kind = g.ints("options")[0];
        if (kind < 2) {
            const auto axis = [&](int from, int to) {
                return kernel::make_nearest_axis(kind == 0 ? resize_rule::corner : resize_rule::half_pixel, from, to);
            };
            kernel::interpolate_nearest_gradient<Arch>(axis(in.height, out.height), axis(in.width, out.width), channels,
                                                       dy.data(), dx.data());
        } else {
            const auto axis = [&](int from, int to) {
                return kernel::make_linear_axis(kind == 2 ? resize_rule::half_pixel : resize_rule::align_corners, from,
                                                to);
            };
            kernel::interpolate_bilinear_gradient<Arch>(axis(in.height, out.height), axis(in.width, out.width),
                                                        channels, dy.data(), dx.data());
        }
        g.compare(dx, "dx");
    });
    for_each_group(file, "pad/", "dx", [&](const group& g) {
        using kernel::pad_mode;
        constexpr pad_mode modes[] = {pad_mode::constant, pad_mode::reflect, pad_mode::replicate, pad_mode::circular};
        const std::vector<std::int32_t> o = g.ints("options");
        const floats dy = g.values("dy");
        floats dx = room(g.values("x").size());
        kernel::pad_gradient<Arch>(g.image("x"), {{o[3], o[1], 0}, {o[4], o[2], 0}},
                                   modes[static_cast<std::size_t>(o[0])], dy.data(), dx.data());
        g.compare(dx, "dx");
    });
    for_each_group(file, "reduce/", "dx", [&](const group& g) {
        const shape in = g.image("x"), out = g.image("dy");
        const floats x = g.values("x"), dy = g.values("dy");
        floats dx = room(x.size()), y(dy.size());
        const int kind = g.ints("options")[0];
        if (kind == 0) kernel::extremum_along<Arch, kernel::larger_of>(in, out, x.data(), y.data());
        if (kind == 1) kernel::extremum_along<Arch, kernel::smaller_of>(in, out, x.data(), y.data());
        if (kind < 2) kernel::extremum_gradient<Arch>(in, out, x.data(), y.data(), dy.data(), dx.data());
        else if (kind == 2)
            kernel::moment_gradient<Arch, kernel::moment::variance>(in, out, 1, x.data(), dy.data(), dx.data());
        else if (kind == 3)
            kernel::moment_gradient<Arch, kernel::moment::standard_deviation>(in, out, 1, x.data(), dy.data(),
                                                                              dx.data());
        else if (kind == 4) kernel::product_gradient<Arch>(in, out, x.data(), dy.data(), dx.data());
        else kernel::sum_axes_gradient<Arch>(in, out, in.size() / out.size(), dy.data(), dx.data());
        g.compare(dx, "dx");
    });
    CHECK(zp_test::unread_tensors("training_layers").empty());
}

TEST_CASE("PyTorch's gradients: softmax, attention, matmul, embedding") {
    const zp_test::golden_file file("training_sequences");
    for_each_group(file, "softmax/", "dx", [&](const group& g) {
        const floats y = g.values("y"), dy = g.values("dy");
        floats dx = room(g.values("x").size());
        kernel::softmax_gradient<Arch>(y.data(), dy.data(), g.extent("x", 0), g.extent("x", 1), dx.data());
        g.compare(dx, "dx");
    });
    for_each_group(file, "log_softmax/", "dx", [&](const group& g) {
        const floats y = g.values("y"), dy = g.values("dy");
        floats dx = room(g.values("x").size());
        kernel::log_softmax_gradient<Arch>(y.data(), dy.data(), g.extent("x", 0), g.extent("x", 1), dx.data());
        g.compare(dx, "dx");
    });
    // softmax(q k' / sqrt(depth)) v, of the rows that a model has for it.
    for_each_group(file, "attention/", "dq", [&](const group& g) {
        const floats k = g.values("k"), v = g.values("v"), dy = g.values("dy");
        floats q = g.values("q");
        const int heads = static_cast<int>(g.extent("q", 0)), rows = static_cast<int>(g.extent("q", 1)),
                  depth = static_cast<int>(g.extent("q", 2)), keys = static_cast<int>(g.extent("k", 1));
        const float scale = 1.0f / std::sqrt(static_cast<float>(depth));
        for (float& value : q) value *= scale;
        floats mask(static_cast<std::size_t>(rows * keys), 1.0f);
        if (file.has(g.name + "/mask")) std::ranges::copy(g.ints("mask"), mask.begin());
        const auto scores = kernel::dense_matmul(rows, depth, keys, true, heads),
                   mixed = kernel::dense_matmul(rows, keys, depth, false, heads);
        const auto count = static_cast<std::size_t>(heads * rows * keys), row = static_cast<std::size_t>(keys),
                   head = static_cast<std::size_t>(rows);
        floats p = room(count), y = room(dy.size()), dp = room(count), dq = room(q.size()), dk = room(k.size()),
               dv = room(v.size());
        floats scratch = room(
            std::max({kernel::matmul_float_scratch<Arch>(scores), kernel::matmul_float_scratch<Arch>(mixed),
                      kernel::matmul_gradient_scratch<Arch>(scores), kernel::matmul_gradient_scratch<Arch>(mixed)}));
        kernel::matmul_float<Arch>(scores, q.data(), k.data(), p.data(), scratch.data());
        for (std::size_t i = 0; i != static_cast<std::size_t>(heads); ++i)
            kernel::masked_softmax<Arch>(p.data() + i * head * row, head, row, mask.data(), row,
                                         p.data() + i * head * row);
        kernel::matmul_float<Arch>(mixed, p.data(), v.data(), y.data(), scratch.data());
        g.compare(y, "y");
        kernel::matmul_gradient<Arch>(mixed, p.data(), v.data(), dy.data(), dp.data(), dv.data(), scratch.data());
        for (std::size_t i = 0; i != static_cast<std::size_t>(heads); ++i)
            kernel::masked_softmax_gradient<Arch>(p.data() + i * head * row, dp.data() + i * head * row, head, row,
                                                  mask.data(), row, dp.data() + i * head * row);
        kernel::matmul_gradient<Arch>(scores, q.data(), k.data(), dp.data(), dq.data(), dk.data(), scratch.data());
        for (float& value : dq) value *= scale;
        g.compare(dq, "dq");
        g.compare(dk, "dk");
        g.compare(dv, "dv");
    });
    for_each_group(file, "matmul/", "da", [&](const group& g) {
        const floats a = g.values("a"), b = g.values("b"), dy = g.values("dy");
        const auto of = kernel::dense_matmul(static_cast<int>(g.extent("a", 1)), static_cast<int>(g.extent("a", 2)),
                                             static_cast<int>(g.extent("dy", 2)), g.ints("options")[0] != 0,
                                             static_cast<int>(g.extent("a", 0)));
        floats da = room(a.size()), db = room(b.size()), scratch = room(kernel::matmul_gradient_scratch<Arch>(of));
        kernel::matmul_gradient<Arch>(of, a.data(), b.data(), dy.data(), da.data(), db.data(), scratch.data());
        g.compare(da, "da");
        g.compare(db, "db");
    });
    for_each_group(file, "embedding/", "dweight", [&](const group& g) {
        const floats dy = g.values("dy");
        const std::vector<std::int32_t> indices = g.ints("indices");
        floats dweight(g.values("weight").size());
        kernel::add_embedding_gradient<Arch>(indices.data(), indices.size(), static_cast<int>(g.extent("weight", 1)),
                                             g.ints("options")[0], dy.data(), dweight.data());
        g.compare(dweight, "dweight");
    });
}

TEST_CASE("PyTorch's gradients: LSTM, GRU, RNN in both directions") {
    const zp_test::golden_file file("training_sequences");
    for (const std::string cell : {"lstm/", "gru/", "rnn/"}) {
        for_each_group(file, cell, "dx", [&](const group& g) {
            using kernel::recurrent_kind;
            const std::vector<std::int32_t> o = g.ints("options");
            kernel::recurrent_extents e;
            e.kind = cell == "lstm/"  ? recurrent_kind::lstm
                     : cell == "gru/" ? recurrent_kind::gru
                     : o[2] != 0      ? recurrent_kind::rnn_relu
                                      : recurrent_kind::rnn_tanh;
            e.samples = g.samples();
            e.steps = static_cast<int>(g.extent("x", 1));
            e.inputs = static_cast<int>(g.extent("x", 2));
            e.hidden = o[0];
            e.projection = o[1];
            const std::ptrdiff_t y_row = 2 * e.outputs(), y_stride = y_row * e.steps, x_stride = e.steps * e.inputs;
            const floats x = g.values("x"), dy = g.values("dy");
            floats y = room(dy.size()), dx(x.size());
            for (const std::string direction : {"", "_reverse"}) {
                e.reversed = !direction.empty();
                const auto of = [&](const std::string& name) {
                    return name == "weight_hr" && e.projection == 0 ? floats() : g.values(name + direction);
                };
                const std::string names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"};
                floats p[5], d[5];
                for (std::size_t i = 0; i != 5; ++i) d[i].assign((p[i] = of(names[i])).size(), 0.0f);
                const kernel::recurrent_parameters<const float> given{p[0].data(), p[1].data(), p[2].data(),
                                                                      p[3].data(), p[4].data()};
                const std::ptrdiff_t at = e.reversed ? e.outputs() : 0;
                floats saved = room(e.saved()), one = room(x.size()),
                       scratch = room(std::max(kernel::recurrent_forward_scratch<Arch>(e),
                                               kernel::recurrent_backward_scratch<Arch>(e)));
                kernel::recurrent_forward<Arch>(e, {x.data(), x_stride}, given, {y.data() + at, y_stride}, y_row,
                                                saved.data(), scratch.data());
                kernel::recurrent_backward<Arch>(
                    e, {x.data(), x_stride}, given, {y.data() + at, y_stride}, {dy.data() + at, y_stride}, y_row,
                    saved.data(), {one.data(), x_stride},
                    {d[0].data(), d[1].data(), d[2].data(), d[3].data(), d[4].data()}, scratch.data());
                for (std::size_t i = 0; i != x.size(); ++i) dx[i] += one[i];
                for (std::size_t i = 0; i != (e.projection == 0 ? 4 : 5); ++i)
                    g.compare(d[i], "d" + names[i] + direction);
            }
            g.compare(y, "y");
            g.compare(dx, "dx");
        });
    }
    CHECK(zp_test::unread_tensors("training_sequences").empty());
}
