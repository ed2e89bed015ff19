// SPDX-License-Identifier: BSD-3-Clause
// Recurrent layers as plain loops over products and the kernels' gates: a reference that shares nothing with operators/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/kernel/dynamic/weight_only_product.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/recurrent/gates.hpp>
#include <zeropoint/kernel/recurrent/gates_int16.hpp>
#include <zeropoint/kernel/reference/recurrent.hpp>
#include <zeropoint/layer/alone.hpp>
#include <zeropoint/layer/runtime_dynamic_linear.hpp>
#include <zeropoint/operators/recurrent_geometry.hpp>

namespace recurrent_reference {

using arch = zp::default_architecture;

/// weights * x + bias of one row under a policy.
template <class Policy> class product {
public:
    product(std::vector<float> weights, std::vector<float> bias, int depth)
        : weights_(std::move(weights)),
          bias_(std::move(bias)),
          depth_(depth),
          channels_(static_cast<int>(weights_.size()) / depth) {
        bias_.resize(static_cast<std::size_t>(channels_));
    }
    std::vector<float> operator()(const float* x) const {
        std::vector<float> y(bias_.size());
        if constexpr (std::is_same_v<Policy, zp::float_policy>) {
            std::vector<float> columns(weights_.size());
            for (std::size_t i = 0; i != weights_.size(); ++i)
                columns[i % static_cast<std::size_t>(depth_) * bias_.size() + i / static_cast<std::size_t>(depth_)] =
                    weights_[i];
            zp::kernel::ordered_product<arch>({x, depth_}, 1, depth_, {columns.data(), channels_}, channels_,
                                              bias_.data(), y.data(), channels_);
        } else if constexpr (requires { Policy::group_size; }) {
            const zp::kernel::weight_only_layout layout(depth_, channels_, Policy::bits,
                                                        Policy::group_size == 0 ? depth_ : Policy::group_size);
            const auto codes = zp::quantize_groups<typename Policy::weight_quantizer>(weights_, bias_, "reference");
            zp::aligned_buffer packed(layout.bytes);
            zp::kernel::pack_weight_only(layout, reinterpret_cast<const std::int8_t*>(codes.codes.data()),
                                         codes.scales.data(), bias_.data(), packed.data());
            zp::kernel::weight_only_product<arch, Policy::bits>(layout, x, 1, packed.data(), y.data());
        } else {
            const zp::runtime_dynamic_linear<Policy> linear(weights_, bias_, depth_, channels_);
            zp::aligned_buffer scratch(linear.scratch_bytes(1));
            linear.run(x, 1, y.data(), scratch.data());
        }
        return y;
    }

private:
    std::vector<float> weights_, bias_;
    int depth_, channels_;
};

/// The parameters of one layer and direction, by `find(name, rows, columns, optional)`.
struct parameters {
    std::vector<float> weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
    template <class Find>
    parameters(Find& find, const zp::recurrent_layer& layer, int number, bool reversed, int inputs) {
        const std::string suffix = "_l" + std::to_string(number) + (reversed ? "_reverse" : "");
        const auto read = [&](std::vector<float>& to, const char* name, int rows, int columns) {
            const std::span<const float> values = find(name + suffix, rows, columns, columns == 0);
            to.assign(values.begin(), values.end());
        };
        read(weight_ih, "weight_ih", layer.sums(), inputs);
        read(weight_hh, "weight_hh", layer.sums(), layer.outputs());
        read(bias_ih, "bias_ih", layer.sums(), 0);
        read(bias_hh, "bias_hh", layer.sums(), 0);
        if (layer.options.projection != 0) read(weight_hr, "weight_hr", layer.outputs(), layer.hidden);
    }
};

/// All steps of all layers over x: one(parameters, number, inputs) gives a callable, which takes a row of x to a row of y.
template <class X, class Find, class One>
std::vector<X> run(const zp::recurrent_layer& layer, int inputs, Find& find, std::vector<X> x, One one) {
    const auto outputs = static_cast<std::size_t>(layer.outputs()), width = static_cast<std::size_t>(layer.width());
    for (int number = 0; number != layer.options.layers; ++number) {
        const std::size_t steps = x.size() / static_cast<std::size_t>(inputs);
        std::vector<X> y(steps * width);
        for (int direction = 0; direction != layer.directions(); ++direction) {
            auto step = one(parameters(find, layer, number, direction == 1, inputs), number, inputs);
            for (std::size_t i = 0; i != steps; ++i) {
                const std::size_t t = direction == 1 ? steps - 1 - i : i;
                const auto h = step(x.data() + t * static_cast<std::size_t>(inputs));
                for (std::size_t k = 0; k != outputs; ++k)
                    y[t * width + static_cast<std::size_t>(direction) * outputs + k] = static_cast<X>(h[k]);
            }
        }
        x = y;
        inputs = layer.width();
    }
    return x;
}

/// In float, or with integer weights.
template <class Policy, class Find>
std::vector<float> floats(const zp::recurrent_layer& layer, int inputs, Find& find, const std::vector<float>& x) {
    return run(layer, inputs, find, x, [&](const parameters& p, int, int depth) {
        const auto hidden = static_cast<std::size_t>(layer.hidden);
        return
            [&layer, hidden, is_projected = !p.weight_hr.empty(), ih = product<Policy>(p.weight_ih, p.bias_ih, depth),
             hh = product<Policy>(p.weight_hh, p.bias_hh, layer.outputs()),
             hr = product<Policy>(p.weight_hr, {}, layer.hidden), c = std::vector<float>(hidden),
             h = std::vector<float>(static_cast<std::size_t>(layer.outputs()))](const float* row) mutable {
                const std::vector<float> a = ih(row), b = hh(h.data());
                std::vector<float> out = h;
                out.resize(hidden);
                if (layer.cell == zp::recurrent_cell::lstm)
                    zp::kernel::lstm_gates<arch>(a.data(), b.data(), hidden, c.data(), out.data());
                else if (layer.cell == zp::recurrent_cell::gru)
                    zp::kernel::gru_gates<arch>(a.data(), b.data(), hidden, out.data());
                else if (layer.options.nonlinearity == zp::rnn_nonlinearity::tanh)
                    zp::kernel::rnn_tanh_gates<arch>(a.data(), b.data(), hidden, out.data());
                else zp::kernel::rnn_relu_gates<arch>(a.data(), b.data(), hidden, out.data());
                h = is_projected ? hr(out.data()) : out;
                return h;
            };
    });
}

/// Weights of 8 bits, symmetric, a scale a row.
struct integer_matrix {
    std::vector<std::int8_t> codes;
    std::vector<float> scales;
    integer_matrix(const std::vector<float>& weights, const zp::recurrent_layer& layer) {
        std::vector<std::string> raised;
        const std::vector<float> none(static_cast<std::size_t>(layer.sums()));
        const zp::quantized_weights quantized =
            zp::quantize_filters<zp::own_weight_quantizer, arch>(weights, none, {}, "reference", raised);
        for (const auto code : quantized.codes) codes.push_back(static_cast<std::int8_t>(code));
        scales = quantized.scales;
    }
};

/// Steps over codes of 8 bits: the numbers of docs/numerics.md, and the oracle of the kernels.
class bytes {
public:
    static constexpr double scale = 1.0 / 128;
    bytes(const zp::recurrent_layer& layer, const parameters& p, int inputs, double x_scale, int x_zero_point)
        : x_zero_point_(x_zero_point), h_(static_cast<std::size_t>(layer.hidden)), carried_(h_.size()) {
        const integer_matrix ih(p.weight_ih, layer), hh(p.weight_hh, layer);
        const bool is_lstm = layer.cell == zp::recurrent_cell::lstm;
        // 2^11 for a sigmoid, 2^12 for an LSTM's tanh, 2^14 for both parts of a GRU's.
        const auto fraction = [&](std::size_t row) {
            return row / h_.size() != 2 ? 0x1p11 : is_lstm ? 0x1p12 : 0x1p14;
        };
        double largest = 0;
        for (std::size_t row = 0; row != ih.scales.size(); ++row)
            largest = std::max({largest, x_scale * double{ih.scales[row]} * fraction(row),
                                scale * double{hh.scales[row]} * fraction(row)});
        int shift = 32;
        while (shift > 1 && std::ldexp(largest, shift) >= 0x1p30) --shift;
        cell_ = {is_lstm, inputs, layer.hidden, shift, ih.codes, hh.codes, {}, {}, {}, {}};
        for (std::size_t row = 0; row != ih.scales.size(); ++row) {
            const auto integer = [&](double real) {
                return static_cast<std::int64_t>(std::nearbyint(std::ldexp(real * fraction(row), shift)));
            };
            cell_.x_multiplier.push_back(static_cast<std::int32_t>(integer(x_scale * double{ih.scales[row]})));
            cell_.h_multiplier.push_back(static_cast<std::int32_t>(integer(scale * double{hh.scales[row]})));
            cell_.x_bias.push_back(p.bias_ih.empty() ? 0 : integer(double{p.bias_ih[row]}));
            cell_.h_bias.push_back(p.bias_hh.empty() ? 0 : integer(double{p.bias_hh[row]}));
        }
    }
    std::vector<std::int8_t> operator()(const int* x) {
        zp::kernel::reference::recurrent_step(cell_, x, x_zero_point_, carried_, h_);
        return h_;
    }

private:
    int x_zero_point_;
    zp::kernel::reference::recurrent_cell_integers cell_{};
    std::vector<std::int8_t> h_;
    std::vector<std::int16_t> carried_;
};

/// The same over codes of 16 bits, with the gates of the kernels.
class words {
public:
    static constexpr double scale = 1.0 / 32768;
    words(const zp::recurrent_layer& layer, const parameters& p, int inputs, double x_scale, int x_zero_point)
        : layer_(layer),
          inputs_(static_cast<std::size_t>(inputs)),
          x_zero_point_(x_zero_point),
          ih_(p.weight_ih, layer),
          hh_(p.weight_hh, layer),
          h_(static_cast<std::size_t>(layer.hidden)),
          wide_(h_.size()) {
        double largest = 0;
        for (std::size_t c = 0; c != ih_.scales.size(); ++c)
            largest = std::max({largest, x_scale * double{ih_.scales[c]}, scale * double{hh_.scales[c]}});
        shift_ = std::clamp(22 - 17 - (std::ilogb(largest) + 1), 1, 40);
        const double unit = std::ldexp(1.0, 17 + shift_);
        for (std::size_t c = 0; c != ih_.scales.size(); ++c) {
            const auto bias = [&](const std::vector<float>& from) {
                return from.empty() ? std::int64_t{0}
                                    : static_cast<std::int64_t>(std::nearbyint(double{from[c]} * unit));
            };
            ih_.multipliers.push_back(
                static_cast<std::int32_t>(std::nearbyint(x_scale * double{ih_.scales[c]} * unit)));
            hh_.multipliers.push_back(static_cast<std::int32_t>(std::nearbyint(scale * double{hh_.scales[c]} * unit)));
            ih_.biases.push_back(bias(p.bias_ih));
            hh_.biases.push_back(bias(p.bias_hh));
        }
    }
    std::vector<std::int16_t> operator()(const int* x) {
        const auto a = ih_.sums(x, inputs_, x_zero_point_), b = hh_.sums(h_.data(), h_.size(), 0);
        const zp::kernel::gate_arguments_int16 arguments{ih_.multipliers.data(), hh_.multipliers.data(),
                                                         ih_.biases.data(), hh_.biases.data(), shift_};
        const auto gates =
            layer_.cell == zp::recurrent_cell::lstm ? &zp::kernel::lstm_gates_int16 : &zp::kernel::gru_gates_int16;
        gates(tables_, arguments, a.data(), b.data(), h_.size(), wide_.data(), h_.data());
        return h_;
    }

private:
    struct matrix : integer_matrix {
        std::vector<std::int32_t> multipliers;
        std::vector<std::int64_t> biases;
        using integer_matrix::integer_matrix;
        template <class X> std::vector<std::int64_t> sums(const X* x, std::size_t depth, int zero_point) const {
            std::vector<std::int64_t> result;
            for (std::size_t c = 0; c != scales.size(); ++c) {
                std::int64_t sum = 0;
                for (std::size_t k = 0; k != depth; ++k) sum += std::int64_t{x[k] - zero_point} * codes[c * depth + k];
                result.push_back(sum);
            }
            return result;
        }
    };
    zp::recurrent_layer layer_;
    std::size_t inputs_;
    int x_zero_point_, shift_ = 0;
    matrix ih_, hh_;
    std::vector<std::int16_t> h_;
    std::vector<std::int32_t> wide_;
    zp::kernel::gate_tables_int16 tables_;
};

/// In integers throughout: codes of a range to codes of states, `bytes` of scale 2^-7 or `words` of 2^-15.
template <class Codes, class Find>
std::vector<int> integers(const zp::recurrent_layer& layer, int inputs, Find& find, zp::qparams range,
                          const std::vector<int>& x) {
    return run(layer, inputs, find, x, [&](const parameters& p, int number, int depth) {
        return Codes(layer, p, depth, number == 0 ? double{range.scale} : Codes::scale,
                     number == 0 ? range.zero_point : 0);
    });
}

}  // namespace recurrent_reference
