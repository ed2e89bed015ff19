// SPDX-License-Identifier: BSD-3-Clause
// The header of a safetensors file: what it says of each tensor, read from JSON, checked, and written as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/io/file_dtype.hpp>
#include <zeropoint/io/file_metadata.hpp>
#include <zeropoint/io/json_reader.hpp>
#include <zeropoint/io/sorted_order.hpp>
#include <zeropoint/io/text.hpp>

namespace zp::inline v0 {

/// One entry of the header. Its data are the bytes [begin, end) of what follows the header.
struct safetensors_entry {
    std::string name;
    file_dtype dtype{};
    file_shape shape;
    std::uint64_t begin = 0, end = 0;
};

struct safetensors_header {
    /// The file begins with the length of the header, an unsigned 64-bit little-endian integer.
    static constexpr std::size_t length_bytes = 8;
    /// Longer headers are refused, as the reference implementation refuses them.
    static constexpr std::uint64_t longest = 100'000'000;
    /// The key of the metadata, which no tensor can have as its name.
    static constexpr std::string_view metadata_key = "__metadata__";

    std::vector<safetensors_entry> entries;
    file_metadata metadata;
};

namespace detail {

/// The metadata key of a tensor's checksum, 8 hexadecimal digits.
template <class = void> std::string checksum_key(std::string_view tensor) { return joined({"crc32.", tensor}); }

}  // namespace detail

/// Reads the fields of the tensor of that name, in any order, none of them missing, twice or unknown.
template <class = void> [[gnu::cold]] safetensors_entry read_safetensors_entry(json_reader& json, std::string& name) {
    json.set_context(joined({"tensor ", in_quotes(name)}));
    safetensors_entry entry{.name = std::move(name), .dtype = {}, .shape = {}, .begin = 0, .end = 0};
    bool has_dtype = false, has_shape = false, has_offsets = false;
    json.object([&](const std::string& field) {
        if (field == "dtype") {
            const std::string dtype = json.string("the name of a dtype in quotes");
            const auto known = find_file_dtype(dtype);
            if (!known) json.fail(joined({"a dtype of the format, such as F32 or I8, found ", in_quotes(dtype)}));
            entry.dtype = *known;
            has_dtype = true;
        } else if (field == "shape") {
            json.array([&] {
                const std::uint64_t extent = json.unsigned_integer();
                if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                    json.fail(joined({"an extent below 2^63, found ", decimal(extent)}));
                entry.shape.push_back(static_cast<std::int64_t>(extent));
            });
            has_shape = true;
        } else if (field == "data_offsets") {
            std::size_t count = 0;
            json.array([&] {
                if (count == 2) json.fail("two data_offsets, found more");
                (count++ == 0 ? entry.begin : entry.end) = json.unsigned_integer();
            });
            if (count != 2) json.fail(joined({"two data_offsets, found ", decimal(count)}));
            has_offsets = true;
        } else {
            json.fail(joined({"dtype, shape or data_offsets, found ", in_quotes(field)}));
        }
    });
    if (!has_dtype) json.fail("a dtype, found none");
    if (!has_shape) json.fail("a shape, found none");
    if (!has_offsets) json.fail("data_offsets, found none");
    json.set_context("");
    return entry;
}

/// Reads the JSON text of a header: an object of tensors, each `"name": {"dtype": "F32", "shape": [2, 3],
/// "data_offsets": [0, 24]}`, and perhaps `"__metadata__"`, an object of strings. Raises file_error unless the text is
/// valid UTF-8, valid JSON and exactly that. The offsets are checked by check_safetensors_layout.
template <class = void>
[[gnu::cold]] safetensors_header read_safetensors_header(std::string_view text, const std::string& source) {
    if (const std::size_t valid = valid_utf8_prefix(text); valid != text.size()) {
        raise<file_error>(joined({source, ": expected a header in UTF-8, found the invalid byte ",
                                  decimal(static_cast<unsigned char>(text[valid])), " at byte ",
                                  decimal(safetensors_header::length_bytes + valid), " of the file"}));
    }
    safetensors_header header;
    json_reader json(text, source, safetensors_header::length_bytes);
    json.object([&](std::string& name) {
        if (name != safetensors_header::metadata_key) {
            header.entries.push_back(read_safetensors_entry(json, name));
            return;
        }
        json.set_context(std::string(safetensors_header::metadata_key));
        std::vector<file_metadata::value_type> metadata;
        json.object(
            [&](std::string& key) { metadata.emplace_back(std::move(key), json.string("metadata in quotes")); });
        header.metadata = file_metadata(std::move(metadata));
        json.set_context("");
    });
    json.end();
    return header;
}

/// Raises file_error about one tensor of a file.
[[noreturn, gnu::cold]] inline void raise_tensor_error(std::string_view source, std::string_view name,
                                                       std::string_view expected, std::string_view found) {
    raise<file_error>(joined({source, ": tensor ", in_quotes(name), ": expected ", expected, ", found ", found}));
}

/// Puts the entries in the order of their data and raises file_error unless each holds as many bytes as its dtype and
/// shape need, and all together cover the `data_bytes` bytes after the header without overlap and without hole.
template <class = void>
[[gnu::cold]] void check_safetensors_layout(std::vector<safetensors_entry>& entries, std::uint64_t data_bytes,
                                            const std::string& source) {
    for (const safetensors_entry& entry : entries) {
        const auto offsets = [&] {
            return joined({"data_offsets [", decimal(entry.begin), ", ", decimal(entry.end), "]"});
        };
        if (entry.begin > entry.end) raise_tensor_error(source, entry.name, "data_offsets in order", offsets());
        if (entry.end > data_bytes) {
            raise_tensor_error(source, entry.name,
                               joined({"data within the ", decimal(data_bytes), " bytes after the header"}),
                               joined({offsets(), ": the file is truncated or damaged"}));
        }
        const auto needed = byte_count_of(entry.dtype, entry.shape);
        if (!needed) raise_tensor_error(source, entry.name, byte_count_rule, describe(entry.dtype, entry.shape));
        if (*needed != entry.end - entry.begin) {
            raise_tensor_error(source, entry.name,
                               joined({decimal(*needed), " bytes for ", describe(entry.dtype, entry.shape)}),
                               joined({decimal(entry.end - entry.begin), " in ", offsets()}));
        }
    }
    const std::vector<std::size_t> order = sorted_order(entries.size(), [&](std::size_t i, std::size_t j) {
        const safetensors_entry &a = entries[i], &b = entries[j];
        return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end < b.end : a.name < b.name;
    });
    std::vector<safetensors_entry> sorted;
    for (const std::size_t i : order) sorted.push_back(std::move(entries[i]));
    entries = std::move(sorted);
    std::uint64_t position = 0;
    for (const safetensors_entry& entry : entries) {
        if (entry.begin != position) {
            const std::string_view problem = entry.begin < position ? ": tensors overlap" : ": there is a hole";
            raise_tensor_error(source, entry.name, joined({"data from byte ", decimal(position), " on"}),
                               joined({"data from byte ", decimal(entry.begin), problem}));
        }
        position = entry.end;
    }
    if (position != data_bytes) {
        raise<file_error>(
            joined({source, ": expected ", decimal(position), " bytes of data, as its tensors need, found ",
                    decimal(data_bytes), ": the file is damaged"}));
    }
}

/// The header as JSON text without white space, metadata first, then the entries as they come: byte for byte what the
/// reference implementation writes, before padding.
template <class = void> [[gnu::cold]] std::string safetensors_header_text(const safetensors_header& header) {
    std::string json = "{";
    const auto key = [&](std::string_view name) {
        if (json.back() != '{') json += ',';
        append_json_string(json, name);
        json += ':';
    };
    if (!header.metadata.empty()) {
        key(safetensors_header::metadata_key);
        json += '{';
        for (const auto& [name, value] : header.metadata) {
            key(name);
            append_json_string(json, value);
        }
        json += '}';
    }
    for (const safetensors_entry& entry : header.entries) {
        key(entry.name);
        json += "{\"dtype\":";
        append_json_string(json, name_of(entry.dtype));
        json += ",\"shape\":[";
        for (std::size_t i = 0; i != entry.shape.size(); ++i) {
            json += joined({i == 0 ? "" : ",", std::to_string(entry.shape[i])});
        }
        json += joined({"],\"data_offsets\":[", decimal(entry.begin), ",", decimal(entry.end), "]}"});
    }
    return json + "}";
}

}  // namespace zp::inline v0
