// Single layers behind the C interface.
#include "zeropoint_c.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/kernel/conv2d.hpp>
#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/input.hpp>

#include "../support/peak.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;

struct named_geometry {
    const char* name;
    kernel::conv2d_geometry geometry;
};

/// A matrix of `rows` rows is an image of one column.
constexpr kernel::conv2d_geometry matrix_product(int rows, int columns, int depth) {
    return {.in = {rows, 1, depth}, .out = {rows, 1, columns}};
}
constexpr kernel::conv2d_geometry convolution(int size, int channels, int out_channels, int kernel_size, int stride = 1,
                                              int groups = 1) {
    const int padding = kernel_size / 2, out = (size + 2 * padding - kernel_size) / stride + 1;
    return {.in = {size, size, channels},
            .out = {out, out, out_channels},
            .kernel_height = kernel_size,
            .kernel_width = kernel_size,
            .stride_height = stride,
            .stride_width = stride,
            .padding_top = padding,
            .padding_left = padding,
            .groups = groups};
}

constexpr std::array cases{
    named_geometry{"gemm 1x16x16", matrix_product(1, 16, 16)},
    named_geometry{"gemm 1x64x64", matrix_product(1, 64, 64)},
    named_geometry{"gemm 8x32x32", matrix_product(8, 32, 32)},
    named_geometry{"gemm 16x64x64", matrix_product(16, 64, 64)},
    named_geometry{"gemm 1x256x256", matrix_product(1, 256, 256)},
    named_geometry{"gemm 1x1024x1024", matrix_product(1, 1024, 1024)},
    named_geometry{"gemm 1x4096x4096", matrix_product(1, 4096, 4096)},
    named_geometry{"gemm 4x1024x1024", matrix_product(4, 1024, 1024)},
    named_geometry{"gemm 16x1024x1024", matrix_product(16, 1024, 1024)},
    named_geometry{"gemm 64x768x768", matrix_product(64, 768, 768)},
    named_geometry{"gemm 128x768x3072", matrix_product(128, 768, 3072)},
    named_geometry{"gemm 512x512x512", matrix_product(512, 512, 512)},
    named_geometry{"gemm 1024x1024x1024", matrix_product(1024, 1024, 1024)},
    named_geometry{"gemm 3136x64x64", matrix_product(3136, 64, 64)},
    named_geometry{"gemm 12544x64x147", matrix_product(12544, 64, 147)},
    named_geometry{"3x3 56x56 64", convolution(56, 64, 64, 3)},
    named_geometry{"3x3 28x28 128", convolution(28, 128, 128, 3)},
    named_geometry{"3x3 14x14 256", convolution(14, 256, 256, 3)},
    named_geometry{"3x3 7x7 512", convolution(7, 512, 512, 3)},
    named_geometry{"1x1 56x56 64-256", convolution(56, 64, 256, 1)},
    named_geometry{"1x1 14x14 384-64", convolution(14, 384, 64, 1)},
    named_geometry{"1x1 7x7 320-1280", convolution(7, 320, 1280, 1)},
    named_geometry{"7x7s2 224x224 3-64", convolution(224, 3, 64, 7, 2)},
    named_geometry{"depthwise 112x112 32", convolution(112, 32, 32, 3, 1, 32)},
    named_geometry{"depthwise 56x56 144 s2", convolution(56, 144, 144, 3, 2, 144)},
    named_geometry{"depthwise 14x14 384", convolution(14, 384, 384, 3, 1, 384)},
};

/// The codes of operands, which their types tell a layer: some kernels are exact for narrow ones only.
enum class operand_range { eight_bits, four_bit_weights, seven_bit_activations };

struct operands {
    const std::int8_t* weights;
    const std::int32_t* bias;
    const float* w_scale;
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

    std::string description;
    long packed_bytes = 0;
};

/// A stage of two nodes, an input and the layer, as they are after convert under the default policies.
template <std::size_t Index, operand_range Range> struct two_nodes {
    using architecture = arch;
    using policies = zp::stage_policies<zp::nearest_even, void>;
    static constexpr zp::graph<2> loose = [] {
        const kernel::conv2d_geometry& g = cases[Index].geometry;
        zp::graph<2> graph;
        zp::builder b(graph.nodes, 2);
        b.conv2d(b.input(g.in), "",
                 {.out_channels = g.out.channels,
                  .kernel = {g.kernel_height, g.kernel_width},
                  .stride = {g.stride_height, g.stride_width},
                  .padding = {g.padding_top, g.padding_left},
                  .groups = g.groups});
        graph.size = b.size;
        zp::node &x = graph.nodes[0], &y = graph.nodes[1];
        x.out.storage = y.out.storage = zp::scalar_type::uint8;
        x.out.quant_max = Range == operand_range::seven_bit_activations ? 127 : 255;
        y.out.quant_max = 255;
        x.out.qparams_id = 0;
        y.out.qparams_id = 1;
        y.weights.storage = y.weights.products = zp::scalar_type::int8;
        y.weights.quant_min = Range == operand_range::four_bit_weights ? -8 : -128;
        y.weights.quant_max = Range == operand_range::four_bit_weights ? 7 : 127;
        y.at.arena_offset = zp::in_user_output;
        return zp::choose_algorithms<arch>(graph, [](const zp::node&) { return zp::balanced; });
    }();
};

