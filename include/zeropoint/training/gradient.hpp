// SPDX-License-Identifier: BSD-3-Clause
// The gradient of an operator: what it is given, and how one is found for the kind of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/graph/form.hpp>

namespace zp::inline v0 {

/// What the gradient of a node works on: a block of samples, each array one sample behind the other, and the node's parameters. Bounds
/// that are fused into the node and rounding to codes are not its affair: `dy` is the gradient in front of them.
struct gradient_operands {
    node_view at;                           // a node of a float stage, among those that it reads
    const operator_rules* rules = nullptr;  // of a function: its value
    int samples = 1;                        // how many in the block
    const float* xs[max_inputs] = {};       // the inputs of the node, one pointer an input
    const std::int32_t* indices = nullptr;  // of an operator that reads indices: of all samples
    const float* y = nullptr;               // what the node's form has given, bounds included
    const float* dy = nullptr;              // the gradient by the output
    float* dxs[max_inputs] = {};            // to write; null where nobody asks
    const float* block = nullptr;           // the node's arrays of parameters, as parameter_list places them
    float* d_block = nullptr;               // the same places, to add to; null where nobody asks
    bool begins = false;                    // d_block holds nothing yet: of kinds that say `begins`
    float* scratch = nullptr;               // as many bytes as scratch_bytes says, aligned to buffer_alignment
    // Of a normalization over samples: mean, then variance, of each channel of a block, of which these samples may be a part; null where
    // its parameters' statistics are taken.
    const float* statistics = nullptr;
    const double* gradient_sums =
        nullptr;                   // for its backward, of the block: of dy, then of dy * (x - mean), of each channel
    double values_of_channel = 0;  // and how many values of a channel the block has

    /// Array `array` of the node's parameters, as floats.
    const float* parameter(int array) const { return block + parameters_of(at).offset_of(array); }
    /// Its gradient, to be added to; null where nobody asks.
    float* d_parameter(int array) const {
        return d_block == nullptr ? nullptr : d_block + parameters_of(at).offset_of(array);
    }
    /// Values of input k in one sample.
    std::size_t x_size(int k = 0) const { return static_cast<std::size_t>(at.x_shape(k).size()); }
    /// Values of the output in one sample.
    std::size_t y_size() const { return static_cast<std::size_t>(at.y_shape().size()); }
};

/// Of a kind of operators: `template <class Arch> static void backward(const gradient_operands&) noexcept`, which writes every dx that is
/// asked for, and adds to every d_parameter. It may have
///   - `template <class Arch> static void forward(const gradient_operands&, float* y) noexcept`, where a block of samples is computed faster
///     than one sample after another by the node's form; up to the order of sums it gives what that gives, bounds included;
///   - `template <class Arch> static std::size_t scratch_bytes(const node_view&, int samples)`;
///   - `trains(const operator_info&, int array)`, false for arrays that no gradient changes, such as running means: backward leaves those
///     alone;
///   - `running_mean(const node_view&)`, of a normalization over samples, with a mean and a variance for each channel, that has a forward:
///     which array is its running mean. The running variance is the next;
///   - `static constexpr bool begins = true`, where backward writes all of the node's parameters' gradients when operands say `begins`,
///     as if it had added them to zeros;
///   - `moves(const operator_info&)`, true where each output is one of the inputs, always of the same place, or a constant: then nothing
///     else is needed. Which places these are, the node's form tells, run over their numbers.
/// What depends on the operator behind the kind, as a function does, is in a template of it: `template <const operator_info& Op> struct of`,
/// with those members, beside `static constexpr bool is_by_operator = true`. A kind without a specialization has no gradient: it may stand in front of all that is trained.
///
/// An operator of one's own has it beside itself: `template <> struct zp::gradient_of<my_kind> { ... };`
template <const operator_kind& Kind> struct gradient_of {};

using gradient_function = void (*)(const gradient_operands&) noexcept;
using block_function = void (*)(const gradient_operands&, float* y) noexcept;

/// What a stage knows about the gradient of one of its nodes.
struct gradient_rule {
    gradient_function backward = nullptr;
    block_function forward = nullptr;  // null: the node's form, sample by sample
    std::size_t (*scratch_bytes)(const node_view&, int samples) = nullptr;
    int (*running_mean)(const node_view&) = nullptr;
    std::uint64_t trained = 0;  // bit k: array k of its parameters
    bool moves = false;
    bool begins = false;

    constexpr bool exists() const { return backward != nullptr || moves; }
};

namespace detail {

template <const operator_info& Op> constexpr auto find_gradient() {
    using by_kind = gradient_of<*Op.kind>;
    if constexpr (requires { by_kind::is_by_operator; }) return std::type_identity<typename by_kind::template of<Op>>();
    else return std::type_identity<by_kind>();
}
template <const operator_info& Op> using gradient_of_operator = typename decltype(find_gradient<Op>())::type;

template <class Gradient, class Arch> void run_gradient(const gradient_operands& o) noexcept {
    Gradient::template backward<Arch>(o);
}
template <class Gradient, class Arch> void run_block(const gradient_operands& o, float* y) noexcept {
    Gradient::template forward<Arch>(o, y);
}
template <const operator_info& Op, class Arch> constexpr gradient_rule make_gradient_rule() {
    using gradient = gradient_of_operator<Op>;
    gradient_rule rule;
    if constexpr (requires { gradient::moves(Op); }) rule.moves = gradient::moves(Op);
    if constexpr (requires { gradient::begins; }) rule.begins = gradient::begins;
    if constexpr (requires(const gradient_operands& o) { gradient::template backward<Arch>(o); }) {
        rule.backward = &run_gradient<gradient, Arch>;
        if constexpr (requires(const gradient_operands& o) { gradient::template forward<Arch>(o, nullptr); })
            rule.forward = &run_block<gradient, Arch>;
        if constexpr (requires(const node_view& v) { gradient::template scratch_bytes<Arch>(v, 1); })
            rule.scratch_bytes = [](const node_view& v, int samples) -> std::size_t {
                return gradient::template scratch_bytes<Arch>(v, samples);
            };
        if constexpr (requires(const node_view& v) { gradient::running_mean(v); })
            rule.running_mean = [](const node_view& v) { return gradient::running_mean(v); };
        for (int array = 0; array != parameter_list::most; ++array) {
            bool trains = true;
            if constexpr (requires { gradient::trains(Op, array); }) trains = gradient::trains(Op, array);
            if (trains) rule.trained |= std::uint64_t{1} << array;
        }
    }
    return rule;
}
}  // namespace detail

/// That of an operator, for an architecture. Empty where its kind has none.
template <const operator_info& Op, class Arch>
inline constexpr gradient_rule gradient_rule_of = detail::make_gradient_rule<Op, Arch>();

}  // namespace zp::inline v0
