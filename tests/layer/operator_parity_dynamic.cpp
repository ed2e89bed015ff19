// SPDX-License-Identifier: BSD-3-Clause
// Dynamic and recurrent layers against golden vectors made by PyTorch (scripts/golden/operators_dynamic*.py),
// and ONNX Runtime's dynamic layers (scripts/golden/operators_onnxruntime*.py).
#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>
#include <zeropoint/kernel/dynamic/weight_only_product.hpp>
#include <zeropoint/kernel/recurrent/gates.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("operators_dynamic");
    return file;
}
template <class T> std::vector<T> values(const std::string& name) { return golden().values<T>(name); }
std::size_t extent(const std::string& name, std::size_t axis) {
    return static_cast<std::size_t>(golden().extent(name, axis));
}
std::vector<std::string> groups(const std::string& prefix) { return golden().groups(prefix, "x"); }

/// Quantized weights as the files hold them, and PyTorch's product with them: one range for all rows.
struct packed_linear {
    std::vector<std::int8_t> codes;
    std::vector<float> scales, bias;
    std::vector<std::int32_t> zero_points;
    std::size_t outputs = bias.size(), inputs = codes.size() / outputs;

    void one_each() {
        scales.resize(outputs, scales.front());
        zero_points.resize(outputs, zero_points.front());
    }
    template <class Choose> std::vector<float> product(const std::vector<float>& x, const Choose& choose) const {
        const bool is_affine = std::any_of(zero_points.begin(), zero_points.end(), [](auto z) { return z != 0; });
        const kernel::dynamic_linear_layout<arch> layout(static_cast<int>(inputs), static_cast<int>(outputs),
                                                         is_affine);
        constexpr kernel::code_limits limits{0, 255};
        const int rows = static_cast<int>(x.size() / inputs);
        zp::aligned_buffer packed(layout.bytes),
            scratch(kernel::dynamic_linear_scratch<arch>(layout.geometry(rows), rows).bytes);
        kernel::pack_dynamic_linear<arch>(
            layout,
            kernel::conv2d_weights<std::int8_t>{codes.data(), is_affine ? zero_points.data() : nullptr, nullptr},
            scales.data(), bias.data(), limits, packed.data());
        std::vector<float> y(static_cast<std::size_t>(rows) * outputs);
        kernel::dynamic_linear<arch, std::uint8_t, false>(layout, x.data(), rows, limits, choose, packed.data(),
                                                          y.data(), scratch.data());
        return y;
    }
    /// How PyTorch ranges what goes in.
    static auto rule(bool reduce_range) {
        return [=](float low, float high) {
            return reduce_range ? zp::fbgemm_rule::choose<zp::quint8_reduced, false>(low, high)
                                : zp::fbgemm_rule::choose<zp::quint8, false>(low, high);
        };
    }
    std::vector<float> operator()(const std::vector<float>& x, bool reduce_range) const {
        return product(x, rule(reduce_range));
    }
};

zp::qparams onnxruntime_range(float low, float high) {
    return zp::onnxruntime_rule::choose<zp::quint8, false>(low, high);
}

/// weight_ih (which = 0) or weight_hh (1) of a recurrent layer; `suffix` such as "_l0_reverse".
packed_linear recurrent_linear(const zp_test::golden_file& file, const std::string& group, const std::string& suffix,
                               std::size_t which) {
    const std::string name = which == 0 ? "_ih" : "_hh";
    packed_linear linear{file.values<std::int8_t>(group + "/weight" + name + suffix),
                         {file.values<float>(group + "/weight_scale" + suffix)[which]},
                         file.values<float>(group + "/bias" + name + suffix),
                         {file.values<std::int32_t>(group + "/weight_zero_point" + suffix)[which]}};
    linear.one_each();
    return linear;
}

/// The next state of `batch` rows.
void step(bool lstm, const float* from_input, const std::vector<float>& from_state, std::size_t hidden,
          std::vector<float>& h, std::vector<float>& c) {
    const std::size_t gates = lstm ? 4 : 3;
    for (std::size_t row = 0; row != h.size() / hidden; ++row) {
        const float *a = from_input + row * gates * hidden, *b = from_state.data() + row * gates * hidden;
        if (lstm) kernel::lstm_gates<arch>(a, b, hidden, c.data() + row * hidden, h.data() + row * hidden);
        else kernel::gru_gates<arch>(a, b, hidden, h.data() + row * hidden);
    }
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i != a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
    return largest;
}

/// What float layers may differ by: PyTorch's libm and its order of sums.
constexpr double tolerance = 4e-6;

template <template <int, int, class, int, zp::recurrent_options> class Layer, int Inputs, int Hidden, int Layers,
          bool Bidirectional, int Projection = 0>
