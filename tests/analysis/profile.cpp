// SPDX-License-Identifier: BSD-3-Clause
// Profiles: which rows are there, which float rows stand beside them, and that times are times.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/profile.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/causal_conv1d.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "inspected_network.hpp"

namespace {
namespace profile_test {

/// Takes at least this long.
struct slow {
    static constexpr const char* kind = "slow";
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static void forward(const zp::operands<float>& o) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
        std::copy_n(o.x(), o.x_shape().size(), o.y());
        while (std::chrono::steady_clock::now() < until) {}
    }
};
struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"a", zp::conv{.out_channels = 8}>, zp::relu,
                       zp::custom<"slow", slow>, zp::flatten, zp::linear<"fc", 10>> {};

struct attending : zp::model<zp::input<1, 8, 16>, zp::self_attention<"attention", 2>, zp::linear<"classes", 5>> {};

std::string names(const zp::network_profile& all) {
    std::string text;
    for (const zp::profiled_row& row : all.rows) text += row.name + " ";
    return text;
}
const zp::profiled_row& row_of(const zp::network_profile& all, const std::string& name) {
    for (const zp::profiled_row& row : all.rows)
        if (row.name == name) return row;
    FAIL("no row ", name);
    return all.rows.front();
}

}  // namespace profile_test
}  // namespace

TEST_CASE("profile: each row has its time, whichever stage") {
    using namespace profile_test;
    const auto trained = made_up::network<net>(1);
    const auto x = made_up::inputs<net>(1)[0];
    const zp::network_profile all = zp::profile(trained, x, {.seconds = 0.01});
    CHECK(names(all) == "a relu_2 slow flatten_4 fc ");
    CHECK(all.inferences >= 2);
    CHECK(all.float_nanoseconds < 0);
    CHECK(row_of(all, "slow").nanoseconds >= 290e3);  // less the clock's own time
    CHECK(row_of(all, "slow").float_nanoseconds < 0);
    CHECK(all.nanoseconds >= 290e3);
    for (const zp::profiled_row& row : all.rows) CHECK(row.nanoseconds >= 0);
    CHECK(row_of(all, "a").macs == 4 * 4 * 3 * 8);
    CHECK(row_of(all, "fc").macs == 128 * 10);
    CHECK(row_of(all, "slow").macs == 0);
    const std::string text = zp::to_string(all);
    CHECK(text.find("slow") != std::string::npos);
    CHECK(text.find("whole inference") != std::string::npos);
    CHECK(text.find("float us") == std::string::npos);
    CHECK_THROWS_AS(zp::profile(trained, std::vector<float>(3)), zp::shape_error);
}

TEST_CASE("profile: beside an int8 network the float rows that each of its rows stands for") {
    using namespace profile_test;
    const auto fused = zp::fuse(made_up::network<net>(1));
    const auto inputs = made_up::inputs<net>(40);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(fused), inputs));
    const zp::network_profile all = zp::profile(int8, fused, inputs[0], {.seconds = 0.02});
    CHECK(names(all) == "quantize_0 a dequantize_1 slow quantize_3 fc dequantize_5 ");
    CHECK(all.float_nanoseconds >= 290e3);
    CHECK(row_of(all, "slow").float_nanoseconds >= 290e3);
    for (const char* name : {"a", "fc"}) {
        CHECK(row_of(all, name).float_nanoseconds >= 0);
        CHECK(row_of(all, name).float_nanoseconds < 290e3);
    }
    for (const char* name : {"quantize_0", "dequantize_1", "dequantize_5"})
        CHECK(row_of(all, name).float_nanoseconds < 0);
    const std::string text = zp::to_string(all);
    CHECK(text.find("times as fast") != std::string::npos);

    const std::string json = zp::to_json(all);
    CHECK(json.find("\"rows\": [") != std::string::npos);
    CHECK(json.find("\"name\": \"slow\", \"operation\": \"slow\", \"macs\": 0, \"nanoseconds\": ") !=
          std::string::npos);
    CHECK(json.find("\"name\": \"quantize_0\"") != std::string::npos);
    CHECK(json.find("\"float_nanoseconds\": null") != std::string::npos);
}

TEST_CASE("profile: float rows that became one operator belong to that") {
    using namespace profile_test;
    using every = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>;
    const auto fused = zp::fuse(made_up::network<attending>(1));
    const auto x = made_up::inputs<attending>(1)[0];
    zp::network_profile all = zp::profile(zp::quantize_dynamic<every>(fused), fused, x, {.seconds = 0});
    const std::size_t float_rows = fused.rows().size();
    REQUIRE(all.rows.size() + 3 < float_rows);  // the products and the softmax of attention are one row
    std::vector<double> times;
    for (std::size_t i = 0; i != float_rows; ++i) times.push_back(std::ldexp(1, static_cast<int>(i)));
    for (zp::profiled_row& row : all.rows) row.float_nanoseconds = -1;
    zp::detail::add_float_times<zp::dynamic_stage<attending, every>, zp::fused_stage<attending>>(all, times);
    double sum = 1;  // of the input, which nothing computes
    for (const zp::profiled_row& row : all.rows) sum += std::max(row.float_nanoseconds, 0.0);
    CHECK(sum == std::ldexp(1, static_cast<int>(float_rows)) - 1);
}

