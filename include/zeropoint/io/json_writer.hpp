// SPDX-License-Identifier: BSD-3-Clause
// JSON text, value by value: for descriptions that other programs read.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <zeropoint/core/number_text.hpp>
#include <zeropoint/io/text.hpp>

namespace zp::inline v0 {

/// Writes objects and arrays; the caller closes what it opens. Commas are its own. Floats have so many digits that they come back
/// as the same floats; those that are not finite become null, as JSON has none.
class json_writer {
public:
    void open_object() { open('{'); }
    void open_array() { open('['); }
    void close_object() { close('}'); }
    void close_array() { close(']'); }
    /// What follows is the value of this key.
    [[gnu::cold]] void key(std::string_view name) {
        separate();
        append_json_string(text_, name);
        text_ += ": ";
        is_first_ = true;
    }
    [[gnu::cold]] void value(std::string_view text) {
        separate();
        append_json_string(text_, text);
    }
    void value(const char* text) { value(std::string_view(text)); }
    [[gnu::cold]] void value(bool is_true) { raw(is_true ? "true" : "false"); }
    template <std::integral Number> void value(Number number) { raw(std::to_string(number)); }
    [[gnu::cold]] void value(float number) {
        const bool is_finite = number - number == 0;
        raw(is_finite ? number_text(number) : "null");
    }
    [[gnu::cold]] void value(double number) {
        const bool is_finite = number - number == 0;
        raw(is_finite ? number_text(number) : "null");
    }
    [[gnu::cold]] void null() { raw("null"); }
    template <class Value> void member(std::string_view name, const Value& what) {
        key(name);
        value(what);
    }
    template <class Values> void array(std::string_view name, const Values& values) {
        array(name, values, [&](const auto& one) { value(one); });
    }
    /// Of what `add(one)` writes for each value.
    template <class Values, class Add> void array(std::string_view name, const Values& values, Add add) {
        key(name);
        open_array();
        for (const auto& one : values) add(one);
        close_array();
    }
    /// An object, whose members `add()` writes.
    template <class Add> void object(Add add) {
        open_object();
        add();
        close_object();
    }
    template <class Add> void object(std::string_view name, Add add) {
        key(name);
        object(add);
    }
    /// An array of objects, whose members `add(one)` writes for each value.
    template <class Values, class Add> void objects(std::string_view name, const Values& values, Add add) {
        array(name, values, [&](const auto& one) { object([&] { add(one); }); });
    }
    /// The same, each on a line of its own, so that long arrays can be read.
    template <class Values, class Add> void rows(std::string_view name, const Values& values, Add add) {
        array(name, values, [&](const auto& one) {
            new_line();
            object([&] { add(one); });
        });
    }
    /// A new line in front of the next value.
    void new_line() { starts_line_ = true; }
    const std::string& text() const { return text_; }

private:
    [[gnu::cold]] void separate() {
        if (!is_first_) text_ += starts_line_ ? "," : ", ";
        if (starts_line_) text_ += '\n';
        is_first_ = starts_line_ = false;
    }
    void raw(std::string_view text) {
        separate();
        text_ += text;
    }
    void open(char bracket) {
        separate();
        text_ += bracket;
        is_first_ = true;
    }
    void close(char bracket) {
        text_ += bracket;
        is_first_ = false;
    }

    std::string text_;
    bool is_first_ = true, starts_line_ = false;
};

}  // namespace zp::inline v0
