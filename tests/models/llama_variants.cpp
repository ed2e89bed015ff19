// SPDX-License-Identifier: BSD-3-Clause
// Llamas with scaled rotary positions, tied embeddings, biases and norms of queries and keys: transformers' values, and its files.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/io/load_options.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/models/llama.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/errors.hpp"
#include "../support/golden_file.hpp"
#include "../support/nodes.hpp"
#include "decoder_values.hpp"
#include "state_dict.hpp"

namespace {

/// What scripts/golden/llama_variants.py has of transformers.
constexpr zp::models::llama_extents base{.length = 40,
                                         .channels = 64,
                                         .layers = 2,
                                         .heads = 4,
                                         .key_heads = 2,
                                         .depth = 16,
                                         .inner = 160,
                                         .vocabulary = 90,
                                         .context = 48};
template <class Change> constexpr zp::models::llama_extents with(Change change) {
    zp::models::llama_extents extents = base;
    change(extents);
    return extents;
}
constexpr zp::rotary_scaling by_wave{.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 32};
constexpr auto linear_extents = with([](auto& e) {
    e.theta = 500000;
    e.scaling.factor = 4;
});
constexpr auto llama3_extents = with([](auto& e) { e.scaling = by_wave; });
constexpr auto qwen2_extents = with([](auto& e) {
    e.theta = 1000000;
    e.epsilon_millionths = 1;
    e.tied = e.qkv_bias = true;
});
constexpr auto qwen3_extents = with([](auto& e) {
    e.theta = 1000000;
    e.epsilon_millionths = 1;
    e.depth = 24;  // 4 heads of it are not the 64 channels
    e.tied = e.qk_norm = true;
});
constexpr auto pretrained_extents = with([](auto& e) {
    e.channels = 32;
    e.layers = 1;
    e.heads = 2;
    e.key_heads = 1;
    e.inner = 64;
    e.scaling = by_wave;
    e.tied = true;
});
struct plain : zp::models::llama<base> {};
struct linear : zp::models::llama<linear_extents> {};
struct llama3 : zp::models::llama<llama3_extents> {};
struct qwen2 : zp::models::llama_lm<qwen2_extents> {};
struct qwen3 : zp::models::llama_lm<qwen3_extents> {};
struct pretrained : zp::models::llama_lm<pretrained_extents> {};

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("llama_variants");
    return file;
}
std::vector<std::int32_t> ids() { return golden().values<std::int32_t>("ids"); }

template <class Net> void check_floats(const char* name) {
    CAPTURE(name);
    const auto model = networks::hashed_model<Net>();
    const auto expected = golden().values<float>(name);
    CHECK(networks::difference(networks::values_of(model, ids()), expected) < 1e-4);
    CHECK(networks::difference(networks::streamed(model, ids()), expected) < 1e-4);
}
/// Quantized, saved, loaded: the same numbers, also a token at a time. How near it is to `expected`.
template <class Config, class Net>
double check_quantized(const zp::float_model<Net>& floats, const std::vector<float>& expected) {
    using type = zp::dynamically_quantized<Net, Config>;
    const type model = zp::quantize_dynamic<Config>(floats);
    const auto y = networks::values_of(model, ids());
    const type loaded = zp::load<type>(zp::to_bytes(model), "decoder");
    CHECK(networks::values_of(loaded, ids()) == y);
    CHECK(networks::difference(networks::streamed(loaded, ids()), y) < 1e-5);
    const double similar = networks::cosine(y, expected);
    MESSAGE("cosine " << similar);
    return similar;
}

template <zp::models::llama_extents Extents> struct checkpoint : zp::models::llama_lm<Extents> {};
/// Numbers in its state dict.
template <zp::models::llama_extents Extents> std::int64_t numbers_of() {
    const auto& table = zp::source<checkpoint<Extents>>::table;
    std::int64_t sum = 0;
    for (int i = 0; i != table.size; ++i) {
        const zp::parameter_list list = zp::parameters_of(table.view(i));
        for (int k = 0; k != list.count; ++k)
            if (list.arrays[k].in_state_dict && list.arrays[k].tied_to == nullptr) sum += list.arrays[k].size();
    }
    return sum;
}

}  // namespace

