// SPDX-License-Identifier: BSD-3-Clause
// Models of several inputs and outputs through the whole way: calibration, int8, files, dynamic products, tables, streams; codes at ports.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/fixed_qparams_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/workflow/calibration_report.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

using zp_test::error_of;
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct config : zp::qconfig<activations, weights> {};

// Two images, two heads.
struct stereo
    : zp::model<zp::named<"left", zp::input<6, 5, 3>>,
                zp::named<"near", zp::conv2d<"l", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>>,
                zp::named<"right", zp::input<6, 5, 1>>,
                zp::concat<zp::from<"near">, zp::conv2d<"r", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>>,
                zp::named<"both", zp::conv2d<"mix", zp::conv{.out_channels = 16}>>, zp::relu, zp::output<"depth">,
                zp::flatten, zp::linear<"classes", 5>, zp::output<"scores">> {};
// Token ids, token types and a float for each token.
struct sentences : zp::model<zp::named<"ids", zp::indices<4>>,
                             zp::add<zp::embedding<"words", 50, 32>,
                                     zp::sequential<zp::named<"types", zp::indices<4>>, zp::embedding<"kinds", 2, 32>>>,
                             zp::named<"sum", zp::relu>, zp::named<"weight", zp::input<1, 4, 1>>,
                             zp::concat<zp::from<"sum">, zp::identity>, zp::linear<"hidden", 128>, zp::relu,
                             zp::output<"hidden">, zp::linear<"logits", 48>, zp::output<"logits">> {};

constexpr std::size_t left_size = 90, right_size = 30, depth_size = 480, scores_size = 5;
struct stereo_result {
    std::vector<float> depth = std::vector<float>(depth_size);
    std::array<float, scores_size> scores{};
    bool operator==(const stereo_result&) const = default;
};
template <class Network> stereo_result run_stereo(const Network& model, std::uint64_t seed) {
    const auto left = made_up::values(left_size, seed), right = made_up::values(right_size, seed + 100);
    stereo_result y;
    model(zp::in(left, right), zp::out(y.depth, y.scores));
    return y;
}
struct sentence {
    std::array<std::int32_t, 4> ids{}, types{};
    std::array<float, 4> weight{};
};
sentence made_up_sentence(std::uint64_t seed) {
    made_up::generator next(seed);
    sentence s;
    for (std::size_t i = 0; i != 4; ++i) {
        s.ids[i] = static_cast<std::int32_t>(next.real(0, 49.9f));
        s.types[i] = static_cast<std::int32_t>(next.real(0, 1.9f));
        s.weight[i] = next.real(-1, 1);
    }
    return s;
}
struct sentence_result {
    std::array<float, 512> hidden{};
    std::array<float, 192> logits{};
    bool operator==(const sentence_result&) const = default;
};
template <class Network> sentence_result run_sentence(const Network& model, std::uint64_t seed) {
    const sentence s = made_up_sentence(seed);
    sentence_result y;
    model(zp::in(s.ids, s.types, s.weight), zp::out(y.hidden, y.logits));
    return y;
}
/// Signal above error, in decibels.
double decibels(std::span<const float> real, std::span<const float> rounded) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != real.size(); ++i) {
        signal += double{real[i]} * double{real[i]};
        noise += std::pow(double{real[i]} - double{rounded[i]}, 2);
    }
    return 10 * std::log10(signal / noise);
}
using image_pairs = std::vector<std::tuple<std::vector<float>, std::vector<float>>>;
image_pairs pairs_of_images(std::size_t count) {
    image_pairs all;
    for (std::size_t i = 0; i != count; ++i)
        all.emplace_back(made_up::values(left_size, i), made_up::values(right_size, i + 100));
    return all;
}
template <class Config> auto stereo_under() {
    return zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<stereo>(1)), pairs_of_images(16)));
}
struct every_layer {
    static constexpr const char* why_float(const zp::node_view&) { return nullptr; }
};
using dynamic_config = zp::dynamic_qconfig<zp::dynamic_policy<>, every_layer>;
/// Whether the printed table of a network has these names.
template <class Network> void check_printed(const Network& model, std::initializer_list<const char*> names) {
    const std::string text = zp::to_string(model);
    for (const char* name : names) {
        CAPTURE(name);
        CHECK(text.find(name) != std::string::npos);
    }
}
template <class Network> std::vector<zp::qparams> ranges_of(const Network& model) {
    return {model.ranges(), model.ranges() + Network::stage::table.qparams_count};
}

}  // namespace

