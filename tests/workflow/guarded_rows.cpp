// SPDX-License-Identifier: BSD-3-Clause
// Every row of networks of odd extents between unreadable pages: see support/guarded_rows.hpp. The sweep of operators has every
// layer so, over extents that vectors like.
#include <doctest/doctest.h>

#include <cstdint>
#include <ratio>
#include <type_traits>
#include <vector>

#include <zeropoint/operators/embedding_bag.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"
#include "operator_sweep.hpp"

namespace {

using operator_sweep::entry;
using zp::axis;
using zp::conv;
using zp::pool;

template <zp::fixed_string Name, int Channels, int Kernel = 1>
using to = zp::conv2d<Name, conv{.out_channels = Channels, .kernel = Kernel, .padding = Kernel / 2}>;
template <zp::fixed_string Name, int Stride = 1>
using depthwise = zp::conv2d<Name, conv{.kernel = 3, .stride = Stride, .padding = 1, .groups = zp::depthwise}>;

// clang-format off
/// From one odd number of channels to the next.
struct convolutions : zp::model<zp::input<9, 11, 1>,
    to<"a", 2, 3>, to<"b", 3>, zp::relu, depthwise<"c">, zp::conv2d<"d", conv{.out_channels = 5, .kernel = 3, .stride = 2}>,
    to<"e", 7, 3>, depthwise<"f">, to<"g", 15>, zp::sigmoid, depthwise<"h">, to<"i", 17, 3>, depthwise<"j">, to<"k", 31>,
    zp::residual<to<"l", 31, 3>>, depthwise<"m">, to<"n", 33, 3>, depthwise<"o", 2>, to<"p", 63>, zp::relu6, to<"q", 65, 3>,
    depthwise<"r">, zp::conv2d<"s", conv{.out_channels = 26, .kernel = {1, 2}, .groups = 13}>,
    zp::conv_transpose2d<"t", zp::conv_transpose{.out_channels = 7, .kernel = 3, .stride = 2}>,
    zp::conv_transpose2d<"u", zp::conv_transpose{.kernel = 2, .groups = zp::depthwise}>, zp::flatten, zp::linear<"v", 9>> {};

/// 3x3 windows of stride 1 alone, whatever computes them.
struct windows : zp::model<zp::input<7, 9, 17>, to<"a", 33, 3>, to<"b", 31, 3>, zp::relu, to<"c", 5, 3>, to<"d", 63, 3>> {};

struct linears : zp::model<zp::input<3, 5, 1>, zp::flatten,
    zp::linear<"a", 1>, zp::linear<"b", 3>, zp::relu, zp::layer_norm<"b1">, zp::linear<"c", 7>, zp::prelu<"c1", 7>,
    zp::linear<"d", 15>, zp::gelu, zp::linear<"e", 17>, zp::prelu<"e1", 17>, zp::linear<"f", 33>, zp::layer_norm<"f1">,
    zp::linear<"g", 65>, zp::linear<"h", 9>> {};

/// Layers that keep the number of channels, or leave one: run with fewer, too.
constexpr int channels = 65;
struct values : zp::model<zp::input<3, 5, channels>,
    zp::prelu<"a", channels>, zp::add<zp::identity, zp::mul_scalar<std::ratio<2, 3>>>, zp::mul<zp::identity, zp::neg>,
    zp::sub<zp::identity, zp::mean<>>, zp::maximum<zp::identity, zp::reduce_max<zp::axes::channels>>,
    zp::max_pool2d<pool{.kernel = 3, .stride = 1, .padding = 1}>, zp::avg_pool2d<pool{.kernel = 2, .stride = 1}>,
    zp::interpolate<zp::resize{.size = {5, 3}, .mode = zp::resize_mode::bilinear}>, zp::silu, zp::layer_norm<"b">,
    zp::clamp<-1500, 1500>, zp::unfused_batch_norm<"c">, zp::where<zp::greater_scalar<std::ratio<0>>, zp::identity, zp::neg>,
    zp::squared_difference<zp::identity, zp::variance<>>, zp::hypot<zp::identity, zp::neg>, zp::minimum<zp::identity, zp::sum<zp::axes::channels>>,
    zp::div<zp::identity, zp::sequential<zp::sigmoid, zp::add_scalar<std::ratio<1>>>>, zp::tanh, zp::instance_norm<>,
    zp::l2_normalization, zp::softmax, zp::concat<zp::identity, zp::mul_scalar<std::ratio<5, 3>>>, zp::adaptive_avg_pool2d<1>> {};

struct sequences : zp::model<zp::input<1, 7, 5>,
    zp::lstm<"a", 3>, zp::gru<"b", 17>, zp::rnn<"c", 33>, zp::self_attention<"d", 3>, zp::lstm<"e", 15>,
    zp::conv1d<"f", conv{.out_channels = 31, .kernel = 3, .padding = 1}>, zp::gru<"g", 1>, zp::linear<"h", 35>,
    zp::encoder_layer<"i", 5, 33>, zp::log_softmax, zp::svdf<"j", 5, 2, 3>> {};

struct volumes : zp::model<zp::input<3, 5, 7, 3>,
    zp::conv3d<"a", zp::volume_conv{.out_channels = 5, .kernel = 3, .padding = 1}>, zp::relu,
    zp::conv3d<"b", zp::volume_conv{.out_channels = 17, .kernel = {1, 3, 3}}>,
    zp::max_pool3d<zp::volume_pool{.kernel = 3, .stride = 1, .padding = 1}>,
    zp::conv_transpose3d<"c", zp::volume_conv_transpose{.out_channels = 3, .kernel = 2, .stride = 2}>, zp::avg_pool3d<2>> {};

/// Three rows of a table of odd columns, and three more as one bag.
constexpr int rows_of_table = 9, index_count = 6;
template <zp::fixed_string Name, zp::fixed_string Bag, int Columns> using table = zp::stack<axis::width,
    zp::embedding<Name, rows_of_table, Columns, zp::embedding_options{.count = 3}>,
    zp::embedding_bag<Bag, rows_of_table, Columns, zp::embedding_bag_options{.first = 3}>>;
struct tables : zp::model<zp::indices<index_count>,
    zp::concat<table<"a", "A", 1>, table<"b", "B", 2>, table<"c", "C", 3>, table<"d", "D", 7>, table<"e", "E", 17>,
               table<"f", "F", 31>, table<"g", "G", 33>, table<"h", "H", 65>>> {};
// clang-format on

template <class Dtype, class... Options>
struct config
    : zp::qconfig<zp::quantizer<Dtype, zp::per_tensor_affine, zp::min_max_observer>,
                  zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>, Options...> {};
struct unsigned_codes : config<zp::quint8> {};
struct signed_codes : config<zp::qint8> {};
template <zp::conv2d_algorithm Algorithm> struct by : config<zp::quint8, zp::algorithm<Algorithm>> {};
template <class Policy, class... Options>
using every = zp::dynamic_qconfig<Policy, zp::quantize_every_layer, Options...>;
using four_bits = every<zp::dynamic_policy<>, zp::embedding_bits<4>>;
using eight_bits = every<zp::dynamic_policy<>>;

template <class Net> auto data() {
    if constexpr (zp::float_model<Net>::takes_indices)
        return std::vector<std::vector<std::int32_t>>{{0, rows_of_table - 1, 3, rows_of_table - 1, 0, 4}};
    else return made_up::inputs<Net>(4);
}
template <class Net> void check(const zp_test::guarded_network& network) {
    zp_test::check_guarded_rows(network);
    if constexpr (std::is_same_v<Net, values>) zp_test::check_narrowed_rows(network, channels);
}
template <class Net> void check_floats() {
    const auto model = zp::fuse(operator_sweep::trained<Net>());
    check<Net>(zp_test::run_guarded(model, data<Net>().front().data()));
}
template <class Net, class Config> void check_codes() {
    const auto inputs = data<Net>();
    const auto model =
        zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(operator_sweep::trained<Net>())), inputs));
    check<Net>(zp_test::run_guarded(model, inputs.front().data()));
}
template <class Net, class Config> void check_dynamic() {
    const auto model = zp::quantize_dynamic<Config>(zp::fuse(operator_sweep::trained<Net>()));
    check<Net>(zp_test::run_guarded(model, data<Net>().front().data()));
}

}  // namespace

