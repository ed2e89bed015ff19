// Dynamically quantized networks to and from files: integers in PyTorch's order, their scales, and floats for the rest.
#pragma once

#include <span>

#include <zeropoint/io/int8_model.hpp>

namespace zp {
inline namespace v0 {

/// The network of this type from an open file. See zp::load for what is checked.
template <class Network> Network read_dynamic_model(const safetensors_file& file) {
    using kernels = typename Network::stage::dynamic_kernels;
    Network model;
    detail::int8_reader reader(file);
    reader.read_header(detail::signature_of_network<Network>());
    for (const node& row : Network::rows()) {
        if (row.parameter_bytes == 0) continue;
        if (keeps_table_codes(row)) {
            if constexpr (any_keeps_table_codes(Network::stage::table.nodes, Network::stage::table.size))
                reader.read_embedding(row, model.parameters() + row.parameter_offset);
        } else if (row.dynamic && is_recurrent(row))
            kernels::write(row,
                           reader.template read_quantized<typename kernels::weight_storage>(
                               row, row.weight_min, row.weight_max, row.affine_weights),
                           model.parameters() + row.parameter_offset);
        else if (row.dynamic)
            kernels::write(row, reader.template read_weighted<kernels::weights_needed>(row, true),
                           model.parameters() + row.parameter_offset);
        else detail::read_float_parameters(file, row, model.parameters(), reader.known());
    }
    reader.finish();
    return model;
}

template <class Stage>
    requires requires { typename Stage::dynamic_kernels; }
safetensors_writer write_model(const network<Stage>& model) {
    using kernels = typename Stage::dynamic_kernels;
    safetensors_writer file;
    file.metadata("format", "zeropoint.int8");
    file.metadata("format_version", std::to_string(int8_format_version));
    file.metadata("signature", detail::signature_of_network<network<Stage>>());
    for (const node& row : model.rows()) {
        if (row.parameter_bytes == 0) continue;
        if (keeps_table_codes(row)) {
            if constexpr (any_keeps_table_codes(Stage::table.nodes, Stage::table.size))
                detail::write_embedding(file, row, model.parameters() + row.parameter_offset);
        } else if (row.dynamic && is_recurrent(row))
            detail::write_quantized<typename kernels::weight_storage>(
                file, row, kernels::read_recurrent(row, model.parameters() + row.parameter_offset));
        else if (row.dynamic)
            detail::write_weighted<kernels::weights_needed>(
                file, row, kernels::read(row, model.parameters() + row.parameter_offset));
        else detail::write_float_parameters(file, row, model.parameters());
    }
    return file;
}

}  // namespace v0
}  // namespace zp
