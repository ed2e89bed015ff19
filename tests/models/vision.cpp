// SPDX-License-Identifier: BSD-3-Clause
// Vision transformers written with constants, spread adds and rearrangements, beside PyTorch: a class token with positions, shifted windows.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <ratio>
#include <string>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"
#include "pytorch_parity.hpp"
#include "state_dict.hpp"

namespace {

using zp::axis, zp::constant, zp::identity, zp::linear, zp::residual, zp::sequential;

// The extents are those of scripts/golden/vision.py.

template <zp::fixed_string Name> struct norm : zp::layer_norm<Name, zp::layer_norm_options{.epsilon_millionths = 1}> {};
template <zp::fixed_string Name>
struct vit_layer
    : sequential<residual<norm<Name + ".ln_1">, zp::self_attention<Name + ".self_attention", 4>>,
                 residual<norm<Name + ".ln_2">, linear<Name + ".mlp.0", 32>, zp::gelu, linear<Name + ".mlp.3", 16>>> {};
struct vit
    : zp::model<zp::input<12, 12, 3>, zp::conv2d<"conv_proj", zp::conv{.out_channels = 16, .kernel = 4, .stride = 4}>,
                zp::reshape<1, 9, 16>, zp::stack<axis::width, constant<"class_token", 1, 1, 16>, identity>,
                zp::add<identity, constant<"encoder.pos_embedding", 1, 10, 16>>,
                vit_layer<"encoder.layers.encoder_layer_0">, vit_layer<"encoder.layers.encoder_layer_1">,
                norm<"encoder.ln">, zp::slice<axis::width, 0, 1>, linear<"heads.head", 5>> {};

/// torch.roll by -By rows and columns.
template <axis Along, int By> struct roll_along : zp::stack<Along, zp::slice<Along, By>, zp::slice<Along, 0, By>> {};
template <int By> struct roll : sequential<roll_along<axis::height, By>, roll_along<axis::width, By>> {};

/// 4 windows of 16 tokens of 12 channels, as one sequence, to 12 matrices of 16 x 4, one a window and head.
template <zp::fixed_string Name>
struct heads : sequential<linear<Name, 12>,
                          zp::rearrange<zp::extents<4, 16, 3, 4>, zp::order<0, 2, 1, 3>, zp::shape{12, 16, 4}>> {};
struct window_attention
    : sequential<zp::matmul<sequential<zp::add<sequential<zp::matmul_transposed<heads<"attn.q">, heads<"attn.k">>,
                                                          zp::mul_scalar<std::ratio<1, 2>>>,
                                               constant<"attn.bias", 12, 16, 16>>,
                                       zp::softmax>,
                            heads<"attn.v">>,
                 zp::rearrange<zp::extents<4, 3, 16, 4>, zp::order<0, 2, 1, 3>, zp::shape{1, 64, 12}>,
                 linear<"attn.proj", 12>> {};
struct windows : zp::model<zp::input<8, 8, 12>,
                           residual<zp::layer_norm<"norm1">, roll<2>, zp::window_partition<4>, zp::reshape<1, 64, 12>,
                                    window_attention, zp::reshape<4, 16, 12>, zp::window_reverse<4, 8, 8>, roll<-2>>,
                           residual<zp::layer_norm<"norm2">, zp::reshape<1, 64, 12>, linear<"mlp.0", 24>, zp::gelu,
                                    linear<"mlp.2", 12>, zp::reshape<8, 8, 12>>> {};

template <class Network> std::vector<float> run(const Network& model, const std::vector<float>& x) {
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    model(x, y, *std::make_unique<typename Network::workspace>());
    return y;
}
double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double product = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i != a.size(); ++i) {
        product += double{a[i]} * double{b[i]};
        of_a += double{a[i]} * double{a[i]};
        of_b += double{b[i]} * double{b[i]};
    }
    return product / std::sqrt(of_a * of_b);
}

/// In float within 1e-5 of PyTorch; int8 and dynamic, converted and loaded again, near it.
template <class Net> void check(const std::string& name) {
    const zp_test::golden_file golden("vision");
    const std::vector<float> x = golden.values<float>(name + "/x"), y = golden.values<float>(name + "/y");
    const auto trained = networks::hashed_model<Net>();
    const double difference = networks::relative_difference(run(trained, x), y);
    CHECK(difference < 1e-5);

    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(trained), std::vector{x}));
    const std::vector<float> found = run(int8, x);
    const double of_int8 = cosine(found, y);
    const auto again = zp::load<zp::quantized<Net, zp::default_qconfig>>(zp::to_bytes(int8));
    CHECK(run(again, x) == found);
    const auto dynamic =
        zp::quantize_dynamic<zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>>(trained);
    const double of_dynamic = cosine(run(dynamic, x), y);
    MESSAGE(name << ": " << difference << " of the largest value; cosine in int8 " << of_int8 << ", dynamic "
                 << of_dynamic);
    CHECK(of_int8 > 0.995);
    CHECK(of_dynamic > 0.995);
}

}  // namespace

TEST_CASE("vision transformer: class token, positions and patches beside PyTorch") { check<vit>("vit"); }
TEST_CASE("shifted windows: Swin's block beside PyTorch") { check<windows>("windows"); }