TEST_CASE("guarded rows: floats") {
    check_floats<convolutions>();
    check_floats<windows>();
    check_floats<linears>();
    check_floats<values>();
    check_floats<sequences>();
    check_floats<volumes>();
    check_floats<tables>();
}
TEST_CASE("guarded rows: codes of 8 bits") {
    check_codes<convolutions, unsigned_codes>();
    check_codes<windows, signed_codes>();
    check_codes<windows, by<zp::conv2d_algorithm::winograd_4x4>>();
    check_codes<windows, by<zp::conv2d_algorithm::winograd_2x2>>();
    check_codes<linears, unsigned_codes>();
    check_codes<values, unsigned_codes>();
    check_codes<sequences, unsigned_codes>();
    check_codes<volumes, unsigned_codes>();
    check_codes<tables, unsigned_codes>();
}
TEST_CASE("guarded rows: codes of 16 bits") {
    check_codes<convolutions, zp::int16_qconfig>();
    check_codes<values, zp::int16_qconfig>();
    check_codes<sequences, zp::int16_qconfig>();
}
TEST_CASE("guarded rows: dynamic, and weights alone") {
    check_dynamic<convolutions, eight_bits>();
    check_dynamic<linears, eight_bits>();
    check_dynamic<sequences, eight_bits>();
    check_dynamic<tables, four_bits>();
    check_dynamic<linears, every<zp::weight_only_policy<>>>();
    check_dynamic<linears, every<zp::weight_only_policy<zp::qint4, 8>>>();
}
