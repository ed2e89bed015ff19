// SPDX-License-Identifier: BSD-3-Clause
// Fused int8 layers of fixed size for use on their own: a row of a model, run without the model.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/layer/argument_checks.hpp>
#include <zeropoint/layer/parameter_source.hpp>
#include <zeropoint/operators/algorithm.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/operators/input.hpp>

#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/scheme/tensor.hpp>

namespace zp::inline v0 {

/// Dtypes, arithmetic and algorithm of a fused layer. Weights have a scale an output channel, symmetric about zero.
template <class Input = quint8, class Weight = qint8, class Output = Input, class Requantization = nearest_even,
          algorithm_policy Algorithm = balanced>
struct fused_policy {
    static_assert(quantized_dtype<Input> && quantized_dtype<Weight> && quantized_dtype<Output>,
                  "fused_policy<Input, Weight, Output, Requantization>: the first three must be quantized dtypes such "
                  "as zp::quint8, zp::qint8, zp::quint8");
    static_assert(requantization<Requantization>,
                  "fused_policy<Input, Weight, Output, Requantization>: the last must be zp::nearest_even, "
                  "zp::float_bias, zp::fixed_point_double_rounding or zp::fixed_point_single_rounding");
    using input = Input;
    using weight = Weight;
    using output = Output;
    using requantization_policy = Requantization;
    static constexpr algorithm_policy algorithm = Algorithm;

    // What quantize_filters asks for.
    struct weight_quantizer {
        using dtype = Weight;
        using qscheme = per_channel_symmetric;
        using rule = pytorch_rule;
        using observer_type = per_channel_min_max_observer;
    };
};

/// A row of a model + activation in one pass over 8-bit codes: conv2d, conv1d, conv3d, linear, conv_transpose2d, svdf or another
/// that has parameters. Layer's name is what errors begin with; Activation is op::none, op::relu or op::relu6.
///
///     using layer = zp::static_layer<zp::conv3d<"edges", options>, zp::shape{8, 8, 16, 4}, zp::op::relu>;
///     const layer edges(weights, bias, x.quantization, y.quantization);   // packs once
///     edges(x, y, memory);                                                // layer::workspace memory
///
/// A row with a state, such as an svdf, takes one step or as many as Input says, and goes on from the state that it left:
///
///     using layer = zp::static_layer<zp::svdf<"spot", 64, 1, 8>, zp::shape{1, 1, 40}, zp::op::relu>;
///     const layer spot({feature, time, bias}, x.quantization, y.quantization);
///     spot(x, state, y, memory);                                          // layer::state state, zeros at first
template <class Layer, shape Input, const operator_kind& Activation = op::none, class Policy = fused_policy<>,
          class Arch = default_architecture>
class static_layer {
    static_assert(&Activation == &op::none || &Activation == &op::relu || &Activation == &op::relu6,
                  "static_layer<Layer, Input, Activation, ...>, quantized_conv2d and others: Activation must be "
                  "zp::op::none, zp::op::relu or zp::op::relu6; run others as a table behind the layer "
                  "(kernel/epilogue/lookup_table.hpp)");
    using input_storage = typename Policy::input::storage;
    using output_storage = typename Policy::output::storage;