TEST_CASE("profile: merged sums and functions count with their layer, and no float row twice") {
    using namespace profile_test;
    const auto calibrated = inspected::calibrated();
    const auto fused = zp::fuse(inspected::trained());
    const auto x = made_up::inputs<inspected::net>(1)[0];
    const zp::network_profile all = zp::profile(zp::convert(calibrated), fused, x, {.seconds = 0.01});
    const zp::network_profile floats = zp::profile(fused, x, {.seconds = 0.01});
    CHECK(names(floats) == "one two add_5 three silu_7 pool a concat_10 fc ");
    // Powers of two as times of the float rows: input, one, two, add, three, silu, pool, a, concat, fc.
    using int8_stage = zp::quantized_stage<inspected::net, inspected::qconfig>;
    using float_stage = zp::fused_stage<inspected::net>;
    zp::network_profile made = all;
    for (zp::profiled_row& row : made.rows) row.float_nanoseconds = -1;
    zp::detail::add_float_times<int8_stage, float_stage>(made, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
    std::string beside;
    for (const zp::profiled_row& row : made.rows)
        if (row.float_nanoseconds >= 0)
            beside += row.name + " " + std::to_string(static_cast<int>(row.float_nanoseconds)) + ", ";
    CHECK(beside == "one 2, two 12, three 48, pool 64, a 128, concat_10 256, fc 512, ");

    const zp::network_profile dynamic = zp::profile(zp::quantize_dynamic(fused), fused, x, {.seconds = 0.01});
    for (const zp::profiled_row& row : dynamic.rows) CHECK(row.float_nanoseconds >= 0);
}

TEST_CASE("profile: rows that floats compute faster are warned of") {
    zp::network_profile all;
    all.rows.push_back({1, "slower", "gru", 0, 160, 110});
    all.rows.push_back({2, "a_little", "linear", 0, 120, 111});  // within what times are sure to
    all.rows.push_back({3, "floats", "custom", 0, 160, 110, true});
    all.rows.push_back({4, "alone", "quantize", 0, 160});
    all.nanoseconds = 500;
    CHECK(all.warnings().empty() == false);
    REQUIRE(all.warnings().size() == 1);
    CHECK(all.warnings()[0] ==
          "slower takes 160 ns, in float32 110: zp::keep_float<\"slower\"> may be faster, what it costs to leave and "
          "enter "
          "codes counted");
    all.float_nanoseconds = 400;
    REQUIRE(all.warnings().size() == 2);
    CHECK(all.warnings()[1] ==
          "the whole network takes 500 ns, in float32 400: on this machine it is faster as it was");
    CHECK(zp::to_string(all).find("warning: slower takes") != std::string::npos);
    CHECK(zp::to_json(all).find("\"warnings\": [\"slower takes 160 ns") != std::string::npos);
    all.rows.erase(all.rows.begin());
    all.nanoseconds = 300;
    CHECK(all.warnings().empty());
}

TEST_CASE("profile: steps of a stream beside those of the float network") {
    using namespace profile_test;
    struct sequence
        : zp::model<zp::input<1, 12, 5>, zp::causal_conv1d<"a", zp::conv{.out_channels = 8, .kernel = 3}>, zp::tanh,
                    zp::avg_pool1d<2>,
                    zp::residual<zp::causal_conv1d<"b", zp::conv{.out_channels = 8, .kernel = 2, .dilation = 2}>>,
                    zp::linear<"fc", 4>> {};
    const auto fused = zp::fuse(made_up::network<sequence>(1));
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(fused), made_up::inputs<sequence>(2)));
    const zp::streaming<std::remove_cvref_t<decltype(int8)>> stream(int8);
    const zp::streaming<std::remove_cvref_t<decltype(fused)>> float_stream(fused);
    const std::vector<float> x = made_up::values(2 * 5, 3);
    zp::network_profile all = zp::profile(stream.step_network(), float_stream.step_network(), x, {.seconds = 0});
    CHECK(all.float_nanoseconds >= 0);
    using step_stage = std::remove_cvref_t<decltype(stream.step_network())>::stage;
    using float_stage = std::remove_cvref_t<decltype(float_stream.step_network())>::stage;
    const auto owner_of = [&](const std::string& float_row) {  // of the rows of the int8 steps
        std::vector<double> times(float_stage::table.size);
        for (int i = 0; i != float_stage::table.size; ++i)
            times[static_cast<std::size_t>(i)] = zp::display_name(float_stage::table.nodes[i], i) == float_row;
        std::string owners;
        for (zp::profiled_row& row : all.rows) row.float_nanoseconds = -1;
        zp::detail::add_float_times<step_stage, float_stage>(all, times);
        for (const zp::profiled_row& row : all.rows)
            if (row.float_nanoseconds > 0) owners += row.name + " ";
        return owners;
    };
    // What keeps positions stands beside what does so, a function that was fused beside its layer.
    for (const char* row : {"window_2", "a", "avg_pool2d_4", "window_6", "b", "fc"})
        CHECK(owner_of(row) == std::string(row) + " ");
    CHECK(owner_of("tanh_3") == "a ");
    CHECK(owner_of("add_7") == "b ");
    CHECK(owner_of("input").empty());
}
