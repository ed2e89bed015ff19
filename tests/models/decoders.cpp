// SPDX-License-Identifier: BSD-3-Clause
// GPT-2 and Llama: transformers' vectors, under its names; a token at a time the same as all at once; 8-bit and 4-bit weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/models/gpt2.hpp>
#include <zeropoint/models/llama.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/golden_file.hpp"
#include "../support/parts.hpp"
#include "decoder_values.hpp"
#include "state_dict.hpp"

namespace {

/// What scripts/golden/decoders.py has of transformers.
constexpr int length = 14, width = 64, vocabulary = 90, window = 5;
constexpr zp::models::gpt2_extents gpt2_of(int cache_bits) {
    return {.length = length,
            .channels = width,
            .layers = 2,
            .heads = 4,
            .inner = 160,
            .vocabulary = vocabulary,
            .positions = 20,
            .cache_bits = cache_bits};
}
constexpr zp::models::llama_extents llama_of(int context, int cache_bits = 32) {
    return {.length = length,
            .channels = width,
            .layers = 2,
            .heads = 4,
            .key_heads = 2,
            .depth = 16,
            .inner = 160,
            .vocabulary = vocabulary,
            .context = context,
            .cache_bits = cache_bits};
}
struct gpt2 : zp::models::gpt2<gpt2_of(32)> {};
constexpr zp::models::gpt2_extents scored(bool is_tied) {
    return {.length = 3,
            .channels = 16,
            .layers = 1,
            .heads = 2,
            .inner = 32,
            .vocabulary = vocabulary,
            .positions = 4,
            .tied = is_tied};
}
struct tied : zp::models::gpt2_lm<scored(true)> {};
struct untied : zp::models::gpt2_lm<scored(false)> {};
struct llama : zp::models::llama<llama_of(20)> {};
struct short_llama : zp::models::llama<llama_of(window)> {};
/// With keys and values of 8 bits.
struct small_gpt2 : zp::models::gpt2<gpt2_of(8)> {};
struct small_llama : zp::models::llama<llama_of(20, 8)> {};
struct short_small_llama : zp::models::llama<llama_of(window, 8)> {};

using networks::cosine, networks::difference, networks::streamed;

/// A token at a time by so many workers, and one more without an executor: the bits of `expected`.
template <int Workers, class Network>
void check_workers(const Network& model, const std::vector<std::int32_t>& ids, const std::vector<float>& expected) {
    const auto stream = std::make_unique<zp::streaming<Network, Workers>>(model);
    for (int workers = 1; workers <= Workers + 1; ++workers) {
        CAPTURE(workers);
        int calls = 0;
        std::vector<float> y;
        stream->reset();
        for (const std::int32_t id : ids) {
            std::vector<float> vector(width);
            (*stream)(std::array{id}, vector, zp_test::backwards{workers, &calls});
            y.insert(y.end(), vector.begin(), vector.end());
        }
        CHECK(y == expected);
        CAPTURE(calls);
        CHECK((calls >= 4 * length) == (workers > 1));  // two layers of a block at least
    }
    stream->reset();
    std::vector<float> first(width);
    (*stream)(std::array{ids.front()}, first);
    CHECK(std::equal(first.begin(), first.end(), expected.begin()));
}

/// A quantized decoder: how near it is, that its file holds it, that a stream has nearly the same values, by several workers its own bits.
template <class Policy, class Net> double check_quantized(const char* name, const std::vector<float>& expected) {
    const auto ids = zp_test::golden_file("decoders").values<std::int32_t>("ids");
    using config = zp::dynamic_qconfig<Policy, zp::quantize_every_layer>;
    using type = zp::dynamically_quantized<Net, config>;
    const type model = zp::quantize_dynamic<config>(networks::hashed_model<Net>());
    const auto y = networks::values_of(model, ids);
    const type loaded = zp::load<type>(zp::to_bytes(model), "decoder");
    CHECK(networks::values_of(loaded, ids) == y);
    const auto by_tokens = streamed(model, ids);
    CHECK(difference(by_tokens, y) < 1e-5);
    if constexpr (!std::is_same_v<Policy, zp::dynamic_policy<>>) check_workers<3>(model, ids, by_tokens);
    const double similar = cosine(y, expected);
    MESSAGE(std::string(name) << ": cosine " << similar);
    return similar;
}

}  // namespace