TEST_CASE("llama variants: the extents of checkpoints have as many parameters as is published of them") {
    CHECK(numbers_of<zp::models::tinyllama>() == 1'100'048'384);
    CHECK(numbers_of<zp::models::smollm2_135m>() == 134'515'008);
    CHECK(numbers_of<zp::models::llama_3_2_1b>() == 1'235'814'400);
    CHECK(numbers_of<zp::models::qwen2_5_0_5b>() == 494'032'768);
    CHECK(numbers_of<zp::models::qwen3_0_6b>() == 596'049'920);
}

TEST_CASE("llama variants: transformers' values, all at once and a token at a time") {
    check_floats<linear>("linear/vectors");
    check_floats<llama3>("llama3/vectors");
    check_floats<qwen2>("qwen2/logits");
    check_floats<qwen3>("qwen3/logits");
    // What is not scaled is another model.
    const auto unscaled = networks::values_of(networks::hashed_model<plain>(), ids());
    CHECK(networks::difference(unscaled, golden().values<float>("llama3/vectors")) > 0.01);
}

TEST_CASE("llama variants: 8-bit and 4-bit weights are near") {
    using every = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>;
    const auto check = [](const auto& model, const char* name) {
        return check_quantized<every>(model, golden().values<float>(name));
    };
    CHECK(check(networks::hashed_model<llama3>(), "llama3/vectors") > 0.999);
    CHECK(check(networks::hashed_model<qwen2>(), "qwen2/logits") > 0.999);
    const auto of_qwen3 = networks::hashed_model<qwen3>();
    CHECK(check(of_qwen3, "qwen3/logits") > 0.999);
    CHECK(check_quantized<zp::int4_dynamic_qconfig>(of_qwen3, golden().values<float>("qwen3/logits")) > 0.95);
}

TEST_CASE("llama variants: a file of save_pretrained in bfloat16, tied, in float and in 4 bits") {
    const auto model = zp::load<pretrained>(zp_test::golden_path("llama_pretrained"));
    const auto expected = golden().values<float>("pretrained/logits");
    CHECK(networks::difference(networks::values_of(model, ids()), expected) < 1e-4);
    CHECK(networks::difference(networks::streamed(model, ids()), expected) < 1e-4);
    using every = zp::dynamic_qconfig<zp::dynamic_group_policy<>, zp::quantize_every_layer, zp::embedding_bits<8>>;
    CHECK(check_quantized<every>(model, expected) > 0.95);
    CHECK(zp_test::unread_tensors("llama_variants").empty());
}

TEST_CASE("llama variants: a state dict has a tied weight once, or twice the same") {
    const auto model = zp::load<pretrained>(zp_test::golden_path("llama_pretrained"));
    const auto bytes = zp::to_bytes(model);
    const auto file = zp::safetensors_file::parse(bytes, "saved");
    CHECK(file.tensors().size() == 11);
    CHECK(file.find("lm_head.weight") == nullptr);
    CHECK(zp::tensors_in_file<zp::float_model<pretrained>::stage>().size() == 11);
    CHECK(networks::values_of(zp::load<pretrained>(bytes), ids()) == networks::values_of(model, ids()));

    zp::safetensors_writer same, other;
    for (const zp::file_tensor& tensor : file.tensors()) {
        same.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
        other.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
    }
    auto table = file.floats(file.expect("model.embed_tokens.weight"));
    same.add("lm_head.weight", {90, 32}, table);
    CHECK(networks::values_of(zp::load<pretrained>(same.bytes()), ids()) == networks::values_of(model, ids()));
    table[7] += 1;
    other.add("lm_head.weight", {90, 32}, table);
    CHECK(zp_test::error_of([&] { zp::load<pretrained>(other.bytes(), "other"); }) ==
          "other: tensor \"lm_head.weight\": expected none, or the bytes of \"model.embed_tokens.weight\", to which "
          "the model "
          "ties it, found others: the file is of a model whose layers are not tied (`tied = false` of its extents)");

    auto changed = zp::load<pretrained>(bytes);  // as training one of both would
    zp_test::array_of(changed, changed.rows().back(), 0)[7] += 1;
    CHECK(zp_test::error_of<zp::value_error>([&] { zp::to_bytes(changed); }) ==
          "lm_head.weight: expected the values of \"model.embed_tokens.weight\", to which the model ties it and which "
          "a state "
          "dict has alone, found others: save it as a model whose layers are not tied");
}
