// Appends rows to a graph and infers their shapes: the one place where layers become a table.
#pragma once

#include <span>

#include <zeropoint/layer/activation_function.hpp>
#include <zeropoint/layer/conv_transpose_options.hpp>
#include <zeropoint/layer/operator_description.hpp>

namespace zp {
inline namespace v0 {

/// Options of a convolution, with PyTorch's defaults. out_channels may be left out of a depthwise one (multiplier 1).
struct conv {
    int out_channels = 0;
    extent kernel = 1;
    extent stride = 1;
    extent padding = 0;
    extent dilation = 1;
    int groups = 1;
    bool bias = true;
};

/// The same of a convolution over a volume.
struct volume_conv {
    int out_channels = 0;
    volume_extent kernel = 1;
    volume_extent stride = 1;
    volume_extent padding = 0;
    volume_extent dilation = 1;
    int groups = 1;
    bool bias = true;
};

/// Options of a pooling window, with PyTorch's defaults: a stride of 0 means the kernel's extent.
struct pool {
    extent kernel = 2;
    extent stride = 0;
    extent padding = 0;
    extent dilation = 1;
    bool ceil_mode = false;
    bool count_include_pad = true;  // avg_pool2d
};

/// How many windows there are along an axis.
constexpr int output_extent(int in, int kernel, int stride, int padding, int dilation, bool ceil_mode) {
    const int room = in + 2 * padding - dilation * (kernel - 1) - 1;
    if (room < 0) return 0;
    int out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (out - 1) * stride >= in + padding) --out;  // PyTorch: the last window must start inside
    return out;
}

/// The rows so far. One function per operator, each returning the row's number, which later rows name as their input.
/// It records the first broken rule and goes on, so that one mistake is one message.
class builder {
public:
    constexpr builder(node* rows, int capacity) : nodes(rows), capacity_(capacity) {}

    node* nodes;
    int size = 0;
    diagnostic error{};

