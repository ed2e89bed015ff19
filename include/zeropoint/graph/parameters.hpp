// SPDX-License-Identifier: BSD-3-Clause
// What an operator's parameters are for: names, extents and roles, from which files, conversions and plans follow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/graph/quantized_weights.hpp>

namespace zp::inline v0 {

/// What one array of parameters is for, and so how it is kept in int8.
enum class parameter_role : std::uint8_t {
    vector,   ///< floats in every form
    filters,  ///< weights of outputs: codes, with a scale an output
    bias,     ///< of the filters in front of it: added to their sums
    matrix,   ///< rows x columns weights: columns x rows as floats; codes, with a scale a row
    table  ///< values that are given as they are, all or rows by index: codes of the output's range; of rows also codes with a
           ///< scale and an offset each
};

/// Where the values of an array lie inside, where that is not the order of files: along axes of the array in the file's
/// order, of which one may be several of the tensor's, how far apart neighbours are. All strides 0: as in files.
struct array_order {
    int extents[4] = {1, 1, 1, 1};  // in the file's order
    int strides[4] = {0, 0, 0, 0};  // how far apart neighbours are inside, in values

    /// Whether both orders are the same.
    constexpr bool is_of_files() const { return (strides[0] | strides[1] | strides[2] | strides[3]) == 0; }
    /// visit(place in the file, place inside) for each value.
    template <class Visit> constexpr void for_each(Visit visit) const {
        std::ptrdiff_t file = 0;
        for (int a = 0; a != extents[0]; ++a)
            for (int b = 0; b != extents[1]; ++b)
                for (int c = 0; c != extents[2]; ++c)
                    for (int d = 0; d != extents[3]; ++d)
                        visit(file++, std::ptrdiff_t{a} * strides[0] + std::ptrdiff_t{b} * strides[1] +
                                          std::ptrdiff_t{c} * strides[2] + std::ptrdiff_t{d} * strides[3]);
    }
};

/// outer x inner to inner x outer, `blocks` times.
constexpr array_order transposed_order(int blocks, int outer, int inner) {
    return {{blocks, outer, inner, 1}, {outer * inner, 1, outer, 0}};
}

/// One array that an operator owns, "Name.weight" in a file, or "Name" where it has no name of its own.
struct parameter_array {
    const char* name = "weight";                   // behind the layer's name and a point
    int rank = 1;                                  // how many extents files have
    int extents[5] = {1, 1, 1, 1, 1};              // in files
    parameter_role role = parameter_role::vector;  // how it is kept in int8
    array_order order{};                           // how it lies inside
    bool in_state_dict = true;                     // else every value is `otherwise`
    float otherwise = 0;                           // what all values are where no file has them
    bool is_variance = false;                      // of at least 0
    bool any_shape = false;                        // a state dict may have as many values in another shape
    const char* tied_to = nullptr;                 // in state dicts it is this tensor, which an earlier row has too

    /// How many values.
    constexpr int size() const { return extents[0] * extents[1] * extents[2] * extents[3] * extents[4]; }
};

/// The arrays of an operator, in the order of files.
struct parameter_list {
    static constexpr int most = 40;  // so many arrays at most
    parameter_array arrays[most];    // the first `count` of these
    int count = 0;                   // how many there are
    const char* unread = nullptr;    // what a state dict has beside them, and nothing needs

    constexpr parameter_list() = default;
    /// One array, "weight", of so many values; none for 0.
    constexpr parameter_list(int values) {  // NOLINT(google-explicit-constructor): `return in.channels;`
        if (values != 0) add("weight", values);
    }
    /// One more array: of one extent, or as described. Returns the list.
    constexpr parameter_list& add(const char* name, int values) { return add({name, 1, {values, 1, 1, 1, 1}}); }
    constexpr parameter_list& add(const parameter_array& array) {
        arrays[count++] = array;
        return *this;
    }
    /// One more of rows x columns, which becomes codes with a scale a row.
    constexpr parameter_list& add_matrix(const char* name, int rows, int columns) {
        return add({name, 2, {rows, columns, 1, 1, 1}, parameter_role::matrix, transposed_order(1, rows, columns)});
    }
    /// With three extents it is channels x height x width in files, as PyTorch has it, and height x width x channels inside.
    constexpr parameter_list& add_image(const char* name, const shape& extents) {
        return add({name,
                    3,
                    {extents.channels, extents.height, extents.width, 1, 1},
                    parameter_role::vector,
                    transposed_order(1, extents.channels, extents.height * extents.width)});
    }
    /// Values of all arrays.
    constexpr int size() const {
        int sum = 0;
        for (int i = 0; i != count; ++i) sum += arrays[i].size();
        return sum;
    }
    /// Where array i begins in a block of floats, counted in floats: a bias begins at a multiple of 64 bytes.
    constexpr int offset_of(int i) const {
        int offset = 0;
        for (int k = 0; k != i; ++k) offset = aligned_for(k, offset) + arrays[k].size();
        return i == count ? offset : aligned_for(i, offset);
    }
    /// Of a block of floats.
    constexpr int bytes() const { return static_cast<int>(sizeof(float)) * offset_of(count); }

private:
    constexpr int aligned_for(int i, int offset) const {
        if (arrays[i].role != parameter_role::bias) return offset;
        return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(offset)) / sizeof(float));
    }
};

/// Copies an array from the order of files.
template <class T> void array_from_file(const parameter_array& array, const T* file, T* inside) {
    if (array.order.is_of_files()) std::copy_n(file, array.size(), inside);
    else array.order.for_each([=](std::ptrdiff_t from, std::ptrdiff_t to) { inside[to] = file[from]; });
}
/// The inverse.
template <class T> void array_to_file(const parameter_array& array, const T* inside, T* file) {
    if (array.order.is_of_files()) std::copy_n(inside, array.size(), file);
    else array.order.for_each([=](std::ptrdiff_t to, std::ptrdiff_t from) { file[to] = inside[from]; });
}

/// The parameters of a node on their way between files, conversion and packed blocks. Filters are out x taps x in, as blocks of
/// floats have them; codes of matrices rows x columns.
struct node_parameters {
    std::vector<quantized_weights> matrices;  // filters with their bias, matrices, tables, in the order of the list
    std::vector<std::vector<float>> vectors;  // all other arrays, in its order, as they lie inside
    std::vector<std::uint8_t> lut;  // of the function that a node is or has fused: 2^bits codes, from the lowest on
    std::vector<std::int32_t> lut_nodes;  // the same over 16 bits: see kernel/epilogue/table_int16.hpp
};

}  // namespace zp::inline v0
