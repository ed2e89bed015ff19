// SPDX-License-Identifier: BSD-3-Clause
// Dynamic layers behind a C interface, for compare_dynamic.py: one row or one step a call.
#include <algorithm>
#include <cstddef>
#include <memory>

#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/recurrent.hpp>

namespace {

using seven_bits = zp::dynamic_policy<zp::quint8_reduced>;

struct layer {
    virtual ~layer() = default;
    virtual void run(const float* x, float* y, int repeats) = 0;
};

template <int Inputs, int Outputs, class Policy> struct linear final : layer {
    using layer_type = zp::dynamic_linear<Inputs, Outputs, Policy>;
    layer_type one;
    typename layer_type::workspace memory;

    explicit linear(const float* const* p)
        : one(std::span(p[0], std::size_t{Inputs} * Outputs), std::span(p[1], Outputs)) {}
    void run(const float* x, float* y, int repeats) override {
        for (int i = 0; i != repeats; ++i) one.run(x, 1, y, memory);
    }
};

/// Each call is the first step of a sequence.
template <class Layer, std::size_t Hidden, std::size_t Gates> struct step final : layer {
    using layer_type = Layer;
    static constexpr std::size_t sums = Gates * Hidden;
    layer_type one;
    typename layer_type::workspace memory;
    typename layer_type::state start;

    explicit step(const float* const* p)
        : one(std::span(p[0], sums * Layer::inputs), std::span(p[1], sums * Hidden), std::span(p[2], sums),
              std::span(p[3], sums)) {
        std::copy_n(p[4], Hidden, start.values("h").begin());
        if constexpr (Gates == 4) std::copy_n(p[5], Hidden, start.values("c").begin());
    }
    void run(const float* x, float* y, int repeats) override {
        for (int i = 0; i != repeats; ++i) {
            typename layer_type::state state = start;
            one.run(x, 1, state, y, memory);
        }
    }
};

template <class Policy> layer* make(int index, const float* const* p) {
    if (index == 0) return new linear<1024, 1024, Policy>(p);
    if (index == 1) return new step<zp::dynamic_lstm<256, 256, Policy>, 256, 4>(p);
    return new step<zp::dynamic_gru<64, 64, Policy>, 64, 3>(p);
}

}  // namespace

extern "C" {

/// 0: linear 1024 to 1024, `parameters` weight and bias. 1: LSTM of 256 inputs and 256 outputs, 2: GRU of 64 and 64;
/// weight_ih, weight_hh, bias_ih, bias_hh, h and, of an LSTM, c.
void* zp_dynamic_new(int index, int activation_bits, const float* const* parameters) {
    return activation_bits == 7 ? make<seven_bits>(index, parameters) : make<zp::dynamic_policy<>>(index, parameters);
}
void zp_dynamic_run(void* handle, const float* x, float* y, int repeats) {
    static_cast<layer*>(handle)->run(x, y, repeats);
}
void zp_dynamic_delete(void* handle) { delete static_cast<layer*>(handle); }
}
