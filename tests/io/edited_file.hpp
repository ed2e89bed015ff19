// SPDX-License-Identifier: BSD-3-Clause
// A safetensors file with one thing changed: what a damaged or foreign model file looks like from inside.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>

namespace edited_file {

using byte_vector = std::vector<std::byte>;

struct tensor {
    zp::file_dtype dtype;
    zp::file_shape shape;
    byte_vector bytes;

    /// Element i as a T, to read and to write.
    template <class T> void set(std::size_t i, T value) {
        zp::store_little_endian(value, bytes.data() + i * sizeof(T));
    }
};

struct contents {
    std::map<std::string, tensor> tensors;
    std::map<std::string, std::string> metadata;
};

inline contents read(std::span<const std::byte> bytes) {
    const auto file = zp::safetensors_file::parse(bytes, "original");
    contents all;
    for (const zp::file_tensor& t : file.tensors())
        all.tensors[t.name] = {t.dtype, t.shape, {t.bytes.begin(), t.bytes.end()}};
    for (const auto& [key, value] : file.metadata()) all.metadata[key] = value;
    return all;
}

/// With checksums of the tensors as they are now, for those that have one.
inline byte_vector written(contents all) {
    for (const auto& [name, t] : all.tensors) {
        const auto sum = all.metadata.find("crc32." + name);
        if (sum != all.metadata.end()) sum->second = zp::hexadecimal(zp::crc32(t.bytes));
    }
    zp::safetensors_writer file;
    for (const auto& [name, t] : all.tensors) file.add(name, t.dtype, t.shape, t.bytes);
    for (const auto& [key, value] : all.metadata) file.metadata(key, value);
    return file.bytes();
}

/// The file with `change(contents&)` applied.
template <class Change> byte_vector changed(std::span<const std::byte> bytes, Change change) {
    contents all = read(bytes);
    change(all);
    return written(all);
}

/// The message of the file_error with which loading fails, "" where it works, another text for another kind of error.
template <class Model> std::string error_of(std::span<const std::byte> bytes) {
    try {
        (void)zp::load<Model>(bytes, "m.safetensors");
        return "";
    } catch (const zp::file_error& error) { return error.what(); } catch (const zp::error& error) {
        return std::string("not a file_error: ") + error.what();
    }
}

}  // namespace edited_file
