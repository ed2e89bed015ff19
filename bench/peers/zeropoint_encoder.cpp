// SPDX-License-Identifier: BSD-3-Clause
// A transformer encoder of MiniLM's size behind a C interface, for compare_encoder.py.
#include <cstddef>
#include <map>
#include <span>
#include <string>

#include <zeropoint/layer/transformer_encoder.hpp>

namespace {

constexpr zp::transformer options{
    .model = 384, .heads = 12, .feed_forward = 1536, .activation = zp::feed_forward_activation::gelu};
constexpr int layers = 6, most_rows = 64;

struct encoder {
    virtual ~encoder() = default;
    virtual void run(const float* x, int rows, float* y, int repeats) = 0;
};

template <class Policy> struct encoder_of final : encoder {
    using encoder_type = zp::transformer_encoder<options, layers, most_rows, Policy>;
    encoder_type one;
    typename encoder_type::workspace memory;

    template <class Find> explicit encoder_of(Find find) : one(find) {}
    void run(const float* x, int rows, float* y, int repeats) override {
        for (int i = 0; i != repeats; ++i) one.run(x, rows, y, memory);
    }
};

}  // namespace

extern "C" {

/// `parameters`: of each layer in_proj, out_proj, linear1, linear2, norm1 and norm2, weight and bias of each.
/// `activation_bits` is 8, 7 or 32, for float.
void* zp_encoder_new(int activation_bits, const float* const* parameters) {
    std::map<std::string, const float*> tensors;
    for (int layer = 0; layer != layers; ++layer)
        for (const char* part :
             {"self_attn.in_proj_", "self_attn.out_proj.", "linear1.", "linear2.", "norm1.", "norm2."})
            for (const char* tensor : {"weight", "bias"})
                tensors["layers." + std::to_string(layer) + "." + part + tensor] = *parameters++;
    const auto next = [&](const std::string& name, int rows, int columns, bool) -> std::span<const float> {
        return {tensors.at(name),
                static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns == 0 ? 1 : columns)};
    };
    if (activation_bits == 32) return new encoder_of<zp::float_policy>(next);
    if (activation_bits == 7) return new encoder_of<zp::dynamic_policy<zp::quint8_reduced>>(next);
    return new encoder_of<zp::dynamic_policy<>>(next);
}
void zp_encoder_run(void* handle, const float* x, int rows, float* y, int repeats) {
    static_cast<encoder*>(handle)->run(x, rows, y, repeats);
}
void zp_encoder_delete(void* handle) { delete static_cast<encoder*>(handle); }
}
