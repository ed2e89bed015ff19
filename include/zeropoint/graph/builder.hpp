// SPDX-License-Identifier: BSD-3-Clause
// Appends nodes to a graph: the one place where layers become a table.
#pragma once

#include <span>

#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

struct conv;
struct volume_conv;
struct conv_transpose;
struct volume_conv_transpose;
struct pool;
struct extent;

/// The nodes so far. It records the first broken rule and goes on, so that one mistake is one message.
///
/// Functions that append return the node's number, which later nodes name as their input. Any operator is appended by
/// `append_operator<Kind, Operator>(builder, inputs, name)` (graph/define.hpp); those with options of their own have a function
/// here, defined beside the operator.
class builder {
public:
    constexpr builder(node* memory, int capacity) : nodes(memory), capacity_(capacity) {}

    node* nodes;              // room for as many as the model says
    int size = 0;             // how many there are
    diagnostic error{};       // the first broken rule
    bool needs_names = true;  // where nodes have parameters, for files

    /// A model of several inputs names them; their order is that of a call's arguments.
    constexpr int input(shape extents, const char* name = "input");  // operators/input.hpp
    /// So many integers, which embeddings alone read.
    constexpr int indices(int count, const char* name = "input");
    /// Gives x to the caller, in the order of these calls. Returns x, which others may read as well. A model that never says so
    /// has its last node as its only output.
    constexpr int output(int x, const char* name);                       // operators/output.hpp
    constexpr int conv2d(int x, const char* name, const conv& options);  // operators/conv2d.hpp
    /// Along a sequence of 1 x length x channels.
    constexpr int conv1d(int x, const char* name, conv options);
    constexpr int conv3d(int x, const char* name, const volume_conv& options);  // operators/conv3d.hpp
    /// As zp::conv_transpose2d.
    constexpr int conv_transpose2d(int x, const char* name,
                                   const conv_transpose& options);  // operators/conv_transpose2d.hpp
    /// Along a sequence of 1 x length x channels.
    constexpr int conv_transpose1d(int x, const char* name, conv_transpose options);
    /// As zp::conv_transpose3d.
    constexpr int conv_transpose3d(int x, const char* name,
                                   const volume_conv_transpose& options);          // operators/conv_transpose3d.hpp
    constexpr int linear(int x, const char* name, int outputs, bool bias = true);  // operators/linear.hpp
    /// A linear layer whose tensors are a part of larger ones in the file: queries, keys and values of
    /// in_proj_weight.
    constexpr int linear_part(int x, const char* name, int outputs, bool bias, const packed_tensor& part);
    constexpr int batch_norm(int x, const char* name, float epsilon, bool affine);  // operators/batch_norm.hpp
    constexpr int clamp(int x, const char* name, float lowest, float highest);      // operators/clamp.hpp
    constexpr int max_pool2d(int x, const char* name, const pool& options);         // operators/pool2d.hpp
    /// As zp::avg_pool2d.
    constexpr int avg_pool2d(int x, const char* name, const pool& options);
    /// As zp::adaptive_avg_pool2d.
    constexpr int adaptive_avg_pool2d(int x, const char* name, extent size_of_output);
    constexpr int flatten(int x);                                               // operators/flatten.hpp
    template <int = 0> constexpr int add(int a, int b, const char* name = "");  // operators/add.hpp
    constexpr int concat(std::span<const int> xs, const char* name = "");       // operators/concat.hpp

    // What those functions are made of.

    /// A node over x that has its extents, and where it keeps the order of values, what a flatten noted of them.
    constexpr node unary(const operator_info& op, const operator_rules& rules, int x, const char* name) const {
        node n;
        n.op = &op;
        n.rules = &rules;
        n.name = name;
        n.input_count = 1;
        n.inputs[0] = static_cast<short>(x);
        n.out.extents = nodes[x].out.extents;
        if (op.keeps_order) n.out.flattened = nodes[x].out.flattened;
        return n;
    }
    /// Checks what every operator's inputs and output must be.
    constexpr int append(const node& n) {
        const operator_info& op = *n.op;
        const shape& y = n.out.extents;
        const bool takes_volumes = op.takes_volumes || op.elementwise || op.is_identity;
        for (int k = 0; k != n.input_count; ++k) {
            const value_type& x = nodes[n.inputs[k]].out;
            const bool loses_depth = op.elementwise && y.depth != x.extents.depth;
            if (x.extents.is_volume() && (!takes_volumes || loses_depth)) fail(rule::image_expected, x.extents);
            if (x.is_indices() && op.inputs != input_rule::indices && op.inputs != input_rule::extents)
                fail(rule::indices_read, x.extents);
        }
        if (y.height <= 0 || y.width <= 0 || y.depth <= 0)
            fail(rule::empty_output, n.input_count == 0 ? y : nodes[n.inputs[0]].out.extents, y);
        if (y.is_too_large()) {
            fail(rule::value_too_large, n.input_count == 0 ? y : nodes[n.inputs[0]].out.extents, y);
            node without_extents = n;
            without_extents.out.extents = {};
            return append(without_extents);
        }
        if (size == capacity_) {
            fail(rule::too_many_nodes);
            return size - 1;
        }
        nodes[size] = n;
        return size++;
    }
    /// Records a broken rule, with the extents that its sentence shows; the first one stays.
    constexpr void fail(rule broken, shape a = {}, shape b = {}) {
        if (error.broken == rule::none) error = {broken, size, a, b};
    }

private:
    int capacity_;
};

}  // namespace zp::inline v0