TEST_CASE("ports: two images and two heads in int8, near the floats, and equal after a file") {
    const auto trained = made_up::network<stereo>(1);
    const auto fused = zp::fuse(trained);
    const auto int8 = stereo_under<config>();
    for (std::uint64_t seed = 0; seed != 4; ++seed) {
        const stereo_result real = run_stereo(trained, seed), folded = run_stereo(fused, seed),
                            coded = run_stereo(int8, seed);
        CHECK(decibels(real.depth, folded.depth) > 100);
        CHECK(decibels(real.depth, coded.depth) > 30);
        CHECK(decibels(real.scores, coded.scores) > 25);
    }
    const auto again = zp::load<zp::quantized<stereo, config>>(zp::to_bytes(int8));
    CHECK(run_stereo(again, 7) == run_stereo(int8, 7));
    // No float/int8 boundary is inside: all stand at ports.
    static_assert(zp::budget_of<zp::quantized<stereo, config>>.boundaries == 0);
    check_printed(int8, {"left", "right", "output", "depth", "scores"});
}

TEST_CASE("ports: two images and two heads with dynamic products, near the floats, and equal after a file") {
    const auto trained = made_up::network<stereo>(1);
    const auto dynamic = zp::quantize_dynamic<dynamic_config>(trained);
    const auto again = zp::load<zp::dynamically_quantized<stereo, dynamic_config>>(zp::to_bytes(dynamic));
    for (std::uint64_t seed = 0; seed != 4; ++seed) {
        const stereo_result real = run_stereo(trained, seed), on_the_fly = run_stereo(dynamic, seed);
        CHECK(decibels(real.depth, on_the_fly.depth) > 30);
        CHECK(decibels(real.scores, on_the_fly.scores) > 25);
        CHECK(on_the_fly != real);
        CHECK(run_stereo(again, seed) == on_the_fly);
    }
    check_printed(dynamic, {"left", "right", "output", "depth", "scores", "dynamic"});
}

TEST_CASE("ports: what is given out keeps a range of its own where a concat reads it too") {
    struct given
        : zp::model<
              zp::input<2, 2, 4>, zp::conv2d<"a", zp::conv{.out_channels = 4}>, zp::output<"a">,
              zp::concat<zp::identity, zp::sequential<zp::from<"input">, zp::conv2d<"b", zp::conv{.out_channels = 4}>>>,
              zp::output<"all">> {};
    const auto int8 =
        zp::convert(zp::calibrate(zp::prepare<config>(made_up::network<given>(1)), made_up::inputs<given>(4)));
    using network = zp::quantized<given, config>;
    const auto id_of = [](const char* name) {
        return network::stage::table.nodes[zp::node_named(network::stage::table, name)].out.qparams_id;
    };
    CHECK(id_of("a") != id_of("b"));
    CHECK(network::outputs().size() == 2);
}

TEST_CASE("ports: ids, types and a feature in int8, dynamic, and after files") {
    const auto trained = made_up::network<sentences>(2);
    std::vector<std::tuple<std::array<std::int32_t, 4>, std::array<std::int32_t, 4>, std::array<float, 4>>> batches;
    for (std::uint64_t seed = 0; seed != 64; ++seed) {
        const sentence s = made_up_sentence(seed);
        batches.emplace_back(s.ids, s.types, s.weight);
    }
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(trained), batches));
    const auto dynamic = zp::quantize_dynamic(trained);
    for (std::uint64_t seed = 100; seed != 104; ++seed) {
        const sentence_result real = run_sentence(trained, seed), coded = run_sentence(int8, seed),
                              on_the_fly = run_sentence(dynamic, seed);
        CHECK(decibels(real.hidden, coded.hidden) > 28);
        CHECK(decibels(real.logits, coded.logits) > 25);
        CHECK(decibels(real.hidden, on_the_fly.hidden) > 30);
        CHECK(decibels(real.logits, on_the_fly.logits) > 30);
        CHECK(on_the_fly != real);
    }
    using quantized = zp::quantized<sentences, config>;
    using dynamically_quantized = zp::dynamically_quantized<sentences>;
    check_printed(int8, {"ids", "types", "weight", "hidden", "logits"});
    check_printed(dynamic, {"ids", "types", "weight", "hidden", "logits"});
    CHECK(run_sentence(zp::load<quantized>(zp::to_bytes(int8)), 9) == run_sentence(int8, 9));
    CHECK(run_sentence(zp::load<dynamically_quantized>(zp::to_bytes(dynamic)), 9) == run_sentence(dynamic, 9));
}

