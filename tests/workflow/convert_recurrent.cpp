// SPDX-License-Identifier: BSD-3-Clause
// LSTM, GRU and RNN as rows of a model: float as PyTorch's, all forms bit for bit as plain loops over products and gates.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/state_dict.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"
#include "../support/recurrent_reference.hpp"
#include "../support/run.hpp"

namespace {

using zp::recurrent_options;
using zp::recurrent_output;

template <class DType>
struct config_of : zp::qconfig<zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>,
                               zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {
};
struct config : config_of<zp::quint8> {};
struct reduced_config : config_of<zp::quint8_reduced> {};
struct signed_config : config_of<zp::qint8> {};

/// Two layers, both directions, more steps than are taken together.
struct lstm_net
    : zp::model<zp::input<1, 37, 5>, zp::lstm<"rnn", 40, recurrent_options{.layers = 2, .bidirectional = true}>> {};
template <zp::rnn_nonlinearity Nonlinearity>
struct rnn_net
    : zp::model<zp::input<1, 21, 7>, zp::rnn<"rnn", 34, recurrent_options{.layers = 2, .nonlinearity = Nonlinearity}>> {
};
struct gru_net : zp::model<zp::input<1, 18, 9>, zp::gru<"rnn", 33, recurrent_options{.layers = 3}>> {};

/// The network with weights of the size that PyTorch begins with.
template <class Net> zp::float_model<Net> trained(int hidden, std::uint64_t seed = 1) {
    zp::float_model<Net> model;
    const float size = 1.5f / std::sqrt(static_cast<float>(hidden));
    const auto values = made_up::values(zp::float_model<Net>::parameter_bytes / sizeof(float), seed, -size, size);
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(model.parameters()));
    return model;
}

using zp_test::run;

/// The parameters of a network by name.
class parameters_of {
public:
    template <class Network>
    explicit parameters_of(const Network& model)
        : file_(zp::safetensors_file::parse(zp::to_bytes(model), "float")), dict_(file_, "rnn.") {}
    template <class... Arguments> auto operator()(const Arguments&... arguments) { return dict_(arguments...); }

private:
    zp::safetensors_file file_;
    zp::state_dict dict_;
};

double signal_to_noise(const std::vector<float>& exact, const std::vector<float>& found) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != exact.size(); ++i) {
        const double off = double{exact[i]} - double{found[i]};
        signal += double{exact[i]} * double{exact[i]};
        noise += off * off;
    }
    return 10 * std::log10(signal / noise);
}

/// The layer of a network of one, and how many features it reads.
template <class Network> zp::recurrent_layer layer_of() {
    for (const zp::node& row : Network::rows())
        if (row.op->state_values != 0) return zp::recurrent_layer_of(*row.op);
    return {};
}

/// Equal to the reference under a policy, bit for bit, and the same out of a file.
template <class Policy, class Network, class Net>
void compare_with_reference(const Network& model, const zp::float_model<Net>& source) {
    parameters_of find(source);
    for (const auto& x : made_up::inputs<Net>(2, 5, -2, 2))
        CHECK(run(model, x) ==
              recurrent_reference::floats<Policy>(layer_of<Network>(), Network::input_shape.channels, find, x));
    const auto bytes = zp::to_bytes(model);
    CHECK(zp::to_bytes(zp::load<Network>(bytes, "saved")) == bytes);
}

