// Between the order of weights inside (out, height, width, in) and in files, which is PyTorch's: (out, in, height, width),
// (in, out, height, width) of transposed convolutions, with a depth over volumes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zeropoint/kernel/layout.hpp>
#include <zeropoint/kernel/transposed_layout.hpp>
#include <zeropoint/layer/operator_description.hpp>

namespace zp {
inline namespace v0 {

/// The shape that PyTorch gives the weight of a row: OIHW for a convolution, OIDHW for one over a volume, IOHW for a transposed one, without the
/// height in one dimension, out x in for a linear layer.
[[gnu::cold]] inline std::vector<std::int64_t> weight_shape(const node& row) {
    const bool transposed = row.kind == op::conv_transpose2d || row.kind == op::conv_transpose3d;
    const int first = transposed ? row.in.channels : row.channels,
              second = transposed ? row.window.group_out() : row.window.group_in();
    if (row.one_dimensional) return {first, second, row.window.kernel_width};
    if (row.kind == op::conv_transpose3d)
        return {first, second, row.depth.kernel, row.window.kernel_height, row.window.kernel_width};
    if (transposed || row.kind == op::conv2d) return {first, second, row.window.kernel_height, row.window.kernel_width};
    if (row.kind == op::conv3d)
        return {row.channels, row.in.channels / row.window.groups, row.depth.kernel, row.window.kernel_height,
                row.window.kernel_width};
    if (row.kind == op::linear) return {row.channels, row.in.channels};
    return {row.weights};
}

/// The extents of a tensor that holds this parameter of all parts: see builder::linear_part.
inline std::vector<std::int64_t> whole_shape(const node& row, std::vector<std::int64_t> shape) {
    shape.front() *= row.parts;
    return shape;
}
/// And the values that are this row's.
inline std::span<const float> part_of(const node& row, std::span<const float> all) {
    const std::size_t size = all.size() / static_cast<std::size_t>(row.parts);
    return all.subspan(static_cast<std::size_t>(row.part) * size, size);
}

/// Copies weights from a file's order. A linear layer behind a flatten of an image takes its columns pixel by pixel here,
/// channel by channel in PyTorch.
template <class T> void weights_from_file(const node& row, const T* file, T* inside) {
    if (row.kind == op::conv2d)
        kernel::oihw_to_ohwi(file, row.channels, row.window.group_in(), row.window.taps(), inside);
    else if (row.kind == op::conv3d)
        kernel::oihw_to_ohwi(file, row.channels, row.in.channels / row.window.groups, volume_window(row).taps(),
                             inside);
    else if (row.kind == op::conv_transpose2d) kernel::iohw_to_ohwi(transposed_window(row), file, inside);
    else if (row.kind == op::conv_transpose3d)
        kernel::iohw_to_ohwi(transposed_volume_window(row).all_taps(), file, inside);
    else if (row.kind == op::linear && row.flattened_columns())
        kernel::chw_columns_to_hwc(file, row.channels, row.flattened, inside);
    else std::copy_n(file, row.weights, inside);
}
/// The inverse.
template <class T> void weights_to_file(const node& row, const T* inside, T* file) {
    if (row.kind == op::conv2d)
        kernel::ohwi_to_oihw(inside, row.channels, row.window.group_in(), row.window.taps(), file);
    else if (row.kind == op::conv3d)
        kernel::ohwi_to_oihw(inside, row.channels, row.in.channels / row.window.groups, volume_window(row).taps(),
                             file);
    else if (row.kind == op::conv_transpose2d) kernel::ohwi_to_iohw(transposed_window(row), inside, file);
    else if (row.kind == op::conv_transpose3d)
        kernel::ohwi_to_iohw(transposed_volume_window(row).all_taps(), inside, file);
    else if (row.kind == op::linear && row.flattened_columns())
        kernel::hwc_columns_to_chw(inside, row.channels, row.flattened, file);
    else std::copy_n(inside, row.weights, file);
}

/// rows x columns to columns x rows.
inline void transpose_matrix(const float* from, int rows, int columns, float* to) {
    for (int r = 0; r != rows; ++r)
        for (int c = 0; c != columns; ++c) to[std::ptrdiff_t{c} * rows + r] = *from++;
}
/// A described operator's array from a file's order.
inline void array_from_file(const parameter_array& array, const float* file, float* inside) {
    if (array.matrix) transpose_matrix(file, array.extents[0], array.extents[1], inside);
    else if (array.rank == 3)
        kernel::chw_columns_to_hwc(file, 1, {array.extents[1], array.extents[2], array.extents[0]}, inside);
    else std::copy_n(file, array.size(), inside);
}
/// The inverse.
inline void array_to_file(const parameter_array& array, const float* inside, float* file) {
    if (array.matrix) transpose_matrix(inside, array.extents[1], array.extents[0], file);
    else if (array.rank == 3)
        kernel::hwc_columns_to_chw(inside, 1, {array.extents[1], array.extents[2], array.extents[0]}, file);
    else std::copy_n(inside, array.size(), file);
}

}  // namespace v0
}  // namespace zp
