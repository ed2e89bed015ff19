// SPDX-License-Identifier: BSD-3-Clause
// A strict reader of JSON whose shape is known beforehand, as that of a safetensors header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/function_ref.hpp>
#include <zeropoint/io/sorted_order.hpp>
#include <zeropoint/io/text.hpp>

namespace zp::inline v0 {

/// Reads a JSON text front to back. The caller asks for the value that must come next, so nothing is built that it does
/// not want, and no nesting is followed that it does not expect. What is no JSON (RFC 8259), not what was asked for, or
/// an object with the same key twice raises file_error with the byte offset, what was expected and what was found.
template <class Void> class basic_json_reader {
public:
    /// `text` must be UTF-8 and outlive the reader. Messages begin with `source` and count bytes from `first_offset`.
    basic_json_reader(std::string_view text, std::string source, std::size_t first_offset)
        : text_(text), source_(std::move(source)), first_offset_(first_offset) {}

    /// Names what is being read in messages, such as `tensor "conv1.weight"`.
    void set_context(std::string context) { context_ = std::move(context); }

    /// An object: `member(key)` is called for each key, which it may move from, and must read its value.
    [[gnu::cold]] void object(function_ref<void(std::string&)> member) {
        std::vector<std::string> keys;
        std::vector<std::size_t> ends;  // position_ behind each
        expect('{', "\"{\" to begin an object");
        if (accept('}')) return;
        do {
            std::string key = string("a key in quotes");
            keys.push_back(key);
            ends.push_back(position_);
            expect(':', "\":\" after a key");
            member(key);
        } while (accept(','));
        expect('}', "\",\" or \"}\" after a value");
        const std::size_t again = first_repeated(keys);
        if (again == keys.size()) return;
        position_ = ends[again];
        fail(joined({"every key once, found ", in_quotes(keys[again]), " again"}));
    }

    /// An array: `element()` is called for each element and must read it.
    [[gnu::cold]] void array(function_ref<void()> element) {
        expect('[', "\"[\" to begin an array");
        if (accept(']')) return;
        do element();
        while (accept(','));
        expect(']', "\",\" or \"]\" after an element");
    }

    [[gnu::cold]] std::string string(std::string_view what = "a string") {
        expect('"', what);
        std::string value;
        while (true) {
            if (at_end()) fail_here("the closing quote of a string");
            const char c = text_[position_];
            if (static_cast<unsigned char>(c) < 0x20) fail_here("a string without unescaped control characters");
            ++position_;
            if (c == '"') return value;
            if (c == '\\') append_escape(value);
            else value += c;
        }
    }

    /// A number without sign, fraction or exponent that fits 64 bits.
    [[gnu::cold]] std::uint64_t unsigned_integer() {
        skip_space();
        const auto digit_here = [&] { return !at_end() && text_[position_] >= '0' && text_[position_] <= '9'; };
        if (!digit_here()) fail_here("a non-negative integer");
        const bool zero = text_[position_] == '0';
        std::uint64_t value = 0;
        while (digit_here()) {
            const auto digit = static_cast<std::uint64_t>(text_[position_] - '0');
            if (value > (UINT64_MAX - digit) / 10) fail("an integer below 2^64");
            value = value * 10 + digit;
            ++position_;
            if (zero) break;  // a digit, dot or exponent that follows is found where "," is expected
        }
        return value;
    }

    /// Nothing but white space may remain.
    void end() {
        skip_space();
        if (!at_end()) fail_here("nothing after the object");
    }

    /// Raises for the value just read; `expectation` also says what was found.
    [[noreturn, gnu::cold]] void fail(std::string_view expectation) const {
        raise_expected({expectation, " (before byte ", offset(), " of the file)"});
    }

private:
    bool at_end() const { return position_ == text_.size(); }

    [[gnu::cold]] void skip_space() {
        position_ = std::min(text_.find_first_not_of(" \t\n\r", position_), text_.size());
    }

    [[gnu::cold]] bool accept(char c) {
        skip_space();
        if (at_end() || text_[position_] != c) return false;
        ++position_;
        return true;
    }

    [[gnu::cold]] void expect(char c, std::string_view what) {
        if (!accept(c)) fail_here(what);
    }

    [[noreturn, gnu::cold]] void fail_here(std::string_view expectation) const {
        std::string found = "the end of the header";
        if (!at_end()) {
            const std::string_view rest = text_.substr(position_);
            std::size_t length = 1;  // of one whole character, which valid UTF-8 lets us find
            while (length != rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0) == 0x80) ++length;
            found = in_quotes(rest.substr(0, length));
        }
        raise_expected({expectation, " at byte ", offset(), " of the file, found ", found});
    }