TEST_CASE(
    "ports: a batch is a tuple that owns its ranges, or zp::in of ranges that are there, of as many inputs each") {
    const auto expected = ranges_of(stereo_under<config>());
    std::vector<float> left, right;
    std::vector<std::pair<std::vector<float>, std::vector<float>>> two;
    for (const auto& [l, r] : pairs_of_images(16)) {
        left.insert(left.end(), l.begin(), l.end());
        right.insert(right.end(), r.begin(), r.end());
        two.emplace_back(l, r);
    }
    const auto prepare = [] { return zp::prepare<config>(made_up::network<stereo>(1)); };
    CHECK(ranges_of(zp::convert(zp::calibrate(prepare(), zp::in(left, right)))) == expected);
    CHECK(ranges_of(zp::convert(zp::calibrate(prepare(), zp::in(zp::as<"right">(right), zp::as<"left">(left))))) ==
          expected);
    CHECK(ranges_of(zp::convert(zp::calibrate(prepare(), two))) == expected);
    CHECK(ranges_of(zp::convert(zp::calibrate(prepare(), zp::in(left, zp::nchw(right))))) == expected);  // one channel
    CHECK(zp::calibrate(prepare(), zp::in(left, right)).samples() == 16);

    right.resize(15 * right_size);
    CHECK(error_of<zp::shape_error>([&] { zp::calibrate(prepare(), zp::in(left, right)); }) ==
          "a calibration batch must hold as many inputs of every port, but \"left\" has 16 and \"right\" has 15");
    right.pop_back();
    CHECK(error_of<zp::shape_error>([&] { zp::calibrate(prepare(), zp::in(left, right)); }) ==
          "a calibration batch must hold one or more inputs of \"right\", 6x5x1, that is a multiple of 30 floats, but "
          "449 "
          "came");
    const std::string report = zp::to_string(zp::report(zp::calibrate(prepare(), two)));
    CHECK(report.find("\nleft ") != std::string::npos);
    CHECK(report.find("\nright ") != std::string::npos);
}

namespace {

struct bytes_in : zp::qconfig<activations, weights, zp::codes_in<"left">, zp::codes_out<"scores">> {};
struct all_codes : zp::qconfig<activations, weights, zp::codes_in<"left">, zp::codes_in<"right">,
                               zp::codes_out<"depth">, zp::codes_out<"scores">> {};
std::vector<std::uint8_t> quantized_codes(const std::vector<float>& x, const zp::qparams& range) {
    std::vector<std::uint8_t> codes;
    for (const float value : x) codes.push_back(zp::quantize<zp::quint8>(value, range));
    return codes;
}

}  // namespace

