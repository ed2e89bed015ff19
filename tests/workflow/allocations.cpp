// SPDX-License-Identifier: BSD-3-Clause
// Inference allocates nothing, is const and noexcept, and its memory is known when the program is compiled.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/counted_new.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::keep_float<"late">> {};

struct all_int8 : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                              zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// Every kind of row there is.
struct net
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"a", conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::batch_norm2d<"bn">, zp::relu,
                zp::residual<zp::conv2d<"b", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::hardswish>,
                zp::max_pool2d<2>,
                zp::concat<zp::identity, zp::sigmoid, zp::conv2d<"c", conv{.out_channels = 2, .groups = 2}>>, zp::relu6,
                zp::avg_pool2d<2>, zp::batch_norm2d<"late">, zp::tanh, zp::adaptive_avg_pool2d<1>, zp::flatten,
                zp::linear<"d", 5>, zp::leaky_relu<>> {};
using int8 = zp::quantized<net, config>;
using float32 = zp::float_model<net>;
using input = std::array<float, 192>;
using output = std::array<float, 5>;

template <class Network, class X, class Y>
constexpr bool runs_noexcept = noexcept(std::declval<const Network&>()(
    std::declval<const X&>(),
    std::declval<Y&>())) && noexcept(std::declval<const Network&>()(std::declval<const X&>(), std::declval<Y&>(),
                                                                    std::declval<typename Network::workspace&>()));
static_assert(runs_noexcept<int8, input, output> && runs_noexcept<float32, input, output> &&
              runs_noexcept<zp::fused<net>, input, output>);
static_assert(runs_noexcept<int8, zp::nchw_values<input>, output>);
static_assert(noexcept(std::declval<const int8&>().run(std::declval<const float*>(), std::declval<float*>(),
                                                       std::declval<std::byte*>())));
static_assert(std::integral_constant<int, int8::arena_bytes>::value > 0 && int8::arena_bytes < float32::arena_bytes);
static_assert(std::integral_constant<int, int8::parameter_bytes>::value > 0);
static_assert(sizeof(int8::workspace) == int8::arena_bytes);
static_assert(std::is_trivially_destructible_v<int8::workspace>);

template <class Network> long allocations_of(const Network& model, const input& x) {
    output y{};
    typename Network::workspace memory;
    const std::vector<float> vector_x(x.begin(), x.end());
    std::vector<float> vector_y(5);
    const long before = zp_test::allocations;
    for (int i = 0; i != 3; ++i) {
        model(x, y);
        model(x, y, memory);
        model(zp::nchw(x), y);
        model(vector_x, vector_y);
    }
    return zp_test::allocations - before;
}

}  // namespace

TEST_CASE("allocations: float and int8 inference make none") {
    long before = zp_test::allocations;
    ::operator delete(::operator new(4));
    CHECK(zp_test::allocations - before == 1);  // the counter counts
    before = zp_test::allocations;
    { const zp::aligned_buffer one(100); }
    CHECK(zp_test::allocations - before == 1);

    const auto trained = made_up::network<net>(1);
    const auto inputs = made_up::inputs<net>(4, 1);
    input x;
    std::copy(inputs[0].begin(), inputs[0].end(), x.begin());
    CHECK(allocations_of(trained, x) == 0);
    CHECK(allocations_of(zp::fuse(trained), x) == 0);
    CHECK(allocations_of(zp::convert(zp::calibrate(zp::prepare<config>(trained), inputs)), x) == 0);
}

TEST_CASE("allocations: neither do calls with several inputs and outputs, nor results by value") {
    struct ports : zp::model<zp::named<"a", zp::input<4, 4, 2>>, zp::conv2d<"conv", conv{.out_channels = 3}>,
                             zp::named<"a_features", zp::relu>, zp::named<"b", zp::input<4, 4, 1>>,
                             zp::concat<zp::from<"a_features">, zp::identity>, zp::output<"both">, zp::flatten,
                             zp::linear<"fc", 5>, zp::output<"fc">> {};
    const auto trained = made_up::network<ports>(1);
    const auto a = made_up::values(32, 1), b = made_up::values(16, 2);
    struct plain : zp::qconfig<config::activation, config::weight> {};
    const auto converted = zp::convert(zp::calibrate(zp::prepare<plain>(trained), zp::in(a, b)));
    const auto count = [&](const auto& model) {
        std::array<float, 64> both{};
        std::array<float, 5> fc{};
        typename std::remove_cvref_t<decltype(model)>::workspace memory;
        const long before = zp_test::allocations;
        model(zp::in(a, b), zp::out(both, fc), memory);
        model(zp::in(zp::as<"b">(b), zp::as<"a">(zp::nchw(a))), zp::out(both, fc));
        return zp_test::allocations - before;
    };
    CHECK(count(trained) == 0);
    CHECK(count(converted) == 0);
    const auto single = made_up::network<net>(1);
    input x{};
    const long before = zp_test::allocations;
    const output y = single(x);
    CHECK(zp_test::allocations == before);
    CHECK(y.size() == 5);
}

