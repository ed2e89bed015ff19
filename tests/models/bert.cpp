// SPDX-License-Identifier: BSD-3-Clause
// BERT from token ids and a mask: transformers' vectors of padded sentences in float, dynamic and int8; its names, its classifier.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/models/bert.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/errors.hpp"
#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"
#include "state_dict.hpp"

namespace {

constexpr int length = 5, channels = 6, classes = 3;
constexpr zp::models::bert_extents extents{
    .length = length, .channels = channels, .layers = 1, .heads = 2, .inner = 8, .vocabulary = 17, .positions = 9};
struct classifier : zp::models::bert_classifier<classes, extents> {};
struct encoder : zp::models::bert_encoder<length, channels, 1, 2, 8> {};

/// What scripts/golden/masked_attention.py has of transformers; lengths of its sentences within the batch.
constexpr int padded = 32, shorter = 19, width = 64;
constexpr zp::models::bert_extents of_length(int tokens) {
    return {
        .length = tokens, .channels = width, .layers = 2, .heads = 4, .inner = 128, .vocabulary = 100, .positions = 40};
}
struct padded_bert : zp::models::bert<of_length(padded)> {};
struct shorter_bert : zp::models::bert<of_length(shorter)> {};

/// A padded batch, and the vectors that transformers gives.
struct batch {
    std::vector<std::int32_t> ids, types, mask;
    std::vector<float> vectors;
    std::size_t sentences;
    batch() {
        const zp_test::golden_file golden("masked_attention");
        ids = golden.values<std::int32_t>("bert/ids");
        types = golden.values<std::int32_t>("bert/types");
        mask = golden.values<std::int32_t>("bert/mask");
        vectors = golden.values<float>("bert/vectors");
        sentences = ids.size() / padded;
    }
    std::size_t tokens_of(std::size_t sentence) const {
        const auto begin = mask.begin() + static_cast<std::ptrdiff_t>(sentence) * padded;
        return static_cast<std::size_t>(std::count(begin, begin + padded, 1));
    }
    std::vector<float> expected(std::size_t sentence) const {
        const auto begin = vectors.begin() + static_cast<std::ptrdiff_t>(sentence) * padded * width;
        return {begin, begin + padded * width};
    }
};
/// The vectors of a sentence, of the first `tokens` places that the network has.
template <class Network>
std::vector<float> vectors_of(const Network& model, const batch& all, std::size_t sentence, bool keeps_all = false) {
    constexpr auto tokens = static_cast<std::size_t>(Network::input_shape.width);
    const auto part = [&](const std::vector<std::int32_t>& of) {
        return std::span(of).subspan(sentence * padded, tokens);
    };
    const std::vector<std::int32_t> ones(tokens, 1);
    std::vector<float> y(tokens * width);
    model(zp::in(part(all.ids), part(all.types), keeps_all ? std::span<const std::int32_t>(ones) : part(all.mask)), y,
          *std::make_unique<typename Network::workspace>());
    return y;
}
double cosine(const std::vector<float>& a, const std::vector<float>& b, std::size_t count) {
    double product = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i != count; ++i) {
        product += double{a[i]} * double{b[i]};
        of_a += double{a[i]} * double{a[i]};
        of_b += double{b[i]} * double{b[i]};
    }
    return product / std::sqrt(of_a * of_b);
}
/// The smallest cosine of a sentence's tokens, those that are no padding, with transformers'.
template <class Network> double least_cosine(const Network& model, const batch& all) {
    double least = 1;
    for (std::size_t sentence = 0; sentence != all.sentences; ++sentence)
        least = std::min(
            least, cosine(vectors_of(model, all, sentence), all.expected(sentence), all.tokens_of(sentence) * width));
    return least;
}

/// The parameters of a row of one network, at its own place in another.
void copy_block(const zp::float_model<classifier>& from, const std::string& name, zp::float_model<encoder>& to) {
    for (const zp::node& row : from.rows())
        for (const zp::node& other : to.rows())
            if (name + other.name == row.name && other.at.parameter_bytes != 0)
                std::memcpy(to.parameters() + other.at.parameter_offset, from.parameters() + row.at.parameter_offset,
                            static_cast<std::size_t>(other.at.parameter_bytes));
}

}  // namespace