    /// A network of two nodes, whose form runs on its own.
    struct stage {
        using architecture = Arch;
        using policies = stage_policies<typename Policy::requantization_policy, void>;
        static constexpr graph<2> loose = [] {
            graph<2> g;
            builder b(g.nodes, 2);
            sequential<Layer>::lower(b, b.input(Input));
            g.error = b.error;
            g.size = b.size;
            node &x = g.nodes[0], &y = g.nodes[1];
            const auto set = [](value_type& value, auto codes, short id) {
                using type = decltype(codes);
                value.storage = scalar_type_of<typename type::storage>;
                value.quant_min = type::quant_min;
                value.quant_max = type::quant_max;
                value.qparams_id = id;
            };
            set(x.out, typename Policy::input{}, 0);
            set(y.out, typename Policy::output{}, 1);
            if (y.op->multiplies) {
                y.weights.storage = scalar_type_of<typename Policy::weight::storage>;
                y.weights.products = scalar_type::int8;
                y.weights.quant_min = Policy::weight::quant_min;
                y.weights.quant_max = Policy::weight::quant_max;
                y.weights.affine = !Policy::weight::is_signed;
            }
            y.at.arena_offset = in_user_output;
            y.at.state_bytes = states_of(g.view(1)).bytes();
            y.flags.keeps_state = y.op->states != nullptr;
            operators::fuse_activation(y, Activation);
            if (g.error.broken != rule::none) return g;
            g = choose_algorithms<Arch>(g, [](const node&) { return Policy::algorithm; });
            g.error = {};  // an algorithm that does not fit has a sentence of its own
            return g;
        }();
    };
    static_assert(stage::loose.size == 2 && stage::loose.nodes[1].op->has_codes,
                  "static_layer<Layer, Input, ...>: Layer must be one row that has an int8 form, such as "
                  "zp::conv2d<\"name\", options>; more rows are a zp::model");
    static_assert(
        &Activation == &op::none || (stage::loose.nodes[1].op->takes & bounds) != 0,
        "static_layer<Layer, Input, Activation, ...>: this row cannot clamp what it writes: Activation must be "
        "zp::op::none");
    using form = form_at<stage, 1>;
    static constexpr bool multiplies = stage::loose.nodes[1].op->multiplies;
    static constexpr bool fits = stage::loose.error.broken == rule::none && Input.size() > 0;
    static constexpr bool has_form =
        fits && (!multiplies || stage::loose.nodes[1].by.algorithm != conv2d_algorithm::automatic);
    static constexpr graph<2> lowered = [] {
        graph<2> g = stage::loose;
        if (has_form) g.nodes[1].at.parameter_bytes = detail::parameter_bytes_of<form>(g.view(1));
        for (node& n : g.nodes) n.rules = nullptr;
        return g;
    }();
    static constexpr const node& row = lowered.nodes[1];
    static_assert(fits,
                  "static_layer<Layer, Input, ...>, quantized_conv2d and others: these options do not fit the "
                  "input: check that out_channels is set, that groups divides both channel counts, and that the "
                  "kernel is no larger than the padded input; of a transposed convolution, that output_padding "
                  "is smaller than stride or dilation, and that padding leaves something of the output");
    static_assert(!fits || has_form,
                  "static_layer<Layer, Input, Activation, Policy>, quantized_conv2d<Input, Options, Activation, "
                  "Policy>: the algorithm that Policy names cannot compute this window and these groups: name another "
                  "in zp::fused_policy, or take zp::balanced, zp::fastest or zp::smallest, which choose among those "
                  "that can");
    static_assert(!fits || !multiplies || !sums_overflow(row, lowered.nodes[0].out),
                  "static_layer<Layer, Input, ...>, quantized_conv2d and others: an int32 accumulator can overflow at "
                  "this depth: split the input channels, or take narrower dtypes");

public:
    static constexpr shape input_shape = Input;
    static constexpr shape output_shape = row.out.extents;
    static constexpr conv2d_algorithm algorithm = row.by.algorithm;  // which computes it
    static constexpr int parameter_bytes = row.at.parameter_bytes;
    /// What a call works in: the size of a workspace.
    static constexpr int scratch_bytes = detail::scratch_bytes_of<form>(lowered.view(1));
    struct workspace {
        alignas(buffer_alignment) std::byte bytes[scratch_bytes == 0 ? 1 : scratch_bytes];  // at a multiple of 64 bytes
    };
    static constexpr int state_bytes = row.at.state_bytes;  // the size of a state; 0 of rows without one
    /// What a row with a state left: zeros at the beginning of a sequence.
    struct state {
        alignas(buffer_alignment) std::byte bytes[state_bytes == 0 ? 1 : state_bytes]{};  // zeros at the beginning
    };

    /// `weights` as PyTorch has them: out_channels x in_channels/groups x height x width floats, of transposed convolutions
    /// in_channels x out_channels/groups x height x width. `bias`: one an output channel, or none at all. Raises what the
    /// constructor below raises.
    static_layer(std::span<const float> weights, std::span<const float> bias, const qparams& input,
                 const qparams& output)
        : static_layer({weights, bias}, input, output) {}
    /// The parameters of any row, in the order of its parameters_of() and as state dicts have them; a bias may be empty, for zeros.
    /// Raises shape_error for other counts, calibration_error for parameters that are not finite, value_error for scales and
    /// zero points that no tensor has, and what quantize_bias raises.
    static_layer(std::initializer_list<std::span<const float>> parameters, const qparams& input, const qparams& output)
        : parameters_(static_cast<std::size_t>(parameter_bytes)), ranges_{input, output} {
        check_range<typename Policy::input>(row.name, "input", input);
        check_range<typename Policy::output>(row.name, "output", output);
        const node_view v = lowered.view(1);
        detail::tensors_in_order tensors(std::span(parameters.begin(), parameters.size()));
        detail::parameter_source source(row.name, tensors);
        const refusal wrong = form::pack({v, ranges_.data(), parameters_.data()},
                                         source.template read<typename Policy::weight_quantizer, Arch>(
                                             v, v, {{input.scale, Policy::requantization_policy::has_float_bias}}));
        tensors.check_all_read(row.name);
        if (wrong.rule != nullptr) raise<value_error>(std::string(row.name) + ": expected " + wrong.rule);
    }

