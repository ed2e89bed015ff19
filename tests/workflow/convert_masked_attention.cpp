// SPDX-License-Identifier: BSD-3-Clause
// Attention rows with masks: PyTorch's vectors in float, dynamic and int8 near them, and what a mask leaves out has no effect.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../models/state_dict.hpp"
#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"

namespace {

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
using every_layer = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>;

constexpr int rows = 9, width = 12;
template <class Mask> using attention = zp::self_attention<"attn", 3, zp::with_bias::yes, Mask>;
using x_of_model = zp::named<"x", zp::input<1, rows, width>>;

// Keys by indices of 0 and 1; a matrix of floats, for all heads or one a head; no mask.
struct of_keys : zp::model<zp::named<"keys", zp::indices<rows>>, zp::named<"mask", zp::attention_mask>, x_of_model,
                           attention<zp::from<"mask">>> {};
struct of_rows : zp::model<zp::named<"mask", zp::input<1, rows, rows>>, x_of_model, attention<zp::from<"mask">>> {};
struct of_heads : zp::model<zp::named<"mask", zp::input<3, rows, rows>>, x_of_model, attention<zp::from<"mask">>> {};
struct without : zp::model<x_of_model, zp::self_attention<"attn", 3>> {};
struct layers : zp::model<zp::named<"keys", zp::indices<rows>>, zp::named<"mask", zp::attention_mask>, x_of_model,
                          zp::encoder<"", 2, 3, 20, zp::relu, zp::encoder_options{}, zp::from<"mask">>> {};

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("masked_attention");
    return file;
}
template <class Net> zp::float_model<Net> hashed_model() {
    networks::inventory found;
    const auto zeros = zp::to_bytes(zp::float_model<Net>());
    return zp::load<Net>(networks::made_up_state_dict(zp::safetensors_file::parse(zeros, "zeros"), found));
}
template <class Network, class Mask>
std::vector<float> run(const Network& model, const Mask& mask, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    model(zp::in(mask, x), y, *std::make_unique<typename Network::workspace>());
    return y;
}
template <class Network> std::vector<float> run(const Network& model, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    model(x, y, *std::make_unique<typename Network::workspace>());
    return y;
}
double difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i != a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
    return largest;
}

/// Of the signal above the error, in decibels.
double decibels(const std::vector<float>& found, const std::vector<float>& exact) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != exact.size(); ++i) {
        const double off = double{exact[i]} - double{found[i]};
        signal += double{exact[i]} * double{exact[i]};
        noise += off * off;
    }
    return 10 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("masked attention rows: float is near PyTorch's, of keys, of a matrix and in an encoder") {
    const auto x = golden().values<float>("x");
    const auto keys = golden().values<std::int32_t>("keys");
    std::vector<float> causal, of_keys_in_rows;
    for (std::size_t i = 0; i != rows; ++i)
        for (std::size_t j = 0; j != rows; ++j) {
            causal.push_back(j <= i ? 1.0f : 0.0f);
            of_keys_in_rows.push_back(static_cast<float>(keys[j]));
        }
    std::vector<float> of_three_heads;
    for (int head = 0; head != 3; ++head) of_three_heads.insert(of_three_heads.end(), causal.begin(), causal.end());

    const auto padded = golden().values<float>("padded/y"), below = golden().values<float>("causal/y");
    const auto by_keys = hashed_model<of_keys>();
    const auto by_rows = hashed_model<of_rows>();
    CHECK(difference(run(by_keys, keys, x), padded) < 5e-6);
    CHECK(run(by_rows, of_keys_in_rows, x) == run(by_keys, keys, x));
    CHECK(difference(run(by_rows, causal, x), below) < 5e-6);
    CHECK(run(hashed_model<of_heads>(), of_three_heads, x) == run(by_rows, causal, x));
    CHECK(difference(run(hashed_model<layers>(), keys, x), golden().values<float>("encoder/y")) < 5e-6);
    CHECK(difference(run(hashed_model<without>(), x), padded) > 0.01);

    // As rows of a dynamic network, one node.
    const auto dynamic = zp::quantize_dynamic<every_layer>(by_rows);
    CHECK(zp::to_string(dynamic).find("masked_attention") != std::string::npos);
    CHECK(decibels(run(dynamic, causal, x), below) > 30);
    CHECK(run(zp::quantize_dynamic<every_layer>(hashed_model<of_heads>()), of_three_heads, x) ==
          run(dynamic, causal, x));
    CHECK(decibels(run(zp::quantize_dynamic<every_layer>(by_keys), keys, x), padded) > 30);

    // Another matrix for each head.
    for (std::size_t i = 0; i != std::size_t{rows} * rows; ++i) {
        of_three_heads[rows * rows + i] = 1;
        of_three_heads[2 * rows * rows + i] = of_keys_in_rows[i];
    }
    const auto by_heads = hashed_model<of_heads>();
    const auto mixed = run(by_heads, of_three_heads, x);
    CHECK(decibels(run(zp::quantize_dynamic<every_layer>(by_heads), of_three_heads, x), mixed) > 30);
    CHECK(difference(mixed, below) > 0.01);
}