TEST_CASE("ports: codes in and codes out are those of the network that takes and gives floats") {
    const auto floats = stereo_under<config>();
    const auto coded = stereo_under<bytes_in>();
    using network = zp::quantized<stereo, bytes_in>;
    static_assert(network::inputs()[0].storage == zp::scalar_type::uint8 &&
                  network::inputs()[1].storage == zp::scalar_type::float32 &&
                  network::outputs()[1].storage == zp::scalar_type::uint8);
    for (const zp::node& n : network::rows())  // one is left: that of the right image
        CHECK((!n.op->is_boundary || n.is_float() || n.inputs[0] == network::inputs()[1].node));
    CHECK(coded.qparams_of<"left">() == floats.ranges()[0]);
    for (std::uint64_t seed = 0; seed != 4; ++seed) {
        const stereo_result expected = run_stereo(floats, seed);
        const auto left = quantized_codes(made_up::values(left_size, seed), coded.qparams_of<"left">());
        const auto right = made_up::values(right_size, seed + 100);
        stereo_result y;
        std::array<std::uint8_t, scores_size> scores{};
        coded(zp::in(left, right), zp::out(y.depth, scores));
        CHECK(y.depth == expected.depth);
        for (std::size_t i = 0; i != scores_size; ++i)
            CHECK(zp::dequantize(scores[i], coded.qparams_of<"scores">()) == expected.scores[i]);
    }
    const auto everywhere = stereo_under<all_codes>();
    for (const zp::node& n : everywhere.rows()) CHECK(!n.op->is_boundary);
    std::vector<std::uint8_t> depth(depth_size);
    std::array<std::uint8_t, scores_size> scores{};
    const auto left = quantized_codes(made_up::values(left_size, 3), everywhere.qparams_of<"left">()),
               right = quantized_codes(made_up::values(right_size, 103), everywhere.qparams_of<"right">());
    everywhere(zp::in(left, right), zp::out(depth, scores));
    const stereo_result expected = run_stereo(floats, 3);
    for (std::size_t i = 0; i != depth_size; ++i)
        CHECK(zp::dequantize(depth[i], everywhere.qparams_of<"depth">()) == expected.depth[i]);
    const auto again = zp::load<zp::quantized<stereo, all_codes>>(zp::to_bytes(everywhere));
    std::vector<std::uint8_t> depth_again(depth_size);
    again(zp::in(left, right), zp::out(depth_again, scores));
    CHECK(depth_again == depth);
    check_printed(again, {"left", "right", "uint8", "depth", "scores"});
    CHECK_THROWS_AS((zp::load<zp::quantized<stereo, config>>(zp::to_bytes(everywhere))), zp::file_error);
    std::vector<std::uint8_t> wrong(3);
    CHECK(error_of<zp::shape_error>([&] { everywhere(zp::in(wrong, right), zp::out(depth, scores)); }) ==
          "the model's input \"left\" is 6x5x3, that is 90 codes, but a range of 3 came");
}

namespace {

struct camera : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 8, .kernel = 3}>, zp::relu,
                          zp::flatten, zp::linear<"fc", 4>> {};
struct bytes
    : zp::qconfig<
          zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::fixed_qparams_observer<zp::qparams_of_bytes(0.5, 0.5)>>,
          weights> {};
template <class Code>
using activations_of = zp::quantizer<std::conditional_t<std::is_same_v<Code, std::int8_t>, zp::qint8, zp::quint8>,
                                     zp::per_tensor_affine, zp::min_max_observer>;
template <class Code> struct float_ends : zp::qconfig<activations_of<Code>, weights, zp::for_layer<"input", bytes>> {};
template <class Code>
struct coded_ends
    : zp::qconfig<activations_of<Code>, weights, zp::for_layer<"input", bytes>, zp::codes_in<>, zp::codes_out<>> {};

}  // namespace

TEST_CASE_TEMPLATE("ports: the bytes of a camera are codes, whatever calibration saw, and the output's codes come",
                   Code, std::uint8_t, std::int8_t) {
    const auto trained = made_up::network<camera>(4);
    const auto inputs = made_up::inputs<camera>(8, 1, -0.3f, 0.4f);
    const auto floats = zp::convert(zp::calibrate(zp::prepare<float_ends<Code>>(trained), inputs));
    const auto coded = zp::convert(zp::calibrate(zp::prepare<coded_ends<Code>>(trained), inputs));
    const zp::qparams in = coded.template qparams_of<"input">(), out = coded.template qparams_of<"output">();
    CHECK(in == zp::qparams{static_cast<float>(2 / 255.0), 128});
    std::array<float, 48> x{};
    std::array<std::uint8_t, 48> image{};
    made_up::generator next(9);
    for (std::size_t i = 0; i != 48; ++i) {
        image[i] = static_cast<std::uint8_t>(next.real(0, 255.9f));
        x[i] = zp::dequantize(image[i], in);
        CHECK(x[i] == doctest::Approx((image[i] / 255.0 - 0.5) / 0.5).epsilon(0.005));
    }
    const std::array<float, 4> expected = floats(x);
    const auto y = coded(image);
    static_assert(std::is_same_v<decltype(y), const std::array<Code, 4>>&& noexcept(coded(image)));
    for (std::size_t i = 0; i != 4; ++i) CHECK(zp::dequantize(y[i], out) == expected[i]);
    CHECK(y[0] != y[1]);
    for (const zp::node& n : coded.rows()) CHECK(!n.op->is_boundary);
    // Planes, as many cameras give them.
    std::array<std::uint8_t, 48> planes{};
    for (std::size_t pixel = 0; pixel != 16; ++pixel)
        for (std::size_t c = 0; c != 3; ++c) planes[c * 16 + pixel] = image[pixel * 3 + c];
    CHECK(coded(zp::nchw(planes)) == y);
}

