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
#include <zeropoint/kernel/recurrent/integer_gates.hpp>
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

/// Gates of 8 bits, and of 16.
struct bytes {
    using h = std::int8_t;
    using wide = std::int16_t;
    using sum = std::int32_t;
    using tables = zp::kernel::gate_tables;
    using arguments = zp::kernel::gate_arguments;
    static constexpr int multiplier_bits = 30, argument_bits = 8, least_shift = 15, most_shift = 45;
    static constexpr double scale = 1.0 / 128;
    static constexpr auto lstm = &zp::kernel::integer_lstm_gates;
    static constexpr auto gru = &zp::kernel::integer_gru_gates;
};
struct words {
    using h = std::int16_t;
    using wide = std::int32_t;
    using sum = std::int64_t;
    using tables = zp::kernel::gate_tables_int16;
    using arguments = zp::kernel::gate_arguments_int16;
    static constexpr int multiplier_bits = 22, argument_bits = 17, least_shift = 1, most_shift = 40;
    static constexpr double scale = 1.0 / 32768;
    static constexpr auto lstm = &zp::kernel::lstm_gates_int16;
    static constexpr auto gru = &zp::kernel::gru_gates_int16;
};

/// One step after another in integers. Weights have 8 bits, symmetric, a scale a row.
template <class Codes> class integer_cell {
public:
    integer_cell(const zp::recurrent_layer& layer, const parameters& p, int inputs, double x_scale, int x_zero_point)
        : layer_(layer),
          inputs_(static_cast<std::size_t>(inputs)),
          x_zero_point_(x_zero_point),
          ih_(p.weight_ih, layer),
          hh_(p.weight_hh, layer),
          h_(static_cast<std::size_t>(layer.hidden)),
          wide_(h_.size()) {
        double largest = 0;
        for (std::size_t c = 0; c != ih_.scales.size(); ++c)
            largest = std::max({largest, x_scale * double{ih_.scales[c]}, Codes::scale * double{hh_.scales[c]}});
        shift_ = std::clamp(Codes::multiplier_bits - Codes::argument_bits - (std::ilogb(largest) + 1),
                            Codes::least_shift, Codes::most_shift);
        const double unit = std::ldexp(1.0, Codes::argument_bits + shift_);
        for (std::size_t c = 0; c != ih_.scales.size(); ++c) {
            const auto bias = [&](const std::vector<float>& from) {
                return from.empty() ? std::int64_t{0}
                                    : static_cast<std::int64_t>(std::nearbyint(double{from[c]} * unit));
            };
            ih_.multipliers.push_back(
                static_cast<std::int32_t>(std::nearbyint(x_scale * double{ih_.scales[c]} * unit)));
            hh_.multipliers.push_back(
                static_cast<std::int32_t>(std::nearbyint(Codes::scale * double{hh_.scales[c]} * unit)));
            ih_.biases.push_back(bias(p.bias_ih));
            hh_.biases.push_back(bias(p.bias_hh));
        }
    }
    std::vector<typename Codes::h> operator()(const int* x) {
        const auto a = ih_.sums(x, inputs_, x_zero_point_), b = hh_.sums(h_.data(), h_.size(), 0);
        const typename Codes::arguments arguments{ih_.multipliers.data(), hh_.multipliers.data(), ih_.biases.data(),
                                                  hh_.biases.data(), shift_};
        const auto gates = layer_.cell == zp::recurrent_cell::lstm ? Codes::lstm : Codes::gru;
        gates(tables_, arguments, a.data(), b.data(), h_.size(), wide_.data(), h_.data());
        return h_;
    }

private:
    struct matrix {
        std::vector<int> codes;
        std::vector<float> scales;
        std::vector<std::int32_t> multipliers;
        std::vector<std::int64_t> biases;
        matrix(const std::vector<float>& weights, const zp::recurrent_layer& layer) {
            std::vector<std::string> raised;
            const std::vector<float> none(static_cast<std::size_t>(layer.sums()));
            const zp::quantized_weights quantized =
                zp::quantize_filters<zp::own_weight_quantizer, arch>(weights, none, {}, "reference", raised);
            for (const auto code : quantized.codes) codes.push_back(static_cast<std::int8_t>(code));
            scales = quantized.scales;
        }
        template <class X> std::vector<typename Codes::sum> sums(const X* x, std::size_t depth, int zero_point) const {
            std::vector<typename Codes::sum> result;
            for (std::size_t c = 0; c != scales.size(); ++c) {
                std::int64_t sum = 0;
                for (std::size_t k = 0; k != depth; ++k) sum += std::int64_t{x[k] - zero_point} * codes[c * depth + k];
                result.push_back(static_cast<typename Codes::sum>(sum));
            }
            return result;
        }
    };
    zp::recurrent_layer layer_;
    std::size_t inputs_;
    int x_zero_point_, shift_ = 0;
    matrix ih_, hh_;
    std::vector<typename Codes::h> h_;
    std::vector<typename Codes::wide> wide_;
    typename Codes::tables tables_;
};

/// In integers throughout: codes of a range to codes of states, `bytes` of scale 2^-7 or `words` of 2^-15.
template <class Codes, class Find>
std::vector<int> integers(const zp::recurrent_layer& layer, int inputs, Find& find, zp::qparams range,
                          const std::vector<int>& x) {
    return run(layer, inputs, find, x, [&](const parameters& p, int number, int depth) {
        return integer_cell<Codes>(layer, p, depth, number == 0 ? double{range.scale} : Codes::scale,
                                   number == 0 ? range.zero_point : 0);
    });
}

}  // namespace recurrent_reference