void compare_float(const std::string& group) {
    CAPTURE(group);
    constexpr int steps = 5;
    constexpr zp::recurrent_options options{.layers = Layers, .bidirectional = Bidirectional, .projection = Projection};
    using stack = Layer<Inputs, Hidden, zp::default_architecture, steps, options>;
    zp::state_dict parameters = golden().parameters(group + "/");
    const stack layers(parameters);
    const auto x = values<float>(group + "/x"), expected = values<float>(group + "/y");
    const std::size_t batch = extent(group + "/x", 1);
    REQUIRE(extent(group + "/x", 0) == steps);
    const auto memory = std::make_unique<typename stack::workspace>();
    std::vector<float> all(expected.size());
    for (std::size_t image = 0; image != batch; ++image) {
        std::vector<float> in, out(steps * stack::outputs);
        for (std::size_t t = 0; t != steps; ++t)
            in.insert(in.end(), x.begin() + static_cast<std::ptrdiff_t>((t * batch + image) * Inputs),
                      x.begin() + static_cast<std::ptrdiff_t>((t * batch + image + 1) * Inputs));
        typename stack::state state;
        layers(in, state, out, *memory);
        for (std::size_t t = 0; t != steps; ++t)
            std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(t * stack::outputs), stack::outputs,
                        all.begin() + static_cast<std::ptrdiff_t>((t * batch + image) * stack::outputs));
    }
    CHECK(largest_difference(all, expected) < tolerance);
}

}  // namespace

TEST_CASE("dynamic parity: linear is PyTorch's bit for bit") {
    CHECK(groups("linear/").size() == 7);
    for (const std::string& group : groups("linear/")) {
        CAPTURE(group);
        packed_linear linear{values<std::int8_t>(group + "/weight"), values<float>(group + "/weight_scale"),
                             values<float>(group + "/bias"), values<std::int32_t>(group + "/weight_zero_point")};
        linear.one_each();
        const auto options = values<std::int32_t>(group + "/options");
        auto y = linear(values<float>(group + "/x"), options[0] != 0);
        if (options[1] != 0)
            for (float& value : y) value = std::max(value, 0.0f);
        CHECK(y == values<float>(group + "/y"));
        const auto x = values<float>(group + "/x");
        std::vector<std::uint8_t> codes(x.size());
        const auto range = kernel::dynamic_quantize<arch>(x.data(), x.size(), {0, 255},
                                                          packed_linear::rule(options[0] != 0), codes.data());
        CHECK(range.scale == values<float>(group + "/x_scale")[0]);
        CHECK(range.zero_point == values<std::int32_t>(group + "/x_zero_point")[0]);
        CHECK(codes == values<std::uint8_t>(group + "/x_codes"));
    }
}

TEST_CASE("dynamic parity: DynamicQuantizeMatMul is ONNX Runtime's bit for bit") {
    const zp_test::golden_file file("operators_onnxruntime");
    const std::string group = "DynamicQuantizeMatMul/0";
    const auto weight = file.values<std::int8_t>(group + "/weight");  // [inputs, outputs]
    packed_linear linear{std::vector<std::int8_t>(weight.size()),
                         file.values<float>(group + "/weight_scale"),
                         file.values<float>(group + "/bias"),
                         {0}};
    for (std::size_t i = 0; i != weight.size(); ++i)
        linear.codes[i % linear.outputs * linear.inputs + i / linear.outputs] = weight[i];
    linear.one_each();
    CHECK(linear.product(file.values<float>(group + "/x"), onnxruntime_range) == file.values<float>(group + "/y"));
}

// Its gates are approximations, as zeropoint's are.
TEST_CASE("dynamic parity: DynamicQuantizeLSTM is near ONNX Runtime's") {
    const zp_test::golden_file file("operators_onnxruntime_layers");
    const std::string group = "DynamicQuantizeLSTM/0";
    constexpr std::size_t hidden = 7;
    const packed_linear ih = recurrent_linear(file, group, "", 0), hh = recurrent_linear(file, group, "", 1);
    const auto expected = file.values<float>(group + "/y");
    const auto from_input = ih.product(file.values<float>(group + "/x"), onnxruntime_range);
    std::vector<float> h(hidden), c(hidden), y;
    for (std::size_t at = 0; at != from_input.size(); at += ih.outputs) {
        step(true, from_input.data() + at, hh.product(h, onnxruntime_range), hidden, h, c);
        y.insert(y.end(), h.begin(), h.end());
    }
    CHECK(largest_difference(y, expected) < 2e-5);
}