TEST_CASE("ports: calibration takes a camera's bytes as what they stand for") {
    const auto trained = made_up::network<camera>(4);
    made_up::generator next(5);
    std::vector<std::uint8_t> images(3 * 48);
    for (std::uint8_t& byte : images) byte = static_cast<std::uint8_t>(next.real(0, 255.9f));
    std::vector<float> floats(images.size());
    zp::dequantize<zp::quint8>(images, zp::qparams_of_bytes(0.5, 0.5), floats);
    using config = coded_ends<std::uint8_t>;
    const auto wanted = zp::calibrate(zp::prepare<config>(trained), floats);
    const auto check = [&](const auto& found) {
        CHECK(found.samples() == 3);
        const auto a = zp::convert(wanted), b = zp::convert(found);
        const std::span x(std::as_const(a).parameters(), a.parameter_bytes);
        CHECK(std::ranges::equal(x, std::span(std::as_const(b).parameters(), b.parameter_bytes)));
    };
    check(zp::calibrate(zp::prepare<config>(trained), images));
    check(zp::calibrate(zp::prepare<config>(trained), std::vector{images}));
    check(zp::calibrate(zp::prepare<config>(trained), zp::in(images)));
    std::vector<std::uint8_t> planes(images.size());
    for (std::size_t image = 0; image != 3; ++image)
        for (std::size_t pixel = 0; pixel != 16; ++pixel)
            for (std::size_t c = 0; c != 3; ++c)
                planes[image * 48 + c * 16 + pixel] = images[image * 48 + pixel * 3 + c];
    check(zp::calibrate(zp::prepare<config>(trained), zp::nchw(planes)));
    CHECK_THROWS_WITH_AS(zp::calibrate(zp::prepare<config>(trained), std::vector<std::uint8_t>(47)),
                         "a calibration batch must hold one or more inputs of 4x4x3, that is a multiple of 48 "
                         "codes, but 47 came",
                         zp::shape_error);
}

namespace {

// Two sequences, of which each step gives two values.
struct steps
    : zp::model<zp::named<"a", zp::input<1, 6, 3>>, zp::linear<"la", 4>, zp::named<"sum_a", zp::relu>,
                zp::named<"b", zp::input<1, 6, 2>>, zp::linear<"lb", 4>, zp::add<zp::identity, zp::from<"sum_a">>,
                zp::output<"sum">, zp::linear<"last", 2>, zp::output<"last">> {};

}  // namespace

TEST_CASE("ports: streams of several sequences give what the whole gives") {
    const auto a = made_up::values(18, 1), b = made_up::values(12, 2);
    const auto check = [&](const auto& model) {
        std::vector<float> sum(24), last(12);
        model(zp::in(a, b), zp::out(sum, last));
        zp::streaming<std::remove_cvref_t<decltype(model)>> stream(model);
        for (std::size_t t = 0; t != 6; ++t) {
            std::array<float, 4> step_sum{};
            std::array<float, 2> step_last{};
            stream(zp::in(std::span(a).subspan(3 * t, 3), std::span(b).subspan(2 * t, 2)),
                   zp::out(step_sum, step_last));
            for (std::size_t c = 0; c != 4; ++c) CHECK(step_sum[c] == doctest::Approx(sum[4 * t + c]));
            for (std::size_t c = 0; c != 2; ++c) CHECK(step_last[c] == doctest::Approx(last[2 * t + c]));
        }
    };
    const auto trained = made_up::network<steps>(6);
    check(trained);
    check(zp::convert(zp::calibrate(zp::prepare<config>(trained), zp::in(a, b))));
}
