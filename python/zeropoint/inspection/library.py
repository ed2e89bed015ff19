# SPDX-License-Identifier: BSD-3-Clause
"""What the library of a network has beside zeropoint.abi's functions to be inspected."""

from __future__ import annotations

INSPECTION = r"""
#include <zeropoint/analysis/inspection.hpp>

/// JSON of both networks beside each other over so many inputs, and of the first `swept` of them a sweep of sensitivity; empty after an
/// error.
#pragma GCC visibility push(default)
extern "C" const char* zp_inspect(void* at, const void* const* xs, long long inputs, long long swept, const char* name,
                                  const char* qconfig_name) {
    auto& s = *static_cast<session*>(at);
    s.text.clear();
    guarded([&] {
        const auto batch_of = [&](long long count) {
            @SPANS@
            return std::make_tuple(@NAMES@);
        };
        zp::inspection all = zp::inspect(*s.seen, *s.int8, batch_of(inputs));
        if (swept > 0) all.sensitivity = zp::sensitivity(zp::simulate(*s.seen, *s.int8), batch_of(std::min(inputs, swept)));
        s.text = zp::to_json(all, name, qconfig_name);
    });
    return s.text.c_str();
}
#pragma GCC visibility pop
"""


def inspection_of(sizes: list[int], are_integers: list[bool]) -> str:
    """The source that stands behind zeropoint.abi.library_of's, for inputs of so many values each."""
    spans = [f"const auto x{number} = values<{'std::int32_t' if integer else 'float'}>(xs, {number}, count, {size});"
             for number, (size, integer) in enumerate(zip(sizes, are_integers))]
    return (INSPECTION.replace("@SPANS@", "\n            ".join(spans))
            .replace("@NAMES@", ", ".join(f"x{number}" for number in range(len(sizes)))))
