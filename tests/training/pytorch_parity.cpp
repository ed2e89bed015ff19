// SPDX-License-Identifier: BSD-3-Clause
// Parity with PyTorch 2.13, by the vectors of scripts/golden/training_pieces.py. Deviations: docs/training_parity.md.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/scheme/quantize.hpp>
#include <zeropoint/training/batch_norm_statistics.hpp>
#include <zeropoint/training/fake_quantize.hpp>
#include <zeropoint/training/gradient_norm.hpp>
#include <zeropoint/training/learned_step.hpp>
#include <zeropoint/training/losses.hpp>
#include <zeropoint/training/observed_fake_quantize.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/random_numbers.hpp>
#include <zeropoint/training/schedules.hpp>
#include <zeropoint/training/weight_average.hpp>

#include "../support/golden_file.hpp"

namespace {

using floats = std::vector<float>;

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("training_pieces");
    return file;
}
floats read(const std::string& name) { return golden().values<float>(name); }
std::vector<std::int32_t> integers(const std::string& name) { return golden().values<std::int32_t>(name); }
std::vector<double> doubles(const std::string& name) { return golden().values<double>(name); }

/// The largest difference, relative to the largest of the expected values.
template <class Ours, class Theirs> double distance(const Ours& ours, const Theirs& theirs) {
    REQUIRE(ours.size() == theirs.size());
    double most = 0, size = 1e-30;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        most = std::max(most, std::fabs(double{ours[i]} - double{theirs[i]}));
        size = std::max(size, std::fabs(double{theirs[i]}));
    }
    return most / size;
}

struct layout {
    zp::code_bounds bounds;
    std::size_t inner;

    explicit layout(const std::string& group) {
        const auto codes = integers(group + "/bounds");
        bounds = {codes[0], codes[1]};
        inner = static_cast<std::size_t>(integers(group + "/inner")[0]);
    }
};

const std::string fake_quant_cases[] = {"tensor_quint8", "tensor_odd", "tensor_qint8", "tensor_int4", "tensor_2_bits",
                                        "tensor_tiny",   "channel_0",  "channel_1",    "channel_2"};

}  // namespace

TEST_CASE("PyTorch: fake_quantize_per_tensor_affine, _per_channel_affine, their masks and gradients") {
    for (const std::string& name : fake_quant_cases) {
        CAPTURE(name);
        const std::string group = "fake_quant/" + name;
        const layout where(group);
        const floats x = read(group + "/x"), dy = read(group + "/dy");
        floats y(x.size()), dx(x.size());
        std::vector<std::uint8_t> mask(x.size());
        zp::fake_quantize(x, golden().ranges(group), where.inner, where.bounds, y, mask);
        zp::fake_quantize_backward(dy, mask, dx);
        CHECK(y == read(group + "/y"));
        CHECK(mask == golden().values<std::uint8_t>(group + "/mask"));
        CHECK(dx == read(group + "/dx"));
    }
}

TEST_CASE("PyTorch: what fake_quantize does otherwise with NaN, infinities and values beyond 2^63 steps") {
    const floats x = read("fake_quant_edges/tensor/x"), per_channel = read("fake_quant_edges/channel/y");
    CHECK(read("fake_quant_edges/channel/x").size() == x.size());
    const auto theirs = read("fake_quant_edges/tensor/y");
    const auto their_mask = golden().values<std::uint8_t>("fake_quant_edges/tensor/mask");
    CHECK(golden().values<std::uint8_t>("fake_quant_edges/channel/mask") == their_mask);
    floats y(x.size());
    std::vector<std::uint8_t> mask(x.size());
    zp::fake_quantize(x, zp::qparams{0.1f, 3}, {0, 255}, y, mask);
    CHECK(mask == their_mask);
    const float lowest = zp::dequantize(0, {0.1f, 3}), highest = zp::dequantize(255, {0.1f, 3});
    for (std::size_t i = 0; i != x.size(); ++i) {
        CAPTURE(x[i]);
        if (std::isnan(x[i])) {
            CHECK(y[i] == 0);
            CHECK(theirs[i] == lowest);
        } else {
            CHECK(y[i] == theirs[i]);
        }
        // Theirs per channel goes through an integer of 64 bits.
        const bool is_beyond = std::isnan(x[i]) || std::fabs(x[i]) / 0.1f > 0x1p63f;
        CHECK(per_channel[i] == (is_beyond ? lowest : theirs[i]));
        if (x[i] > 1e8f) CHECK(y[i] == highest);
    }
}

