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
@INCLUDES@
#include "@HEADER@"

namespace {

using net = ::@NET@;
using qconfig = zp::@QCONFIG@;
using floats = decltype(zp::load<net>(""));
using integers = @INTEGERS@;
@OBSERVED@
@RUNNING@

std::string last_error;

struct session {
    std::optional<floats> real;
    std::optional<observed> seen;
    std::optional<integers> int8;
    std::optional<running<floats>> run;
    std::optional<running<integers>> run_int8;
    std::string text;@SMOOTHED@
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
    s.run_int8.emplace(*s.int8);
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
            s->run.emplace(*s->real);
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
    return guarded([&] { (*s.run)(xs, ys); });
}
int zp_run_int8(void* at, const void* const* xs, void* const* ys) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] { (*s.run_int8)(xs, ys); });
}
/// Both begin anew, where calls go on from those before.
void zp_reset(void* at) {
    auto& s = *static_cast<session*>(at);
    if (s.run) s.run->reset();
    if (s.run_int8) s.run_int8->reset();
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

# A network in the memory that it runs in: each call stands alone, or goes on with the states of the one before.
ALONE = """template <class Network> class running {
public:
    explicit running(const Network& network) : network_(network) {}
    void operator()(const void* const* xs, void* const* ys) { network_.run(xs, ys, memory_->bytes); }
    void reset() {}

private:
    const Network& network_;
    std::unique_ptr<typename Network::workspace> memory_ = std::make_unique<typename Network::workspace>();
};"""
GOING_ON = """template <class Network> class running {
public:
    explicit running(const Network& network) : stream_(std::make_unique<zp::stateful<Network>>(network)) { reset(); }
    void operator()(const void* const* xs, void* const* ys) { stream_->step_network().run(xs, ys, memory_->bytes); }
    void reset() { std::ranges::fill(memory_->bytes, std::byte{}); }

private:
    using memory = typename zp::stateful<Network>::network_type::workspace;
    std::unique_ptr<zp::stateful<Network>> stream_;
    std::unique_ptr<memory> memory_ = std::make_unique<memory>();
};"""
# What differs between presets that are calibrated and dynamic ones.
OBSERVED = """using observed = decltype(zp::calibrate(zp::prepare<qconfig>(zp::fuse(std::declval<floats>())), std::vector<float>()));"""
CALIBRATION = r"""/// Observes so many inputs, which lie one behind the other for each port, where states go on one sequence; goes on where an earlier call
/// stopped.
int zp_calibrate(void* at, const void* const* xs, long long count) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] {
        @SPANS@
        const auto batch = zp::in(@NAMES@);
        if (s.seen) s.seen.emplace(zp::@CALIBRATE@(std::move(*s.seen), batch));
        else s.seen.emplace(zp::@CALIBRATE@(zp::prepare<qconfig>(@FUSED@), batch));
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
# Of networks that can be smoothed: between loading and calibration.
SMOOTHING = r"""
/// Observes so many inputs, which lie one behind the other for each port, and evens out the channels of what is calibrated later.
int zp_smooth(void* at, const void* const* xs, long long count, float alpha, float floor) {
    auto& s = *static_cast<session*>(at);
    return guarded([&] {
        @SPANS@
        s.smoothed.emplace(zp::smooth(zp::fuse(*s.real), zp::in(@NAMES@), {.alpha = alpha, .convolutions = true, .floor = floor}));
    });
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


def library_of(header: str, net: str, qconfig: str, sizes: list[int], are_integers: list[bool], goes_on: bool = False,
               smooths: bool = False) -> str:
    """The source for one network under one of zeropoint's qconfigs. goes_on: its states do, from call to call. smooths: it has zp_smooth."""
    spans = [f"const auto x{number} = values<{'std::int32_t' if integer else 'float'}>(xs, {number}, count, {size});"
             for number, (size, integer) in enumerate(zip(sizes, are_integers))]
    # What convert needs under this preset alone, and others would compile for nothing.
    includes = "#include <zeropoint/methods/choose_by_outputs.hpp>\n" if qconfig == "robust_qconfig" else ""
    if goes_on:
        includes += "#include <zeropoint/workflow/calibrate_sequences.hpp>\n"
    if smooths:
        includes += "#include <zeropoint/methods/smooth.hpp>\n"
    observed, conversion = (NOTHING_OBSERVED, DYNAMIC_CONVERSION) if is_dynamic(qconfig) else (OBSERVED, CALIBRATION)
    return (LIBRARY.replace("@INCLUDES@", includes).replace("@RUNNING@", GOING_ON if goes_on else ALONE).replace("@HEADER@", header).replace("@INTEGERS@", quantized_type("net", qconfig))
            .replace("@OBSERVED@", observed).replace("@CONVERSION@", conversion + SMOOTHING * smooths)
            .replace("@SMOOTHED@", "\n    std::optional<decltype(zp::fuse(std::declval<floats>()))> smoothed;" * smooths)
            .replace("@FUSED@", "s.smoothed ? *s.smoothed : zp::fuse(*s.real)" if smooths else "zp::fuse(*s.real)")
            .replace("@CALIBRATE@", "calibrate_sequences" if goes_on else "calibrate").replace("@NET@", net).replace("@QCONFIG@", qconfig)
            .replace("@SPANS@", "\n        ".join(spans))
            .replace("@NAMES@", ", ".join(f"x{number}" for number in range(len(sizes)))))
