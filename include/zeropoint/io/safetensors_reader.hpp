// SPDX-License-Identifier: BSD-3-Clause
// A safetensors file in memory: validated on opening, then read by name, dtype and shape.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/core/crc32.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/half_float.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/io/file_dtype.hpp>
#include <zeropoint/io/little_endian.hpp>
#include <zeropoint/io/safetensors_header.hpp>
#include <zeropoint/io/sorted_order.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/io/whole_file.hpp>

namespace zp::inline v0 {

/// One tensor of an open file.
struct file_tensor {
    std::string name;    // as the header has it
    file_dtype dtype{};  // as the header has it
    file_shape shape;    // extents, outermost first; empty of a scalar
    /// Little-endian, row-major and perhaps unaligned; owned by the safetensors_file, or by whom it views.
    std::span<const std::byte> bytes;

    /// The number of elements.
    std::size_t size() const { return static_cast<std::size_t>(std::uint64_t{bytes.size()} * 8 / bit_width_of(dtype)); }
};

/// "F32 [16, 1, 3, 3]"
template <class = void> std::string describe(const file_tensor& tensor) { return describe(tensor.dtype, tensor.shape); }

/// A safetensors file. Every instance is valid as a whole: opening checks the header's length, its UTF-8 and JSON, that
/// no key comes twice, every dtype and shape, and that the tensors cover the data without overlap or hole. Beyond what
/// the reference implementation demands, tensors must have no fields but dtype, shape and data_offsets, and a name must
/// not come twice. Members raise file_error with the file, the tensor, what was expected and what was found.
template <class Void> class basic_safetensors_file {
public:
    /// Of a file or a pipe. The header is checked, and its lengths compared with the file's, before anything else is read.
    static basic_safetensors_file read(const std::string& path) {
        return with_file(path, [&](const byte_source& source) { return basic_safetensors_file(source, path); });
    }

    /// Takes a copy of what is in `bytes`; messages call them `source_name`.
    static basic_safetensors_file parse(std::span<const std::byte> bytes, std::string source_name) {
        return of_memory(bytes, std::move(source_name), nullptr);
    }
    /// The same without a copy: `bytes` stay where and what they are as long as this. A mapped_file has such of a file.
    static basic_safetensors_file view(std::span<const std::byte> bytes, std::string source_name) {
        return of_memory(bytes, std::move(source_name), bytes.data());
    }

    /// All tensors of several files as one, with the metadata of the first; messages call it `source_name`. Raises file_error where two
    /// files have a tensor of one name.
    static basic_safetensors_file join(std::vector<basic_safetensors_file> parts, std::string source_name) {
        basic_safetensors_file all;
        all.source_name_ = std::move(source_name);
        for (basic_safetensors_file& part : parts) {
            if (all.metadata_.empty()) all.metadata_ = part.metadata_;
            for (const file_tensor& tensor : part.tensors_) all.tensors_.push_back(tensor);
            all.parts_.push_back(std::move(part));
        }
        all.sort_names();
        all.expect_each_name_once("one tensor of that name in all files");
        return all;
    }

    // Tensors view the bytes, which stay where they are when the file moves, but not when it is copied.
    basic_safetensors_file(basic_safetensors_file&&) noexcept = default;
    basic_safetensors_file& operator=(basic_safetensors_file&&) noexcept = default;

    /// The path, or what the caller called the bytes: messages begin with it.
    const std::string& source_name() const { return source_name_; }
    /// In the order of their data; empty tensors at one place in the order of their names.
    const std::vector<file_tensor>& tensors() const { return tensors_; }
    /// The header's "__metadata__": text by key.
    const file_metadata& metadata() const { return metadata_; }

    /// The tensor of that name, or null.
    [[gnu::cold]] const file_tensor* find(std::string_view name) const {
        std::size_t first = 0, last = by_name_.size();  // of those that may have it
        while (first != last) {
            const std::size_t middle = first + (last - first) / 2;
            const file_tensor& tensor = tensors_[by_name_[middle]];
            const int order = tensor.name.compare(name);
            if (order == 0) return &tensor;
            (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
        }
        return nullptr;
    }

    /// The tensor of that name; an error if there is none, which lists the most similar names.
    [[gnu::cold]] const file_tensor& expect(std::string_view name) const {
        const file_tensor* tensor = find(name);
        if (tensor != nullptr) return *tensor;
        raise<file_error>(joined({source_name_, ": expected a tensor ", in_quotes(name),
                                  ", found none; the file has: ", similar_names(name)}));
    }

    /// The same, which must have exactly this dtype and shape.
    [[gnu::cold]] const file_tensor& expect(std::string_view name, file_dtype dtype, const file_shape& shape) const {
        const file_tensor& tensor = expect(name);
        if (tensor.dtype != dtype || tensor.shape != shape) fail(tensor, describe(dtype, shape), describe(tensor));
        return tensor;
    }

    /// The same for any of the dtypes that floats() converts: F32, F64, F16, BF16.
    [[gnu::cold]] const file_tensor& expect_floating(std::string_view name, const file_shape& shape) const {
        const file_tensor& tensor = expect(name);
        if (!is_floating(tensor.dtype) || tensor.shape != shape)
            fail(tensor, joined({floating_names, " ", to_string(shape)}), describe(tensor));
        return tensor;
    }

    /// Raises if the file has a tensor that is not among `names`, a range of strings.
    template <class Names> [[gnu::cold]] void expect_no_other_than(const Names& names) const {
        std::vector<std::size_t> unexpected;
        for (const std::size_t index : by_name_) {
            const std::string_view name = tensors_[index].name;
            const auto is_it = [&](const auto& known) { return std::string_view(known) == name; };
            if (!std::any_of(std::begin(names), std::end(names), is_it)) unexpected.push_back(index);
        }
        if (!unexpected.empty()) {
            raise<file_error>(joined({source_name_, ": expected no tensors but the ", decimal(std::size(names)),
                                      " that are needed, found also ", list(unexpected)}));
        }
    }

    /// The metadata under that key; an error if there is none.
    [[gnu::cold]] const std::string& expect_metadata(std::string_view key) const {
        const auto found = metadata_.find(key);
        if (found != metadata_.end()) return found->second;
        raise<file_error>(joined({source_name_, ": expected metadata ", in_quotes(key), ", found none among ",
                                  decimal(metadata_.size()), " keys"}));
    }

    /// That each tensor's bytes are those that were written, by the CRC-32 of safetensors_writer::add_checksums.
    [[gnu::cold]] void require_checksums() const {
        for (const file_tensor& tensor : tensors_) {
            const std::string &kept = expect_metadata(detail::checksum_key(tensor.name)),
                              found = hexadecimal(crc32(tensor.bytes));
            if (kept != found)
                fail(tensor, joined({"bytes of the CRC-32 ", kept}), joined({found, ": the file is damaged"}));
        }
    }

    /// Copies the elements to `target`, whose size must be the tensor's. The dtype must be that of `T`, without
    /// conversion; std::uint8_t also takes BOOL, whose elements must be 0 or 1.
    template <class T> void copy_to(const file_tensor& tensor, std::span<T> target) const {
        copy_elements(tensor, file_dtype_of<T>, reinterpret_cast<std::byte*>(target.data()), target.size());
    }

    /// The same into a new vector.
    template <class T> std::vector<T> values(const file_tensor& tensor) const {
        std::vector<T> all(tensor.size());
        copy_elements(tensor, file_dtype_of<T>, reinterpret_cast<std::byte*>(all.data()), all.size());
        return all;
    }

    /// The same of the tensor of that name, which must have this shape and the dtype of `T`: labels, say.
    template <class T> std::vector<T> values(std::string_view name, const file_shape& shape) const {
        return values<T>(expect(name, file_dtype_of<T>, shape));
    }

    /// Copies the elements of a tensor of dtype F32, F64, F16 or BF16 to `target` as float. From F64 the nearest float
    /// is taken; a finite number beyond the largest float is an error.
    void copy_floats_to(const file_tensor& tensor, std::span<float> target) const {
        copy_floats(tensor, target.data(), target.size());
    }

    /// The same into a new vector.
    std::vector<float> floats(const file_tensor& tensor) const {
        std::vector<float> all(tensor.size());
        copy_floats(tensor, all.data(), all.size());
        return all;
    }

    /// Raises at the first NaN or infinity of `values`, which were read from `tensor`.
    void expect_finite(const file_tensor& tensor, std::span<const float> values) const {
        for (std::size_t i = 0; i != values.size(); ++i) {
            // On the bits, because -ffast-math lets compilers take every comparison with NaN or infinity for decided.
            const auto bits = std::bit_cast<std::uint32_t>(values[i]), magnitude = bits & 0x7fffffffu;
            if (magnitude < 0x7f800000u) continue;
            const std::string_view sign_and_name = bits == magnitude ? "infinity" : "-infinity";
            const std::string_view found = magnitude == 0x7f800000u ? sign_and_name : "NaN";
            fail(tensor, "finite numbers", joined({found, at_flat_index(i), " of ", describe(tensor)}));
        }
    }

    /// What a float model loads: the tensor of that name and shape in any floating dtype, as finite floats.
    std::vector<float> finite_floats(std::string_view name, const file_shape& shape) const {
        const file_tensor& tensor = expect_floating(name, shape);
        std::vector<float> all = floats(tensor);
        expect_finite(tensor, detail::span_of(all));
        return all;
    }

    /// Gives tensors other names: change(name) returns the new one, or an empty one of a tensor that goes. Raises file_error where two
    /// tensors then have one name. Messages speak of the new names.
    template <class Change> void rename(const Change& change) {
        std::vector<file_tensor> kept;
        for (file_tensor& tensor : tensors_)
            if (std::string name = change(std::as_const(tensor.name)); !name.empty()) {
                kept.push_back(std::move(tensor));
                kept.back().name = std::move(name);
            }
        tensors_ = std::move(kept);
        sort_names();
        expect_each_name_once("one tensor of that name behind the changes of names");
    }

    /// Raises file_error about a tensor: for checks that only the caller can make, such as for scales above zero.
    [[noreturn, gnu::cold]] void fail(const file_tensor& tensor, std::string_view expected,
                                      std::string_view found) const {
        raise_tensor_error(source_name_, tensor.name, expected, found);
    }

private:
    static basic_safetensors_file of_memory(std::span<const std::byte> bytes, std::string source_name,
                                            const std::byte* memory) {
        std::size_t position = 0;
        const auto read = [&](std::byte* target, std::size_t size) {
            const std::size_t count = std::min(size, bytes.size() - position);
            if (count != 0) std::memcpy(target, bytes.data() + position, count);
            position += count;
            return count;
        };
        return basic_safetensors_file(byte_source{read, bytes.size(), memory}, std::move(source_name));
    }

    basic_safetensors_file() = default;

    [[gnu::cold]] void expect_each_name_once(std::string_view expected) const {
        for (std::size_t i = 1; i < by_name_.size(); ++i)
            if (const file_tensor& tensor = tensors_[by_name_[i]]; tensor.name == tensors_[by_name_[i - 1]].name)
                fail(tensor, expected, "two");
    }

    static constexpr std::string_view floating_names = "F32, F64, F16 or BF16";

    [[gnu::cold]] basic_safetensors_file(const byte_source& source, std::string source_name)
        : source_name_(std::move(source_name)) {
        open<safetensors_header>(source);
    }
    template <class Header> [[gnu::cold]] void open(const byte_source& source);
    [[gnu::cold]] void sort_names() {
        by_name_ = sorted_order(tensors_.size(),
                                [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
    }

    /// Of the header, from the first bytes of a file.
    [[gnu::cold]] std::uint64_t checked_header_length(std::span<const std::byte> first, std::uint64_t size) const {
        constexpr std::size_t length_bytes = safetensors_header::length_bytes;
        const auto check = [&](bool right, std::string_view expected, std::uint64_t found, std::string_view hint) {
            if (right) return;
            raise<file_error>(joined({source_name_, ": expected ", expected, ", found ", decimal(found), hint}));
        };
        check(first.size() == length_bytes, "at least 8 bytes with the length of the header", first.size(), " bytes");
        const auto length = load_little_endian<std::uint64_t>(first.data());
        const std::string_view other = other_format(first);
        check(length <= safetensors_header::longest, "a header of at most 100000000 bytes", length,
              other.empty() ? ": the file is damaged or not in the safetensors format" : other);
        if (size != byte_source::unknown) check_header_is_whole(length, size - length_bytes);
        return length;
    }
    [[gnu::cold]] void check_header_is_whole(std::uint64_t length, std::uint64_t found) const {
        if (length > found)
            raise<file_error>(
                joined({source_name_, ": expected a header of ", decimal(length), " bytes, found ", decimal(found),
                        " bytes: the file is truncated or not in the safetensors format"}));
    }
    /// What files that are often taken for safetensors begin with, as the end of a message.
    static std::string_view other_format(std::span<const std::byte> first) {
        const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
        if (text.substr(0, 4) == "PK\3\4")
            return ": it is a zip archive, as torch.save and Keras write it; save a state dict with "
                   "safetensors.torch.save_file";
        if (text.substr(0, 2) == "\x80\x02")
            return ": it is a pickled object, as torch.save wrote it; save a state dict with "
                   "safetensors.torch.save_file";
        if (text.substr(4, 4) == "TFL3") return ": it is a TensorFlow Lite model; import it with `zeropoint import`";
        if (text.substr(0, 4) == "GGUF") return ": it is a GGUF file";
        if (text.substr(0, 1) == "{")
            return ": it is JSON; the index of a model in several files opens as zp::mapped_state_dict "
                   "(docs/decoders.md)";
        return {};
    }

    void copy_floats(const file_tensor& tensor, float* target, std::size_t size) const {
        if (!is_floating(tensor.dtype)) fail(tensor, floating_names, describe(tensor));
        check_size(tensor, size);
        switch (tensor.dtype) {
            case file_dtype::F16:
                for (std::size_t i = 0; i != size; ++i)
                    target[i] = float_from_float16(element<std::uint16_t>(tensor, i));
                return;
            case file_dtype::BF16:
                for (std::size_t i = 0; i != size; ++i)
                    target[i] = float_from_bfloat16(element<std::uint16_t>(tensor, i));
                return;
            case file_dtype::F64:
                for (std::size_t i = 0; i != size; ++i) target[i] = narrowed(tensor, element<double>(tensor, i), i);
                return;
            default: copy_elements(tensor, file_dtype::F32, reinterpret_cast<std::byte*>(target), size);
        }
    }

    void copy_elements(const file_tensor& tensor, file_dtype dtype, std::byte* target, std::size_t size) const {
        const bool is_bool = dtype == file_dtype::U8 && tensor.dtype == file_dtype::BOOL;
        if (tensor.dtype != dtype && !is_bool) fail(tensor, name_of(dtype), describe(tensor));
        check_size(tensor, size);
        copy_little_endian(target, tensor.bytes.data(), size, bit_width_of(dtype) / 8);
        for (std::size_t i = 0; is_bool && i != size; ++i) {
            const auto value = std::to_integer<unsigned>(target[i]);
            if (value > 1) fail(tensor, "0 or 1 as BOOL", joined({decimal(value), at_flat_index(i)}));
        }
    }

    [[gnu::cold]] static std::string at_flat_index(std::size_t index) {
        return joined({" at flat index ", decimal(index)});
    }

    void check_size(const file_tensor& tensor, std::size_t size) const {
        if (tensor.size() != size) fail(tensor, decimal(size) + " elements", describe(tensor));
    }

    template <class T> static T element(const file_tensor& tensor, std::size_t index) {
        return load_little_endian<T>(tensor.bytes.data() + index * sizeof(T));
    }

    float narrowed(const file_tensor& tensor, double value, std::size_t index) const {
        const auto magnitude = std::bit_cast<std::uint64_t>(value) & 0x7fffffffffffffffu;
        constexpr auto most = std::bit_cast<std::uint64_t>(double{std::numeric_limits<float>::max()});
        constexpr auto infinite = std::bit_cast<std::uint64_t>(double_infinity);
        if (magnitude > most && magnitude < infinite)
            fail(tensor, "numbers within the range of float", joined({number_text(value), at_flat_index(index)}));
        return static_cast<float>(value);
    }

    /// The names at these positions, up to eight of them.
    [[gnu::cold]] std::string list(const std::vector<std::size_t>& indices) const {
        constexpr std::size_t most_listed = 8;
        std::string text = indices.empty() ? "no tensors" : "";
        for (std::size_t i = 0; i != std::min(indices.size(), most_listed); ++i)
            text += joined({i == 0 ? "" : ", ", in_quotes(tensors_[indices[i]].name)});
        if (indices.size() <= most_listed) return text;
        return joined({text, " and ", decimal(indices.size() - most_listed), " more"});
    }

    /// The names that share the longest beginning and ending with `name`, most similar first; and whether the first is what was meant.
    [[gnu::cold]] std::string similar_names(std::string_view name) const {
        const auto likeness = [&](std::string_view other) {
            const std::size_t shorter = std::min(name.size(), other.size());
            std::size_t front = 0, back = 0;
            while (front != shorter && name[front] == other[front]) ++front;
            while (back != shorter && name[name.size() - 1 - back] == other[other.size() - 1 - back]) ++back;
            return std::min(front + back, shorter);
        };
        std::vector<std::size_t> alike;  // by place in by_name_
        for (const std::size_t i : by_name_) alike.push_back(likeness(tensors_[i].name));
        std::vector<std::size_t> indices = sorted_order(alike.size(), [&](std::size_t a, std::size_t b) {
            return alike[a] != alike[b] ? alike[a] > alike[b] : a < b;
        });
        const std::size_t most = indices.empty() ? 0 : alike[indices.front()];
        for (std::size_t& index : indices) index = by_name_[index];
        std::string all = list(indices);
        if (most != 0) all += meant_by(name, tensors_[indices.front()].name, most);
        return all;
    }
    /// What the end of a message makes of the most similar name: a prefix in front of the right one, or a mistake of few letters, where
    /// another digit is none.
    [[gnu::cold]] static std::string meant_by(std::string_view name, std::string_view nearest, std::size_t alike) {
        const std::size_t shorter = std::min(name.size(), nearest.size());
        if (nearest.size() > name.size() && nearest.ends_with(name))
            return joined({"; zp::load_options{.prefix = ", in_quotes(nearest.substr(0, nearest.size() - name.size())),
                           "} takes it off"});
        std::size_t front = 0;
        while (front != shorter && name[front] == nearest[front]) ++front;
        const bool is_number = alike != shorter && static_cast<unsigned>(name[front] - '0') < 10;
        if (5 * alike < 4 * name.size() || is_number) return {};
        return joined({": did you mean ", in_quotes(nearest), "?"});
    }

    std::vector<std::byte> bytes_;               // of the data
    std::vector<basic_safetensors_file> parts_;  // whose tensors these are
    std::string source_name_;
    std::vector<file_tensor> tensors_;
    std::vector<std::size_t> by_name_;  // positions in tensors_, sorted by name
    file_metadata metadata_;
};
/// The class itself, which is a template so that programs compile the members that they call.
using safetensors_file = basic_safetensors_file<void>;

/// Reads and checks the header, then reads the data. A template that is no inline function: with zeropoint::compiled it is
/// compiled there.
template <class Void> template <class Header> void basic_safetensors_file<Void>::open(const byte_source& source) {
    const std::vector<std::byte> first = source.next(Header::length_bytes);
    const std::uint64_t header_bytes = checked_header_length(detail::span_of(first), source.size);
    Header header;
    {
        const std::vector<std::byte> text = source.next(header_bytes);
        check_header_is_whole(header_bytes, text.size());
        header = read_safetensors_header({reinterpret_cast<const char*>(text.data()), text.size()}, source_name_);
    }
    if (source.size != byte_source::unknown) {
        const std::uint64_t data_bytes = source.size - Header::length_bytes - header_bytes;
        check_safetensors_layout(header.entries, data_bytes, source_name_);
        if (source.memory == nullptr) bytes_ = source.next(data_bytes);
        if (source.memory == nullptr && bytes_.size() != data_bytes)
            raise<file_error>(joined({source_name_, ": expected ", decimal(data_bytes), " bytes of data, found ",
                                      decimal(bytes_.size()), ": the file became shorter while it was read"}));
    } else {
        std::uint64_t needed = 0;
        for (const safetensors_entry& entry : header.entries) needed = std::max(needed, entry.end);
        bytes_ = source.next(needed);
        const std::size_t more = bytes_.size() == needed ? source.next(1).size() : 0;
        check_safetensors_layout(header.entries, std::uint64_t{bytes_.size()} + more, source_name_);
    }

    metadata_ = std::move(header.metadata);
    const std::byte* begin_of_data =
        source.memory == nullptr ? bytes_.data() : source.memory + Header::length_bytes + header_bytes;
    for (safetensors_entry& entry : header.entries) {
        const auto begin = static_cast<std::size_t>(entry.begin), end = static_cast<std::size_t>(entry.end);
        const std::span<const std::byte> bytes(begin_of_data + begin, end - begin);
        tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape), bytes});
    }
    sort_names();
}

}  // namespace zp::inline v0
