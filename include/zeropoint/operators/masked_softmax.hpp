// SPDX-License-Identifier: BSD-3-Clause
// Softmax over the columns that a mask keeps, and the mask of a model's indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <zeropoint/kernel/float/float_masked_softmax.hpp>
#include <zeropoint/kernel/normalize/masked_softmax.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/softmax.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind attention_mask{"attention_mask"};
}
namespace operators {

/// Rows are those of a matrix, width x channels, of which there are height; the mask may have one for all along both.
struct masked_softmax {
    static constexpr const char* kind = "masked_softmax";
    static constexpr float output_min = softmax::output_min, output_max = softmax::output_max;

    static constexpr bool accepts(std::span<const shape> xs) {
        return xs.size() == 2 && xs[1].channels == xs[0].channels && (xs[1].width == xs[0].width || xs[1].width == 1) &&
               (xs[1].height == xs[0].height || xs[1].height == 1);
    }
    static constexpr shape output_shape(std::span<const shape> xs) { return xs[0]; }
    static constexpr int prepared_bytes(const node_view& v) { return softmax::prepared_bytes(v); }
    static void prepare(const preparation& p) { softmax::prepare(p); }

    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        const shape &x = o.x_shape(0), &m = o.x_shape(1);
        const auto rows = static_cast<std::size_t>(x.width), channels = static_cast<std::size_t>(x.channels);
        const std::size_t pitch = m.width == 1 ? 0 : channels;
        for (int matrix = 0; matrix != x.height; ++matrix) {
            const T* from = o.x(0) + std::ptrdiff_t{matrix} * x.width * x.channels;
            const T* mask = o.x(1) + (m.height == 1 ? 0 : std::ptrdiff_t{matrix} * m.width * m.channels);
            T* to = o.y() + std::ptrdiff_t{matrix} * x.width * x.channels;
            if constexpr (std::is_same_v<T, float>) {
                kernel::masked_softmax<Arch>(from, rows, channels, mask, pitch, to);
            } else {
                const kernel::code_mask<T> kept{mask, static_cast<T>(o.x_qparams(1).zero_point), pitch};
                kernel::masked_softmax<Arch>(from, rows, channels, kept, o.template prepared<std::int32_t>(),
                                             o.y_qparams().scale, o.y_codes(), to);
            }
        }
    }
};

/// In int8 the lowest code and the highest, which are 0 and 1 exactly, so that averages over a mask are those of its floats.
struct attention_mask {
    static constexpr const char* kind = "attention_mask";
    static constexpr input_rule inputs = input_rule::indices;
    static constexpr float output_min = 0, output_max = 1;
    static constexpr bool closed_range = true;

    static constexpr bool accepts(shape x) { return x.height == 1 && x.channels == 1; }
    static constexpr shape output_shape(shape x) { return {1, 1, x.width}; }
    static constexpr index_bound bound(const node_view& v) { return {0, v.x_shape().width, 2, true}; }

    static void forward(const operands<float>& o) noexcept { fill(o, 0.0f, 1.0f); }
    template <class T> static void forward(const operands<T>& o) noexcept {
        fill(o, static_cast<T>(o.y_qparams().zero_point), static_cast<T>(o.y_codes().max));
    }

private:
    template <class T> static void fill(const operands<T>& o, T none, T one) noexcept {
        for (int i = 0; i != o.y_shape().channels; ++i) o.y()[i] = o.indices()[i] == 0 ? none : one;
    }
};

}  // namespace operators

/// softmax of Scores(x) over the columns that Mask(x) keeps: those where it is not 0, in int8 where its code is not the zero
/// point. The others have exactly 0; a row that keeps none has equal shares, Hugging Face's result of an additive mask.
/// Scores are matrices, rows = width, columns = channels, height of them, as an attention has one a head. The mask has as many
/// columns; its width and height are the scores' or 1, for all rows and all matrices: zp::input<1, 1, Columns> for a mask of
/// keys, zp::input<1, Rows, Columns> for keys of each query, as the boolean attn_mask of PyTorch's scaled_dot_product_attention.
/// Its output in int8 is softmax's.
template <class Scores, class Mask>
struct masked_softmax : operator_layer<op::softmax, "", operators::masked_softmax, Scores, Mask> {};

/// A row of 1 x 1 x Count floats, 0 or 1, from zp::indices<Count> that are such: Hugging Face's attention_mask, and the
/// opposite of PyTorch's key_padding_mask. It stands behind the indices, and is what masked layers read:
///     zp::named<"attention_mask", zp::indices<128>>, zp::named<"mask", zp::attention_mask>, ..., zp::from<"mask">
/// Other integers raise value_error before anything runs. In int8 the scale is 1 / 255, of which 255 are 1.
struct attention_mask {
    static constexpr int nodes = 1;
    static constexpr int lower(auto& b, int x) {  // a template: only a network that has it instantiates its forms
        if (!b.nodes[x].is_indices()) b.fail(rule::indices_expected, b.nodes[x].out.extents);
        return append_operator<op::attention_mask, operators::attention_mask>(b, {&x, 1});
    }
};

}  // namespace zp::inline v0
