// Writes safetensors files: the same tensors give the same bytes on every host, in whatever order they were added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/io/file_dtype.hpp>
#include <zeropoint/io/little_endian.hpp>
#include <zeropoint/io/safetensors_header.hpp>
#include <zeropoint/io/sorted_order.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/io/whole_file.hpp>

namespace zp {
inline namespace v0 {

/// Collects tensors and metadata, then gives the file as bytes or writes it. Tensors are laid out as by the reference
/// implementation, from the widest dtype to the narrowest and then by name, and the header is padded with spaces to a
/// multiple of 8 bytes: so every tensor is aligned to its element. Metadata are ordered by key.
class safetensors_writer {
public:
    /// Adds a tensor from its bytes, which are copied: little-endian, row-major, as many as dtype and shape need.
    /// Raises value_error for a name that was added before, is "__metadata__" or no UTF-8; shape_error for wrong sizes.
    void add(std::string name, file_dtype dtype, file_shape shape, std::span<const std::byte> bytes) {
        add_bytes(std::move(name), dtype, std::move(shape), {bytes.begin(), bytes.end()});
    }

    /// Adds a tensor from a contiguous range of numbers (a vector, array or span), whose type gives the dtype.
    template <class Values> void add(std::string name, file_shape shape, const Values& values) {
        using element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(values))>>;
        const std::size_t size = std::size(values);
        std::vector<std::byte> bytes(size * sizeof(element));
        for (std::size_t i = 0; i != size; ++i) {
            store_little_endian(std::data(values)[i], bytes.data() + i * sizeof(element));
        }
        add_bytes(std::move(name), file_dtype_of<element>, std::move(shape), std::move(bytes));
    }

    /// The same, or where a tensor has that name, its values behind those: both have the same extents but for the first.
    /// Raises shape_error where they have not, or not the same dtype.
    template <class Values> void append(const std::string& name, file_shape shape, const Values& values) {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) return add(name, std::move(shape), values);
        stored_tensor whole = std::move(found->second);
        tensors_.erase(found);
        add(name, shape, values);
        stored_tensor& end = tensors_.find(name)->second;
        if (whole.dtype != end.dtype || whole.shape.size() != shape.size() ||
            !std::equal(shape.begin() + 1, shape.end(), whole.shape.begin() + 1))
            raise<shape_error>(joined({"tensor ", in_quotes(name), ": expected more of ",
                                       describe(whole.dtype, whole.shape), ", found ", describe(end.dtype, shape)}));
        whole.shape.front() += shape.front();
        whole.bytes.insert(whole.bytes.end(), end.bytes.begin(), end.bytes.end());
        end = std::move(whole);
    }

    /// Adds text under a key that was not used before, both UTF-8. Raises value_error otherwise.
    void metadata(std::string key, std::string value) {
        require_utf8(key, "a metadata key");
        require_utf8(value, "metadata");
        const auto [entry, is_new] = metadata_.emplace(std::move(key), std::move(value));
        if (!is_new)
            raise<value_error>(joined({"metadata ", in_quotes(entry->first), ": expected a new key, found it again"}));
    }

    /// The whole file. Raises value_error if the header would be longer than the format allows, 100,000,000 bytes.
    std::vector<std::byte> bytes() const {
        // By dtype, then by name; the reference implementation's order of dtypes is that of the enumeration.
        std::vector<const named_tensor*> by_name;
        for (const auto& one : tensors_) by_name.push_back(&one);
        const auto dtype_of = [&](std::size_t i) { return by_name[i]->second.dtype; };
        const std::vector<std::size_t> order = sorted_order(by_name.size(), [&](std::size_t i, std::size_t j) {
            return dtype_of(i) != dtype_of(j) ? dtype_of(i) > dtype_of(j) : i < j;
        });

        safetensors_header header{{}, metadata_};
        std::uint64_t position = 0;
        for (const std::size_t i : order) {
            const auto& [name, tensor] = *by_name[i];
            const std::uint64_t end = position + tensor.bytes.size();
            header.entries.push_back({name, tensor.dtype, tensor.shape, position, end});
            position = end;
        }
        std::string text = safetensors_header_text(header);
        text.resize((text.size() + 7) / 8 * 8, ' ');
        if (text.size() > safetensors_header::longest) {
            raise<value_error>(joined({"safetensors_writer: expected names and metadata for a header of at most ",
                                       decimal(safetensors_header::longest), " bytes, found ", decimal(text.size())}));
        }

        std::vector<std::byte> file(safetensors_header::length_bytes);
        store_little_endian(std::uint64_t{text.size()}, file.data());
        file.reserve(file.size() + text.size() + static_cast<std::size_t>(position));
        const auto text_bytes = std::as_bytes(std::span(text));
        file.insert(file.end(), text_bytes.begin(), text_bytes.end());
        for (const std::size_t i : order) {
            const std::vector<std::byte>& bytes = by_name[i]->second.bytes;
            file.insert(file.end(), bytes.begin(), bytes.end());
        }
        return file;
    }

    /// Writes the file, or leaves what was at `path` untouched and raises file_error.
    void write(const std::string& path) const { write_whole_file(path, bytes()); }

private:
    struct stored_tensor {
        file_dtype dtype;
        file_shape shape;
        std::vector<std::byte> bytes;
    };
    using tensor_map = std::map<std::string, stored_tensor>;
    using named_tensor = tensor_map::value_type;

    static void require_utf8(const std::string& text, std::string_view what) {
        const std::size_t valid = valid_utf8_prefix(text);
        if (valid == text.size()) return;
        raise<value_error>(joined({"safetensors_writer: expected ", what, " in UTF-8, found an invalid byte after ",
                                   in_quotes(text.substr(0, valid))}));
    }

    void add_bytes(std::string name, file_dtype dtype, file_shape shape, std::vector<std::byte> bytes) {
        require_utf8(name, "the name of a tensor");
        if (name == safetensors_header::metadata_key) {
            raise<value_error>(joined({"safetensors_writer: expected the name of a tensor, found ", in_quotes(name),
                                       ", which the format reserves: use metadata()"}));
        }
        const auto expected = byte_count_of(dtype, shape);
        if (!expected) {
            raise<shape_error>(joined(
                {"tensor ", in_quotes(name), ": expected ", byte_count_rule, ", found ", describe(dtype, shape)}));
        }
        if (*expected != bytes.size()) {
            raise<shape_error>(joined({"tensor ", in_quotes(name), ": expected ", decimal(*expected), " bytes for ",
                                       describe(dtype, shape), ", found ", decimal(bytes.size())}));
        }
        stored_tensor tensor{dtype, std::move(shape), std::move(bytes)};
        const auto [entry, is_new] = tensors_.try_emplace(std::move(name), std::move(tensor));
        if (!is_new)
            raise<value_error>(joined({"tensor ", in_quotes(entry->first), ": expected a new name, found it again"}));
    }

    tensor_map tensors_;
    file_metadata metadata_;
};

}  // namespace v0
}  // namespace zp
