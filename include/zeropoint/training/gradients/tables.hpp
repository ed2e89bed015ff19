// SPDX-License-Identifier: BSD-3-Clause
// Gradients of embeddings and constants: of their tables.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/movement_gradient.hpp>
#include <zeropoint/operators/constant.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/embedding_bag.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {

template <> struct gradient_of<op::embedding> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.d_block == nullptr) return;
        const embedding_layer layer = embedding_layer_of(*o.at.n.op);
        const auto count = static_cast<std::size_t>(o.at.y_shape().width);
        for (std::size_t i = 0; i != static_cast<std::size_t>(o.samples); ++i)
            kernel::add_embedding_gradient<Arch>(o.indices + i * o.x_size() + layer.first, count, layer.columns, -1,
                                                 o.dy + i * o.y_size(), o.d_parameter(0));
    }
};
template <> struct gradient_of<op::position_embedding> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.d_block == nullptr) return;
        const embedding_layer layer = embedding_layer_of(*o.at.n.op);
        float* to = o.d_parameter(0) + static_cast<std::ptrdiff_t>(layer.first) * layer.columns;
        for (std::size_t i = 0; i != static_cast<std::size_t>(o.samples); ++i)
            for (std::size_t k = 0; k != o.y_size(); ++k) to[k] += o.dy[i * o.y_size() + k];
    }
};
template <> struct gradient_of<op::embedding_bag> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.d_block == nullptr) return;
        const embedding_layer layer = embedding_layer_of(*o.at.n.op);
        const auto each = static_cast<std::size_t>(layer.count_of(o.at.x_shape()) / layer.bags);
        const auto mode = layer.is_mean ? embedding_bag_mode::mean : embedding_bag_mode::sum;
        const std::int32_t offset = 0;
        for (std::size_t i = 0; i != static_cast<std::size_t>(o.samples); ++i)
            for (std::size_t bag = 0; bag != static_cast<std::size_t>(layer.bags); ++bag)
                kernel::add_embedding_bag_gradient<Arch>(
                    o.indices + i * o.x_size() + static_cast<std::size_t>(layer.first) + bag * each, each, &offset, 1,
                    mode, layer.padding_index, layer.columns,
                    o.dy + i * o.y_size() + bag * static_cast<std::size_t>(layer.columns), o.d_parameter(0));
    }
};
template <> struct gradient_of<op::constant> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.d_block == nullptr) return;
        for (std::size_t i = 0; i != static_cast<std::size_t>(o.samples); ++i)
            for (std::size_t k = 0; k != o.y_size(); ++k) o.d_parameter(0)[k] += o.dy[i * o.y_size() + k];
    }
};

}  // namespace zp::inline v0
