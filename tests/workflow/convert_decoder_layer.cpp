// SPDX-License-Identifier: BSD-3-Clause
// Attention of a sequence to another one and decoder layers as rows of a model: PyTorch's vectors in float, dynamic and int8 near
// them; one dynamic row by its definition.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ratio>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/kernel/reference/attention.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/decoder_layer.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../models/state_dict.hpp"
#include "../support/arrays.hpp"
#include "../support/golden_file.hpp"

namespace {

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
using every_layer = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>;

constexpr int rows = 7, columns = 18, width = 12;
using memory = zp::named<"memory", zp::input<1, columns, width>>;
using sequence = zp::named<"x", zp::input<1, rows, width>>;
using zp::from;

struct across : zp::model<memory, sequence, zp::cross_attention<"attn", 3, from<"memory">>> {};
struct padded : zp::model<memory, zp::named<"keys", zp::indices<columns>>, zp::named<"mask", zp::attention_mask>,
                          sequence, zp::cross_attention<"attn", 3, from<"memory">, zp::with_bias::yes, from<"mask">>> {
};
struct decoder
    : zp::model<
          memory, zp::named<"keys", zp::indices<columns>>, zp::named<"mask", zp::attention_mask>,
          zp::named<"causal", zp::input<1, rows, rows>>, sequence,
          zp::decoder<"", 2, 3, 20, from<"memory">, zp::relu, zp::encoder_options{}, from<"causal">, from<"mask">>> {};
constexpr zp::encoder_options norm_first{.norm_first = true};
struct first : zp::model<memory, sequence, zp::decoder_layer<"", 3, 20, from<"memory">, zp::gelu, norm_first>> {};

/// Without projections, of other depths and with a factor: what one row computes.
template <class Scale>
struct scaled : zp::model<zp::named<"x", zp::input<1, 6, 8>>, zp::named<"y", zp::input<1, 21, 8>>,
                          zp::named<"mask", zp::input<1, 6, 21>>,
                          zp::attention<2, zp::sequential<from<"x">, zp::mul_scalar<Scale>>, from<"y">,
                                        zp::sequential<from<"y">, zp::relu>, from<"mask">>> {};

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("decoder_layers");
    return file;
}
std::vector<float> values(const char* name) { return golden().values<float>(name); }
template <class Net> zp::float_model<Net> hashed_model() {
    networks::inventory found;
    const auto zeros = zp::to_bytes(zp::float_model<Net>());
    return zp::load<Net>(networks::made_up_state_dict(zp::safetensors_file::parse(zeros, "zeros"), found));
}
template <class Network, class... Inputs>
std::vector<float> run(const Network& model, std::size_t size, const Inputs&... inputs) {
    std::vector<float> y(size);
    model(zp::in(inputs...), y, *std::make_unique<typename Network::workspace>());
    return y;
}
/// Float, dynamic and int8 models of a network beside PyTorch's result.
template <class Net, class... Inputs>
void compare(const std::vector<float>& expected, int attentions, const Inputs&... inputs) {
    const auto decibels = [&](const std::vector<float>& found) {
        double signal = 0, noise = 0;
        for (std::size_t i = 0; i != expected.size(); ++i) {
            const double off = double{expected[i]} - double{found[i]};
            signal += double{expected[i]} * double{expected[i]};
            noise += off * off;
        }
        return 10 * std::log10(signal / noise);
    };
    const auto source = hashed_model<Net>();
    CHECK(decibels(run(source, expected.size(), inputs...)) > 110);
    const auto dynamic = zp::quantize_dynamic<every_layer>(source);
    int contracted = 0;
    for (const zp::node& row : dynamic.rows()) {
        contracted += row.op->kind == &zp::op::attention;
        CHECK(row.op->kind != &zp::op::softmax);
    }
    CHECK(contracted == attentions);
    const auto y = run(dynamic, expected.size(), inputs...);
    CHECK(decibels(y) > 30);
    CHECK(run(zp::load<zp::dynamically_quantized<Net, every_layer>>(zp::to_bytes(dynamic)), expected.size(),
              inputs...) == y);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(source), zp::in(inputs...)));
    static_assert(zp::budget_of<zp::quantized<Net, config>>.boundaries == 0);
    const auto codes = run(int8, expected.size(), inputs...);
    CHECK(decibels(codes) > 28);
    CHECK(run(zp::load<zp::quantized<Net, config>>(zp::to_bytes(int8)), expected.size(), inputs...) == codes);
}

template <class Scale> void check_definition(float factor) {
    const auto x = arrays::reals(6 * 8, 1, -2, 2), y = arrays::reals(21 * 8, 2, -2, 2);
    std::vector<float> mask(6 * 21), v = y, expected(6 * 8);
    for (std::size_t i = 0; i != mask.size(); ++i) mask[i] = i % 21 <= 3 * (i / 21) ? 1.0f : 0.0f;
    for (float& value : v) value = std::max(value, 0.0f);
    std::vector<float> of_heads = mask;
    of_heads.insert(of_heads.end(), mask.begin(), mask.end());
    // The scale is of what one row computes, not of the queries.
    zp::kernel::reference::integer_attention({6, 21, 2, 4, 4, x.data(), y.data(), v.data(), 8, 8, 8, factor},
                                             expected.data(), of_heads);
    const auto dynamic = zp::quantize_dynamic<every_layer>(zp::float_model<scaled<Scale>>());
    CHECK(run(dynamic, expected.size(), x, y, mask) == expected);
}

}  // namespace

TEST_CASE("decoder rows: attention to another sequence is near PyTorch's in float, dynamic and int8") {
    const auto x = values("x"), m = values("memory");
    compare<across>(values("cross/y"), 1, m, x);
    compare<padded>(values("padded/y"), 1, m, golden().values<std::int32_t>("keys"), x);
}

TEST_CASE("decoder rows: decoders are near PyTorch's in float, dynamic and int8") {
    const auto x = values("x"), m = values("memory");
    std::vector<float> causal;
    for (int i = 0; i != rows; ++i)
        for (int j = 0; j != rows; ++j) causal.push_back(j <= i ? 1.0f : 0.0f);
    compare<decoder>(values("decoder/y"), 4, m, golden().values<std::int32_t>("keys"), causal, x);
    compare<first>(values("norm_first/y"), 2, m, x);
}

TEST_CASE("decoder rows: a dynamic attention of any factor is its definition") {
    check_definition<std::ratio<3, 2>>(0.75f);  // beside the root of the depth, 2
    check_definition<std::ratio<2, 1>>(1);
    check_definition<std::ratio<1, 1>>(0);
}

TEST_CASE("golden vectors: every tensor of decoder layers is compared") {
    CHECK(zp_test::unread_tensors("decoder_layers").empty());
}