TEST_CASE("dynamic parity: MatMulNBits is near ONNX Runtime's, which sums in another order") {
    const zp_test::golden_file file("operators_onnxruntime_layers");
    const auto names = file.groups("MatMulNBits/", "y");
    CHECK(names.size() == 2);
    for (const std::string& group : names) {
        CAPTURE(group);
        const auto options = file.options(group);
        const int depth = file.extent(group + "/x", 1), outputs = file.extent(group + "/y", 1);
        const kernel::weight_only_layout layout(depth, outputs, options[0], options[1]);
        zp::aligned_buffer packed(layout.bytes);
        const auto weight = file.values<std::int8_t>(group + "/weight");
        const auto scale = file.values<float>(group + "/weight_scale"), x = file.values<float>(group + "/x"),
                   theirs = file.values<float>(group + "/y");
        const std::vector<float> bias(static_cast<std::size_t>(outputs));
        kernel::pack_weight_only(layout, weight.data(), scale.data(), bias.data(), packed.data());
        std::vector<float> y(theirs.size());
        const int rows = file.extent(group + "/x", 0);
        if (options[0] == 4) kernel::weight_only_product<arch, 4>(layout, x.data(), rows, packed.data(), y.data());
        else kernel::weight_only_product<arch, 8>(layout, x.data(), rows, packed.data(), y.data());
        const float largest = *std::max_element(theirs.begin(), theirs.end());
        CHECK(largest_difference(y, theirs) < 4e-6 * std::max(1.0f, largest));
    }
}

TEST_CASE("dynamic parity: LSTM and GRU cells") {
    for (const std::string name : {"lstm_cell/", "gru_cell/"}) {
        CHECK(groups(name).size() == 2);
        for (const std::string& group : groups(name)) {
            CAPTURE(group);
            const bool lstm = name[0] == 'l';
            auto h = values<float>(group + "/h"), c = lstm ? values<float>(group + "/c") : h;
            const auto a = recurrent_linear(golden(), group, "", 0)(values<float>(group + "/x"), true);
            step(lstm, a.data(), recurrent_linear(golden(), group, "", 1)(h, true), extent(group + "/h", 1), h, c);
            CHECK(largest_difference(h, values<float>(group + "/y")) < tolerance);
            if (lstm) CHECK(largest_difference(c, values<float>(group + "/y_c")) < tolerance);
        }
    }
}

TEST_CASE("dynamic parity: Elman cells") {
    const zp_test::golden_file file("operators_dynamic_layers");
    for (const std::string name : {"rnn_tanh_cell/", "rnn_relu_cell/"}) {
        CHECK(file.groups(name, "x").size() == 2);
        for (const std::string& group : file.groups(name, "x")) {
            CAPTURE(group);
            auto h = file.values<float>(group + "/h");
            const auto a = recurrent_linear(file, group, "", 0)(file.values<float>(group + "/x"), true),
                       b = recurrent_linear(file, group, "", 1)(h, true);
            if (name[4] == 't') kernel::rnn_tanh_gates<arch>(a.data(), b.data(), h.size(), h.data());
            else kernel::rnn_relu_gates<arch>(a.data(), b.data(), h.size(), h.data());
            CHECK(largest_difference(h, file.values<float>(group + "/y")) < tolerance);
        }
    }
}

// PyTorch quantizes the input of a layer with one range for the whole sequence, which zp::recurrent does not.
TEST_CASE("dynamic parity: LSTM and GRU over sequences") {
    for (const std::string name : {"lstm/", "gru/"}) {
        CHECK(groups(name).size() == 2);
        for (const std::string& group : groups(name)) {
            CAPTURE(group);
            const bool lstm = name[0] == 'l';
            const auto options = values<std::int32_t>(group + "/options");
            const auto directions = static_cast<std::size_t>(options[1]), hidden = static_cast<std::size_t>(options[2]);
            const std::size_t steps = extent(group + "/x", 0), batch = extent(group + "/x", 1);
            auto x = values<float>(group + "/x");
            for (int layer = 0; layer != options[0]; ++layer) {
                std::vector<float> y(steps * batch * directions * hidden);
                for (std::size_t direction = 0; direction != directions; ++direction) {
                    const std::string suffix = "_l" + std::to_string(layer) + (direction != 0 ? "_reverse" : "");
                    const packed_linear ih = recurrent_linear(golden(), group, suffix, 0),
                                        hh = recurrent_linear(golden(), group, suffix, 1);
                    const auto from_input = ih(x, true);
                    std::vector<float> h(batch * hidden), c(batch * hidden);
                    for (std::size_t i = 0; i != steps; ++i) {
                        const std::size_t t = direction == 0 ? i : steps - 1 - i;
                        step(lstm, from_input.data() + t * batch * ih.outputs, hh(h, true), hidden, h, c);
                        for (std::size_t row = 0; row != batch; ++row)
                            std::copy_n(h.data() + row * hidden, hidden,
                                        y.data() + ((t * batch + row) * directions + direction) * hidden);
                    }
                }
                x = y;
            }
            CHECK(largest_difference(x, values<float>(group + "/y")) < tolerance);
        }
    }
}

TEST_CASE("dynamic parity: float LSTM and GRU, two layers, both directions, a projection") {
    compare_float<zp::float_lstm, 5, 7, 1, false>("float_lstm/0");
    compare_float<zp::float_lstm, 4, 6, 2, true>("float_lstm/1");
    compare_float<zp::float_lstm, 6, 8, 1, false, 3>("float_lstm/2");
    compare_float<zp::float_gru, 5, 7, 1, false>("float_gru/0");
    compare_float<zp::float_gru, 4, 6, 2, true>("float_gru/1");
}
