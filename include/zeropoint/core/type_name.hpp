// SPDX-License-Identifier: BSD-3-Clause
// What a type is called, for people who read a file or a message.
#pragma once

#include <string_view>

namespace zp::inline v0 {
namespace detail {
template <class T> constexpr std::string_view name_of_function() {
#if defined(_MSC_VER) && !defined(__clang__)
    return __FUNCSIG__;
#else
    return __PRETTY_FUNCTION__;
#endif
}
}  // namespace detail

/// The compiler's name of a type, with its namespaces: "digits_cnn". Compilers differ in what they write of templates and of
/// unnamed namespaces, so that no program may decide by it.
template <class T> constexpr std::string_view type_name() {
    // The same function of a type whose name is known tells what stands around it.
    constexpr std::string_view known = detail::name_of_function<void>(), name = detail::name_of_function<T>();
    constexpr std::size_t front = known.find("void"), behind = known.size() - front - 4;
    return name.substr(front, name.size() - front - behind);
}

}  // namespace zp::inline v0