TEST_CASE("PyTorch: learnable fake quantization per tensor and per channel") {
    for (const std::string name : {"tensor_unsigned", "tensor_signed", "tensor_fraction", "tensor_beyond",
                                   "tensor_negative", "channel_0", "channel_1"}) {
        CAPTURE(name);
        const std::string group = "learned/" + name;
        const layout where(group);
        const floats x = read(group + "/x"), dy = read(group + "/dy"), scales = read(group + "/scale"),
                     zeros = read(group + "/zero");
        std::vector<zp::qparams> params;
        for (std::size_t c = 0; c != scales.size(); ++c)
            params.push_back(zp::to_qparams({scales[c], zeros[c]}, where.bounds));
        floats y(x.size()), dx(x.size()), ds(scales.size()), dz(scales.size());
        zp::fake_quantize(x, params, where.inner, where.bounds, y);
        CHECK(y == read(group + "/y"));
        // Per tensor PyTorch's backward pass takes trunc(z + 0.5) for the zero point: one too high for negative integers.
        if (name == "tensor_negative") ++params[0].zero_point;
        zp::learned_step_backward(x, dy, params, where.inner, where.bounds, read(group + "/factor")[0], dx, ds, dz);
        CHECK(dx == read(group + "/dx"));
        CHECK(distance(ds, read(group + "/ds")) < 1e-5);
        CHECK(distance(dz, read(group + "/dz")) < 1e-5);
        floats alone(scales.size());
        zp::learned_step_backward(x, dy, params, where.inner, where.bounds, read(group + "/factor")[0], dx, alone);
        CHECK(alone == ds);
    }
}

TEST_CASE("PyTorch: three steps of _LearnableFakeQuantize with gradient scaling") {
    for (const std::string name : {"symmetric", "affine"}) {
        CAPTURE(name);
        const std::string group = "lsq_module/" + name;
        const auto codes = integers(group + "/bounds");
        const zp::code_bounds bounds{codes[0], codes[1]};
        const floats x = read(group + "/x"), target = read(group + "/target"), first = read(group + "/first"),
                     scales = read(group + "/scale"), zeros = read(group + "/zero_point");
        const std::size_t n = x.size() / scales.size();
        const float factor = zp::gradient_factor(zp::gradient_scaling::lsq, n, bounds);
        CHECK(factor == read(group + "/factor")[0]);
        const zp::sgd by{.lr = double{read(group + "/rate")[0]}};
        floats scale = {first[0]}, zero = {first[1]}, ds(1), dz(1), y(n), dx(n);
        for (std::size_t step = 0; step != scales.size(); ++step) {
            const std::span<const float> batch = std::span(x).subspan(step * n, n);
            const zp::qparams params = zp::to_qparams({scale[0], zero[0]}, bounds);
            zp::fake_quantize(batch, params, bounds, y);
            zp::mean_squared_error{}.backward(y, n, std::span(target).subspan(step * n, n), 1, dx);
            zp::learned_step_backward(batch, dx, std::span(&params, 1), 1, bounds, factor, dx, ds, dz);
            zp::update(by, 1, step, {.values = scale, .gradient = ds, .group = zp::parameter_group::scales});
            if (name == "affine")  // a symmetric one stays 0
                zp::update(by, 1, step, {.values = zero, .gradient = dz});
            CHECK(double{scale[0]} == doctest::Approx(double{scales[step]}).epsilon(1e-5));
            if (name == "affine") CHECK(double{zero[0]} == doctest::Approx(double{zeros[step]}).epsilon(1e-5));
        }
        CHECK(std::fabs(scale[0] - first[0]) > 0.02 * first[0]);  // it moved
    }
}

TEST_CASE("PyTorch: PACT by automatic differentiation") {
    const floats x = read("pact/x"), dy = read("pact/dy"), alpha = read("pact/alpha");
    floats dx(x.size());
    const float dalpha = zp::pact_backward(x, dy, {alpha[0]}, dx);
    CHECK(dx == read("pact/dx"));
    CHECK(double{dalpha} == doctest::Approx(double{read("pact/dalpha")[0]}).epsilon(1e-6));
    CHECK(zp::pact_backward(x, dy, {alpha[0]}, dx, 0.5) == doctest::Approx(dalpha + 0.5f * alpha[0]));
    CHECK(zp::pact{6}.params({0, 15}) == zp::qparams{6.0f / 15, 0});
}

