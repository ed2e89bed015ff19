// SPDX-License-Identifier: BSD-3-Clause
// The code of the pages on numerics, observers, kernels and files: parts of the library used on their own.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/kernel/convolution/conv2d.hpp>
#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/observe/exact_histogram_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/mse_observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/scheme/bias.hpp>
#include <zeropoint/scheme/tensor.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#include "../support/made_up.hpp"

// [choose]
constexpr zp::qparams range = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-1.0f, 3.0f);
static_assert(range.scale == 4.0f / 255 && range.zero_point == 64);
static_assert(zp::quantize<zp::quint8>(1.0f, range) == 128);
static_assert(zp::quantize<zp::quint8>(0.0f, range) == 64 && zp::dequantize(64, range) == 0.0f);
// [/choose]

// [rules]
constexpr zp::qparams one = zp::choose_qparams<zp::qint8, zp::per_tensor_symmetric>(-1.0f, 1.0f);
static_assert(one.scale == 2.0f / 255);  // PyTorch: the range over all 256 codes
constexpr zp::qparams two =
    zp::choose_qparams<zp::qint8_narrow, zp::per_tensor_symmetric, zp::tflite_rule>(-1.0f, 1.0f);
static_assert(two.scale == 1.0f / 127);  // TFLite: [-127, 127]
// [/rules]

// [ties]
constexpr zp::qparams odd{1.0f, 1};                       // an odd zero point
static_assert(zp::quantize<zp::quint8>(0.5f, odd) == 1);  // rne(0.5) + 1 = 0 + 1; PyTorch: rne(0.5 + 1) = 2
static_assert(zp::quantize<zp::quint8>(1.5f, odd) == 3);  // rne(1.5) + 1 = 2 + 1; PyTorch: rne(1.5 + 1) = 2
// [/ties]

// [bias]
static_assert(zp::quantize_bias(0.5f, 0.1f, 0.01f) == 500);
static_assert(zp::fit_weight_scale_to_bias(1.0f, 0.5f, 1e-12f).raised);  // would not fit: a larger weight scale
// [/bias]

// [custom-observer]
/// The range is as wide as the mean magnitude times a factor: an observer of one's own, from no base class.
class mean_magnitude_observer {
public:
    static constexpr zp::merge_order order = zp::merge_order::order_dependent;  // float sums: the last bit may differ

    void observe(const zp::observation& seen) {
        double sum = 0;
        for (std::size_t i = 0; i != seen.values.size(); ++i) {
            if (!zp::is_finite(seen.values[i])) zp::reject_not_finite(seen, i);  // nothing has been added yet
            sum += seen.values[i] < 0 ? -double{seen.values[i]} : double{seen.values[i]};
        }
        sum_ += sum;
        count_ += seen.values.size();
        ++samples_;
    }
    void merge(const mean_magnitude_observer& other) {
        sum_ += other.sum_;
        count_ += other.count_;
        samples_ += other.samples_;
    }
    std::uint64_t samples() const { return samples_; }
    std::uint64_t count() const { return count_; }
    zp::observed_range range() const { return {-reach(), reach()}; }

    template <class DType, class QScheme, class Rule = zp::pytorch_rule>
    std::vector<zp::qparams> calculate_qparams(std::string_view where) const {
        if (count_ == 0) zp::reject_no_data(where, "mean_magnitude_observer");
        return {zp::choose_observed_qparams<DType, QScheme, Rule>(-reach(), reach(), where)};
    }

private:
    float reach() const { return static_cast<float>(4 * sum_ / static_cast<double>(count_)); }

    double sum_ = 0;
    std::uint64_t count_ = 0, samples_ = 0;
};
static_assert(zp::observer<mean_magnitude_observer>);

struct mean_magnitude_qconfig
    : zp::qconfig<
          zp::quantizer<zp::quint8, zp::per_tensor_affine, mean_magnitude_observer>,
          zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_observer<mean_magnitude_observer>>> {};
// [/custom-observer]

TEST_CASE("numerics: tensors that carry their scale and zero point") {
    // [tensors]
    zp::tensor<zp::float32> real({8, 8, 3});
    zp::tensor<zp::quint8> codes({8, 8, 3}, range);
    zp::quantize<zp::quint8>(real, codes);  // a float tensor where a quantized one is due does not compile
    // [/tensors]
    CHECK(codes.values()[0] == 64);

    const std::vector<float> values = made_up::values(100, 1);
    std::vector<std::uint8_t> fast(100), slow(100);
    // [vectorized]
    zp::kernel::quantize<zp::default_architecture>(values.data(), values.size(), range.scale, range.zero_point, 0, 255,
                                                   fast.data());
    // [/vectorized]
    zp::quantize<zp::quint8>(values, range, slow);
    CHECK(fast == slow);
}