TEST_CASE("BERT: parameters are named as Hugging Face names them") {
    const auto file = zp::write_model(made_up::network<classifier>(3)).bytes();
    const auto read = zp::safetensors_file::parse(file, "bert");
    std::set<std::string> expected{"bert.embeddings.word_embeddings.weight",
                                   "bert.embeddings.token_type_embeddings.weight",
                                   "bert.embeddings.position_embeddings.weight"};
    const std::string layer = "bert.encoder.layer.0.";
    for (const std::string& module :
         {std::string("bert.embeddings.LayerNorm"), layer + "attention.self.query", layer + "attention.self.key",
          layer + "attention.self.value", layer + "attention.output.dense", layer + "attention.output.LayerNorm",
          layer + "intermediate.dense", layer + "output.dense", layer + "output.LayerNorm",
          std::string("bert.pooler.dense"), std::string("classifier")})
        for (const char* parameter : {".weight", ".bias"}) expected.insert(module + parameter);
    std::set<std::string> found;
    for (const auto& tensor : read.tensors()) found.insert(std::string(tensor.name));
    CHECK(found == expected);
    CHECK(read.expect("bert.embeddings.word_embeddings.weight").shape == std::vector<std::int64_t>{17, channels});
}

TEST_CASE("BERT: embeddings in front of the encoder, a pooler behind it") {
    const auto model = made_up::network<classifier>(3);
    const std::vector<int> x{3, 16, 0, 3, 9}, kinds{0, 0, 1, 1, 1}, mask(length, 1);
    std::vector<float> y(classes);
    model(zp::in(x, kinds, mask), y);

    zp::float_model<encoder> middle;
    copy_block(model, "bert.encoder.", middle);
    const auto floats = [&](const char* name) { return made_up::parameters_of(model, name); };
    const auto words = floats("bert.embeddings.word_embeddings").weights,
               types = floats("bert.embeddings.token_type_embeddings").weights,
               places = floats("bert.embeddings.position_embeddings").weights,
               norm = floats("bert.embeddings.LayerNorm").weights;  // weight, then bias
    std::vector<float> vectors(length * channels), states(length * channels);
    for (std::size_t i = 0; i != length; ++i) {
        double values[channels], mean = 0, variance = 0;
        for (std::size_t c = 0; c != channels; ++c) {
            values[c] = double{words[static_cast<std::size_t>(x[i]) * channels + c]} +
                        double{types[static_cast<std::size_t>(kinds[i]) * channels + c]} +
                        double{places[i * channels + c]};
            mean += values[c] / channels;
        }
        for (const double value : values) variance += (value - mean) * (value - mean) / channels;
        for (std::size_t c = 0; c != channels; ++c)
            vectors[i * channels + c] = static_cast<float>(
                (values[c] - mean) / std::sqrt(variance + 1e-12) * double{norm[c]} + double{norm[channels + c]});
    }
    middle(vectors, states);
    const auto linear = [&](const char* name, const std::vector<double>& in) {
        const auto parameters = floats(name);
        std::vector<double> out(parameters.bias.begin(), parameters.bias.end());
        for (std::size_t o = 0; o != out.size(); ++o)
            for (std::size_t k = 0; k != in.size(); ++k)
                out[o] += in[k] * double{parameters.weights[o * in.size() + k]};
        return out;
    };
    std::vector<double> pooled = linear("bert.pooler.dense", {states.begin(), states.begin() + channels});
    for (double& value : pooled) value = std::tanh(value);
    const std::vector<double> expected = linear("classifier", pooled);
    for (std::size_t i = 0; i != classes; ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-4));
}

