// SPDX-License-Identifier: BSD-3-Clause
// Single layers behind the C interface: the ones that a program makes for itself, of float weights.
#include "zeropoint_c.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include <zeropoint/layer/static_layers.hpp>

#include "../support/peak.hpp"

namespace {

/// The codes of operands, which their types tell a layer: some kernels are exact for narrow ones only.
enum class operand_range { eight_bits, four_bit_weights, seven_bit_activations };

struct operands {
    const float *weights, *bias;
    zp::qparams x, y;
};

/// One layer that is ready to run.
class packed_layer {
public:
    packed_layer() = default;
    packed_layer(const packed_layer&) = delete;
    packed_layer& operator=(const packed_layer&) = delete;
    virtual ~packed_layer() = default;
    virtual void run(const std::uint8_t* x, std::uint8_t* y, int repeats) = 0;
    virtual const char* algorithm() const = 0;
    virtual long packed_bytes() const = 0;
};

template <class Layer> class layer_of final : public packed_layer {
public:
    layer_of(const operands& given, std::size_t weights)
        : layer_({given.weights, weights}, {given.bias, channels}, given.x, given.y) {}
    void run(const std::uint8_t* x, std::uint8_t* y, int repeats) override {
        for (int i = 0; i != repeats; ++i) {
            layer_.run(x, y, *memory_);
            asm volatile("" ::: "memory");  // every call reads and writes anew
        }
    }
    const char* algorithm() const override { return name_of(Layer::algorithm); }
    long packed_bytes() const override { return Layer::parameter_bytes; }

private:
    static constexpr auto channels = static_cast<std::size_t>(Layer::output_shape.channels);
    Layer layer_;
    std::unique_ptr<typename Layer::workspace> memory_ = std::make_unique<typename Layer::workspace>();
};

/// A product of Rows x Depth activations, an image of one column, and Columns x Depth weights.
template <int Rows, int Columns, int Depth> struct product {
    template <class Policy>
    using layer = zp::quantized_linear<Depth, Columns, zp::op::none, Policy, zp::default_architecture, Rows>;
    static constexpr int kernel = 1, stride = 1, groups = 1, depth = Depth;
};
template <int Size, int Channels, int OutChannels, int Kernel, int Stride = 1, int Groups = 1> struct convolution {
    static constexpr int kernel = Kernel, stride = Stride, groups = Groups, depth = Kernel * Kernel * Channels / Groups;
    static constexpr zp::conv options{
        .out_channels = OutChannels, .kernel = Kernel, .stride = Stride, .padding = Kernel / 2, .groups = Groups};
    template <class Policy>
    using layer = zp::quantized_conv2d<zp::shape{Size, Size, Channels}, options, zp::op::none, Policy>;
};

template <class Case> packed_layer* make(operand_range range, const operands& given) {
    const auto made = [&]<class Policy>(Policy) -> packed_layer* {
        using layer = typename Case::template layer<Policy>;
        return new layer_of<layer>(given, static_cast<std::size_t>(Case::depth * layer::output_shape.channels));
    };
    switch (range) {
        case operand_range::four_bit_weights: return made(zp::fused_policy<zp::quint8, zp::qint4>());
        case operand_range::seven_bit_activations:
            return made(zp::fused_policy<zp::quint8_reduced, zp::qint8, zp::quint8>());
        default: return made(zp::fused_policy<>());
    }
}

struct named_case {
    const char* name;
    std::array<int, 11> extents;
    packed_layer* (*make)(operand_range, const operands&);
};
template <class Case> constexpr named_case named(const char* name) {
    using layer = typename Case::template layer<zp::fused_policy<>>;
    constexpr zp::shape in = layer::input_shape, out = layer::output_shape;
    return {name,
            {in.height, in.width, in.channels, out.height, out.width, out.channels, Case::kernel, Case::kernel,
             Case::stride, Case::kernel / 2, Case::groups},
            make<Case>};
}

constexpr named_case cases[] = {
    named<product<1, 16, 16>>("gemm 1x16x16"),
    named<product<1, 64, 64>>("gemm 1x64x64"),
    named<product<8, 32, 32>>("gemm 8x32x32"),
    named<product<16, 64, 64>>("gemm 16x64x64"),
    named<product<1, 256, 256>>("gemm 1x256x256"),
    named<product<1, 1024, 1024>>("gemm 1x1024x1024"),
    named<product<1, 4096, 4096>>("gemm 1x4096x4096"),
    named<product<4, 1024, 1024>>("gemm 4x1024x1024"),
    named<product<16, 1024, 1024>>("gemm 16x1024x1024"),
    named<product<64, 768, 768>>("gemm 64x768x768"),
    named<product<128, 768, 3072>>("gemm 128x768x3072"),
    named<product<512, 512, 512>>("gemm 512x512x512"),
    named<product<1024, 1024, 1024>>("gemm 1024x1024x1024"),
    named<product<3136, 64, 64>>("gemm 3136x64x64"),
    named<product<12544, 64, 147>>("gemm 12544x64x147"),
    named<convolution<56, 64, 64, 3>>("3x3 56x56 64"),
    named<convolution<28, 128, 128, 3>>("3x3 28x28 128"),
    named<convolution<14, 256, 256, 3>>("3x3 14x14 256"),
    named<convolution<7, 512, 512, 3>>("3x3 7x7 512"),
    named<convolution<56, 64, 256, 1>>("1x1 56x56 64-256"),
    named<convolution<14, 384, 64, 1>>("1x1 14x14 384-64"),
    named<convolution<7, 320, 1280, 1>>("1x1 7x7 320-1280"),
    named<convolution<224, 3, 64, 7, 2>>("7x7s2 224x224 3-64"),
    named<convolution<112, 32, 32, 3, 1, 32>>("depthwise 112x112 32"),
    named<convolution<56, 144, 144, 3, 2, 144>>("depthwise 56x56 144 s2"),
    named<convolution<14, 384, 384, 3, 1, 384>>("depthwise 14x14 384"),
};

}  // namespace

int zp_case_count() { return static_cast<int>(std::size(cases)); }
const char* zp_case_name(int index) { return cases[index].name; }
void zp_case_extents(int index, int extents[11]) { std::ranges::copy(cases[index].extents, extents); }

void* zp_layer_new(int index, int range, const float* weights, const float* bias, float x_scale, int x_zero_point,
                   float y_scale, int y_zero_point) {
    const operands given{weights, bias, {x_scale, x_zero_point}, {y_scale, y_zero_point}};
    return cases[index].make(static_cast<operand_range>(range), given);
}
void zp_layer_run(void* layer, const std::uint8_t* x, std::uint8_t* y, int repeats) {
    static_cast<packed_layer*>(layer)->run(x, y, repeats);
}
long zp_layer_packed_bytes(const void* layer) { return static_cast<const packed_layer*>(layer)->packed_bytes(); }
const char* zp_layer_algorithm(const void* layer) { return static_cast<const packed_layer*>(layer)->algorithm(); }
void zp_layer_delete(void* layer) { delete static_cast<packed_layer*>(layer); }
double zp_peak(int kind) {
    constexpr bench::peak kinds[] = {bench::peak::dot2, bench::peak::dot4, bench::peak::float_fma};
    return bench::measure_peak(kinds[kind]);
}
