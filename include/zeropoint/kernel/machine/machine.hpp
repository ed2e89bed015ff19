// SPDX-License-Identifier: BSD-3-Clause
// The machine that runs a program: which architectures it has, and the best of those that a program was compiled for.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/machine/compiled_extensions.hpp>
#include <zeropoint/kernel/machine/machine_features.hpp>

#if defined(ZEROPOINT_EXPECTED_ARCHITECTURE)
static_assert(std::is_same_v<zp::default_architecture, ZEROPOINT_EXPECTED_ARCHITECTURE>,
              "this translation unit is compiled with other flags than those of the architecture it is compiled for");
#endif

namespace zp::inline v0 {

/// Architectures that code is compiled for, the best first.
template <class... Arch> struct architectures {};

/// The architectures of this program: those that CMake's zeropoint_compile_for() was given, or what this translation unit
/// is compiled for.
#if defined(ZEROPOINT_COMPILED_ARCHITECTURES)
using compiled_architectures = architectures<ZEROPOINT_COMPILED_ARCHITECTURES>;
#else
/// Those that ZEROPOINT_COMPILED_ARCHITECTURES names, or else the one of this translation unit.
using compiled_architectures = architectures<default_architecture>;
#endif

/// "fma3+avx2, sse4.2"
template <class... Arch> std::string names_of(architectures<Arch...>) {
    std::string names;
    ((names += (names.empty() ? "" : ", ") + std::string(name_of<Arch>())), ...);
    return names;
}

/// Raises machine_error where this machine has not what `Arch` needs: an error in place of an illegal instruction. On x86,
/// and where it has no vectors of SVE or RISC-V, it ends the program with a message on stderr if the machine has not what
/// the flags of this translation unit allow: not even a handler of exceptions is sure to run then. Loading and converting
/// a network begin with it; a program that does much before may begin with it too.
template <class Arch = default_architecture> void require_machine() {
    detail::require_extensions<default_architecture>();
    if (machine_runs<Arch>()) return;
    raise<machine_error>("expected a machine with " + std::string(name_of<Arch>()) +
                         ", which this program was compiled for, but this one has it not: compile without the flags "
                         "for it, or for several architectures at once with zeropoint_compile_for()");
}

/// A function that is compiled once an architecture, and the copy of it that suits this machine. `Function` is an empty
/// class of which `template <class Arch> R operator()(Arch, Arguments...) const` is declared where everybody sees it, and
/// defined and instantiated, for default_architecture, in a source that is compiled once an architecture:
/// docs/dispatch.md shows all of it.
template <class Function, class Architectures = compiled_architectures> class dispatched;

template <class Function, class First, class... More> class dispatched<Function, architectures<First, More...>> {
public:
    /// Chooses the first architecture that this machine has; or the one named in the environment variable
    /// ZEROPOINT_ARCHITECTURE, for running again what another machine ran. Raises machine_error where there is none.
    explicit dispatched(Function function = {})
        : dispatched(std::move(function), std::getenv("ZEROPOINT_ARCHITECTURE")) {}
    /// The same with a name in place of the variable; null for the best.
    dispatched(Function function, const char* name) : function_(std::move(function)), index_(index_of(name)) {}

    /// The name of the chosen architecture.
    std::string_view architecture() const noexcept { return names[index_]; }

    template <class... Arguments> decltype(auto) operator()(Arguments&&... arguments) const {
        return call<First, More...>(index_, std::forward<Arguments>(arguments)...);
    }

private:
    static constexpr int count = 1 + sizeof...(More);
    static constexpr std::string_view names[count] = {name_of<First>(), name_of<More>()...};

    static int index_of(const char* name) {
        detail::require_extensions<default_architecture>();  // of the caller's flags, which should be the lowest
        const bool has[count] = {machine_has<First>(), machine_has<More>()...};
        for (int i = 0; i != count; ++i)
            if (has[i] && (name == nullptr || names[i] == name)) return i;
        const bool runs[count] = {machine_runs<First>(), machine_runs<More>()...};
        for (int i = 0; i != count; ++i)
            if (runs[i] && (name == nullptr || names[i] == name)) return i;
        const std::string compiled = names_of(architectures<First, More...>());
        if (name == nullptr) {
            raise<machine_error>(
                "expected a machine with one of " + compiled +
                ", which this program was compiled for, but this one has none of them: compile for one "
                "that it has as well");
        }
        for (const std::string_view known : names)
            if (known == name) raise<machine_error>(std::string(name) + " was asked for, but this machine has it not");
        raise<machine_error>("expected one of " + compiled + ", which this program was compiled for, got '" + name +
                             "'");
    }

    template <class Arch, class... Rest, class... Arguments>
    decltype(auto) call(int index, Arguments&&... arguments) const {
        if constexpr (sizeof...(Rest) != 0) {
            if (index != 0) return call<Rest...>(index - 1, std::forward<Arguments>(arguments)...);
        }
        return function_(Arch(), std::forward<Arguments>(arguments)...);
    }

    [[no_unique_address]] Function function_;
    int index_;
};

}  // namespace zp::inline v0
