// Sensitivity sweeps: both ways to run one agree, and a row that is made bad is found.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/sensitivity.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace {
namespace sensitivity_test {

struct net
    : zp::model<zp::input<6, 6, 3>, zp::conv2d<"one", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>, zp::relu,
                zp::residual<zp::conv2d<"two", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>>,
                zp::max_pool2d<2>, zp::conv2d<"three", zp::conv{.out_channels = 8}>, zp::relu, zp::flatten,
                zp::linear<"fc", 6>> {};
/// Three bits for the weights of one layer.
struct bad_layer
    : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight,
                  zp::for_layer<"three", zp::qconfig<zp::default_qconfig::activation,
                                                     zp::quantizer<zp::custom_range<std::int8_t, -3, 3>,
                                                                   zp::per_channel_symmetric, zp::min_max_observer>>>> {
};

}  // namespace sensitivity_test
}  // namespace

TEST_CASE("sensitivity: by a metric and by a stream of inputs, the same figures") {
    using namespace sensitivity_test;
    const auto calibrated = zp::calibrate(zp::prepare<bad_layer>(made_up::network<net>(1)), made_up::inputs<net>(16));
    const auto inputs = made_up::inputs<net>(8, 5);
    const auto fused = zp::fuse(made_up::network<net>(1));
    const auto simulated = zp::simulate(calibrated);
    int calls = 0;
    const auto sqnr = [&](const auto& model) {  // written apart from the library's
        ++calls;
        double signal = 0, noise = 0;
        for (const auto& x : inputs) {
            const auto real = fused(x), y = model(x);
            for (std::size_t k = 0; k != y.size(); ++k) {
                signal += std::pow(double{real[k]}, 2);
                noise += std::pow(double{real[k]} - double{y[k]}, 2);
            }
        }
        return 10 * std::log10(signal / noise);
    };
    std::size_t told = 0;
    const auto by_metric =
        zp::sensitivity(simulated, sqnr, zp::switched::both, [&](std::size_t done, std::size_t) { told = done; });
    const auto by_stream = zp::sensitivity(simulated, inputs);
    REQUIRE(by_metric.rows.size() == 5);  // input, one, two + add, three, fc
    REQUIRE(by_stream.rows.size() == 5);
    CHECK(calls == 12);
    CHECK(told == 12);
    CHECK(std::isinf(by_stream.floats));
    CHECK(by_stream.quantized == doctest::Approx(by_metric.quantized).epsilon(1e-9));
    for (std::size_t r = 0; r != 5; ++r) {
        CHECK(by_stream.rows[r].alone == doctest::Approx(by_metric.rows[r].alone).epsilon(1e-9));
        CHECK(by_stream.rows[r].without == doctest::Approx(by_metric.rows[r].without).epsilon(1e-9));
        CHECK(by_stream.rows[r].alone > by_stream.quantized - 1);
    }
    // The layer of three bits is the worst, and without it the network is much better.
    CHECK(by_stream.worst()[0].what.name == "three");
    CHECK(by_stream.rows[3].without > by_stream.quantized + 6);
    CHECK(zp::to_string(by_stream).find("  three  ") < zp::to_string(by_stream).find("  one  "));
    CHECK(zp::to_json(by_stream).find("\"floats\": null") != std::string::npos);

    // Its weights, and not what it gives.
    const auto weights = zp::sensitivity(simulated, inputs, zp::switched::weights);
    const auto values = zp::sensitivity(simulated, inputs, zp::switched::values);
    REQUIRE(weights.rows.size() == 4);
    REQUIRE(values.rows.size() == 5);
    CHECK(weights.rows[2].alone == doctest::Approx(by_stream.rows[3].alone).epsilon(0.01));
    CHECK(values.rows[3].alone > by_stream.rows[3].alone + 10);
}
