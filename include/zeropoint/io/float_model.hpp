// Float state dicts, as PyTorch writes them, to and from float networks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/safetensors.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/layer/weight_layout.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

// What reads and writes rows is a template over the file, a safetensors_file or safetensors_writer: a program that does not
// save, or has no floats in its files, then does not compile what that takes.

/// The float arrays of a described operator, in float and in int8 files alike.
template <class File>
void read_described_parameters(const File& file, const node& row, std::byte* block, std::vector<std::string>& known) {
    auto* values = reinterpret_cast<float*>(block);
    const parameter_list list = row.described->parameters(row);
    if (list.unread != nullptr) known.push_back(joined({row.name, ".", list.unread}));
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        const std::string name = joined({row.name, ".", array.name});
        known.push_back(name);
        const std::vector<float> read = file.finite_floats(name, {array.extents, array.extents + array.rank});
        array_from_file(array, read.data(), values);
        values += array.size();
    }
}
template <class File> void write_described_parameters(File& file, const node& row, const std::byte* block) {
    const auto* values = reinterpret_cast<const float*>(block);
    const parameter_list list = row.described->parameters(row);
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        std::vector<float> ordered(static_cast<std::size_t>(array.size()));
        array_to_file(array, values, ordered.data());
        file.add(joined({row.name, ".", array.name}), {array.extents, array.extents + array.rank}, ordered);
        values += array.size();
    }
}

/// How a file has parameters that are parts of one tensor in PyTorch: whole in a state dict, else by the names of rows.
enum class parts_in_file : bool { apart, whole };

/// Reads the parameters of a row from the file into the block: name.weight and name.bias, for a batch_norm also
/// name.running_mean and name.running_var. Adds to `known` what may stand in the file for it.
template <class File>
void read_float_parameters(const File& file, const node& row, std::byte* parameters, std::vector<std::string>& known,
                           parts_in_file parts = parts_in_file::apart) {
    const auto read = [&](const std::string& name, const file_shape& shape) {
        known.push_back(name);
        return file.finite_floats(name, shape);
    };
    const auto read_to = [&](std::span<float> to, const std::string& name, const file_shape& shape) {
        const std::vector<float> values = read(name, shape);
        std::copy(values.begin(), values.end(), to.begin());
    };
    if (row.described != nullptr) return read_described_parameters(file, row, parameters + row.parameter_offset, known);
    auto* block = reinterpret_cast<float*>(parameters + row.parameter_offset);
    const auto name = [&](const char* what) { return joined({row.name, ".", what}); };
    if (row.kind == op::batch_norm) {
        const auto arrays = view_of_batch_norm(row, block);
        const file_shape shape{row.channels};
        std::fill(arrays.weight.begin(), arrays.weight.end(), 1.0f);
        if (row.affine) {
            read_to(arrays.weight, name("weight"), shape);
            read_to(arrays.bias, name("bias"), shape);
        }
        read_to(arrays.running_mean, name("running_mean"), shape);
        const std::vector<float> variances = read(name("running_var"), shape);
        for (const float variance : variances)
            if (variance < 0)
                file.fail(file.expect(name("running_var")), "variances of at least 0", std::to_string(variance));
        std::copy(variances.begin(), variances.end(), arrays.running_var.begin());
        known.push_back(name("num_batches_tracked"));  // only training reads it
        return;
    }
    if (row.file_name != nullptr && parts == parts_in_file::whole) {
        const auto whole = [&](const char* what) { return joined({row.file_name, what}); };
        const std::vector<float> weights = read(whole("_weight"), whole_shape(row, weight_shape(row)));
        weights_from_file(row, part_of(row, weights).data(), block);
        if (!row.bias) return;
        const std::vector<float> bias = read(whole("_bias"), whole_shape(row, {row.channels}));
        const std::span<const float> part = part_of(row, bias);
        std::copy(part.begin(), part.end(), block + bias_offset(row));
        return;
    }
    weights_from_file(row, read(name("weight"), weight_shape(row)).data(), block);
    if (row.bias)
        read_to({block + bias_offset(row), static_cast<std::size_t>(row.channels)}, name("bias"), {row.channels});
}

template <class File>
void write_float_parameters(File& file, const node& row, const std::byte* parameters,
                            parts_in_file parts = parts_in_file::apart) {
    if (row.described != nullptr) return write_described_parameters(file, row, parameters + row.parameter_offset);
    const auto* block = reinterpret_cast<const float*>(parameters + row.parameter_offset);
    const auto name = [&](const char* what) { return joined({row.name, ".", what}); };
    if (row.kind == op::batch_norm) {
        const auto arrays = view_of_batch_norm(row, block);
        if (row.affine) {
            file.add(name("weight"), {row.channels}, arrays.weight);
            file.add(name("bias"), {row.channels}, arrays.bias);
        }
        file.add(name("running_mean"), {row.channels}, arrays.running_mean);
        file.add(name("running_var"), {row.channels}, arrays.running_var);
        return;
    }
    const std::vector<std::int64_t> shape = weight_shape(row);
    std::vector<float> weights(static_cast<std::size_t>(row.weights));
    weights_to_file(row, block, weights.data());
    const std::span bias(block + bias_offset(row), static_cast<std::size_t>(row.channels));
    if (row.file_name != nullptr && parts == parts_in_file::whole) {  // rows of parts stand in order
        const auto whole = [&](const char* what) { return joined({row.file_name, what}); };
        file.append(whole("_weight"), shape, weights);
        if (row.bias) file.append(whole("_bias"), {row.channels}, bias);
        return;
    }
    file.add(name("weight"), shape, weights);
    if (row.bias) file.add(name("bias"), {row.channels}, bias);
}

}  // namespace detail

/// The float network from an open file. See zp::load for what is checked.
template <class Net, class Arch = default_architecture>
float_model<Net, Arch> read_float_model(const safetensors_file& file) {
    float_model<Net, Arch> model;
    std::vector<std::string> known;
    for (const node& row : model.rows())
        if (row.parameter_bytes != 0)
            detail::read_float_parameters(file, row, model.parameters(), known, detail::parts_in_file::whole);
    file.expect_no_other_than(known);
    return model;
}
template <class Net, class Arch> safetensors_writer write_model(const network<float_stage<Net, Arch>>& model) {
    safetensors_writer file;
    file.metadata("format", "pt");
    for (const node& row : model.rows())
        if (row.parameter_bytes != 0)
            detail::write_float_parameters(file, row, model.parameters(), detail::parts_in_file::whole);
    return file;
}

}  // namespace v0
}  // namespace zp
