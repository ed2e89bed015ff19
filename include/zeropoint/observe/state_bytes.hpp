// SPDX-License-Identifier: BSD-3-Clause
// What an observer has learned, as bytes: for processes of one program that send it to one another. Not a file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/error.hpp>

namespace zp::inline v0 {

namespace detail {
struct visits_nothing {
    template <class Field> void operator()(Field&) const {}
};
template <class T> concept has_state = requires(T& x) { x.each_state(visits_nothing()); };
template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;
template <class T> constexpr void require_state() {
    static_assert(
        has_state<T> || is_vector<T> || std::is_trivially_copyable_v<T>,
        "state_bytes: an observer that is not trivially copyable needs a member template <class Visitor> void "
        "each_state(Visitor&& visit), which calls visit(field) for each field that data changes");
}
}  // namespace detail

/// The state of `x`: what its each_state() visits, field by field; vectors with their size; anything else byte by byte.
template <class T> void append_state(T& x, std::vector<std::byte>& bytes) {
    detail::require_state<T>();
    const auto append = [&](const void* from, std::size_t count) {
        const auto* first = static_cast<const std::byte*>(from);
        bytes.insert(bytes.end(), first, first + count);
    };
    if constexpr (detail::has_state<T>) {
        x.each_state([&](auto& field) { append_state(field, bytes); });
    } else if constexpr (detail::is_vector<T>) {
        const std::uint64_t size = x.size();
        append(&size, sizeof size);
        for (auto& element : x) append_state(element, bytes);
    } else if constexpr (std::is_trivially_copyable_v<T>) {
        append(&x, sizeof x);
    }
}
template <class T> std::vector<std::byte> state_bytes(T& x) {
    std::vector<std::byte> bytes;
    append_state(x, bytes);
    return bytes;
}

namespace detail {
template <class T> void take_state(T& x, std::span<const std::byte>& bytes) {
    require_state<T>();
    const auto take = [&](void* to, std::size_t count) {
        if (count > bytes.size())
            raise<value_error>("set_state: the bytes end early: expected those of state_bytes() of the same type");
        std::memcpy(to, bytes.data(), count);
        bytes = bytes.subspan(count);
    };
    if constexpr (has_state<T>) {
        x.each_state([&](auto& field) { take_state(field, bytes); });
    } else if constexpr (is_vector<T>) {
        std::uint64_t size = 0;
        take(&size, sizeof size);
        if (size > bytes.size())  // an element has at least one byte
            raise<value_error>("set_state: expected at most " + std::to_string(bytes.size()) + " elements, got " +
                               std::to_string(size) + ": expected the bytes of state_bytes() of the same type");
        x.assign(static_cast<std::size_t>(size), {});
        for (auto& element : x) take_state(element, bytes);
    } else if constexpr (std::is_trivially_copyable_v<T>) {
        take(&x, sizeof x);
    }
}
}  // namespace detail

/// Gives `x` the state that the bytes hold. A value_error where they are not those of such an object; `x` is then to be thrown away.
template <class T> void set_state(T& x, std::span<const std::byte> bytes) {
    detail::take_state(x, bytes);
    if (!bytes.empty())
        raise<value_error>("set_state: " + std::to_string(bytes.size()) +
                           " bytes are left: expected those of state_bytes() of the same type");
}

}  // namespace zp::inline v0