TEST_CASE("masked attention rows: a mask of ones is none, in every stage") {
    const auto x = golden().values<float>("x");
    const std::vector<std::int32_t> ones(rows, 1);
    const std::vector<float> whole(rows * rows, 0.25f);
    const auto by_keys = hashed_model<of_keys>();
    const auto by_rows = hashed_model<of_rows>();
    const auto plain = hashed_model<without>();
    CHECK(run(by_keys, ones, x) == run(plain, x));
    CHECK(run(by_rows, whole, x) == run(plain, x));
    const auto dynamic = run(zp::quantize_dynamic<every_layer>(plain), x);
    CHECK(run(zp::quantize_dynamic<every_layer>(by_keys), ones, x) == dynamic);
    CHECK(run(zp::quantize_dynamic<every_layer>(by_rows), whole, x) == dynamic);
    const auto int8 = run(zp::convert(zp::calibrate(zp::prepare<config>(plain), x)), x);
    CHECK(run(zp::convert(zp::calibrate(zp::prepare<config>(by_keys), zp::in(ones, x))), ones, x) == int8);
    CHECK(run(zp::convert(zp::calibrate(zp::prepare<config>(by_rows), zp::in(whole, x))), whole, x) == int8);
}

TEST_CASE("masked attention rows: int8 is near PyTorch's, knows no padding, and is saved and loaded") {
    const auto x = golden().values<float>("x");
    const auto keys = golden().values<std::int32_t>("keys");
    const auto source = hashed_model<of_keys>();
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(source), zp::in(keys, x)));
    const auto again = zp::load<zp::quantized<of_keys, config>>(zp::to_bytes(int8));
    const auto y = run(int8, keys, x);
    CHECK(decibels(y, golden().values<float>("padded/y")) > 30);
    CHECK(run(again, keys, x) == y);
    static_assert(zp::budget_of<zp::quantized<of_keys, config>>.boundaries == 0);
    CHECK(zp::to_string(int8).find("masked_softmax") != std::string::npos);

    // Other values of what is left out change no other row.
    const auto changed = [&](const auto& model) {
        auto other = x;
        for (std::size_t i = 0; i != x.size(); ++i)
            if (keys[i / width] == 0) other[i] = -x[i];
        const auto before = run(model, keys, x), after = run(model, keys, other);
        bool is_same = true, is_other = false;
        for (std::size_t i = 0; i != before.size(); ++i)
            (keys[i / width] == 0 ? is_other : is_same) =
                keys[i / width] == 0 ? is_other || before[i] != after[i] : is_same && before[i] == after[i];
        CHECK(is_other);
        return !is_same;
    };
    CHECK(!changed(source));
    CHECK(!changed(int8));
    CHECK(!changed(zp::quantize_dynamic<every_layer>(source)));

    // Activations of 16 bits: the softmax and its mask stay float.
    const auto int16 = zp::convert(zp::calibrate(zp::prepare<zp::int16_qconfig>(source), zp::in(keys, x)));
    CHECK(decibels(run(int16, keys, x), golden().values<float>("padded/y")) > 30);
}

TEST_CASE("masks: 0 and 1 are codes of every dtype, exactly") {
    struct kept : zp::model<zp::indices<rows>, zp::attention_mask> {};
    const auto keys = golden().values<std::int32_t>("keys");
    const std::vector<float> exact(keys.begin(), keys.end());
    const auto check = [&]<class DType>(DType) {
        struct of_dtype
            : zp::qconfig<zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>,
                          zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
        const auto int8 = zp::convert(zp::calibrate(zp::prepare<of_dtype>(zp::float_model<kept>()), keys));
        std::vector<float> y(rows);
        int8(keys, y, *std::make_unique<typename std::remove_const_t<decltype(int8)>::workspace>());
        CHECK(y == exact);
    };
    check(zp::quint8{});
    check(zp::qint8{});
    check(zp::quint8_reduced{});
    check(zp::qint8_reduced{});
    // Of 16 bits, whose codes are on both sides of 0.
    constexpr zp::qparams wide =
        zp::known_qparams(zp::info_of<zp::operators::attention_mask, zp::op::attention_mask>, -32768, 32767);
    static_assert(wide.zero_point == 0 && wide.scale * 32767 == 1);
}

TEST_CASE("golden vectors: every tensor of the masked ones is compared, or BERT's") {
    CHECK(zp_test::unread_tensors("masked_attention", {"bert/"}).empty());
}