TEST_CASE("BERT: a padded batch gives transformers' vectors in float") {
    const batch all;
    const auto model = networks::hashed_model<padded_bert>();
    REQUIRE(model.inputs().size() == 3);
    double largest = 0, difference = 0, unmasked = 0;
    for (std::size_t sentence = 0; sentence != all.sentences; ++sentence) {
        const auto y = vectors_of(model, all, sentence), without = vectors_of(model, all, sentence, true),
                   expected = all.expected(sentence);
        for (std::size_t i = 0; i != y.size(); ++i) {
            largest = std::max(largest, std::abs(double{expected[i]}));
            difference = std::max(difference, std::abs(double{y[i]} - double{expected[i]}));
            unmasked = std::max(unmasked, std::abs(double{without[i]} - double{expected[i]}));
        }
    }
    MESSAGE("BERT: within " << difference / largest << " of transformers'; without a mask " << unmasked / largest);
    CHECK(difference <= 1e-4 * largest);
    CHECK(unmasked > 0.05 * largest);  // the mask is what makes it so
    const auto again = zp::load<padded_bert>(zp::to_bytes(model));
    CHECK(vectors_of(again, all, 1) == vectors_of(model, all, 1));
}

TEST_CASE("BERT: dynamic int8 is near transformers' vectors, and padding changes nothing") {
    const batch all;
    const auto model = networks::hashed_model<padded_bert>();
    const auto dynamic = zp::quantize_dynamic(model);
    const double least = least_cosine(dynamic, all);
    MESSAGE("BERT: dynamic int8 has a cosine of " << least << " with transformers' at least");
    CHECK(least >= 0.999);
    int attentions = 0;
    for (const zp::node& row : dynamic.rows()) attentions += zp_test::is(row, zp::op::attention);
    CHECK(attentions == 2);
    const auto again = zp::load<zp::dynamically_quantized<padded_bert>>(zp::to_bytes(dynamic));
    CHECK(vectors_of(again, all, 1) == vectors_of(dynamic, all, 1));
    CHECK(zp::to_string(dynamic).find("masked_attention") != std::string::npos);

    // The second sentence by itself, as long as it is.
    const auto alone = networks::hashed_model<shorter_bert>();
    REQUIRE(all.tokens_of(1) == shorter);
    const auto same = [&](const auto& long_model, const auto& short_model, float tolerance) {
        const auto y = vectors_of(long_model, all, 1), expected = vectors_of(short_model, all, 1);
        float difference = 0;
        for (std::size_t i = 0; i != expected.size(); ++i)
            difference = std::max(difference, std::abs(y[i] - expected[i]));
        CHECK(difference <= tolerance);
    };
    same(dynamic, zp::quantize_dynamic(alone), 0);
    same(model, alone, 1e-5f);
}

TEST_CASE("BERT: static int8 of padded sentences") {
    const batch all;
    const auto model = networks::hashed_model<padded_bert>();
    const auto calibrated =
        zp::calibrate(zp::prepare<zp::accurate_qconfig>(model), zp::in(all.ids, all.types, all.mask));
    const auto int8 = zp::convert(calibrated);
    const double least = least_cosine(int8, all);
    MESSAGE("BERT: static int8 has a cosine of " << least << " with transformers' at least");
    CHECK(least >= 0.998);
    const auto again = zp::load<zp::quantized<padded_bert, zp::accurate_qconfig>>(zp::to_bytes(int8));
    CHECK(vectors_of(again, all, 2) == vectors_of(int8, all, 2));
    CHECK(zp::to_string(int8).find("masked_softmax") != std::string::npos);
}

TEST_CASE("BERT: a mask has 0 and 1, and is checked like ids") {
    const auto model = made_up::network<classifier>(3);
    const std::vector<int> ids{3, 16, 0, 3, 9}, types(length, 0);
    std::vector<float> y(classes);
    CHECK(zp_test::error_of<zp::value_error>([&] {
              model(zp::in(ids, types, std::vector<int>{1, 1, 1, 2, 0}), y);
          }) == "attention_mask: index 2 at position 3 is no value of a mask: 1 keeps a place, 0 leaves it out");
    CHECK(zp_test::error_of<zp::value_error>([&] {
              model(zp::in(ids, types, std::vector<std::int64_t>{1, -1, 1, 0, 0}), y);
          }) == "attention_mask: index -1 at position 1 is no value of a mask: 1 keeps a place, 0 leaves it out");
    std::vector<float> of_ones(classes), unchecked(classes);
    model(zp::in(ids, types, std::vector<int>(length, 1)), of_ones);
    model(zp::in(ids, types, zp::unchecked(std::vector<int>(length, 7))), unchecked);
    CHECK(unchecked == of_ones);
}