template <class Net, class Config> void compare_with_bytes(int hidden) {
    const auto source = trained<Net>(hidden);
    parameters_of find(source);
    const auto calibration = made_up::inputs<Net>(8, 3, -2, 2);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(source), calibration));
    const auto again = zp::load<zp::quantized<Net, Config>>(zp::to_bytes(int8), "int8");
    CHECK(zp::to_bytes(again) == zp::to_bytes(int8));
    static_assert(zp::budget_of<zp::quantized<Net, Config>>.boundaries == 0);
    const zp::node& row = int8.rows()[2];
    REQUIRE(row.op->state_values != 0);
    const zp::qparams range = int8.ranges()[int8.rows()[1].out.qparams_id], y_range = int8.ranges()[row.out.qparams_id];
    CHECK(y_range.scale == 0x1p-7f);
    std::vector<float> exact, found;
    for (const auto& x : made_up::inputs<Net>(3, 5, -2, 2)) {
        std::vector<int> codes;
        for (const float value : x)
            codes.push_back(zp::quantize(value, range, int8.rows()[1].out.quant_min, int8.rows()[1].out.quant_max));
        std::vector<float> expected;
        for (const int code : recurrent_reference::integers<recurrent_reference::bytes>(
                 layer_of<zp::float_model<Net>>(), zp::float_model<Net>::input_shape.channels, find, range, codes))
            expected.push_back(static_cast<float>(code) * 0x1p-7f);
        const auto y = run(int8, x);
        CHECK(y == expected);
        CHECK(run(again, x) == expected);
        const auto floats = run(source, x);
        exact.insert(exact.end(), floats.begin(), floats.end());
        found.insert(found.end(), y.begin(), y.end());
    }
    const double ratio = signal_to_noise(exact, found);
    CHECK(ratio > 30);
}

/// Codes of a dtype of one's own, whose scale of [-1, 1] is not that of states.
struct odd_words : zp::integer_dtype<std::int16_t, -30000, 30000> {};
struct odd_config : zp::qconfig<zp::quantizer<odd_words, zp::per_tensor_symmetric, zp::min_max_observer>,
                                zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {
};

/// A network of 16-bit activations, integer by integer, and at least as near the floats as one of 8 bits.
template <class Net> void compare_with_int16(int hidden) {
    using words = zp::quantized<Net, zp::int16_qconfig>;
    const auto source = trained<Net>(hidden);
    parameters_of find(source);
    const auto calibration = made_up::inputs<Net>(8, 3, -2, 2);
    const auto model = zp::convert(zp::calibrate(zp::prepare<zp::int16_qconfig>(source), calibration));
    const auto bytes = zp::convert(zp::calibrate(zp::prepare<config>(source), calibration));
    const auto again = zp::load<words>(zp::to_bytes(model), "int16");
    CHECK(zp::to_bytes(again) == zp::to_bytes(model));
    static_assert(zp::budget_of<words>.boundaries == 0);
    const zp::node& row = model.rows()[2];
    REQUIRE(row.op->state_values != 0);
    REQUIRE(row.out.storage == zp::scalar_type::int16);
    const zp::qparams range = model.ranges()[model.rows()[1].out.qparams_id];
    std::vector<float> exact, of_words, of_bytes;
    for (const auto& x : made_up::inputs<Net>(3, 5, -2, 2)) {
        std::vector<int> codes;
        for (const float value : x) codes.push_back(zp::quantize(value, range, -32768, 32767));
        std::vector<float> expected;
        for (const int code : recurrent_reference::integers<recurrent_reference::words>(
                 layer_of<zp::float_model<Net>>(), zp::float_model<Net>::input_shape.channels, find, range, codes))
            expected.push_back(static_cast<float>(code) * 0x1p-15f);
        const auto y = run(model, x), narrow = run(bytes, x), floats = run(source, x);
        CHECK(y == expected);
        CHECK(run(again, x) == expected);
        exact.insert(exact.end(), floats.begin(), floats.end());
        of_words.insert(of_words.end(), y.begin(), y.end());
        of_bytes.insert(of_bytes.end(), narrow.begin(), narrow.end());
    }
    const double with_words = signal_to_noise(exact, of_words), with_bytes = signal_to_noise(exact, of_bytes);
    INFO(with_words, " dB, with 8 bits ", with_bytes);
    CHECK(with_words > 35);
    CHECK(with_words > with_bytes + 3);
}

/// PyTorch's own modules (scripts/golden/operators_dynamic.py).
struct golden_stack
    : zp::model<zp::input<1, 5, 4>, zp::lstm<"rnn", 6, recurrent_options{.layers = 2, .bidirectional = true}>> {};