namespace {

template <class Quantizer, class Convert> void check_fused(const std::string& name, int channels) {
    CAPTURE(name);
    const std::string group = "fused/" + name;
    const floats x = read(group + "/x"), y = read(group + "/y"), mins = read(group + "/min"),
                 maxs = read(group + "/max"), scales = read(group + "/scale");
    const auto zero_points = integers(group + "/zero_point"), switches = integers(group + "/switches");
    const std::size_t batches = switches.size() / 2, n = x.size() / batches, many = static_cast<std::size_t>(channels);
    Quantizer quantizer;
    for (std::size_t b = 0; b != batches; ++b) {
        CAPTURE(b);
        const zp::observation batch{std::span(x).subspan(b * n, n), channels, static_cast<int>(n / many), name};
        const zp::fake_quantize_switches now{switches[2 * b] != 0, switches[2 * b + 1] != 0};
        floats result(n);
        quantizer.forward(batch, result, {}, now);
        CHECK(result == floats(y.begin() + static_cast<std::ptrdiff_t>(b * n),
                               y.begin() + static_cast<std::ptrdiff_t>((b + 1) * n)));
        if (now.quantize)
            for (std::size_t c = 0; c != many; ++c) {
                CHECK(quantizer.params()[c].scale == scales[b * many + c]);
                CHECK(quantizer.params()[c].zero_point == zero_points[b * many + c]);
            }
        const auto begin = static_cast<std::ptrdiff_t>(b * many), end = begin + static_cast<std::ptrdiff_t>(many);
        CHECK(quantizer.range_observer().range().min == *std::min_element(mins.begin() + begin, mins.begin() + end));
        CHECK(quantizer.range_observer().range().max == *std::max_element(maxs.begin() + begin, maxs.begin() + end));
    }
    const auto converted =
        quantizer.range_observer().template calculate_qparams<typename Convert::dtype, typename Convert::scheme>(
            "golden");
    CHECK(converted == golden().ranges("convert/" + name));
}
template <class DType, class QScheme> struct fused_by {
    using dtype = DType;
    using scheme = QScheme;
    template <class Observer> using quantizer = zp::observed_fake_quantize<DType, QScheme, Observer, zp::fbgemm_rule>;
};
template <class DType, class QScheme> void check_fused(const std::string& name) {
    using by = fused_by<DType, QScheme>;
    if constexpr (QScheme::is_per_tensor)
        check_fused<typename by::template quantizer<zp::moving_average_min_max_observer<>>, by>(name, 1);
    else check_fused<typename by::template quantizer<zp::moving_average_per_channel_min_max_observer<>>, by>(name, 4);
}

}  // namespace

TEST_CASE("PyTorch: fused_moving_avg_obs_fake_quant, and calculate_qparams by the other rule") {
    check_fused<zp::quint8, zp::per_tensor_affine>("tensor_affine");
    check_fused<zp::quint8_reduced, zp::per_tensor_affine>("tensor_affine_reduced");
    check_fused<zp::quint8, zp::per_tensor_affine>("tensor_positive");
    check_fused<zp::qint8, zp::per_tensor_symmetric>("tensor_symmetric");
    check_fused<zp::qint8, zp::per_channel_symmetric>("channel_symmetric");
    check_fused<zp::qint8, zp::per_channel_affine>("channel_affine");
}

TEST_CASE("PyTorch: a symmetric range on one side of zero becomes affine there, and keeps its zero point here") {
    const floats x = read("fused/channel_one_sided/x"), theirs = read("fused/channel_one_sided/y"),
                 mins = read("fused/channel_one_sided/min"), maxs = read("fused/channel_one_sided/max");
    zp::observed_fake_quantize<zp::qint8, zp::per_channel_symmetric, zp::moving_average_per_channel_min_max_observer<>,
                               zp::fbgemm_rule>
        quantizer;
    const std::size_t n = x.size() / 5;
    floats y(n);
    quantizer.forward({std::span(x).first(n), 4, static_cast<int>(n / 4), "golden"}, y);
    const auto zero_points = integers("fused/channel_one_sided/zero_point");
    const auto scales = read("fused/channel_one_sided/scale");
    for (std::size_t c = 0; c != 4; ++c) {
        CHECK(quantizer.params()[c].zero_point == 0);
        CHECK(zero_points[c] == -128);
        CHECK(quantizer.params()[c].scale == doctest::Approx(2 * scales[c]).epsilon(0.02));
    }
    CHECK(*std::min_element(mins.begin(), mins.end()) > 0);
    CHECK(distance(y, floats(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(n))) < 0.02);
    const auto switches = integers("fused/channel_one_sided/switches");
    quantizer.range_observer() = {};
    for (std::size_t b = 0; b != 5; ++b)
        if (switches[2 * b] != 0)
            quantizer.range_observer().observe({std::span(x).subspan(b * n, n), 4, static_cast<int>(n / 4), "golden"});
    CHECK(quantizer.range_observer().range().max == *std::max_element(maxs.end() - 4, maxs.end()));
    using scheme = zp::per_channel_symmetric;
    const auto converted = quantizer.range_observer().calculate_qparams<zp::qint8, scheme>("golden");
    CHECK(converted == golden().ranges("convert/channel_one_sided"));
}

