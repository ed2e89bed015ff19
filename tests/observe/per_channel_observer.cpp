// SPDX-License-Identifier: BSD-3-Clause
// Observers of channels: layouts, forms, errors.
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/per_channel_observer.hpp>

#include "every_observer.hpp"

namespace {

using per_group = zp::qscheme<zp::per_group<4>, zp::symmetric>;

static_assert(std::is_same_v<zp::observer_for<zp::min_max_observer, zp::per_tensor_affine>, zp::min_max_observer>);
static_assert(std::is_same_v<zp::observer_for<zp::min_max_observer, zp::per_channel_symmetric>,
                             zp::per_channel_min_max_observer>);
static_assert(std::is_same_v<zp::observer_for<zp::per_channel_min_max_observer, zp::per_channel_symmetric>,
                             zp::per_channel_min_max_observer>);
static_assert(std::is_same_v<zp::observer_for<zp::moving_average_min_max_observer<1, 10>, per_group>,
                             zp::moving_average_per_channel_min_max_observer<1, 10>>);
static_assert(std::is_same_v<zp::observer_for<zp::mse_observer<>, zp::per_channel_symmetric>,
                             zp::per_channel_observer<zp::mse_observer<>>>);
static_assert(zp::observer_serves<zp::min_max_observer, zp::per_tensor_affine> &&
              zp::observer_serves<zp::min_max_observer, zp::per_channel_symmetric>);
static_assert(!zp::observer_serves<zp::per_channel_min_max_observer, zp::per_tensor_affine>);

template <class O> std::vector<zp::qparams> symmetric_channels(const O& observer) {
    return observer.template calculate_qparams<zp::qint8_narrow, zp::per_channel_symmetric>("conv1");
}

}  // namespace

TEST_CASE_TEMPLATE("per channel: value i belongs to channel (i / inner) % channels", O,
                   zp::per_channel_min_max_observer, zp::moving_average_per_channel_min_max_observer<>,
                   zp::per_channel_observer<zp::min_max_observer>) {
    const std::vector<float> values = {127, -254, 0, 63.5f, 12.7f, 25.4f, -127, 254, 1.27f, 0, 12.7f, 0};
    O pixels, filters, images;
    pixels.observe({values, 3, 1, "conv1"});
    CHECK(symmetric_channels(pixels) == std::vector<zp::qparams>{{1, 0}, {2, 0}, {0.2f, 0}});
    filters.observe({values, 2, 6, "conv1"});
    CHECK(symmetric_channels(filters) == std::vector<zp::qparams>{{2, 0}, {2, 0}});
    images.observe({values, 2, 3, "conv1"});
    CHECK(symmetric_channels(images) == std::vector<zp::qparams>{{2, 0}, {0.5f, 0}});
    CHECK(pixels.range() == zp::observed_range{-254, 254});
    CHECK(pixels.samples() == 1);
    CHECK(pixels.count() == 12);
}

TEST_CASE("per channel: every channel is what its own observer would find") {
    const auto values = heavy_tails(3 * 500, 5);
    zp::per_channel_observer<zp::mse_observer<>> filters, pixels;
    filters.observe({values, 3, 500, "conv1"});
    pixels.observe({values, 3, 1, "conv1"});
    for (std::size_t c = 0; c != 3; ++c) {
        std::vector<float> every_third;
        for (std::size_t i = c; i < values.size(); i += 3) every_third.push_back(values[i]);
        zp::mse_observer<> filter, pixel;
        filter.observe(batch({values.data() + 500 * c, 500}));
        pixel.observe(batch(every_third));
        CHECK(filters.calculate_qparams<zp::qint8, zp::per_channel_symmetric>("conv1")[c] == symmetric(filter));
        CHECK(pixels.calculate_qparams<zp::quint8, zp::per_channel_affine>("conv1")[c] == affine(pixel));
    }
}

TEST_CASE("per group: groups are channels whose inner extent is the group's size") {
    const std::vector<float> values = {1, 2, 3, 12.7f, 0, 0, 25.4f, 0};
    zp::observer_for<zp::min_max_observer, per_group> observer;
    observer.observe({values, 2, 4, "fc"});
    CHECK(observer.calculate_qparams<zp::qint8_narrow, per_group>("fc") ==
          std::vector<zp::qparams>{{0.1f, 0}, {0.2f, 0}});
}

TEST_CASE_TEMPLATE("per channel: errors name what came, and leave no trace", O, zp::per_channel_min_max_observer,
                   zp::moving_average_per_channel_min_max_observer<>, zp::per_channel_observer<zp::min_max_observer>) {
    O observer;
    CHECK_THROWS_AS((void)symmetric_channels(observer), zp::calibration_error);
    std::vector<float> values = {1, 2, 3, 4, 5, 6};
    observer.observe({values, 3, 1, "conv1"});
    CHECK_THROWS_WITH_AS(observer.observe({values, 2, 1, "conv1"}),
                         "conv1: expected 3 channels as in the batches before, got 2", zp::shape_error);
    CHECK_THROWS_WITH_AS(observer.observe({values, 3, 4, "conv1"}),
                         "conv1: 6 values are not whole rows of 3 channels x 4", zp::shape_error);
    CHECK_THROWS_AS(observer.observe({values, 0, 1, "conv1"}), zp::shape_error);
    values[4] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS(observer.observe({values, 3, 1, "conv1"}),
                         "conv1: expected finite values, but value 4 of 6 (channel 1) is inf: clean the calibration "
                         "data, or the weights before this layer",
                         zp::calibration_error);
    CHECK(observer.samples() == 1);
    CHECK(observer.range() == zp::observed_range{1, 6});
}