struct golden_projection : zp::model<zp::input<1, 5, 6>, zp::lstm<"rnn", 8, recurrent_options{.projection = 3}>> {};
struct golden_gru
    : zp::model<zp::input<1, 5, 4>, zp::gru<"rnn", 6, recurrent_options{.layers = 2, .bidirectional = true}>> {};

template <zp::rnn_nonlinearity Nonlinearity>
struct golden_rnn
    : zp::model<zp::input<1, 5, 12>,
                zp::rnn<"rnn", 7, recurrent_options{.bidirectional = true, .nonlinearity = Nonlinearity}>> {};

template <class Net>
void compare_with_pytorch(const std::string& group, const std::string& golden_name = "operators_dynamic") {
    const auto golden =
        zp::safetensors_file::read(ZEROPOINT_SOURCE_DIR "/tests/golden/" + golden_name + ".safetensors");
    zp::safetensors_writer file;
    for (const zp::file_tensor& tensor : golden.tensors()) {
        const std::string name = tensor.name.substr(tensor.name.rfind('/') + 1);
        if (tensor.name.rfind(group + "/", 0) == 0 && name.find('_') != std::string::npos)
            file.add("rnn." + name, tensor.shape, golden.values<float>(tensor));
    }
    const auto model = zp::load<Net>(file.bytes(), "state dict");
    const auto x = golden.values<float>(golden.expect(group + "/x")),
               y = golden.values<float>(golden.expect(group + "/y"));
    const auto shape = golden.expect(group + "/x").shape;
    const std::size_t batch = shape.size() == 2 ? 1 : static_cast<std::size_t>(shape[1]), steps = 5;
    const std::size_t inputs = x.size() / steps / batch, outputs = y.size() / steps / batch;
    double largest = 0;
    for (std::size_t image = 0; image != batch; ++image) {
        std::vector<float> in;
        for (std::size_t i = 0; i != steps * inputs; ++i)
            in.push_back(x[(i / inputs * batch + image) * inputs + i % inputs]);
        const auto found = run(model, in);
        for (std::size_t i = 0; i != steps * outputs; ++i)
            largest = std::max(
                largest, std::abs(double{found[i]} - double{y[(i / outputs * batch + image) * outputs + i % outputs]}));
    }
    CHECK(largest < 4e-6);
}

template <recurrent_output Output>
struct net_of : zp::model<zp::input<1, 20, 3>,
                          zp::lstm<"rnn", 8, recurrent_options{.layers = 2, .bidirectional = true, .output = Output}>> {
};

/// A projection, which int8 models leave float, and a state that is small for the cost rule.
struct mixed : zp::model<zp::input<1, 4, 3>, zp::lstm<"a", 64, recurrent_options{.projection = 40, .bias = false}>,
                         zp::gru<"b", 16>> {};

}  // namespace

TEST_CASE("recurrent rows: float and dynamic equal the reference") {
    using zp::dynamic_policy, zp::float_policy;
    using config = zp::dynamic_qconfig<dynamic_policy<>, zp::quantize_every_layer>;
    const auto lstm = trained<lstm_net>(40);
    compare_with_reference<float_policy>(lstm, lstm);
    const auto dynamic = zp::quantize_dynamic<config>(lstm);
    compare_with_reference<dynamic_policy<>>(dynamic, lstm);
    const auto projected = trained<golden_projection>(8);
    compare_with_reference<dynamic_policy<>>(zp::quantize_dynamic<config>(projected), projected);
    const auto rnn = trained<rnn_net<zp::rnn_nonlinearity::tanh>>(34);
    compare_with_reference<float_policy>(rnn, rnn);
    compare_with_reference<dynamic_policy<>>(zp::quantize_dynamic<config>(rnn), rnn);
    const auto relu = trained<rnn_net<zp::rnn_nonlinearity::relu>>(34);
    compare_with_reference<dynamic_policy<>>(zp::quantize_dynamic<config>(relu), relu);
    const auto gru = trained<gru_net>(33);
    compare_with_reference<float_policy>(gru, gru);
    using affine = dynamic_policy<zp::qint8, zp::per_tensor_affine, zp::quint8, zp::per_channel_affine>;
    using affine_rows = dynamic_policy<zp::qint8, zp::per_row_affine, zp::quint8, zp::per_channel_affine>;
    const auto affine_gru = zp::quantize_dynamic<zp::dynamic_qconfig<affine, zp::quantize_every_layer>>(gru);
    compare_with_reference<affine_rows>(affine_gru, gru);
}

