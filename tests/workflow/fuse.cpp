// SPDX-License-Identifier: BSD-3-Clause
// fuse: the same function as the network that was trained, in fewer rows.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/fuse.hpp>

#include "../support/float_reference.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;

/// "conv2d(conv1)+relu<0 ": kinds, names, fused activations and inputs of the fused rows.
template <class Net> std::string rows_of() {
    std::string text;
    for (const zp::node& row : zp::fused_stage<Net>::table) {
        text += text.empty() ? "" : " ";
        text += row.op->kind->name;
        if (row.name[0] != 0) text += "(" + std::string(row.name) + ")";
        if (const zp::operator_info* fused = zp_test::fused_into(row)) text += "+" + std::string(fused->kind->name);
        if (row.from.folded >= 0) text += "*";
        for (int k = 0; k != row.input_count; ++k) text += (k == 0 ? "<" : ",") + std::to_string(row.inputs[k]);
    }
    return text;
}

/// The fused network against the trained one, in double.
template <class Net> double difference(std::uint64_t seed = 1) {
    const auto trained = made_up::network<Net>(seed);
    const auto fused = zp::fuse(trained);
    double worst = 0;
    for (const auto& x : made_up::inputs<Net>(4, seed, -2, 2)) {
        std::vector<float> a(static_cast<std::size_t>(trained.output_shape.size())), b(a.size());
        trained(x, a);
        fused(x, b);
        double largest = 0, gap = 0;
        const auto exact = float_reference::run(trained, x).back();
        for (std::size_t i = 0; i != a.size(); ++i) {
            largest = std::fmax(largest, std::fabs(exact[i]));
            gap = std::fmax(gap, std::fmax(std::fabs(static_cast<double>(b[i]) - exact[i]),
                                           std::fabs(static_cast<double>(a[i] - b[i]))));
        }
        worst = std::fmax(worst, gap / largest);
    }
    return worst;
}

struct usual
    : zp::model<zp::input<6, 6, 3>, zp::conv2d<"conv1", conv{.out_channels = 8, .kernel = 3, .bias = false}>,
                zp::batch_norm2d<"bn1">, zp::relu,
                zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                zp::batch_norm2d<"bn2", zp::norm{.affine = false}>, zp::relu6, zp::flatten,
                zp::linear<"fc", 12, zp::with_bias::no>, zp::batch_norm1d<"bn3", zp::norm{.epsilon_millionths = 1000}>,
                zp::relu, zp::linear<"out", 3>> {};
struct branches
    : zp::model<zp::input<5, 5, 4>, zp::residual<zp::conv2d<"a", conv{.out_channels = 4}>, zp::batch_norm2d<"bn_a">>,
                zp::relu,
                zp::concat<zp::sequential<zp::conv2d<"b", conv{.out_channels = 2}>, zp::batch_norm2d<"bn_b">, zp::relu>,
                           zp::sequential<zp::conv2d<"c", conv{.out_channels = 3}>, zp::relu6>>,
                zp::add_relu<zp::conv2d<"d", conv{.out_channels = 3}>, zp::conv2d<"e", conv{.out_channels = 3}>>> {};
struct identities
    : zp::model<zp::input<2, 2, 3>, zp::quant_stub, zp::dropout, zp::conv2d<"a", conv{.out_channels = 4}>, zp::dropout,
                zp::relu, zp::flatten, zp::dropout, zp::linear<"b", 4>, zp::dropout, zp::dequant_stub> {};
struct kept_flatten : zp::model<zp::input<2, 2, 3>, zp::conv2d<"a", conv{.out_channels = 4}>, zp::flatten, zp::relu,
                                zp::linear<"b", 4>> {};
struct flat_output : zp::model<zp::input<2, 2, 3>, zp::conv2d<"a", conv{.out_channels = 4}>, zp::flatten> {};
struct stacked
    : zp::model<zp::input<3, 3, 4>, zp::batch_norm2d<"first">, zp::conv2d<"a", conv{.out_channels = 4}>, zp::relu,
                zp::batch_norm2d<"late">, zp::relu6, zp::conv2d<"b", conv{.out_channels = 4}>, zp::batch_norm2d<"one">,
                zp::batch_norm2d<"two">, zp::relu, zp::relu6, zp::max_pool2d<2>, zp::relu> {};
struct only_dropouts : zp::model<zp::input<1, 1, 5>, zp::dropout, zp::quant_stub, zp::dequant_stub, zp::dropout> {};

