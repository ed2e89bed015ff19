# SPDX-License-Identifier: BSD-3-Clause
"""The library of one network: a small C interface over its stages."""

from __future__ import annotations

from zeropoint.presets import is_dynamic, quantized_type

LIBRARY = r"""// One network and one qconfig: load, run, calibrate, convert, save.
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>
@METHODS@
#include "@HEADER@"

namespace {

using net = ::@NET@;
using qconfig = zp::@QCONFIG@;
using floats = decltype(zp::load<net>(""));
using integers = @INTEGERS@;
@OBSERVED@

std::string last_error;

struct session {
    std::optional<floats> real;
    std::optional<observed> seen;
    std::optional<integers> int8;
    std::unique_ptr<floats::workspace> memory;
    std::unique_ptr<integers::workspace> int8_memory;
    std::string text;
};

template <class Function> int guarded(Function function) {
    try {
        function();
        return 0;
    } catch (const std::exception& error) {
        last_error = error.what();
        return 1;
    }
}

void become_int8(session& s, integers&& made) {
    s.int8.emplace(std::move(made));
    s.int8_memory = std::make_unique<integers::workspace>();
}

template <class T> std::span<const T> values(const void* const* xs, int port, long long count, int each) {
    return {static_cast<const T*>(xs[port]), static_cast<std::size_t>(count) * static_cast<std::size_t>(each)};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

const char* zp_error() { return last_error.c_str(); }

void* zp_load(const char* weights) {
    auto s = std::make_unique<session>();
    if (guarded([&] {
            s->real.emplace(zp::load<net>(weights));
            s->memory = std::make_unique<floats::workspace>();
        }) != 0)
        return nullptr;
    return s.release();
}
void* zp_load_int8(const char* weights) {
    auto s = std::make_unique<session>();
    if (guarded([&] { become_int8(*s, zp::load<integers>(weights)); }) != 0) return nullptr;
    return s.release();
}
void zp_free(void* at) { delete static_cast<session*>(at); }

/// Both check nothing: the caller has.
int zp_run(void* at, const void* const* xs, void* const* ys) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] { s.real->run(xs, ys, s.memory->bytes); });
}
int zp_run_int8(void* at, const void* const* xs, void* const* ys) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] { s.int8->run(xs, ys, s.int8_memory->bytes); });
}

/// Nanoseconds of a call, the least of those that fit into so many milliseconds, and of three.
double zp_nanoseconds(void* at, const void* const* xs, void* const* ys, int int8, double milliseconds) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    double least = 1e300;
    for (int i = 0; i < 3 || std::chrono::duration<double, std::milli>(clock::now() - begin).count() < milliseconds; ++i) {
        const auto start = clock::now();
        if ((int8 != 0 ? zp_run_int8(at, xs, ys) : zp_run(at, xs, ys)) != 0) return -1;
        least = std::min(least, std::chrono::duration<double, std::nano>(clock::now() - start).count());
    }
    return least;
}

@CONVERSION@
int zp_save_int8(void* at, const char* path) {
    return guarded([&] { zp::save(*static_cast<session*>(at)->int8, path); });
}
const char* zp_table(void* at) {
    auto& s = *static_cast<session*>(at);
    guarded([&] { s.text = s.int8 ? zp::to_string(*s.int8) : zp::to_string(*s.real); });
    return s.text.c_str();
}
long long zp_bytes(void* at) {
    auto& s = *static_cast<session*>(at);
    return s.int8 ? integers::parameter_bytes : floats::parameter_bytes;
}

}  // extern "C"
#pragma GCC visibility pop
"""

# What differs between presets that are calibrated and dynamic ones.
OBSERVED = """using observed = decltype(zp::calibrate(zp::prepare<qconfig>(zp::fuse(std::declval<floats>())), std::vector<float>()));"""
CALIBRATION = r"""/// Observes so many inputs, which lie one behind the other for each port; goes on where an earlier call stopped.
int zp_calibrate(void* at, const void* const* xs, long long count) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] {
        @SPANS@
        const auto batch = zp::in(@NAMES@);
        if (s.seen) s.seen.emplace(zp::calibrate(std::move(*s.seen), batch));
        else s.seen.emplace(zp::calibrate(zp::prepare<qconfig>(zp::fuse(*s.real)), batch));
    });
}
int zp_convert(void* at) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] { become_int8(s, zp::convert(*s.seen)); });
}
const char* zp_report(void* at) {
    auto& s = *static_cast<session*>(at);
    guarded([&] { s.text = zp::to_string(zp::report(*s.seen)); });
    return s.text.c_str();
}"""
NOTHING_OBSERVED = "struct observed {};"
DYNAMIC_CONVERSION = r"""int zp_convert(void* at) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] { become_int8(s, zp::quantize_dynamic<qconfig>(*s.real)); });
}
int zp_calibrate(void*, const void* const*, long long) {
    return guarded([] { throw zp::error("under this qconfig nothing is calibrated"); });
}
const char* zp_report(void*) { return ""; }"""


def library_of(header: str, net: str, qconfig: str, sizes: list[int], are_integers: list[bool]) -> str:
    """The source for one network under one of zeropoint's qconfigs."""
    spans = [f"const auto x{number} = values<{'std::int32_t' if integer else 'float'}>(xs, {number}, count, {size});"
             for number, (size, integer) in enumerate(zip(sizes, are_integers))]
    # What convert needs under this preset alone, and others would compile for nothing.
    methods = "#include <zeropoint/methods/choose_by_outputs.hpp>\n" if qconfig == "robust_qconfig" else ""
    observed, conversion = (NOTHING_OBSERVED, DYNAMIC_CONVERSION) if is_dynamic(qconfig) else (OBSERVED, CALIBRATION)
    return (LIBRARY.replace("@METHODS@", methods).replace("@HEADER@", header).replace("@INTEGERS@", quantized_type("net", qconfig))
            .replace("@OBSERVED@", observed).replace("@CONVERSION@", conversion).replace("@NET@", net).replace("@QCONFIG@", qconfig)
            .replace("@SPANS@", "\n        ".join(spans))
            .replace("@NAMES@", ", ".join(f"x{number}" for number in range(len(sizes)))))
