// SPDX-License-Identifier: BSD-3-Clause
// Changes safetensors files where it matters: in the header's text, in the data, with lengths and checksums that agree again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/core/crc32.hpp>
#include <zeropoint/io/little_endian.hpp>
#include <zeropoint/io/safetensors_header.hpp>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define ZEROPOINT_FUZZ_MEMORY
#endif
#endif

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace fuzzed {

/// A file in its two parts. Without a length that fits, all of it is header.
struct file_parts {
    std::string header, data;

    static file_parts of(const std::uint8_t* bytes, std::size_t size) {
        const std::string all(reinterpret_cast<const char*>(bytes), size);
        if (size < 8) return {all, ""};
        const auto length = zp::load_little_endian<std::uint64_t>(reinterpret_cast<const std::byte*>(bytes));
        if (length > size - 8) return {all, ""};
        return {all.substr(8, static_cast<std::size_t>(length)), all.substr(8 + static_cast<std::size_t>(length))};
    }
    std::size_t write(std::uint8_t* bytes, std::size_t most) const {
        std::string all(8, '\0');
        zp::store_little_endian(std::uint64_t{header.size()}, reinterpret_cast<std::byte*>(all.data()));
        all += header;
        all += data;
        const std::size_t size = std::min(all.size(), most);
        std::memcpy(bytes, all.data(), size);
        return size;
    }
};

/// As libFuzzer changes bytes.
inline void change_bytes(std::string& text) {
    const std::size_t size = text.size();
    text.resize(size + 64);
    const std::size_t changed = LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size());
#ifdef ZEROPOINT_FUZZ_MEMORY
    __msan_unpoison(text.data(), changed);  // what was written by libFuzzer, which is compiled without the sanitizer
#endif
    text.resize(changed);
}

class mutation {
public:
    mutation(file_parts& file, unsigned seed) : file_(file), random_(seed) {}

    void operator()() {
        switch (random_() % 8) {
            case 0: change_bytes(file_.header); break;
            case 1:
            case 2: change_bytes(file_.data); break;
            case 3:
            case 4: replace_number(); break;
            case 5: replace_dtype(); break;
            case 6: move_piece(); break;
            default: change_float(); break;
        }
        if (random_() % 4 != 0) repair_checksums();
    }

private:
    static constexpr std::array<std::string_view, 16> numbers{"0",
                                                              "1",
                                                              "-1",
                                                              "2",
                                                              "3",
                                                              "255",
                                                              "4294967296",
                                                              "2147483647",
                                                              "2147483648",
                                                              "9223372036854775807",
                                                              "18446744073709551615",
                                                              "1e3",
                                                              "00",
                                                              "0.5",
                                                              "999999999999999999999",
                                                              ""};
    static constexpr std::array<std::string_view, 14> dtypes{"BOOL", "I8",  "U8",  "I16", "U16", "F16",     "BF16",
                                                             "I32",  "U32", "F32", "F64", "I64", "F8_E4M3", "Q4"};

    std::size_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random_()) % count; }

    void replace_number() {
        std::string& text = file_.header;
        std::size_t at = text.find_first_of("0123456789", below(text.size()));
        if (at == std::string::npos) return;
        const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
        text.replace(at, end - at, numbers[below(numbers.size())]);
    }
    void replace_dtype() {
        std::string& text = file_.header;
        const std::size_t at = text.find("dtype\":\"", below(text.size()));
        if (at == std::string::npos) return;
        const std::size_t begin = at + 8, end = text.find('"', begin);
        if (end != std::string::npos) text.replace(begin, end - begin, dtypes[below(dtypes.size())]);
    }
    /// An entry of an object or a part of one: left out, or said twice elsewhere.
    void move_piece() {
        std::string& text = file_.header;
        const std::size_t begin = text.find(',', below(text.size()));
        if (begin == std::string::npos) return;
        const std::size_t end = std::min(text.find(random_() % 2 == 0 ? ',' : '}', begin + 1), text.size());
        const std::string piece = text.substr(begin, end - begin);
        if (random_() % 2 == 0) text.erase(begin, end - begin);
        if (random_() % 2 == 0) text.insert(below(text.size()), piece);
    }
    /// Four bytes of data become a float that hurts.
    void change_float() {
        static constexpr std::array<std::uint32_t, 10> floats{0x00000000, 0x80000000, 0x7f800000, 0xff800000,
                                                              0x7fc00000, 0x7f7fffff, 0x00000001, 0x00800000,
                                                              0x3f800000, 0xffffffff};
        if (file_.data.size() < 4) return;
        const std::size_t at = below(file_.data.size() / 4) * 4;  // before the other number, on every compiler
        zp::store_little_endian(floats[below(floats.size())], reinterpret_cast<std::byte*>(file_.data.data() + at));
    }
    /// Of each tensor that has one, so that what lies behind the checksums is reached. Looked for in the text, which need not be valid: a
    /// parser would take as long as the target does.
    void repair_checksums() {
        std::string& text = file_.header;
        const std::string entry = zp::detail::checksum_key("");
        constexpr std::string_view offsets = "data_offsets\":[";
        for (std::size_t at = 0; (at = text.find(entry, at)) != std::string::npos;) {
            const std::size_t name = at + entry.size(), end = text.find("\":\"", name);
            if (end == std::string::npos || end + 12 > text.size()) return;
            at = end + 12;
            const std::size_t tensor = text.find('"' + text.substr(name, end - name) + "\":{");
            std::size_t number = tensor == std::string::npos ? tensor : text.find(offsets, tensor);
            if (number == std::string::npos) continue;
            number += offsets.size();
            const std::size_t first = number_at(number), last = number_at(++number);
            if (first > last || last > file_.data.size()) continue;
            const auto bytes = std::as_bytes(std::span(file_.data)).subspan(first, last - first);
            text.replace(end + 3, 8, zp::hexadecimal(zp::crc32(bytes)));
        }
    }
    /// The decimal number there, or one that is too large; `at` is then behind it.
    std::size_t number_at(std::size_t& at) const {
        std::size_t value = 0;
        for (; at < file_.header.size() && file_.header[at] >= '0' && file_.header[at] <= '9'; ++at)
            value = std::min<std::size_t>(value * 10 + static_cast<std::size_t>(file_.header[at] - '0'), 1u << 20);
        return value;
    }

    file_parts& file_;
    std::minstd_rand random_;
};

}  // namespace fuzzed

/// What libFuzzer calls for a new input: each target is one translation unit.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (seed % 16 == 0 || size < 10) return LLVMFuzzerMutate(data, size, most);
    fuzzed::file_parts file = fuzzed::file_parts::of(data, size);
    fuzzed::mutation(file, seed)();
    return file.write(data, most);
}