    [[noreturn, gnu::cold]] void raise_expected(std::initializer_list<std::string_view> message) const {
        const std::string_view colon = context_.empty() ? "" : ": ";
        raise<file_error>(joined({source_, ": ", context_, colon, "expected ", joined(message)}));
    }

    [[gnu::cold]] std::string offset() const { return decimal(first_offset_ + position_); }

    /// The first of them that an earlier one equals, or their number.
    [[gnu::cold]] static std::size_t first_repeated(const std::vector<std::string>& keys) {
        const std::vector<std::size_t> order =
            sorted_order(keys.size(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
        std::size_t first = keys.size();
        for (std::size_t i = 1; i < order.size(); ++i)
            if (keys[order[i]] == keys[order[i - 1]]) first = std::min(first, order[i]);
        return first;
    }

    /// What follows a backslash.
    [[gnu::cold]] void append_escape(std::string& value) {
        if (at_end()) fail_here("a character after a backslash");
        switch (text_[position_]) {
            case '"': value += '"'; break;
            case '\\': value += '\\'; break;
            case '/': value += '/'; break;
            case 'b': value += '\b'; break;
            case 'f': value += '\f'; break;
            case 'n': value += '\n'; break;
            case 'r': value += '\r'; break;
            case 't': value += '\t'; break;
            case 'u':
                ++position_;
                append_code_point(value);
                return;
            default: fail_here("one of \"\\/bfnrtu after a backslash");
        }
        ++position_;
    }

    [[gnu::cold]] void append_code_point(std::string& value) {
        std::uint32_t code = four_hex_digits();
        if (code >= 0xdc00 && code < 0xe000) fail("a high surrogate before a low one");
        if (code >= 0xd800 && code < 0xdc00) {
            if (text_.substr(position_, 2) != "\\u") fail_here("\\u and a low surrogate after a high one");
            position_ += 2;
            const std::uint32_t low = four_hex_digits();
            if (low < 0xdc00 || low >= 0xe000) fail("a low surrogate after a high one");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        const auto append = [&](std::uint32_t byte) { value += static_cast<char>(static_cast<unsigned char>(byte)); };
        if (code < 0x80) append(code);
        else append(code < 0x800 ? 0xc0 | code >> 6 : code < 0x10000 ? 0xe0 | code >> 12 : 0xf0 | code >> 18);
        if (code >= 0x10000) append(0x80 | (code >> 12 & 0x3f));
        if (code >= 0x800) append(0x80 | (code >> 6 & 0x3f));
        if (code >= 0x80) append(0x80 | (code & 0x3f));
    }

    [[gnu::cold]] std::uint32_t four_hex_digits() {
        std::uint32_t value = 0;
        for (int i = 0; i != 4; ++i, ++position_) {
            const char c = at_end() ? ' ' : text_[position_];
            std::uint32_t digit = 0;
            if (c >= '0' && c <= '9') digit = static_cast<std::uint32_t>(c - '0');
            else if (c >= 'a' && c <= 'f') digit = static_cast<std::uint32_t>(c - 'a' + 10);
            else if (c >= 'A' && c <= 'F') digit = static_cast<std::uint32_t>(c - 'A' + 10);
            else fail_here("four hexadecimal digits after \\u");
            value = value << 4 | digit;
        }
        return value;
    }

    std::string_view text_;
    std::string source_, context_;
    std::size_t first_offset_ = 0, position_ = 0;
};
/// The class itself, which is a template so that programs compile the members that they call.
using json_reader = basic_json_reader<void>;

}  // namespace zp::inline v0