TEST_CASE("recurrent rows: weights of 8 and 4 bits alone equal the reference") {
    using zp::weight_only_policy;
    using four_bits = weight_only_policy<zp::qint4, 8>;
    const auto lstm = trained<lstm_net>(40);
    const auto lstm_of_8 = zp::quantize_dynamic<zp::dynamic_qconfig<weight_only_policy<>>>(lstm);
    CHECK(zp::table_of(lstm_of_8).rows[1].operation == "weight-only lstm of 8 bits");
    compare_with_reference<weight_only_policy<>>(lstm_of_8, lstm);
    const auto gru = trained<gru_net>(33);
    const auto gru_of_4 = zp::quantize_dynamic<zp::dynamic_qconfig<four_bits, zp::quantize_every_layer>>(gru);
    CHECK(zp::table_of(gru_of_4).rows[1].operation == "weight-only gru of 4 bits");
    compare_with_reference<four_bits>(gru_of_4, gru);
    using affine_rows = zp::dynamic_policy<zp::qint8, zp::per_row_affine, zp::quint8, zp::per_channel_affine>;
    CHECK_THROWS_AS(
        (zp::load<zp::dynamically_quantized<gru_net, zp::dynamic_qconfig<affine_rows, zp::quantize_every_layer>>>(
            zp::to_bytes(gru_of_4), "of weights alone")),
        zp::file_error);
}

TEST_CASE("recurrent rows: int8 equals the reference, and is near float") {
    compare_with_bytes<lstm_net, config>(40);
    compare_with_bytes<gru_net, signed_config>(33);
}

TEST_CASE("recurrent rows: 16 bits equal the reference, and are nearer to float") {
    compare_with_int16<lstm_net>(40);
    compare_with_int16<gru_net>(33);
    const auto source = trained<gru_net>(33);
    const auto calibration = made_up::inputs<gru_net>(8, 3, -2, 2);
    const auto model = zp::convert(zp::calibrate(zp::prepare<odd_config>(source), calibration));
    const zp::qparams range = model.ranges()[model.rows()[1].out.qparams_id],
                      y_range = model.ranges()[model.rows()[2].out.qparams_id];
    CHECK(y_range.scale == 2.0f / 60001);
    std::vector<int> codes;
    for (const float value : calibration[0]) codes.push_back(zp::quantize(value, range, -30000, 30000));
    parameters_of find(source);
    std::vector<float> expected;
    for (const int h : recurrent_reference::integers<recurrent_reference::words>(layer_of<zp::float_model<gru_net>>(),
                                                                                 9, find, range, codes))
        expected.push_back(
            zp::dequantize(zp::quantize(static_cast<float>(h) * 0x1p-15f, y_range, -30000, 30000), y_range));
    CHECK(run(model, calibration[0]) == expected);
}

TEST_CASE("recurrent rows: float equals PyTorch, from its own state dict") {
    compare_with_pytorch<golden_stack>("float_lstm/1");
    compare_with_pytorch<golden_projection>("float_lstm/2");
    compare_with_pytorch<golden_gru>("float_gru/1");
    compare_with_pytorch<golden_rnn<zp::rnn_nonlinearity::tanh>>("rnn_tanh/0", "operators_attention");
    compare_with_pytorch<golden_rnn<zp::rnn_nonlinearity::relu>>("rnn_relu/0", "operators_attention");
}

