// The algorithm policy: what a qconfig says reaches its layers, and changes neither results nor files.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv2d_algorithm;
using zp::op;

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
template <class... Options> struct with : zp::qconfig<activations, weights, Options...> {};

struct net : zp::model<zp::input<6, 6, 3>, zp::conv2d<"a", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::conv2d<"b", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                       zp::conv2d<"c", zp::conv{.out_channels = 16, .kernel = 3, .groups = 4}>, zp::flatten,
                       zp::linear<"d", 5>> {};

/// What computes each of the layers: "implicit_gemm depthwise direct implicit_gemm".
template <class Config> std::string algorithms_of() {
    std::string text;
    for (const zp::node& row : zp::quantized<net, Config>::rows())
        if (zp::is_weighted(row.kind))
            text += (text.empty() ? "" : " ") + std::string(zp::kernel::name_of(row.by.algorithm));
    return text;
}
template <class Config> std::string goals_of() {
    std::string text;
    for (const zp::node& row : zp::quantized<net, Config>::rows())
        if (zp::is_weighted(row.kind)) text += (text.empty() ? "" : " ") + std::string(zp::name_of(row.by.policy.goal));
    return text;
}

struct direct : with<zp::algorithm<conv2d_algorithm::direct>> {};
struct panels : with<zp::algorithm<conv2d_algorithm::implicit_gemm>> {};
struct tiles : with<zp::for_layer<"a", zp::algorithm<conv2d_algorithm::winograd_4x4>>,
                    zp::for_layer<"c", zp::algorithm<conv2d_algorithm::winograd_2x2>>> {};
struct mixed : with<zp::for_layer<"b", zp::algorithm<conv2d_algorithm::depthwise>>,
                    zp::for_type<op::linear, zp::algorithm<conv2d_algorithm::implicit_gemm>>,
                    zp::algorithm<conv2d_algorithm::direct>> {};

}  // namespace

TEST_CASE("algorithms: a qconfig names one for all layers, for a type, or for a layer, and the narrower goes first") {
    CHECK(algorithms_of<direct>() == "direct direct direct direct");
    CHECK(algorithms_of<panels>() == "implicit_gemm implicit_gemm implicit_gemm implicit_gemm");
    CHECK(algorithms_of<tiles>() == "winograd_4x4 depthwise winograd_2x2 implicit_gemm");
    CHECK(algorithms_of<mixed>() == "direct depthwise direct implicit_gemm");
    CHECK(goals_of<mixed>() == "named named named named");
    CHECK(goals_of<with<>>() == "balanced balanced balanced balanced");
    CHECK(goals_of<with<zp::for_type<op::conv2d, zp::algorithm<zp::fastest>>, zp::algorithm<zp::smallest>,
                        zp::for_layer<"c", zp::algorithm<zp::balanced>>>>() == "fastest fastest balanced smallest");
    // Among several the first that matches counts.
    CHECK(goals_of<with<zp::for_type<op::linear, zp::algorithm<zp::fastest>>,
                        zp::for_type<op::linear, zp::algorithm<zp::smallest>>>>() ==
          "balanced balanced balanced fastest");
    // `automatic` names none.
    CHECK(goals_of<with<zp::algorithm<conv2d_algorithm::automatic>>>() == "balanced balanced balanced balanced");
}

TEST_CASE("algorithms: an option beside one about numbers for the same layer") {
    using narrow = zp::qconfig<activations, zp::quantizer<zp::qint4, zp::per_channel_symmetric, zp::min_max_observer>>;
    using config = with<zp::for_layer<"a", zp::algorithm<conv2d_algorithm::direct>>, zp::for_layer<"a", narrow>>;
    const zp::node& row = zp::quantized<net, config>::rows()[2];
    CHECK(row.weights.quant_max == 7);
    CHECK(row.by.algorithm == conv2d_algorithm::direct);
}

TEST_CASE("algorithms: only those that a model takes are in its kernels") {
    constexpr zp::kernel_needs one =
        zp::needs_of(zp::quantized<net, direct>::stage::table.nodes, zp::quantized<net, direct>::stage::table.size);
    static_assert(one.has(conv2d_algorithm::direct) && !one.has(conv2d_algorithm::implicit_gemm) &&
                  !one.has(conv2d_algorithm::depthwise));
    static_assert(one.has(op::linear) && !one.has(op::add) && !one.has(op::concat));
    static_assert(one.signed_weights && !one.unsigned_weights && one.unsigned_codes && !one.signed_codes &&
                  !one.floats);
}

TEST_CASE("algorithms: kernels for sums with a residual are those of rows that have one") {
    struct block
        : zp::model<zp::input<6, 6, 3>, zp::conv2d<"a", zp::conv{.out_channels = 16}>,
                    zp::residual<zp::conv2d<"b", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                    zp::flatten, zp::linear<"c", 5>> {};
    constexpr zp::kernel_needs usual =
        zp::needs_of(zp::quantized<net, panels>::stage::table.nodes, zp::quantized<net, panels>::stage::table.size);
    static_assert(usual.algorithms != 0 && usual.residual_algorithms == 0);
    using stage = zp::quantized<block, with<>>::stage;
    constexpr zp::kernel_needs needs = zp::needs_of(stage::table.nodes, stage::table.size);
    static_assert(needs.has(conv2d_algorithm::depthwise, true) && !needs.has(conv2d_algorithm::depthwise, false));
    static_assert(needs.has(conv2d_algorithm::implicit_gemm, false) &&
                  !needs.has(conv2d_algorithm::implicit_gemm, true));
    static_assert(needs.has(conv2d_algorithm::depthwise) && !needs.has(conv2d_algorithm::direct));
    static_assert(!needs.has(op::add));
}

TEST_CASE("algorithms: all give the same results and the same file, which any of them loads") {
    const auto trained = made_up::network<net>(1);
    const auto calibration = made_up::inputs<net>(16, 1);
    const auto a = zp::convert(zp::calibrate(zp::prepare<direct>(trained), calibration));
    const auto b = zp::convert(zp::calibrate(zp::prepare<mixed>(trained), calibration));
    const auto c = zp::convert(zp::calibrate(zp::prepare<tiles>(trained), calibration));
    const std::vector<std::byte> file = zp::to_bytes(a);
    CHECK(file == zp::to_bytes(b));
    CHECK(file == zp::to_bytes(c));
    const auto loaded = zp::load<zp::quantized<net, panels>>(file, "file");
    for (const auto& x : made_up::inputs<net>(8, 2)) {
        std::vector<float> y(5), other(5);
        a(x, y);
        b(x, other);
        CHECK(y == other);
        c(x, other);
        CHECK(y == other);
        loaded(x, other);
        CHECK(y == other);
    }
}