namespace {

template <class Optimizer> void check_optimizer(const std::string& name, const Optimizer& by) {
    CAPTURE(name);
    const floats gradients = read("optimizer/gradients"), expected = read("optimizer/" + name + "/parameters");
    floats values = read("optimizer/start");
    const std::size_t n = values.size();
    floats first(by.states() > 0 ? n : 0), second(by.states() > 1 ? n : 0);
    for (std::size_t step = 0; step != gradients.size() / n; ++step) {
        const zp::trained_array array{values, std::span(gradients).subspan(step * n, n), first, second};
        zp::update(zp::any_optimizer(by), 1, step, array);
        const auto row = expected.begin() + static_cast<std::ptrdiff_t>(step * n);
        CHECK(distance(values, floats(row, row + static_cast<std::ptrdiff_t>(n))) < 1e-6);
    }
}

}  // namespace

TEST_CASE("PyTorch: ten steps of SGD, Adam and AdamW") {
    check_optimizer("sgd", zp::sgd{.lr = 0.05});
    check_optimizer("sgd_momentum", zp::sgd{.lr = 0.05, .momentum = 0.9});
    check_optimizer("sgd_decay", zp::sgd{.lr = 0.1, .weight_decay = 0.01});
    check_optimizer("sgd_nesterov", zp::sgd{.lr = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 1e-3});
    check_optimizer("sgd_dampening", zp::sgd{.lr = 0.05, .momentum = 0.8, .dampening = 0.3, .weight_decay = 1e-2});
    check_optimizer("adam", zp::adam{.lr = 0.01});
    check_optimizer("adam_decay",
                    zp::adam{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1});
    check_optimizer("adamw", zp::adamw{.lr = 0.01});
    check_optimizer("adamw_decay", zp::adamw{.lr = 0.02, .weight_decay = 0.3});
}

TEST_CASE("PyTorch: learning rate schedules") {
    const auto check = [](const std::string& name, const zp::any_schedule& schedule, zp::training_clock now,
                          const zp::warm_up& start = {}) {
        CAPTURE(name);
        const auto expected = doubles("schedule/" + name);
        std::uint64_t& counter = now.epochs == 1 ? now.batch : now.epoch;
        for (counter = 0; counter != expected.size(); ++counter)
            CHECK(std::fabs(zp::rate_factor(schedule, start, now) - expected[counter]) <= 1e-12);
    };
    const zp::training_clock epochs{.epochs = 10}, steps{.batches = 20}, ten{.batches = 10};
    check("step", zp::step_rate{.epochs = 3, .gamma = 0.5}, epochs);
    check("cosine", zp::cosine{}, epochs);
    check("cosine", zp::cosine{.each_batch = true}, ten);
    check("cosine_last", zp::cosine{.last = 0.1}, epochs);
    check("one_cycle", zp::one_cycle{}, steps);
    check("one_cycle_linear",
          zp::one_cycle{.rising_share = 0.4, .div_factor = 10, .final_div_factor = 100, .linear = true}, steps);
    check("warm_up", zp::constant_rate{}, ten, {.batches = 5, .start_factor = 0.2});
    check("warm_up_cosine", zp::cosine{.each_batch = true}, ten, {.batches = 5, .start_factor = 0.2});
}

