// SPDX-License-Identifier: BSD-3-Clause
// load and save: a model's type says what its file must hold.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <zeropoint/io/model_reader.hpp>
#include <zeropoint/io/model_writer.hpp>
#include <zeropoint/io/safetensors.hpp>

#if defined(ZEROPOINT_COMPILED)
#include <zeropoint/compiled/files.hpp>
#endif

namespace zp::inline v0 {

/// The float network from an open file. See zp::load for what is checked.
template <class Net, class Arch = default_architecture>
float_model<Net, Arch> read_float_model(const safetensors_file& file) {
    return detail::read_network<float_model<Net, Arch>>(file);
}

namespace detail {
/// From what read_network() takes.
template <class Model, class... Source> auto read_model(const Source&... source) {
    if constexpr (!requires { typename Model::stage; }) return read_network<float_model<Model>>(source...);
    else if constexpr (int8_stage<typename Model::stage>) return read_network<Model>(source...);
    else return read_network<float_model<typename Model::net, typename Model::stage::architecture>>(source...);
}
}  // namespace detail

/// Loads a network from a safetensors file. `Model` is
///  - the user's model: a float network from a PyTorch state dict (weights OIHW, any float dtype);
///  - `zp::quantized<Model, QConfig>`: an int8 network from a file that zp::save wrote, on any architecture.
///  - `zp::dynamically_quantized<Model>`: int8 weights and float activations, from a file that zp::save wrote.
/// Everything is checked before a network comes back: the file's structure, that no tensor is missing, left over, of another
/// dtype or shape, not finite or out of its dtype's range, and that the file was saved from this type. Raises file_error.
template <class Model> auto load(const std::string& path) {
    require_machine();
    return detail::read_model<Model>(path);
}
/// The same, where the path is no std::string yet: it is not copied before the machine is known to run that.
template <class Model> auto load(const char* path) {
    require_machine();
    return load<Model>(std::string(path));
}
/// The same from bytes in memory: a file that was linked into the program, say. Messages call them `name`.
template <class Model> auto load(std::span<const std::byte> bytes, const std::string& name = "model") {
    require_machine();
    return detail::read_model<Model>(bytes, name);
}

/// Saves a float or an int8 network, which zp::load reads back to the same numbers. The file appears whole or not at all.
template <class Network> void save(const Network& model, const std::string& path) { write_model(model).write(path); }
/// The file as bytes.
template <class Network> std::vector<std::byte> to_bytes(const Network& model) { return write_model(model).bytes(); }

}  // namespace zp::inline v0