/// The convolution is read by its batch norm and by the add; the add by its relu and by the last add.
struct two_readers {
    static constexpr int nodes = 8;
    static constexpr void lower(zp::builder& b) {
        const int a = b.conv2d(b.input({4, 4, 3}), "a", {.out_channels = 5});
        const int sum = b.add(b.batch_norm(a, "bn", 1e-5f, true), a, "sum");
        const int c = b.conv2d(zp::relu::lower(b, sum), "c", {.out_channels = 5});
        b.add(c, sum, "last");
    }
};
/// Two convolutions that read one relu, and the relu of a value that is an output of two paths.
struct shared_relu {
    static constexpr int nodes = 8;
    static constexpr void lower(zp::builder& b) {
        const int r = zp::relu::lower(b, b.conv2d(b.input({4, 4, 3}), "a", {.out_channels = 5}));
        b.add(zp::relu6::lower(b, b.conv2d(r, "b", {.out_channels = 2})), b.conv2d(r, "c", {.out_channels = 2}));
    }
};

}  // namespace

TEST_CASE("fuse: conv and linear take the batch norm and the activation behind them") {
    CHECK(rows_of<usual>() ==
          "input(input) conv2d(conv1)+relu*<0 conv2d(depthwise)+relu6*<1 linear(fc)+relu*<2 linear(out)<3");
    CHECK(difference<usual>() < 1e-5);
}
TEST_CASE("fuse: through branches, residuals and concats") {
    CHECK(rows_of<branches>() ==
          "input(input) conv2d(a)*<0 add+relu<1,0 conv2d(b)+relu*<2 conv2d(c)+relu6<2 concat<3,4 conv2d(d)<5 "
          "conv2d(e)<5 add+relu<6,7");
    CHECK(difference<branches>() < 1e-5);
}
TEST_CASE("fuse: dropout, stubs and a flatten in front of linear layers go") {
    CHECK(rows_of<identities>() == "input(input) conv2d(a)+relu<0 linear(b)<1");
    CHECK(difference<identities>() < 1e-5);
    CHECK(rows_of<kept_flatten>() == "input(input) conv2d(a)<0 flatten<1 relu<2 linear(b)<3");
    CHECK(difference<kept_flatten>() < 1e-5);
    CHECK(rows_of<flat_output>() == "input(input) conv2d(a)<0 flatten<1");
}
TEST_CASE("fuse: a model of identities keeps one, which copies") {
    CHECK(rows_of<only_dropouts>() == "input(input) dropout<0");
    const auto fused = zp::fuse(zp::float_model<only_dropouts>());
    const auto x = made_up::values(5, 1);
    std::vector<float> y(5);
    fused(x, y);
    CHECK(y == x);
}
TEST_CASE("fuse: a second batch norm, a batch norm behind a relu and a second activation stay") {
    CHECK(rows_of<stacked>() ==
          "input(input) batch_norm(first)<0 conv2d(a)+relu<1 batch_norm(late)<2 relu6<3 conv2d(b)*<4 batch_norm(two)<5 "
          "relu<6 relu6<7 max_pool2d<8 relu<9");
    CHECK(difference<stacked>() < 1e-5);
}
TEST_CASE("fuse: a value with two readers is not fused away") {
    CHECK(rows_of<two_readers>() ==
          "input(input) conv2d(a)<0 batch_norm(bn)<1 add(sum)<2,1 relu<3 conv2d(c)<4 add(last)<5,3");
    CHECK(difference<two_readers>() < 1e-5);
}
TEST_CASE("fuse: what two layers read is the fused value") {
    CHECK(rows_of<shared_relu>() == "input(input) conv2d(a)+relu<0 conv2d(b)+relu6<1 conv2d(c)<1 add<2,3");
    CHECK(difference<shared_relu>() < 1e-5);
}

TEST_CASE("fuse: rows between stubs are to be quantized, those outside stay float") {
    struct partly : zp::model<zp::input<3, 3, 2>, zp::conv2d<"a", conv{.out_channels = 4}>, zp::relu, zp::quant_stub,
                              zp::conv2d<"b", conv{.out_channels = 4}>, zp::relu, zp::dequant_stub, zp::relu6,
                              zp::conv2d<"c", conv{.out_channels = 4}>> {};
    CHECK(rows_of<partly>() == "input(input) conv2d(a)+relu<0 conv2d(b)+relu<1 relu6<2 conv2d(c)<3");
    std::vector<bool> floats;
    for (const zp::node& row : zp::fused_stage<partly>::table) floats.push_back(row.flags.keep_float);
    CHECK(floats == std::vector{true, true, false, true, true});
}

