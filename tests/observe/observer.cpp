// SPDX-License-Identifier: BSD-3-Clause
// What holds for every observer: errors, counts, constants; and that an observer of a user's own is one.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/scheme/quantize.hpp>

#include "every_observer.hpp"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class... O> constexpr bool all_observers = (zp::observer<O> && ...);
static_assert(all_observers<EVERY_CHOOSING_OBSERVER>);
static_assert(all_observers<fixed_observer, zp::placeholder_observer>);
static_assert(all_observers<zp::per_channel_min_max_observer, zp::moving_average_per_channel_min_max_observer<>,
                            zp::per_channel_observer<zp::mse_observer<>>>);
static_assert(!zp::observer<int> && !zp::observer<zp::quint8> && !zp::observer<zp::per_tensor_affine>);

static_assert(zp::min_max_observer::order == zp::merge_order::exact_any_order &&
              zp::mse_observer<>::order == zp::merge_order::exact_any_order);
static_assert(zp::histogram_observer<>::order == zp::merge_order::order_dependent &&
              zp::moving_average_min_max_observer<>::order == zp::merge_order::order_dependent);

/// An observer as a user writes one: no base class, no template over an architecture.
struct mean_magnitude_observer {
    static constexpr zp::merge_order order = zp::merge_order::order_dependent;
    double sum = 0;
    std::uint64_t batches = 0, values = 0;

    void observe(const zp::observation& seen) {
        for (const float x : seen.values) sum += x < 0 ? -x : x;
        ++batches;
        values += seen.values.size();
    }
    void merge(const mean_magnitude_observer& other) {
        sum += other.sum, batches += other.batches, values += other.values;
    }
    std::uint64_t samples() const { return batches; }
    std::uint64_t count() const { return values; }
    zp::observed_range range() const { return {}; }
    template <class DType, class QScheme, class Rule>
    std::vector<zp::qparams> calculate_qparams(std::string_view) const {
        const auto reach = static_cast<float>(4 * sum / static_cast<double>(values));
        return {zp::choose_qparams<DType, QScheme, Rule>(-reach, reach)};
    }
};
static_assert(zp::observer<mean_magnitude_observer>);

struct without_merge : mean_magnitude_observer {
    void merge(const without_merge&) = delete;
};
struct without_counts : mean_magnitude_observer {
    void count() const;
};
static_assert(!zp::observer_merges<without_merge> && zp::observer_observes<without_merge>,
              "the concept says which rule is broken");
static_assert(!zp::observer_counts<without_counts> && !zp::observer<without_counts>);

/// Runs f, which must raise, and returns the message.
template <class Error, class F> std::string message_of(F f) {
    try {
        f();
    } catch (const Error& error) { return error.what(); }
    return "nothing was raised";
}

}  // namespace

TEST_CASE_TEMPLATE("observer: without data there is an error that names the layer", O, EVERY_CHOOSING_OBSERVER) {
    O observer;
    const std::string message = message_of<zp::calibration_error>([&] { (void)affine(observer); });
    CHECK(message.starts_with("conv1: "));
    CHECK(message.find("has seen no values") != std::string::npos);
    observer.observe(batch({}));  // an empty batch is no data
    CHECK_THROWS_AS((void)symmetric(observer), zp::calibration_error);
    CHECK(observer.samples() == 0);
    CHECK(observer.range().empty());
}

TEST_CASE_TEMPLATE("observer: NaN and infinity are errors that name layer, place and value, and leave no trace", O,
                   EVERY_CHOOSING_OBSERVER, fixed_observer) {
    for (const float bad : {not_a_number, infinity, -infinity}) {
        for (const std::size_t place : {0u, 100u, 255u}) {
            O observer;
            std::vector<float> values = heavy_tails(256, 1);
            observer.observe(batch(values));
            const zp::qparams before = affine(observer);
            values[place] = bad;
            const std::string message = message_of<zp::calibration_error>([&] { observer.observe(batch(values)); });
            INFO(message);
            CHECK(message.starts_with("conv1: expected finite values, but value " + std::to_string(place) +
                                      " of 256 (channel 0) is " + zp::number_text(bad)));
            CHECK(observer.samples() == 1);
            CHECK(observer.count() == 256);
            CHECK(affine(observer) == before);
        }
    }
}

TEST_CASE_TEMPLATE("observer: counts batches and values of any size, and reports the range", O, EVERY_CHOOSING_OBSERVER,
                   fixed_observer) {
    O observer;
    const std::vector<float> small = {-1, 2}, large(10000, 0.5f);
    observer.observe(batch(small));
    observer.observe(batch({}));
    observer.observe(batch(large));
    CHECK(observer.samples() == 2);
    CHECK(observer.count() == 10002);
    if constexpr (!std::is_same_v<O, zp::moving_average_min_max_observer<>>)
        CHECK(observer.range() == zp::observed_range{-1, 2});
}

TEST_CASE_TEMPLATE("observer: a constant is legal", O, EVERY_CHOOSING_OBSERVER) {
    for (const float x : {0.0f, 3.25f, -3.25f, 1e-3f, -4e9f}) {
        INFO("constant ", x);
        O observer;
        const std::vector<float> values(100, x);
        observer.observe(batch(values));
        observer.observe(batch(values));
        const float back = zp::fake_quantize<zp::quint8>(x, affine(observer)),
                    middle = zp::fake_quantize<zp::qint8>(x, symmetric(observer));
        if (x == 0) {
            CHECK(back == 0);
            CHECK(middle == 0);
            continue;
        }
        CHECK(back == relative(x, 1e-6));
        CHECK(middle == relative(x, 0.005));
    }
}

TEST_CASE_TEMPLATE("observer: zero is always representable, also beyond data on one side of it", O,
                   EVERY_CHOOSING_OBSERVER) {
    O observer;
    std::vector<float> values = heavy_tails(1000, 2);
    for (float& x : values) x = 5 + std::fabs(x);
    observer.observe(batch(values));
    CHECK(affine(observer).zero_point == 0);
    CHECK(zp::fake_quantize<zp::quint8>(0.0f, affine(observer)) == 0);
}

TEST_CASE_TEMPLATE("observer: a range too wide for a finite scale is an error that names the layer", O,
                   zp::min_max_observer, zp::histogram_observer<>, zp::mse_observer<>) {
    O observer;
    const std::vector<float> values = {-3e38f, 3e38f};
    CHECK_THROWS_AS((observer.observe(batch(values)), (void)affine(observer)), zp::calibration_error);
}

TEST_CASE("observer: one of a user's own works, also a channel") {
    mean_magnitude_observer observer;
    const std::vector<float> values = {1, -1, 3, -3};
    observer.observe(batch(values));
    CHECK(observer.calculate_qparams<zp::qint8, zp::per_tensor_symmetric, zp::pytorch_rule>("conv1").front().scale ==
          8 / 127.5f);

    zp::observer_for<mean_magnitude_observer, zp::per_channel_symmetric> channels;
    channels.observe({values, 2, 2, "conv1"});
    const auto params = channels.calculate_qparams<zp::qint8, zp::per_channel_symmetric>("conv1");
    REQUIRE(params.size() == 2);
    CHECK(params[0].scale == 4 / 127.5f);
    CHECK(params[1].scale == 12 / 127.5f);
}