std::string describe(const zp::node_view& v, const std::byte* packed) {
    const auto seen = zp::operators::describe_filters<arch>(v, packed);
    std::string text = name_of(seen.algorithm);
    for (std::size_t kind = 0; kind != std::size(seen.panels); ++kind)
        if (seen.panels[kind] != 0)
            text += std::string(", ") + std::to_string(seen.panels[kind]) + ' ' +
                    name_of(static_cast<kernel::panel_kernel>(kind));
    if (seen.split_panels != 0) text += ", " + std::to_string(seen.split_panels) + " panels split";
    return text;
}

/// Packed and run as a model does it, by the same functions.
template <std::size_t Index, operand_range Range> class static_layer final : public packed_layer {
    using stage = two_nodes<Index, Range>;
    using form = zp::form_at<stage, 1>;
    static constexpr zp::graph<2> lowered = [] {
        zp::graph<2> graph = stage::loose;
        graph.nodes[1].at.parameter_bytes = form::parameter_bytes(graph.view(1));
        for (zp::node& n : graph.nodes) n.rules = nullptr;
        return graph;
    }();
    static constexpr const zp::node& row = lowered.nodes[1];

public:
    explicit static_layer(const operands& given) : ranges_{given.x, given.y} {
        const auto count = static_cast<std::size_t>(row.weights.channels);
        zp::node_parameters parameters;
        zp::quantized_weights& weights = parameters.matrices.emplace_back();
        weights.codes.resize(static_cast<std::size_t>(row.weights.count));
        std::memcpy(weights.codes.data(), given.weights, weights.codes.size());
        weights.scales.assign(given.w_scale, given.w_scale + count);
        weights.bias.assign(given.bias, given.bias + count);
        form::pack({lowered.view(1), ranges_, parameters_.data()}, parameters);
        description = describe(lowered.view(1), parameters_.data());
        packed_bytes = row.at.parameter_bytes;
    }
    void run(const std::uint8_t* x, std::uint8_t* y, int repeats) override {
        const zp::context c{lowered.nodes,
                            parameters_.data(),
                            ranges_,
                            scratch_.data(),
                            reinterpret_cast<const float*>(x),
                            reinterpret_cast<float*>(y)};
        for (int i = 0; i != repeats; ++i) {
            form::run(row, c);
            asm volatile("" ::: "memory");  // every call reads and writes anew
        }
    }

private:
    zp::qparams ranges_[2];
    zp::aligned_buffer parameters_{static_cast<std::size_t>(row.at.parameter_bytes)};
    zp::aligned_buffer scratch_{static_cast<std::size_t>(form::scratch_bytes(lowered.view(1)))};
};

template <std::size_t Index> packed_layer* make(operand_range range, const operands& given) {
    switch (range) {
        case operand_range::four_bit_weights: return new static_layer<Index, operand_range::four_bit_weights>(given);
        case operand_range::seven_bit_activations:
            return new static_layer<Index, operand_range::seven_bit_activations>(given);
        default: return new static_layer<Index, operand_range::eight_bits>(given);
    }
}

using make_function = packed_layer* (*)(operand_range, const operands&);
template <std::size_t... Index>
constexpr std::array<make_function, sizeof...(Index)> make_functions(std::index_sequence<Index...>) {
    return {make<Index>...};
}
constexpr auto makers = make_functions(std::make_index_sequence<cases.size()>());

}  // namespace

int zp_case_count() { return static_cast<int>(cases.size()); }
const char* zp_case_name(int index) { return cases[static_cast<std::size_t>(index)].name; }
void zp_case_extents(int index, int extents[11]) {
    const kernel::conv2d_geometry& g = cases[static_cast<std::size_t>(index)].geometry;
    const std::array all{g.in.height,     g.in.width,     g.in.channels,   g.out.height,  g.out.width, g.out.channels,
                         g.kernel_height, g.kernel_width, g.stride_height, g.padding_top, g.groups};
    std::copy(all.begin(), all.end(), extents);
}

void* zp_layer_new(int index, int range, const std::int8_t* weights, const std::int32_t* bias, const float* w_scale,
                   float x_scale, int x_zero_point, float y_scale, int y_zero_point) {
    const operands given{weights, bias, w_scale, {x_scale, x_zero_point}, {y_scale, y_zero_point}};
    return makers[static_cast<std::size_t>(index)](static_cast<operand_range>(range), given);
}
void zp_layer_run(void* layer, const std::uint8_t* x, std::uint8_t* y, int repeats) {
    static_cast<packed_layer*>(layer)->run(x, y, repeats);
}
long zp_layer_packed_bytes(const void* layer) { return static_cast<const packed_layer*>(layer)->packed_bytes; }
const char* zp_layer_description(const void* layer) {
    return static_cast<const packed_layer*>(layer)->description.c_str();
}
void zp_layer_delete(void* layer) { delete static_cast<packed_layer*>(layer); }
double zp_peak(int kind) { return bench::measure_peak(kind == 0 ? bench::peak::dot2 : bench::peak::dot4); }