TEST_CASE("PyTorch: losses and their gradients, against float64") {
    const floats logits = read("loss/logits");
    const auto labels = integers("loss/labels"), some = integers("loss/some_labels");
    const floats teacher = read("loss/teacher"), probabilities = read("loss/probabilities"),
                 targets = read("loss/targets");
    floats gradient(logits.size());
    const auto check = [&](const std::string& name, double sum, double rows) {
        CAPTURE(name);
        CHECK(std::fabs(sum / rows / doubles("loss/" + name + "/loss")[0] - 1) < 1e-6);
        CHECK(distance(gradient, doubles("loss/" + name + "/gradient")) < 1e-6);
    };
    check("cross_entropy", zp::cross_entropy{}.backward(logits, 10, labels, 1.0 / 6, gradient), 6);
    check("cross_entropy_smoothing",
          zp::cross_entropy{.label_smoothing = 0.1}.backward(logits, 10, labels, 1.0 / 6, gradient), 6);
    const auto counted = static_cast<double>(zp::cross_entropy{}.counted(some));
    CHECK(counted == 4);
    check("cross_entropy_ignored", zp::cross_entropy{}.backward(logits, 10, some, 1 / counted, gradient), counted);
    check("mse", zp::mean_squared_error{}.backward(logits, 10, targets, 1.0 / 6, gradient), 6);
    check("kl", zp::kl_divergence{}.backward(logits, 10, probabilities, 1.0 / 6, gradient), 6);
    check("distillation",
          zp::distillation{.temperature = 4, .weight = 0.7}.backward(logits, 10, teacher, labels, 1.0 / 6, gradient),
          6);
    check("distillation_cold", zp::distillation{.temperature = 1}.backward(logits, 10, teacher, {}, 1.0 / 6, gradient),
          6);
}

TEST_CASE("PyTorch: clipping by norm, averages of weights, statistics of batch norms") {
    floats a = read("clip/a"), b = read("clip/b");
    const std::span<float> arrays[] = {a, b};
    CHECK(zp::clip_by_norm(arrays, 2.5) == doctest::Approx(double{read("clip/norm")[0]}).epsilon(1e-6));
    CHECK(distance(a, read("clip/clipped_a")) < 1e-6);
    CHECK(distance(b, read("clip/clipped_b")) < 1e-6);

    const floats values = read("average/values");
    for (const std::string name : {"exponential", "plain"}) {
        const zp::weight_average by{.decay = name == "plain" ? 0 : 0.9};
        const floats expected = read("average/" + name);
        floats average(20);
        for (std::size_t k = 0; k != 5; ++k) {
            zp::update(by, k, std::span(values).subspan(20 * k, 20), average);
            const auto row = expected.begin() + static_cast<std::ptrdiff_t>(20 * k);
            CHECK(distance(average, floats(row, row + 20)) < 1e-6);
        }
    }

    const floats batches = read("batch_norm/batches");
    const auto mean = doubles("batch_norm/mean"), variance = doubles("batch_norm/variance");
    zp::batch_norm_statistics all(5), first(5), rest(5);
    all.add(batches);
    first.add(std::span(batches).first(200));
    rest.add(std::span(batches).subspan(200));
    first.merge(rest);
    CHECK(all.count() == 120);
    for (std::size_t c = 0; c != 5; ++c) {
        CHECK(double{all.mean()[c]} == doctest::Approx(mean[c]).epsilon(1e-6));
        CHECK(double{all.variance()[c]} == doctest::Approx(variance[c]).epsilon(1e-6));
        CHECK(double{first.variance()[c]} == doctest::Approx(variance[c]).epsilon(1e-6));
        CHECK(double{all.variance(false)[c]} == doctest::Approx(variance[c] * 119 / 120).epsilon(1e-6));
    }
}

TEST_CASE("Initial scales of LSQ and LSQ+") {
    const floats x = read("initial/x");
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const auto is = [](float ours, const std::string& name) {
        CHECK(double{ours} == doctest::Approx(doubles("initial/" + name)[0]).epsilon(1e-6));
    };
    is(zp::initial_scale_lsq(x, {-128, 127}), "lsq");
    is(zp::initial_scale_lsq_plus(x, {-128, 127}), "lsq_plus_weights");
    const zp::learned_qparams learned = zp::initial_qparams_lsq_plus(*low, *high, {0, 255});
    is(learned.scale, "lsq_plus_activations");
    is(learned.zero_point, "lsq_plus_zero_point");
}

TEST_CASE("Random numbers are those of Philox4x32-10 in Python") {
    const auto shuffle = integers("random/shuffle");
    CHECK(zp::shuffled(20, 7, 3) == std::vector<std::uint32_t>(shuffle.begin(), shuffle.end()));
    const auto words = golden().values<std::int64_t>("random/words");
    const floats uniform = read("random/uniform");
    const zp::random_numbers random{(1ull << 40) + 5, 1, 2, 3};
    for (std::size_t i = 0; i != words.size(); ++i) {
        CHECK(random[i] == words[i]);
        CHECK(random.uniform(i) == uniform[i]);
    }
}

TEST_CASE("PyTorch: all vectors of training's pieces were read") {
    for (const std::string& tensor : zp_test::unread_tensors("training_pieces"))
        FAIL_CHECK(tensor, " is read by no test");
}