TEST_CASE("recurrent rows: the last step, and final states") {
    using all = net_of<recurrent_output::all_steps>;
    using last = net_of<recurrent_output::last_step>;
    using final = net_of<recurrent_output::final_state>;
    const auto x = made_up::inputs<all>(1, 4).front();
    const auto states_of = [](const std::vector<float>& y) {
        std::vector<float> states(y.end() - 16, y.end() - 8);
        states.insert(states.end(), y.begin() + 8, y.begin() + 16);
        return states;
    };
    const auto floats = run(trained<all>(8), x);
    CHECK(run(trained<last>(8), x) == std::vector<float>(floats.end() - 16, floats.end()));
    CHECK(run(trained<final>(8), x) == states_of(floats));
    const auto int8 = [&](const auto& source) {
        return run(zp::convert(zp::calibrate(zp::prepare<reduced_config>(source), std::vector{x})), x);
    };
    const auto codes = int8(trained<all>(8));
    CHECK(int8(trained<final>(8)) == states_of(codes));
    for (const float value : codes) CHECK(value * 64 == std::round(value * 64));  // of 7 bits
    CHECK(signal_to_noise(floats, codes) > 25);
    // The reversed direction of the last layer takes one step alone.
    static_assert(zp::budget_of<zp::float_model<last>>.macs == 2 * 20 * 32 * (3 + 8) + (20 + 1) * 32 * (16 + 8));
}

TEST_CASE("recurrent rows: what stays float, and what tables say") {
    const auto source = trained<mixed>(40);
    const zp::model_table dynamic = zp::table_of(zp::quantize_dynamic(source));
    CHECK(dynamic.rows[1].operation == "dynamic lstm");
    CHECK(dynamic.rows[1].packed_bytes >= 40 * 160 + 160 * 12);
    CHECK(dynamic.rows[2].operation == "gru");
    CHECK(dynamic.rows[2].why == "stays float32: fewer than 32 values of state");
    const auto calibrated = zp::calibrate(zp::prepare<config>(source), made_up::inputs<mixed>(2, 3));
    const zp::model_table int8 = zp::table_of(zp::convert(calibrated));
    REQUIRE(int8.rows.size() == 5);
    CHECK(int8.rows[1].type == zp::scalar_type::float32);  // a projection has no form in integers
    CHECK(int8.rows[2].operation == "quantize");
    CHECK(int8.rows[3].operation == "gru");
    CHECK(int8.rows[3].packed_bytes > 48 * (40 + 16));
    // Nor has an RNN, and one of relu has no known range.
    using relu_net = rnn_net<zp::rnn_nonlinearity::relu>;
    using tanh_int8 = zp::quantized<rnn_net<zp::rnn_nonlinearity::tanh>, config>;
    const auto relu =
        zp::convert(zp::calibrate(zp::prepare<config>(trained<relu_net>(34)), made_up::inputs<relu_net>(2, 3)));
    const zp::model_table rnn = zp::table_of(relu);
    CHECK(rnn.rows[1].operation == "rnn");
    CHECK(rnn.rows[1].type == zp::scalar_type::float32);
    CHECK_THROWS_AS(zp::load<tanh_int8>(zp::to_bytes(relu), "of another nonlinearity"), zp::file_error);
}

TEST_CASE("recurrent rows: scales that no multiplier holds are an error, and so are files that lack a matrix") {
    const auto source = trained<gru_net>(33);
    CHECK_THROWS_WITH_AS(
        zp::convert(zp::calibrate(zp::prepare<signed_config>(source), made_up::inputs<gru_net>(1, 3, -1e8f, 1e8f))),
        "convert: rnn (gru): what gates sum up must stay below 65536 for all codes of the input: calibrate on real "
        "data",
        zp::value_error);
    zp::safetensors_writer file;
    file.add("rnn.weight_ih_l0", {99, 9}, std::vector<float>(99 * 9));
    CHECK_THROWS_WITH_AS(zp::load<gru_net>(file.bytes(), "file"), doctest::Contains("rnn.weight_hh_l0"),
                         zp::file_error);
}