TEST_CASE("fuse: the folded numbers are PyTorch's, each operation rounded to float") {
    struct one : zp::model<zp::input<1, 1, 2>, zp::conv2d<"a", conv{.out_channels = 1}>,
                           zp::batch_norm2d<"bn", zp::norm{.epsilon_millionths = 500000}>> {};
    zp::float_model<one> trained;
    const auto floats = [&](int row, int array) {
        return zp_test::array_of(trained, trained.rows()[static_cast<std::size_t>(row)], array);
    };
    floats(1, 0)[0] = 3, floats(1, 0)[1] = -0.25f, floats(1, 1)[0] = 2;
    floats(2, 0)[0] = 5, floats(2, 1)[0] = 0.5f, floats(2, 2)[0] = -1, floats(2, 3)[0] = 6;
    const auto fused = zp::fuse(trained);
    const auto folded = zp_test::array_of(fused, fused.rows()[1], 0),
               bias = zp_test::array_of(fused, fused.rows()[1], 1);
    const volatile float inverse = 1 / std::sqrt(6.5f), factor = 5 * inverse, once = 3 * inverse, scaled = once * 5;
    CHECK(folded[0] == 3 * factor);
    CHECK(folded[1] == -0.25f * factor);
    CHECK(bias[0] == scaled + 0.5f);
}
TEST_CASE("fuse: of a batch norm's last bits, the ones that torch.nn.utils.fusion.fuse_conv_bn_weights gives") {
    // Parameters are multiples of 2^-12; PyTorch 2.13's results. In double and rounded once, nearly half of them differ.
    struct one : zp::model<zp::input<1, 1, 1>, zp::conv2d<"a", conv{.out_channels = 8}>, zp::batch_norm2d<"bn">> {};
    // clang-format off
    constexpr struct { float weight, bias, gamma, beta, mean, variance, folded_weight, folded_bias; } given[] = {
        {2705 * 0x1p-12f, -3823 * 0x1p-12f, 6066 * 0x1p-12f, 3893 * 0x1p-12f, -3734 * 0x1p-12f, 5195 * 0x1p-12f, 0x1.bca2fcp-1f, 0x1.d7fedcp-1f},
        {-3063 * 0x1p-12f, 4048 * 0x1p-12f, 4711 * 0x1p-12f, -3356 * 0x1p-12f, -95 * 0x1p-12f, 3597 * 0x1p-12f, -0x1.d5e9b8p-1f, 0x1.b0345p-2f},
        {3338 * 0x1p-12f, 872 * 0x1p-12f, 2280 * 0x1p-12f, 224 * 0x1p-12f, 2429 * 0x1p-12f, 1380 * 0x1p-12f, 0x1.90224p-1f, -0x1.3d484cp-2f},
        {2621 * 0x1p-12f, 529 * 0x1p-12f, 5817 * 0x1p-12f, 1470 * 0x1p-12f, 1992 * 0x1p-12f, 6276 * 0x1p-12f, 0x1.77e22ep-1f, -0x1.a0fe6p-5f},
        {3441 * 0x1p-12f, -3503 * 0x1p-12f, 4791 * 0x1p-12f, -1934 * 0x1p-12f, 3848 * 0x1p-12f, 7329 * 0x1p-12f, 0x1.781cb2p-1f, -0x1.054f3p+1f},
        {-3140 * 0x1p-12f, 1305 * 0x1p-12f, 3119 * 0x1p-12f, -896 * 0x1p-12f, -3597 * 0x1p-12f, 7482 * 0x1p-12f, -0x1.ba4712p-2f, 0x1.d275dp-2f},
        {-2749 * 0x1p-12f, 1761 * 0x1p-12f, 2215 * 0x1p-12f, -2735 * 0x1p-12f, -504 * 0x1p-12f, 7608 * 0x1p-12f, -0x1.10b11ap-2f, -0x1.cb11c4p-2f},
        {1949 * 0x1p-12f, 650 * 0x1p-12f, 5264 * 0x1p-12f, -1936 * 0x1p-12f, 3988 * 0x1p-12f, 5310 * 0x1p-12f, 0x1.12fc22p-1f, -0x1.647ac8p+0f},
    };
    // clang-format on
    zp::float_model<one> trained;
    const auto array = [&](std::size_t row, int i) { return zp_test::array_of(trained, trained.rows()[row], i); };
    for (std::size_t c = 0; c != 8; ++c) {
        array(1, 0)[c] = given[c].weight, array(1, 1)[c] = given[c].bias;
        array(2, 0)[c] = given[c].gamma, array(2, 1)[c] = given[c].beta;
        array(2, 2)[c] = given[c].mean, array(2, 3)[c] = given[c].variance;
    }
    const auto fused = zp::fuse(trained);
    const auto folded = zp_test::array_of(fused, fused.rows()[1], 0),
               bias = zp_test::array_of(fused, fused.rows()[1], 1);
    for (std::size_t c = 0; c != 8; ++c) {
        CHECK(folded[c] == given[c].folded_weight);
        CHECK(bias[c] == given[c].folded_bias);
    }
}
