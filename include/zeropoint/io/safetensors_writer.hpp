// SPDX-License-Identifier: BSD-3-Clause
// Writes safetensors files: the same tensors give the same bytes on every host, in whatever order they were added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/core/crc32.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/io/file_dtype.hpp>
#include <zeropoint/io/little_endian.hpp>
#include <zeropoint/io/safetensors_header.hpp>
#include <zeropoint/io/sorted_order.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/io/whole_file.hpp>

namespace zp::inline v0 {

/// Collects tensors and metadata, then gives the file as bytes or writes it. Tensors are laid out as by the reference
/// implementation, from the widest dtype to the narrowest and then by name, and the header is padded with spaces to a
/// multiple of 8 bytes: so every tensor is aligned to its element. Metadata are ordered by key.
template <class Void> class basic_safetensors_writer {
public:
    /// Adds a tensor from its bytes, which are copied: little-endian, row-major, as many as dtype and shape need.
    /// Raises value_error for a name that was added before, is "__metadata__" or no UTF-8; shape_error for wrong sizes.
    [[gnu::cold]] void add(std::string name, file_dtype dtype, file_shape shape, std::span<const std::byte> bytes) {
        require_tensor(name, dtype, shape, bytes.size());
        const std::size_t place = place_of(name);
        if (place != by_name_.size() && tensors_[by_name_[place]].name == name)
            raise<value_error>(joined({"tensor ", in_quotes(name), ": expected a new name, found it again"}));
        const std::uint64_t begin = data_.size(), end = begin + bytes.size();
        insert_bytes(data_, data_.size(), bytes);
        by_name_.push_back(tensors_.size());
        for (std::size_t i = tensors_.size(); i != place; --i) std::swap(by_name_[i], by_name_[i - 1]);
        tensors_.push_back({std::move(name), dtype, std::move(shape), begin, end});
    }

    /// Adds a tensor from a contiguous range of numbers (a vector, array or span), whose type gives the dtype.
    template <class Values> void add(std::string name, file_shape shape, const Values& values) {
        const std::vector<std::byte> bytes = bytes_of(values);
        add(std::move(name), dtype_of<Values>, std::move(shape), bytes);
    }

    /// The same, or where a tensor has that name, its values behind those: both have the same extents but for the first.
    /// Raises shape_error where they have not, or not the same dtype.
    template <class Values> void append(const std::string& name, file_shape shape, const Values& values) {
        const std::vector<std::byte> bytes = bytes_of(values);
        append_bytes(name, dtype_of<Values>, shape, bytes);
    }

    /// Whether a tensor of that name was added with these values.
    template <class Values> [[gnu::cold]] bool has(const std::string& name, const Values& values) const {
        const std::size_t place = place_of(name);
        if (place == by_name_.size() || tensors_[by_name_[place]].name != name) return false;
        const safetensors_entry& tensor = tensors_[by_name_[place]];
        const std::vector<std::byte> bytes = bytes_of(values);
        return tensor.dtype == dtype_of<Values> && tensor.end - tensor.begin == bytes.size() &&
               std::equal(bytes.begin(), bytes.end(), data_.begin() + static_cast<std::ptrdiff_t>(tensor.begin));
    }

    /// Adds text under a key that was not used before, both UTF-8. Raises value_error otherwise.
    [[gnu::cold]] void metadata(std::string key, std::string value) {
        require_utf8(key, "a metadata key");
        require_utf8(value, "metadata");
        const auto [entry, is_new] = metadata_.emplace(std::move(key), std::move(value));
        if (!is_new)
            raise<value_error>(joined({"metadata ", in_quotes(entry->first), ": expected a new key, found it again"}));
    }

    /// Calls f(name, bytes) for each tensor, in the order of their names.
    template <class F> void for_each(F&& f) const {
        for (const std::size_t i : by_name_) {
            const safetensors_entry& tensor = tensors_[i];
            f(tensor.name, std::span<const std::byte>(data_.data() + tensor.begin,
                                                      static_cast<std::size_t>(tensor.end - tensor.begin)));
        }
    }

    /// Metadata with the CRC-32 of each tensor that was added so far, for safetensors_file::require_checksums.
    [[gnu::cold]] void add_checksums() {
        for_each([&](const std::string& name, std::span<const std::byte> bytes) {
            metadata(detail::checksum_key(name), hexadecimal(crc32(bytes)));
        });
    }

    /// The whole file. Raises value_error if the header would be longer than the format allows, 100,000,000 bytes.
    [[gnu::cold]] std::vector<std::byte> bytes() const {
        // By dtype, then by name; the reference implementation's order of dtypes is that of the enumeration.
        const std::vector<std::size_t> order = sorted_order(by_name_.size(), [&](std::size_t i, std::size_t j) {
            const file_dtype first = tensors_[by_name_[i]].dtype, second = tensors_[by_name_[j]].dtype;
            return first != second ? first > second : i < j;
        });

        safetensors_header header{{}, metadata_};
        std::uint64_t position = 0;
        for (const std::size_t i : order) {
            const safetensors_entry& tensor = tensors_[by_name_[i]];
            const std::uint64_t end = position + (tensor.end - tensor.begin);
            header.entries.push_back({tensor.name, tensor.dtype, tensor.shape, position, end});
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
        insert_bytes(file, file.size(), {reinterpret_cast<const std::byte*>(text.data()), text.size()});
        for (const std::size_t i : order) {
            const safetensors_entry& tensor = tensors_[by_name_[i]];
            insert_bytes(file, file.size(),
                         {data_.data() + tensor.begin, static_cast<std::size_t>(tensor.end - tensor.begin)});
        }
        return file;
    }

    /// Writes the file, or leaves what was at `path` untouched and raises file_error.
    void write(const std::string& path) const {
        const std::vector<std::byte> all = bytes();
        write_whole_file(path, detail::span_of(all));
    }

private:
    /// In front of place `at`. Not vector's own insert, which is dear to compile.
    [[gnu::cold]] static void insert_bytes(std::vector<std::byte>& to, std::size_t at,
                                           std::span<const std::byte> bytes) {
        const std::size_t behind = to.size() - at;
        to.resize(to.size() + bytes.size());
        if (behind != 0) std::memmove(to.data() + at + bytes.size(), to.data() + at, behind);
        if (!bytes.empty()) std::memcpy(to.data() + at, bytes.data(), bytes.size());
    }

    template <class Values>
    static constexpr file_dtype dtype_of =
        file_dtype_of<std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const Values&>()))>>>;

