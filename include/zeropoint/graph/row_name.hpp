// SPDX-License-Identifier: BSD-3-Clause
// What rows are called: by the name of their layer, else by their operator and their number in the model as it is written.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <zeropoint/graph/operator_info.hpp>

namespace zp::inline v0 {

/// The number of a row in names: in every stage that of the model as written. Of tables that are made by hand the row's place.
constexpr int number_of_row(const node& n, int place) { return n.number >= 0 ? n.number : place; }

/// Whether a row is called so: "conv1", or of one without a name of its own "add_7".
constexpr bool is_called(const node& n, std::string_view name) {
    if (n.name[0] != 0) return name == n.name;
    const std::string_view kind = n.op->name;
    if (n.number < 0 || name.size() < kind.size() + 2 || name.substr(0, kind.size()) != kind ||
        name[kind.size()] != '_')
        return false;
    int number = 0;
    for (const char digit : name.substr(kind.size() + 1)) {
        if (digit < '0' || digit > '9' || number > 99999) return false;
        number = 10 * number + (digit - '0');
    }
    return number == n.number && (name[kind.size() + 1] != '0' || name.size() == kind.size() + 2);
}

/// A row's name as text that a constant can hold, cut where it is longer.
struct row_text {
    char text[120] = {};
    std::size_t size = 0;

    constexpr void add(std::string_view part) {
        for (const char letter : part)
            if (size + 1 < sizeof text) text[size++] = letter;
    }
    constexpr void add(int number) {
        if (number > 9) add(number / 10);
        const char digit = static_cast<char>('0' + number % 10);
        add(std::string_view(&digit, 1));
    }
    constexpr std::string_view view() const { return {text, size}; }
};
/// An operator's name and a number, or where that is below 0 a name alone.
constexpr row_text text_of_row(std::string_view name, int number) {
    row_text text;
    text.add(name);
    if (number >= 0) {
        text.add("_");
        text.add(number);
    }
    return text;
}
constexpr row_text text_of_row(const node& n, int place) {
    return n.name[0] != 0 ? text_of_row(n.name, -1) : text_of_row(n.op->name, number_of_row(n, place));
}

/// A row's name for people: its own, or its operator and number. The same in every stage, and what qconfigs take.
inline std::string display_name(const node& n, int place) {
    return n.name[0] != 0 ? std::string(n.name)
                          : std::string(n.op->name) + "_" + std::to_string(number_of_row(n, place));
}
inline std::string display_name(std::span<const node> nodes, int i) {
    return display_name(nodes[static_cast<std::size_t>(i)], i);
}

}  // namespace zp::inline v0
