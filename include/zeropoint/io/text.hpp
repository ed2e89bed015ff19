// SPDX-License-Identifier: BSD-3-Clause
// Text in files and messages: UTF-8 checked, JSON strings written, names from files quoted, pieces joined.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace zp::inline v0 {

// Messages are built on the way to an error: `cold` keeps their code small and out of the way of the rest.

/// The pieces, one after another. Unlike a chain of `+`, it costs one call where it is used: less to compile.
[[gnu::cold]] inline std::string joined(std::initializer_list<std::string_view> pieces) {
    std::string text;
    for (const std::string_view piece : pieces) text += piece;
    return text;
}

/// A count or offset for a message.
[[gnu::cold]] inline std::string decimal(std::uint64_t number) { return std::to_string(number); }
[[gnu::cold]] inline std::string signed_decimal(std::int64_t number) { return std::to_string(number); }
template <std::signed_integral Number> std::string decimal(Number number) { return signed_decimal(number); }

/// 32 bits as 8 hexadecimal digits.
[[gnu::cold]] inline std::string hexadecimal(std::uint32_t bits) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text(8, '0');
    for (char& digit : text) {
        digit = digits[bits >> 28];
        bits <<= 4;
    }
    return text;
}

/// Length of the longest prefix of `text` that is valid UTF-8: no overlong forms, surrogates or codes above U+10FFFF.
inline std::size_t valid_utf8_prefix(std::string_view text) {
    constexpr std::uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length: below it the form is overlong
    std::size_t position = 0;
    while (position != text.size()) {
        const std::uint32_t lead = static_cast<unsigned char>(text[position]);
        const std::size_t length = lead < 0x80   ? 1
                                   : lead < 0xc0 ? 0  // a continuation byte leads nothing
                                   : lead < 0xe0 ? 2
                                   : lead < 0xf0 ? 3
                                   : lead < 0xf8 ? 4
                                                 : 0;
        if (length == 0 || text.size() - position < length) return position;
        std::uint32_t code = length == 1 ? lead : lead & (0x7fu >> length);
        for (std::size_t i = 1; i != length; ++i) {
            const std::uint32_t next = static_cast<unsigned char>(text[position + i]);
            if ((next & 0xc0) != 0x80) return position;
            code = code << 6 | (next & 0x3f);
        }
        if (code < lowest[length] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return position;
        position += length;
    }
    return position;
}

/// Appends `text`, which must be UTF-8, as a JSON string. Only what JSON forbids is escaped, in the shortest form.
[[gnu::cold]] inline void append_json_string(std::string& json, std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    json += '"';
    for (const char c : text) {
        switch (c) {
            case '"': json += "\\\""; break;
            case '\\': json += "\\\\"; break;
            case '\b': json += "\\b"; break;
            case '\f': json += "\\f"; break;
            case '\n': json += "\\n"; break;
            case '\r': json += "\\r"; break;
            case '\t': json += "\\t"; break;
            default:
                if (static_cast<unsigned char>(c) >= 0x20) json += c;
                else json += {'\\', 'u', '0', '0', digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]};
        }
    }
    json += '"';
}

/// A name from a file, for a message: in quotes, without control characters, cut after about 80 bytes.
[[gnu::cold]] inline std::string in_quotes(std::string_view name) {
    constexpr std::size_t longest = 80;
    std::string text;
    if (name.size() <= longest) append_json_string(text, name);
    else append_json_string(text, joined({name.substr(0, valid_utf8_prefix(name.substr(0, longest))), "..."}));
    return text;
}

}  // namespace zp::inline v0