    constexpr int input(shape extents) {
        node row;
        row.kind = op::input;
        row.in = row.out = extents;
        row.name = "input";
        return append(row);
    }
    /// So many integers, which embeddings alone read.
    constexpr int indices(int count) {
        node row;
        row.kind = op::input;
        row.type = scalar_type::int32;
        row.in = row.out = {1, count, 1};
        row.name = "input";
        return append(row);
    }
    /// Cross-correlation as PyTorch's Conv2d: zero padding on all sides.
    constexpr int conv2d(int x, const char* name, const conv& options) {
        node row = unary(op::conv2d, x, name);
        set_channels(row, options.out_channels, options.groups);
        set_window(row, options.kernel, options.stride, options.padding, options.dilation, false);
        row.bias = options.bias;
        row.weights =
            row.channels * options.kernel.height * options.kernel.width * (row.in.channels / row.window.groups);
        return append(row);
    }
    /// The same over a volume, as PyTorch's Conv3d.
    constexpr int conv3d(int x, const char* name, const volume_conv& options) {
        node row = unary(op::conv3d, x, name);
        const volume_extent &kernel = options.kernel, &stride = options.stride, &padding = options.padding,
                            &dilation = options.dilation;
        set_channels(row, options.out_channels, options.groups);
        set_window(row, {kernel.height, kernel.width}, {stride.height, stride.width}, {padding.height, padding.width},
                   {dilation.height, dilation.width}, false);
        if (kernel.depth < 1 || stride.depth < 1 || padding.depth < 0 || dilation.depth < 1)
            fail(rule::window_not_positive, row.in, {1, 1, 1, kernel.depth});
        else
            row.out.depth =
                output_extent(row.in.depth, kernel.depth, stride.depth, padding.depth, dilation.depth, false);
        row.depth = {kernel.depth, stride.depth, padding.depth, dilation.depth};
        row.bias = options.bias;
        row.weights =
            row.channels * kernel.depth * kernel.height * kernel.width * (row.in.channels / row.window.groups);
        const int before = size, y = append(row);
        if (size != before) {
            nodes[y].window.in = {row.in.height, row.in.width, row.in.channels * kernel.depth};
            nodes[y].window.out = {row.out.height, row.out.width, row.out.channels};
        }
        return y;
    }
    /// conv2d over a sequence of 1 x length x channels. Of extents that have two numbers the width counts.
    constexpr int conv1d(int x, const char* name, conv options) {
        if (nodes[x].out.height != 1) fail(rule::sequence_expected, nodes[x].out);
        options.kernel.height = options.stride.height = options.dilation.height = 1;
        options.padding.height = 0;
        const int before = size, y = conv2d(x, name, options);
        if (size != before) nodes[y].one_dimensional = true;
        return y;
    }
    /// PyTorch's ConvTranspose2d.
    constexpr int conv_transpose2d(int x, const char* name, const conv_transpose& options) {
        node row = unary(op::conv_transpose2d, x, name);
        const conv_transpose o = with_channels(options, row.in);
        if (nodes[x].flattened_image()) fail(rule::flattened_image, nodes[x].flattened);
        if (o.out_channels <= 0) fail(rule::out_channels_missing, row.in);
        if (!divides_channels(o, row.in)) fail(rule::channels_not_divisible, row.in, {1, 1, o.out_channels});
        if (!fits(o, row.in)) fail(rule::conv_transpose_options, row.in, extents_of(o, row.in));
        const kernel::conv_transpose2d_geometry g = geometry_of(o, row.in);
        row.window = kernel::as_window(g);
        row.out = g.out;
        row.channels = g.out.channels;
        row.bias = o.bias;
        row.weights = row.channels * g.depth();
        return append(row);
    }
    /// PyTorch's ConvTranspose3d.
    constexpr int conv_transpose3d(int x, const char* name, const volume_conv_transpose& options) {
        node row = unary(op::conv_transpose3d, x, name);
        const shape plane = plane_of(row.in);
        if (with_channels(options.plane(), plane).out_channels <= 0) fail(rule::out_channels_missing, row.in);
        if (!divides_channels(options.plane(), plane))
            fail(rule::channels_not_divisible, row.in, {1, 1, options.out_channels});
        if (!fits(options, row.in)) fail(rule::conv_transpose_options, row.in, extents_of(options, row.in));
        const kernel::conv_transpose3d_geometry g = geometry_of(options, row.in);
        row.window = kernel::as_window(g.plane);
        row.depth = {g.kernel_depth, g.stride_depth, g.padding_front, g.dilation_depth};
        row.out = g.plane.out;
        row.out.depth = g.out_depth;
        row.channels = g.plane.out.channels;
        row.bias = options.bias;
        row.weights = row.channels * g.depth();
        const int before = size, y = append(row);
        if (size != before) {
            nodes[y].window.in = g.plane.in;
            nodes[y].window.out = g.plane.out;
        }
        return y;
    }
    /// conv_transpose2d over a sequence of 1 x length x channels. Of extents that have two numbers the width counts.
    constexpr int conv_transpose1d(int x, const char* name, conv_transpose options) {
        if (nodes[x].out.height != 1) fail(rule::sequence_expected, nodes[x].out);
        options.kernel.height = options.stride.height = options.dilation.height = 1;
        options.padding.height = options.output_padding.height = 0;
        const int before = size, y = conv_transpose2d(x, name, options);
        if (size != before) nodes[y].one_dimensional = true;
        return y;
    }
    /// Over a vector, or over each of the vectors of a sequence of 1 x length x channels.
    constexpr int linear(int x, const char* name, int outputs, bool bias = true) {
        node row = unary(op::linear, x, name);
        if (row.in.height != 1) fail(rule::linear_needs_flatten, row.in);
        if (outputs <= 0) fail(rule::out_channels_missing, row.in);
        row.out = {1, row.in.width, outputs};
        row.flattened = flattened_of(x);
        row.channels = outputs;
        row.bias = bias;
        row.weights = outputs * row.in.channels;
        return append(row);
    }
    /// A linear layer whose weight and bias are part `part` of `parts` of the tensors "file_name_weight" and
    /// "file_name_bias": outputs of all parts one after another. Parts are appended in order.
    constexpr int linear_part(int x, const char* name, int outputs, bool bias, const char* file_name, int part,
                              int parts) {
        const int before = size, y = linear(x, name, outputs, bias);
        if (size != before) {
            nodes[y].file_name = file_name;
            nodes[y].part = static_cast<std::int8_t>(part);
            nodes[y].parts = static_cast<std::int8_t>(parts);
        }
        return y;
    }
    constexpr int batch_norm(int x, const char* name, float epsilon, bool affine) {
        node row = unary(op::batch_norm, x, name);
        if (nodes[x].flattened_image()) fail(rule::flattened_image, nodes[x].flattened);
        row.channels = row.in.channels;
        row.parameter = epsilon;
        row.affine = affine;
        return append(row);
    }
    /// relu, relu6, leaky_relu, sigmoid, tanh, hardswish; dropout and the stubs as well.
    constexpr int elementwise(op kind, int x, const char* name = "", float parameter = 0) {
        node row = unary(kind, x, name);
        row.parameter = parameter;
        row.function = function_of_kind(kind);
        return append(row);
    }
    /// A function of one value, such as function_of<F>.
    constexpr int activation(int x, const char* name, const activation_function& function) {
        node row = unary(op::activation, x, name);
        row.function = &function;
        return append(row);
    }
    /// min(max(x, lowest), highest)
    constexpr int clamp(int x, const char* name, float lowest, float highest) {
        node row = unary(op::clamp, x, name);
        row.lowest = lowest;
        row.highest = highest;
        if (!(lowest <= highest)) fail(rule::clamp_bounds, row.in);
        return append(row);
    }
    constexpr int pool2d(op kind, int x, const char* name, const pool& options) {
        node row = unary(kind, x, name);
        const extent stride = options.stride == extent(0) ? options.kernel : options.stride;
        set_window(row, options.kernel, stride, options.padding, options.dilation, options.ceil_mode);
        if (options.padding.height * 2 > options.kernel.height || options.padding.width * 2 > options.kernel.width)
            fail(rule::padding_too_large, row.in, {options.padding.height, options.padding.width, 1});
        row.count_include_pad = options.count_include_pad;
        return append(row);
    }
    /// pool2d over a sequence of 1 x length x channels.
    constexpr int pool1d(op kind, int x, const char* name, pool options) {
        if (nodes[x].out.height != 1) fail(rule::sequence_expected, nodes[x].out);
        const bool same = options.stride == extent(0);
        options.kernel.height = options.dilation.height = 1;
        if (!same) options.stride.height = 1;
        options.padding.height = 0;
        return pool2d(kind, x, name, options);
    }
    constexpr int adaptive_avg_pool2d(int x, const char* name, extent size_of_output) {
        node row = unary(op::adaptive_avg_pool2d, x, name);
        row.out = {size_of_output.height, size_of_output.width, row.in.channels};
        return append(row);
    }
    constexpr int flatten(int x) {
        node row = unary(op::flatten, x, "");
        row.flattened = nodes[x].flattened_image() ? nodes[x].flattened : row.in;
        row.out = {1, 1, row.in.size()};
        return append(row);
    }
    constexpr int add(int a, int b, const char* name = "") {
        node row = unary(op::add, a, name);
        row.input_count = 2;
        row.inputs[1] = static_cast<short>(b);
        if (nodes[a].out != nodes[b].out) fail(rule::branch_shapes_differ, nodes[a].out, nodes[b].out);
        if ((nodes[a].flattened_image() || nodes[b].flattened_image()) && flattened_of(a) != flattened_of(b))
            fail(rule::flattened_image, nodes[a].flattened, nodes[b].flattened);
        return append(row);
    }
    /// Along the channels.
    constexpr int concat(std::span<const int> xs, const char* name = "") {
        node row = unary(op::concat, xs[0], name);
        row.input_count = 0;
        row.out.channels = 0;
        row.flattened = {0, 0, 0};
        for (const int x : xs) {
            if (row.input_count == max_inputs) {
                fail(rule::too_many_inputs, row.in);
                break;
            }
            shape as_first = nodes[x].out;
            as_first.channels = row.in.channels;
            if (as_first != row.in) fail(rule::branch_shapes_differ, row.in, nodes[x].out);
            if (nodes[x].flattened_image()) fail(rule::flattened_image, nodes[x].flattened);
            row.inputs[row.input_count++] = static_cast<short>(x);
            row.out.channels += nodes[x].out.channels;
        }
        return append(row);
    }
    /// An operator that only its description knows, with `parameters` floats of its own. Without an int8 form it stays
    /// float32 through convert.
    constexpr int described(op kind, std::span<const int> xs, const char* name, const operator_description& what,
                            const operator_steps& steps, shape out, int parameters) {
        node row = unary(kind, xs[0], name);
        row.described = &what;
        row.steps = &steps;
        row.out = out;
        row.weights = parameters;
        row.keep_float = !what.has_codes;
        row.input_count = static_cast<std::int8_t>(xs.size());
        const bool keeps_order = what.elementwise && parameters <= 1;
        for (std::size_t k = 0; k != xs.size(); ++k) {
            row.inputs[k] = static_cast<short>(xs[k]);
            const bool another_order = flattened_of(xs[k]) != flattened_of(xs[0]);
            if (nodes[xs[k]].flattened_image() && (!keeps_order || another_order))
                fail(rule::flattened_image, nodes[xs[k]].flattened);
        }
        row.flattened = keeps_order ? flattened_of(xs[0]) : shape{0, 0, 0};
        if (parameters != 0 && name[0] == 0) fail(rule::name_missing, row.in);
        return append(row);
    }
    constexpr void fail(rule broken, shape a = {}, shape b = {}) {
        if (error.broken == rule::none) error = {broken, size, a, b};
    }

private:
    constexpr node unary(op kind, int x, const char* name) const {
        node row;
        row.kind = kind;
        row.name = name;
        row.input_count = 1;
        row.inputs[0] = static_cast<short>(x);
        row.in = row.out = nodes[x].out;
        const bool elementwise_kind =
            is_clamp(kind) || is_table(kind) || is_identity(kind) || kind == op::batch_norm || kind == op::add;
        if (elementwise_kind) row.flattened = flattened_of(x);
        return row;
    }
    /// A linear row's `flattened` tells of its input; its output has no order but its own.
    constexpr shape flattened_of(int x) const {
        return nodes[x].kind == op::linear ? shape{0, 0, 0} : nodes[x].flattened;
    }
    /// Channels and groups of a convolution.
    constexpr void set_channels(node& row, int out_channels, int groups) {
        if (groups == depthwise) {
            groups = row.in.channels;
            if (out_channels == 0) out_channels = row.in.channels;
        }
        if (out_channels <= 0) fail(rule::out_channels_missing, row.in);
        if (groups <= 0 || row.in.channels % groups != 0 || out_channels % groups != 0)
            fail(rule::channels_not_divisible, row.in, {1, 1, out_channels});
        row.window.groups = groups <= 0 ? 1 : groups;
        row.out.channels = row.channels = out_channels;
    }
    constexpr void set_window(node& row, extent kernel, extent stride, extent padding, extent dilation,
                              bool ceil_mode) {
        if (kernel.height < 1 || kernel.width < 1 || stride.height < 1 || stride.width < 1 || padding.height < 0 ||
            padding.width < 0 || dilation.height < 1 || dilation.width < 1) {
            fail(rule::window_not_positive, row.in, {kernel.height, kernel.width, 1});
            return;
        }
        row.out.height =
            output_extent(row.in.height, kernel.height, stride.height, padding.height, dilation.height, ceil_mode);
        row.out.width =
            output_extent(row.in.width, kernel.width, stride.width, padding.width, dilation.width, ceil_mode);
        row.window.kernel_height = kernel.height;
        row.window.kernel_width = kernel.width;
        row.window.stride_height = stride.height;
        row.window.stride_width = stride.width;
        row.window.padding_top = padding.height;
        row.window.padding_left = padding.width;
        row.window.dilation_height = dilation.height;
        row.window.dilation_width = dilation.width;
    }
    constexpr int append(node row) {
        for (int k = 0; k != row.input_count; ++k) {
            const shape& x = nodes[row.inputs[k]].out;
            const bool loses_depth = is_elementwise(row) && row.out.depth != x.depth;
            if (x.is_volume() && (!takes_volumes(row) || loses_depth)) fail(rule::image_expected, x);
            if (nodes[row.inputs[k]].is_indices() && !is_embedding(row)) fail(rule::indices_read, x);
        }
        if (row.out.height <= 0 || row.out.width <= 0 || row.out.depth <= 0) fail(rule::empty_output, row.in, row.out);
        if (size == capacity_) {
            fail(rule::too_many_nodes);
            return size - 1;
        }
        row.window.in = row.in;
        row.window.out = row.out;
        nodes[size] = row;
        return size++;
    }

    int capacity_;
};

}  // namespace v0
}  // namespace zp
