// BERT from token ids: the names of its parameters, and its embeddings and pooler around an encoder that is compared with PyTorch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/models/bert.hpp>

#include "../support/made_up.hpp"

namespace {

constexpr int length = 5, channels = 6, classes = 3;
constexpr zp::models::bert_extents extents{
    .length = length, .channels = channels, .layers = 1, .heads = 2, .inner = 8, .vocabulary = 17, .positions = 9};
struct classifier : zp::models::bert_classifier<classes, extents> {};
struct encoder : zp::models::bert_encoder<length, channels, 1, 2, 8> {};

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
    const std::vector<int> x{3, 16, 0, 3, 9, 0, 0, 1, 1, 1};
    std::vector<float> y(classes);
    model(x, y);

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
                        double{types[static_cast<std::size_t>(x[length + i]) * channels + c]} +
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
