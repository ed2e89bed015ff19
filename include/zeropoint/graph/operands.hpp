// SPDX-License-Identifier: BSD-3-Clause
// What the body of an operator sees of its node, in one storage.
#pragma once

#include <cstdint>
#include <type_traits>

#include <zeropoint/graph/clamp_bounds.hpp>
#include <zeropoint/graph/context.hpp>

namespace zp::inline v0 {

/// What an operator's form works on: T is float, or the storage type of codes: std::uint8_t, std::int8_t or std::int16_t.
template <class T> class operands {
public:
    operands(const node& n, const context& c) : at_{c.nodes, n}, context_(c) {}

    /// The k-th input: height x width x channels values, depth times. May be y() where the operator is `elementwise`.
    const T* x(int k = 0) const { return context_.in<T>(at_.n, k); }
    /// The same of a model's input of indices.
    const std::int32_t* indices() const { return context_.in<std::int32_t>(at_.n); }
    /// The output: height x width x channels values, depth times.
    T* y() const { return context_.out<T>(at_.n); }
    /// How many inputs the node has.
    int inputs() const { return at_.n.input_count; }
    /// Extents of input k.
    const shape& x_shape(int k = 0) const { return at_.x_shape(k); }
    /// Extents of the output.
    const shape& y_shape() const { return at_.y_shape(); }
    /// Of input k: storage, range of codes.
    const value_type& x_type(int k = 0) const { return at_.x_type(k); }
    /// Of the output.
    const value_type& y_type() const { return at_.y_type(); }

    /// Of codes.
    const qparams& x_qparams(int k = 0) const { return context_.range_in(at_.n, k); }
    /// What the codes of the output mean.
    const qparams& y_qparams() const { return context_.range(at_.n); }
    /// The code of 0 in the output; of floats 0.
    std::int32_t y_zero_point() const {
        if constexpr (std::is_same_v<T, float>) return 0;
        else return y_qparams().zero_point;
    }
    /// The output's zero point and the codes that it may have, fused clamps included.
    kernel::output_codes y_codes() const { return clamped_codes(at_.n, y_qparams()); }

    /// The bounds of a clamp, its own or one that is fused into a float node; infinite without.
    float lowest() const { return at_.n.fused.lowest; }
    /// The upper bound.
    float highest() const { return at_.n.fused.highest; }

    /// The operator's arrays as floats, one behind the other.
    const float* parameters() const { return context_.block<float>(at_.n); }
    /// What `prepare` or `pack` has left.
    template <class Prepared = std::byte> const Prepared* prepared() const {
        return context_.block<Prepared>(at_.n, prepared_offset(at_.n));
    }
    /// Working memory, as many bytes as `scratch_bytes` says, at a multiple of 64.
    template <class Scratch = std::byte> Scratch* scratch() const { return context_.scratch<Scratch>(at_.n); }
    /// The k-th array of the node's states. It begins with zeros, and in a stream with what the step before left.
    template <class State = std::byte> State* state(int k = 0) const {
        const int offset = k == 0 ? 0 : states_of(at_).offset_of(k);
        return reinterpret_cast<State*>(context_.state_of(at_.n) + offset);
    }
    /// Which of `count` groups of channels to compute: all of them, but for an operator that has `channel_groups`, of which several
    /// workers compute some each.
    kernel::panel_range groups(int count) const { return {context_.panels.begin, context_.panels.end_of(count)}; }
    /// The node among those that it reads.
    const node_view& at() const { return at_; }

private:
    node_view at_;
    const context& context_;
};

}  // namespace zp::inline v0