    template <class Values> static std::vector<std::byte> bytes_of(const Values& values) {
        constexpr std::size_t element = sizeof(*std::data(values));
        std::vector<std::byte> bytes(std::size(values) * element);
        copy_little_endian(bytes.data(), reinterpret_cast<const std::byte*>(std::data(values)), std::size(values),
                           element);
        return bytes;
    }

    [[gnu::cold]] static void require_utf8(const std::string& text, std::string_view what) {
        const std::size_t valid = valid_utf8_prefix(text);
        if (valid == text.size()) return;
        raise<value_error>(joined({"safetensors_writer: expected ", what, " in UTF-8, found an invalid byte after ",
                                   in_quotes(text.substr(0, valid))}));
    }

    [[gnu::cold]] static void require_tensor(const std::string& name, file_dtype dtype, const file_shape& shape,
                                             std::size_t bytes) {
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
        if (*expected != bytes) {
            raise<shape_error>(joined({"tensor ", in_quotes(name), ": expected ", decimal(*expected), " bytes for ",
                                       describe(dtype, shape), ", found ", decimal(bytes)}));
        }
    }

    [[gnu::cold]] void append_bytes(const std::string& name, file_dtype dtype, file_shape& shape,
                                    std::span<const std::byte> bytes) {
        const std::size_t place = place_of(name);
        if (place == by_name_.size() || tensors_[by_name_[place]].name != name)
            return add(name, dtype, std::move(shape), bytes);
        require_tensor(name, dtype, shape, bytes.size());
        safetensors_entry& whole = tensors_[by_name_[place]];
        if (whole.dtype != dtype || whole.shape.size() != shape.size() ||
            !std::equal(shape.begin() + 1, shape.end(), whole.shape.begin() + 1))
            raise<shape_error>(joined({"tensor ", in_quotes(name), ": expected more of ",
                                       describe(whole.dtype, whole.shape), ", found ", describe(dtype, shape)}));
        insert_bytes(data_, static_cast<std::size_t>(whole.end), bytes);
        for (safetensors_entry& later : tensors_) {
            if (&later == &whole || later.begin < whole.end) continue;
            later.begin += bytes.size();
            later.end += bytes.size();
        }
        whole.end += bytes.size();
        whole.shape.front() += shape.front();
    }

    /// Where the name stands in by_name_, or would.
    [[gnu::cold]] std::size_t place_of(const std::string& name) const {
        return first_not_before(by_name_.size(), [&](std::size_t i) { return tensors_[by_name_[i]].name < name; });
    }

    std::vector<safetensors_entry> tensors_;  // as they came; their places are those in data_
    std::vector<std::size_t> by_name_;        // positions in tensors_, sorted by name
    std::vector<std::byte> data_;
    file_metadata metadata_;
};
/// The class itself, which is a template so that programs compile the members that they call.
using safetensors_writer = basic_safetensors_writer<void>;

}  // namespace zp::inline v0