    /// What the codes of x mean.
    const qparams& input_qparams() const noexcept { return ranges_[0]; }
    /// What the codes of y mean.
    const qparams& output_qparams() const noexcept { return ranges_[1]; }

    /// y = layer(x). Raises shape_error or value_error where the extents or the scale and zero point of x or y are not those
    /// that the layer was made for.
    void operator()(const tensor_view<typename Policy::input>& x, const mutable_tensor_view<typename Policy::output>& y,
                    workspace& memory) const requires(state_bytes == 0) {
        check(x, y);
        run(x.data(), y.data(), memory);
    }
    /// The same of a row that has a state.
    void operator()(const tensor_view<typename Policy::input>& x, state& kept,
                    const mutable_tensor_view<typename Policy::output>& y, workspace& memory) const
        requires(state_bytes != 0) {
        check(x, y);
        run(x.data(), kept, y.data(), memory);
    }
    /// The same over plain pointers, unchecked.
    void run(const input_storage* x, output_storage* y, workspace& memory) const noexcept requires(state_bytes == 0) {
        run_form(x, nullptr, y, memory);
    }
    void run(const input_storage* x, state& kept, output_storage* y, workspace& memory) const noexcept
        requires(state_bytes != 0) {
        run_form(x, kept.bytes, y, memory);
    }

private:
    void check(const tensor_view<typename Policy::input>& x,
               const mutable_tensor_view<typename Policy::output>& y) const {
        check_tensor(row.name, "input", Input, ranges_[0], x);
        check_tensor(row.name, "output", output_shape, ranges_[1], y);
    }
    void run_form(const input_storage* x, std::byte* kept, output_storage* y, workspace& memory) const noexcept {
        const void* const xs[] = {x};
        void* const ys[] = {y};
        const context c{lowered.nodes, parameters_.data(), ranges_.data(), memory.bytes, xs, ys, kept};
        if constexpr (requires { requires form::is_small; }) run_inlined(c);
        else detail::run_of<form>()(row, c);
    }
    /// Half of a small product's instructions ask its node, which is a constant here.
    [[gnu::flatten]] static void run_inlined(const context& c) noexcept { form::run(row, c); }

    aligned_buffer parameters_;
    std::array<qparams, 2> ranges_;
};

/// `zp::quantized_conv2d<zp::shape{8, 8, 16}, zp::conv{.out_channels = 32, .kernel = 3, .padding = 1}, zp::op::relu>`
template <shape Input, conv Options, const operator_kind& Activation = op::none, class Policy = fused_policy<>,
          class Arch = default_architecture>
using quantized_conv2d = static_layer<conv2d<"quantized_conv2d", Options>, Input, Activation, Policy, Arch>;

/// `weights` are outputs x inputs floats. x is Rows x 1 x inputs, y Rows x 1 x outputs: with more than one row, a matrix
/// product of fixed extents.
template <int Inputs, int Outputs, const operator_kind& Activation = op::none, class Policy = fused_policy<>,
          class Arch = default_architecture, int Rows = 1>
using quantized_linear = static_layer<conv2d<"quantized_linear", conv{.out_channels = Outputs}>, shape{Rows, 1, Inputs},
                                      Activation, Policy, Arch>;

/// An input of height 1 and a kernel {1, n} make it one-dimensional. y of 8x8x32 with
/// `zp::conv_transpose{.out_channels = 16, .kernel = 2, .stride = 2}` is 16x16x16.
template <shape Input, conv_transpose Options, const operator_kind& Activation = op::none,
          class Policy = fused_policy<>, class Arch = default_architecture>
using quantized_conv_transpose2d =
    static_layer<conv_transpose2d<"quantized_conv_transpose2d", Options>, Input, Activation, Policy, Arch>;

}  // namespace zp::inline v0
