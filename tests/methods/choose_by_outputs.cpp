// SPDX-License-Identifier: BSD-3-Clause
// Inputs that calibration keeps, and the conversion that compares outputs over them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/methods/choose_by_outputs.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/state_bytes.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace {
namespace robust_test {

struct net
    : zp::model<zp::input<1, 1, 16>, zp::linear<"a", 24>, zp::relu, zp::linear<"b", 24>, zp::relu, zp::linear<"c", 8>> {
};
using inputs = std::vector<std::vector<float>>;

auto prepared() { return zp::prepare<zp::robust_qconfig>(made_up::network<net>(2)); }
/// 256 inputs, of which some are 10 times as large.
inputs data(std::size_t outliers = 0) {
    inputs all = made_up::inputs<net>(256);
    for (std::size_t i = 0; i != outliers; ++i)
        for (float& value : all[i * 101 + 7]) value *= 10;
    return all;
}
template <class Network> inputs kept_by(const Network& network) {
    inputs all;
    network.kept().for_each([&](const void* const* xs) {
        const auto* x = static_cast<const float*>(xs[0]);
        all.emplace_back(x, x + 16);
    });
    return all;
}
/// The 64 inputs of the smallest hashes, by the text of kept_inputs.hpp.
inputs smallest_hashes(const inputs& all) {
    std::vector<std::pair<std::uint64_t, std::size_t>> by_hash;
    for (std::size_t i = 0; i != all.size(); ++i) {
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const float value : all[i]) {
            std::uint32_t word = 0;
            std::memcpy(&word, &value, 4);
            hash ^= word;
            hash *= 0x100000001b3u;
        }
        hash ^= hash >> 32;
        hash *= 0xd6e8feb86659fd93u;
        by_hash.emplace_back(hash ^ hash >> 32, i);
    }
    std::sort(by_hash.begin(), by_hash.end());
    inputs chosen;
    for (std::size_t i = 0; i != 64; ++i) chosen.push_back(all[by_hash[i].second]);
    return chosen;
}
/// SQNR of all outputs over other inputs, without outliers.
template <class Model> double quality_of(const Model& model) {
    const auto fused = zp::fuse(made_up::network<net>(2));
    double signal = 0, noise = 0;
    for (const auto& x : made_up::inputs<net>(64, 77)) {
        const auto y = model(x), wanted = fused(x);
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{wanted[i]} * double{wanted[i]};
            noise += std::pow(double{y[i]} - double{wanted[i]}, 2);
        }
    }
    return 10 * std::log10(signal / noise);
}

static_assert(zp::qconfig_entries<zp::robust_qconfig>::kept_inputs == 64);
static_assert(zp::qconfig_entries<zp::default_qconfig>::kept_inputs == 0);
static_assert(std::is_empty_v<zp::kept_inputs<zp::prepared_stage<net, zp::default_qconfig, zp::default_architecture>>>);

}  // namespace robust_test
}  // namespace

TEST_CASE("kept inputs: those of the smallest hashes, whoever saw them in whatever order") {
    using namespace robust_test;
    const inputs all = data();
    const auto whole = zp::calibrate(prepared(), all);
    CHECK(kept_by(whole) == smallest_hashes(all));
    inputs backwards = all;
    std::reverse(backwards.begin(), backwards.end());
    CHECK(kept_by(zp::calibrate(prepared(), backwards)) == kept_by(whole));
    auto first = zp::calibrate(prepared(), inputs(all.begin(), all.begin() + 100));
    auto second = zp::calibrate(prepared(), inputs(all.begin() + 100, all.end()));
    auto sent = prepared().kept();
    zp::set_state(sent, zp::state_bytes(second.kept()));
    CHECK(sent.size() == 64);
    first.merge(second);
    CHECK(kept_by(first) == kept_by(whole));
    CHECK(kept_by(zp::calibrate(prepared(), inputs(all.begin(), all.begin() + 5))).size() == 5);
}

TEST_CASE("robust_qconfig: never below the observer or min_max, much more where outliers are rare") {
    using namespace robust_test;
    for (const std::size_t outliers : {0u, 2u}) {
        const auto calibrated = zp::calibrate(prepared(), data(outliers));
        zp::output_choice report;
        const auto chosen = zp::choose_by_outputs(calibrated, &report);
        CHECK(report.ranges.after >= report.ranges.by_observers);
        CHECK(report.ranges.after >= report.ranges.by_min_max);
        CHECK(report.biases_taken == (report.corrected > report.ranges.after + 0.2));
        CHECK(chosen.kept().empty());
        // convert does the same by itself, and what has been chosen stays.
        const auto int8 = zp::convert(calibrated), again = zp::convert(chosen);
        for (const auto& x : made_up::inputs<net>(10, 5)) CHECK(int8(x) == again(x));

        auto as_observed = calibrated;
        as_observed.kept().clear();
        auto by_min_max = as_observed;
        for (int id = 0; id != 4; ++id) {
            zp::observed_range seen;
            by_min_max.given().give_range(id, *zp::detail::part_of_seen(as_observed, id, 1, seen));
        }
        const double own = quality_of(zp::convert(as_observed)), wide = quality_of(zp::convert(by_min_max)),
                     found = quality_of(int8);
        MESSAGE(outliers << " outliers: histogram " << own << " dB, min_max " << wide << ", robust " << found);
        CHECK(found > own - 0.1);
        CHECK(found > wide - 0.1);
        if (outliers != 0) CHECK(found > own + 5);
    }
}
