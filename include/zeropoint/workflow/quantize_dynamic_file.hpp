// SPDX-License-Identifier: BSD-3-Clause
// quantize_dynamic of a state dict, layer by layer, without a float network: for models whose floats are gigabytes.
#pragma once

#include <cstddef>
#include <string>

#include <zeropoint/io/mapped_state_dict.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

namespace zp::inline v0 {
namespace detail {

/// What quantize_dynamic_file gives.
template <class Stage> inline constexpr bool is_dynamic_stage = false;
template <class Net, class Config, class Arch>
inline constexpr bool is_dynamic_stage<dynamic_stage<Net, Config, Arch>> = true;

/// The rows of a float network, which is never made.
template <class Nodes> struct rows_alone : Nodes { static constexpr const auto& table = Nodes::loose; };
/// Whether each row has its own parameters, and no folded ones.
template <int N> constexpr bool folds_nothing(const graph<N>& fused) {
    for (int i = 0; i != fused.size; ++i)
        if (fused.nodes[i].from.folded >= 0 || fused.nodes[i].from.normalized >= 0) return false;
    return true;
}

}  // namespace detail

/// zp::quantize_dynamic<Config>(zp::load<Net>(path)), to the same codes, of a model whose floats need not fit into memory: a layer at a
/// time is read, quantized and packed. `Network` is a zp::dynamically_quantized<Net, Config>:
///
///     using network = zp::dynamically_quantized<decoder, zp::int4_dynamic_qconfig>;
///     const auto model = zp::quantize_dynamic_file<network>("model.safetensors");
///
/// The path may be that of an index: see zp::mapped_state_dict. Beside the result it takes the floats of the largest layer twice. Raises
/// file_error as zp::load does, and calibration_error as quantize_dynamic. Models with batch norms are loaded as float networks.
template <class Network> Network quantize_dynamic_file(const mapped_state_dict& dict) {
    using stage = typename Network::stage;
    static_assert(detail::is_dynamic_stage<stage>,
                  "quantize_dynamic_file<Network>: Network must be a zp::dynamically_quantized<Net, Config>");
    using net = typename stage::net;
    using fused_rows = detail::rows_alone<fused_nodes<net, typename stage::architecture>>;
    static_assert(
        detail::folds_nothing(fused_rows::table),
        "quantize_dynamic_file<Network>: this model has batch norms, or a normalize, that become part of other layers: "
        "zp::quantize_dynamic(zp::load<Net>(path))");
    require_machine();
    constexpr const auto& written = source<net>::table;
    constexpr detail::file_contents floats{.floats = true};
    detail::model_reader<floats> reader(dict.file(), detail::parts_in_file::whole, true);
    reader.expect_state_dict();
    Network result;
    aligned_buffer block;
    detail::quantize_each_row<fused_rows>(result, [&](const node_view& from) {
        const int row = from.n.from.self;
        const node_parameters parameters =
            reader.read_parameters({written.nodes, static_cast<std::size_t>(written.size)}, row);
        block = aligned_buffer(static_cast<std::size_t>(parameters_of(from).bytes()));
        write_floats(from, parameters, block.data());
        return reinterpret_cast<const float*>(block.data());
    });
    reader.finish();
    return result;
}
/// The same from a path.
template <class Network> Network quantize_dynamic_file(const std::string& path) {
    return quantize_dynamic_file<Network>(mapped_state_dict(path));
}

}  // namespace zp::inline v0