TEST_CASE("decoders: transformers' vectors, all at once and a token at a time") {
    const zp_test::golden_file golden("decoders");
    const auto ids = golden.values<std::int32_t>("ids");
    const auto check = [&](const auto& model, const char* name) {
        const auto expected = golden.values<float>(name), y = networks::values_of(model, ids);
        CHECK(difference(y, expected) < 1e-4);
        CHECK(difference(streamed(model, ids), expected) < 1e-4);
    };
    check(networks::hashed_model<gpt2>(), "gpt2/vectors");
    check(networks::hashed_model<llama>(), "llama/vectors");
    check(networks::hashed_model<short_llama>(), "llama/window");  // 14 tokens in the memory of five
    CHECK(difference(golden.values<float>("llama/window"), golden.values<float>("llama/vectors")) > 0.01);
    CHECK(zp_test::unread_tensors("decoders").empty());
    const auto floats = networks::hashed_model<gpt2>();
    check_workers<3>(floats, ids, streamed(floats, ids));
}

TEST_CASE("decoders: GPT-2 with tied scores is one whose file has the table twice") {
    const auto model = networks::hashed_model<tied>();
    const auto bytes = zp::to_bytes(model);
    const auto file = zp::safetensors_file::parse(bytes, "tied");
    CHECK(file.find("lm_head.weight") == nullptr);
    zp::safetensors_writer twice;
    for (const zp::file_tensor& tensor : file.tensors())
        twice.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
    const auto& table = file.expect("transformer.wte.weight");
    twice.add("lm_head.weight", table.dtype, table.shape, table.bytes);
    const std::vector<std::int32_t> ids{5, 89, 0};
    CHECK(networks::values_of(zp::load<untied>(twice.bytes()), ids) == networks::values_of(model, ids));
}

TEST_CASE("decoders: behind the table of positions its last row stays") {
    constexpr zp::embedding_layer table{.rows = 5, .first = 2};
    std::int32_t place = 0;
    for (const int row : {2, 3, 4, 4, 4}) CHECK(zp::next_place(table, place) == row);
}

TEST_CASE("decoders: 8-bit and 4-bit weights are near") {
    const zp_test::golden_file golden("decoders");
    const auto of_gpt2 = golden.values<float>("gpt2/vectors"), of_llama = golden.values<float>("llama/vectors");
    CHECK(check_quantized<zp::dynamic_policy<>, gpt2>("GPT-2, 8 bits", of_gpt2) > 0.999);
    CHECK(check_quantized<zp::dynamic_group_policy<zp::quint4, 32>, gpt2>("GPT-2, 4 bits", of_gpt2) > 0.97);
    CHECK(check_quantized<zp::dynamic_group_policy<>, llama>("Llama, 4 bits", of_llama) > 0.95);
}

TEST_CASE("decoders: keys and values of 8 bits are near, a token at a time and by heads the same bits") {
    const zp_test::golden_file golden("decoders");
    const auto ids = golden.values<std::int32_t>("ids");
    const auto check = [&](const auto& model, const char* name) {
        const auto expected = golden.values<float>(name), y = networks::values_of(model, ids),
                   by_tokens = streamed(model, ids);
        MESSAGE(std::string(name) << ": 1 - cosine " << 1 - cosine(y, expected));
        CHECK(cosine(y, expected) > 0.9997);
        CHECK(difference(y, expected) > 1e-4);   // they are not floats
        CHECK(difference(by_tokens, y) < 1e-3);  // layers before have other sums of floats, which may be other codes
        check_workers<3>(model, ids, by_tokens);
    };
    check(networks::hashed_model<small_gpt2>(), "gpt2/vectors");
    check(networks::hashed_model<small_llama>(), "llama/vectors");
    check(networks::hashed_model<short_small_llama>(), "llama/window");
    // Where a text is, kept as bytes, and gone on from.
    const auto model = networks::hashed_model<small_llama>();
    using stream_type = zp::streaming<std::remove_const_t<decltype(model)>>;
    const auto stream = std::make_unique<stream_type>(model);
    std::vector<float> first(width), again(width);
    for (int i = 0; i != 6; ++i) (*stream)(std::array{ids[static_cast<std::size_t>(i)]}, first);
    const std::vector<std::byte> kept(stream->state().begin(), stream->state().end());
    (*stream)(std::array{ids[6]}, first);
    (*stream)(std::array{ids[7]}, again);
    stream->restore(std::span<const std::byte, stream_type::state_bytes>(kept));
    (*stream)(std::array{ids[6]}, again);
    CHECK(again == first);
    CHECK(check_quantized<zp::dynamic_group_policy<>, small_llama>("Llama, 4 bits, cache of 8",
                                                                   golden.values<float>("llama/vectors")) > 0.95);
}
