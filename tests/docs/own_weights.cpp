// SPDX-License-Identifier: BSD-3-Clause
// The operator that CONTRIBUTING.md and docs/workflow.md write: weights of its own, kept as int8, over codes of 8 and 16 bits.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "network.hpp"

// clang-format off
// [own-weights]
/// y = W x over the channels of each pixel. In int8: weights with a scale a row, exact sums, one rounding.
template <int Outputs> struct projection {
    static constexpr const char* kind = "projection";
    static constexpr int options[] = {Outputs};  // a file is loaded by a network of the same
    static constexpr zp::shape output_shape(zp::shape x) { return {x.height, x.width, Outputs}; }
    static constexpr zp::parameter_list parameters(zp::shape x) {
        return zp::parameter_list().add_matrix("weight", Outputs, x.channels);  // outputs x inputs in files
    }
    static constexpr std::int64_t macs(const zp::node_view& v) { return std::int64_t{v.x_shape().size()} * Outputs; }

    static void forward(const zp::operands<float>& o) {
        const int inputs = o.x_shape().channels;
        for (int pixel = 0; pixel != o.y_shape().pixels(); ++pixel)
            for (int r = 0; r != Outputs; ++r) {
                float sum = 0;
                for (int k = 0; k != inputs; ++k)  // floats of a matrix lie column by column
                    sum += o.parameters()[k * Outputs + r] * o.x()[pixel * inputs + k];
                o.y()[pixel * Outputs + r] = sum;
            }
    }

    static constexpr bool keeps_codes = true, takes_int16 = true;
    struct row { double factor; float scale; };  // then the codes, row by row
    template <class Arch> static constexpr int prepared_bytes(const zp::node_view& v) {
        return Outputs * static_cast<int>(sizeof(row)) + Outputs * v.x_shape().channels;
    }
    template <class Arch> static const char* pack(const zp::preparation& p, const zp::node_parameters& from) {
        const zp::quantized_weights& weights = from.matrices[0];
        auto* rows = reinterpret_cast<row*>(p.prepared());
        for (std::size_t r = 0; r != Outputs; ++r)
            rows[r] = {double{p.x_qparams().scale} * double{weights.scales[r]} / double{p.y_qparams().scale}, weights.scales[r]};
        std::memcpy(rows + Outputs, weights.codes.data(), weights.codes.size());
        return nullptr;  // or a sentence, where these scales make no sense
    }
    template <class Arch> static zp::node_parameters unpack(const zp::preparation& p) {  // for files
        const auto* rows = reinterpret_cast<const row*>(p.prepared());
        const auto* codes = reinterpret_cast<const std::byte*>(rows + Outputs);
        zp::node_parameters to;
        zp::quantized_weights& weights = to.matrices.emplace_back();
        for (int r = 0; r != Outputs; ++r) weights.scales.push_back(rows[r].scale);
        weights.codes.assign(codes, codes + Outputs * p.x_shape().channels);
        return to;
    }
    template <class T> static void forward(const zp::operands<T>& o) {  // std::uint8_t, std::int8_t, std::int16_t
        const auto* rows = o.template prepared<row>();
        const auto* codes = reinterpret_cast<const std::int8_t*>(rows + Outputs);
        const zp::kernel::output_codes y = o.y_codes();
        const int inputs = o.x_shape().channels;
        for (int pixel = 0; pixel != o.y_shape().pixels(); ++pixel)
            for (int r = 0; r != Outputs; ++r) {
                std::int64_t sum = 0;
                for (int k = 0; k != inputs; ++k)
                    sum += codes[r * inputs + k] * (std::int64_t{o.x()[pixel * inputs + k]} - o.x_qparams().zero_point);
                const std::int64_t code = zp::round_half_even(rows[r].factor * static_cast<double>(sum)) + y.zero_point;
                o.y()[pixel * Outputs + r] = static_cast<T>(std::clamp(code, std::int64_t{y.min}, std::int64_t{y.max}));
            }
    }
};
template <zp::fixed_string Name, int Outputs> struct project : zp::custom<Name, projection<Outputs>> {};
// [/own-weights]
// clang-format on

namespace {
struct projected : zp::model<zp::input<6, 6, 3>, zp::conv2d<"c", zp::conv{.out_channels = 12, .kernel = 3}>, zp::relu,
                             project<"p", 7>, zp::max_pool2d<2>, zp::flatten, zp::linear<"fc", 4>> {};
struct bits8 : zp::qconfig<zp::default_qconfig::activation, zp::default_qconfig::weight> {};
struct bits16 : zp::qconfig<zp::quantizer<zp::qint16, zp::per_tensor_symmetric, zp::min_max_observer>,
                            zp::default_qconfig::weight> {};

/// The signal to noise ratio in dB against the float network, which must also come back from a file with its codes.
template <class QConfig> double ratio_under() {
    const auto trained = made_up::network<projected>();
    const auto inputs = made_up::inputs<projected>(40, 7, -2, 2);
    const auto network = zp::convert(zp::calibrate(zp::prepare<QConfig>(zp::fuse(trained)), inputs));
    const auto loaded = zp::load<zp::quantized<projected, QConfig>>(zp::to_bytes(network), "projected");
    for (const zp::node& n : network.rows())
        if (std::string(n.op->name) == "projection") CHECK(n.out.is_codes());
    double noise = 0, signal = 0;
    for (const auto& x : inputs) {
        std::vector<float> exact(4), y(4), again(4);
        trained(x, exact);
        network(x, y);
        loaded(x, again);
        CHECK(y == again);
        for (std::size_t i = 0; i != 4; ++i) {
            noise += std::pow(double{y[i]} - double{exact[i]}, 2);
            signal += std::pow(double{exact[i]}, 2);
        }
    }
    return 10 * std::log10(signal / noise);
}
}  // namespace

TEST_CASE("workflow: an operator of the user's with int8 weights, over codes of 8 and 16 bits") {
    CHECK(ratio_under<bits8>() > 25);
    CHECK(ratio_under<bits16>() > 30);
}

TEST_CASE("workflow: the file of an operator with int8 weights has its codes and a scale a row") {
    const auto inputs = made_up::inputs<projected>(4, 7, -2, 2);
    const auto network =
        zp::convert(zp::calibrate(zp::prepare<bits8>(zp::fuse(made_up::network<projected>())), inputs));
    const zp::safetensors_file file = zp::safetensors_file::parse(zp::to_bytes(network), "projected");
    CHECK(file.expect("p.weight", zp::file_dtype::I8, {7, 12}).name == "p.weight");
    CHECK(file.expect("p.weight_scale", zp::file_dtype::F32, {7}).name == "p.weight_scale");
}