TEST_CASE("allocations: a network is one allocation, that of its parameters") {
    const auto trained = made_up::network<net>(1);
    const long before = zp_test::allocations;
    const float32 copy = trained;
    CHECK(zp_test::allocations - before == 1);
    CHECK(copy.parameters() != trained.parameters());
}

TEST_CASE("allocations: a step of a recurrent layer makes none, nor does an encoder") {
    const auto weights = made_up::values(3 * 16 * 8, 1), hidden_weights = made_up::values(3 * 16 * 16, 2);
    using gru = zp::dynamic_gru<8, 16>;
    const gru layer(weights, hidden_weights);
    static gru::workspace scratch;
    gru::state state;
    std::vector<float> x(8, 0.5f), y(16);
    constexpr zp::transformer options{.model = 8, .heads = 2, .feed_forward = 16};
    using encoder_layer = zp::transformer_encoder_layer<options, 3>;
    const std::vector<float> ones(64 * 8, 0.1f);
    const encoder_layer encoder([&](const std::string&, int rows, int columns, bool) {
        const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns == 0 ? 1 : columns);
        return std::span(ones).first(size);
    });
    static encoder_layer::workspace memory;
    std::vector<float> rows(24, 0.25f);
    const long before = zp_test::allocations;
    for (int i = 0; i != 3; ++i) {
        layer(x, state, y, scratch);
        encoder(rows, rows, memory);
    }
    CHECK(zp_test::allocations == before);
}

TEST_CASE("allocations: a step of a stream makes none") {
    struct sequence
        : zp::model<zp::input<1, 9, 6>, zp::zero_pad2d<zp::sides(2, 0, 0, 0)>,
                    zp::conv1d<"a", conv{.out_channels = 8, .kernel = 3}>, zp::relu,
                    zp::max_pool1d<zp::pool{.kernel = 3, .stride = 2, .padding = 1}>,
                    zp::conv_transpose1d<"b", zp::conv_transpose{.out_channels = 4, .kernel = 3, .stride = 2}>> {};
    const auto trained = made_up::network<sequence>(1);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<all_int8>(trained), made_up::inputs<sequence>(2, 1)));
    zp::streaming<zp::float_model<sequence>> floats(trained);
    zp::streaming<zp::quantized<sequence, all_int8>> codes(int8);
    std::array<float, 12> x{};
    std::array<float, 8> y{};
    static_assert(noexcept(codes(x, y)));
    const long before = zp_test::allocations;
    for (int i = 0; i != 3; ++i) {
        floats(x, y);
        codes(x, y);
    }
    codes.reset();
    CHECK(zp_test::allocations == before);
}

TEST_CASE("allocations: recurrent rows make none") {
    struct sequences : zp::model<zp::input<1, 20, 6>, zp::lstm<"a", 16, zp::recurrent_options{.bidirectional = true}>,
                                 zp::gru<"b", 8, zp::recurrent_options{.output = zp::recurrent_output::last_step}>> {};
    const auto trained = made_up::network<sequences>(1);
    const auto inputs = made_up::inputs<sequences>(2, 1);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<all_int8>(trained), inputs));
    const auto dynamic =
        zp::quantize_dynamic<zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>>(trained);
    std::vector<float> y(8);
    const long before = zp_test::allocations;
    for (int i = 0; i != 2; ++i) {
        trained(inputs[0], y);
        int8(inputs[0], y);
        dynamic(inputs[0], y);
    }
    CHECK(zp_test::allocations == before);
}

TEST_CASE("a call of a thread_pool allocates nothing") {
    const zp::executors::thread_pool pool(3, std::chrono::microseconds(10));
    std::atomic<int> parts = 0;
    pool.run(3, [&](int) { ++parts; });  // threads have begun
    const long before = zp_test::allocations;
    for (int call = 0; call != 100; ++call) pool.run(3, [&](int) { ++parts; });
    CHECK(zp_test::allocations == before);
    CHECK(parts == 303);
}
