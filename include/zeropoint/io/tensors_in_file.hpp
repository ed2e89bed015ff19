// SPDX-License-Identifier: BSD-3-Clause
// Which tensors the file of a network has, without a network: what its writer adds, as a list.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/io/model_tensors.hpp>

namespace zp::inline v0 {

/// A tensor of a network's file.
struct tensor_in_file {
    std::string name;
    file_dtype dtype = file_dtype::F32;
    file_shape shape;
    int node = -1;           ///< whose it is; -1: of the network
    const char* array = "";  ///< which of the node's arrays: "weight", "weight_ih_l0"; "table" of a function
    const char* part = "";   ///< of an array of codes: "codes", "scale", "zero_point", "offset"; "bias"; else ""
};

namespace detail {

// A template, so that it costs those who ask.
template <class Tensor> class tensor_list {
public:
    /// What one array of codes is in a file.
    void add_codes(const node_view& v, int i, const parameter_array& array, const coded_array& coding) {
        const file_shape rows = shape_of_scales(v.n, array, coding);
        const std::string name = tensor_name(v.n, array.name);
        const file_dtype codes = coding.storage == scalar_type::int16 ? file_dtype::I16
                                 : coding.storage == scalar_type::uint8 || (coding.has_groups && coding.bits() == 4)
                                     ? file_dtype::U8
                                     : file_dtype::I8;
        all.push_back({name, codes, shape_of(array, coding), i, array.name, "codes"});
        const file_dtype floats = coding.has_half_scales ? file_dtype::F16 : file_dtype::F32;
        if (coding.has_scales) all.push_back({name + "_scale", floats, rows, i, array.name, "scale"});
        if (coding.has_offsets) all.push_back({name + "_offset", floats, rows, i, array.name, "offset"});
        else if (coding.affine)
            all.push_back({name + "_zero_point", file_dtype::I32, rows, i, array.name, "zero_point"});
    }
    void add_floats(const node_view& v, int i, const parameter_array& array, bool keeps_parts_whole) {
        if (!array.in_state_dict || (array.tied_to != nullptr && keeps_parts_whole)) return;
        const bool is_part = v.n.part.name != nullptr && keeps_parts_whole;
        Tensor made{is_part ? whole_name(v.n, array.name) : tensor_name(v.n, array.name), file_dtype::F32,
                    shape_of(array), i, array.name};
        const auto before = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.name == made.name; });
        if (before == all.end()) all.push_back(std::move(made));
        else before->shape.front() += made.shape.front();
    }
    void add_node(const node_view& v, int i, bool has_float_bias, bool keeps_parts_whole) {
        const parameter_list list = parameters_of(v);
        bool is_coded = false;  // the array before, to which a bias belongs
        for (int k = 0; k != list.count; ++k) {
            const parameter_array& array = list.arrays[k];
            if (array.role == parameter_role::bias && is_coded) {
                const bias_type type = bias_type_of(v, has_float_bias);
                const file_dtype dtype = type == bias_type::int32   ? file_dtype::I32
                                         : type == bias_type::int64 ? file_dtype::I64
                                                                    : file_dtype::F32;
                all.push_back({tensor_name(v.n, array.name), dtype, shape_of(array), i, array.name, "bias"});
                continue;
            }
            const coded_array coding = coding_of(v, array);
            is_coded = !coding.is_float();
            if (is_coded) add_codes(v, i, array, coding);
            else add_floats(v, i, array, keeps_parts_whole);
        }
        if (const int size = lut_size(v); size != 0)
            all.push_back({table_name(v.n, i), file_dtype::U8, {size}, i, "table"});
        if (const int count = lut_node_count(v); count != 0)
            all.push_back({table_name(v.n, i), file_dtype::I32, {count}, i, "table"});
    }

    std::vector<Tensor> all;
};

}  // namespace detail

/// The tensors of a stage's files, those of the network first, then node by node. Of stages that have no files: none.
template <class Stage> std::vector<tensor_in_file> tensors_in_file() {
    detail::tensor_list<tensor_in_file> list;
    if constexpr (detail::has_ranges<Stage>) {
        const file_shape shape{Stage::loose.qparams_count};
        list.all.push_back({detail::scales_name, file_dtype::F32, shape, -1, "activation", "scale"});
        list.all.push_back({detail::zero_points_name, file_dtype::I32, shape, -1, "activation", "zero_point"});
    }
    for (int i = 0; i != Stage::loose.size; ++i)
        list.add_node(Stage::loose.view(i), i, detail::has_float_bias<Stage>, !detail::int8_stage<Stage>);
    return std::move(list.all);
}

}  // namespace zp::inline v0