TEST_CASE("observers: one on its own") {
    const std::vector<float> batch = made_up::values(1000, 2, -1, 3), other_batch = made_up::values(500, 3, -2, 1);
    // [observe]
    zp::exact_histogram_observer<> here, there;
    here.observe({.values = batch, .where = "activations"});
    there.observe({.values = other_batch, .where = "activations"});
    here.merge(there);
    const zp::qparams chosen = here.calculate_qparams<zp::quint8, zp::per_tensor_affine>("activations").front();
    // [/observe]
    CHECK(here.count() == 1500);
    CHECK(zp::is_valid<zp::quint8>(chosen));

    const std::vector<float> weights = made_up::values(16 * 9, 4);
    // [per-channel]
    zp::per_channel_observer<zp::mse_observer<>> filters;
    filters.observe({.values = weights, .channels = 16, .inner = 9, .where = "conv1.weight"});  // [16][3][3]
    const std::vector<zp::qparams> scales =
        filters.calculate_qparams<zp::qint8, zp::per_channel_symmetric>("conv1.weight");
    // [/per-channel]
    CHECK(scales.size() == 16);

    mean_magnitude_observer own;
    own.observe({.values = batch});
    CHECK(own.calculate_qparams<zp::quint8, zp::per_tensor_affine>("x").size() == 1);
}

TEST_CASE("layers: a fused layer on its own") {
    const std::vector<float> weights = made_up::values(32 * 16 * 9, 5), bias = made_up::values(32, 6);
    const zp::qparams in{0.02f, 128}, out{0.1f, 3};
    // [static-layer]
    using layer = zp::quantized_conv2d<zp::shape{8, 8, 16}, zp::conv{.out_channels = 32, .kernel = 3, .padding = 1},
                                       zp::op::relu>;
    const layer conv(weights, bias, in, out);  // quantizes and packs once; weights in PyTorch's order
    zp::tensor<zp::quint8> x(layer::input_shape, in), y(layer::output_shape, out);
    layer::workspace memory;
    conv(x, y, memory);
    // [/static-layer]
    CHECK(y.shape() == zp::shape{8, 8, 32});
    for (const std::uint8_t code : y.values()) CHECK(code >= 3);  // relu: nothing below real zero
}

TEST_CASE("kernels: the matrix product on its own") {
    const std::vector<std::uint8_t> x(5 * 64, 2);
    const std::vector<std::int8_t> weights(24 * 64, 3);
    // [gemm]
    using arch = zp::default_architecture;
    constexpr auto algorithm = zp::kernel::conv2d_algorithm::implicit_gemm;
    constexpr zp::kernel::conv2d_geometry g{.in = {5, 1, 64}, .out = {5, 1, 24}};  // 5 rows, depth 64, 24 columns
    constexpr zp::kernel::activation_codes codes{.zero_point = 1, .min = 0, .max = 255};

    zp::aligned_buffer packed(zp::kernel::conv2d_packed_bytes<arch>(g, algorithm, false));
    zp::aligned_buffer scratch(zp::kernel::conv2d_scratch_bytes<arch>(g, algorithm));
    zp::kernel::pack_conv2d<arch>(g, algorithm, zp::kernel::conv2d_weights<std::int8_t>{weights.data()}, codes,
                                  packed.data());

    std::array<std::int32_t, 5 * 24> sums{};
    zp::kernel::conv2d<arch>(g, algorithm, x.data(), codes, packed.data(), zp::kernel::accumulators{}, sums.data(),
                             scratch.data());
    // [/gemm]
    for (const std::int32_t sum : sums) CHECK(sum == 64 * (2 - 1) * 3);
}

TEST_CASE("files: safetensors on their own") {
    const std::string path = (std::filesystem::temp_directory_path() / "zeropoint_docs_parts.safetensors").string();
    const std::vector<float> weights = made_up::values(12, 7);
    // [safetensors]
    zp::safetensors_writer writer;
    writer.metadata("origin", "an example");
    writer.add("fc.weight", {3, 4}, weights);
    writer.write(path);

    const auto file = zp::safetensors_file::read(path);  // validated as a whole
    const std::vector<float> again = file.finite_floats("fc.weight", {3, 4});
    // [/safetensors]
    CHECK(again == weights);
    CHECK_THROWS_WITH_AS((void)file.finite_floats("fc.weight", {4, 3}),
                         doctest::Contains("expected F32, F64, F16 or BF16 [4, 3], found F32 [3, 4]"), zp::file_error);
    std::filesystem::remove(path);
}
