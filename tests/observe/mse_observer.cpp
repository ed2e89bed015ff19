// SPDX-License-Identifier: BSD-3-Clause
// The least squared error: the estimate against the true error, and the search against a finer one.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/scheme/quantize.hpp>

#include "every_observer.hpp"

namespace {

template <class D> double true_error(const std::vector<float>& values, const zp::qparams& params) {
    double sum = 0;
    for (const float x : values) {
        const double difference = static_cast<double>(x) - zp::fake_quantize<D>(x, params);
        sum += difference * difference;
    }
    return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("squared_error: the mean over all values, to some percent") {
    const auto values = heavy_tails(20000, 17);
    zp::mse_observer<> observer;
    observer.observe(batch(values));
    const double bin = observer.histogram().bin_width();
    for (const float scale : {0.01f, 0.05f, 0.1f, 0.3f, 0.8f, 3.0f}) {
        const zp::qparams params{scale, 120};
        CHECK(zp::squared_error(observer.histogram(), params, 0, 255) * bin * bin ==
              relative(true_error<zp::quint8>(values, params), 0.08));
    }
    // Steps finer than the bins, as 16-bit codes have: within a bin the error is noise.
    const zp::qparams fine{0.005f, 0};
    REQUIRE(fine.scale < bin);
    CHECK(zp::squared_error(observer.histogram(), fine, -32768, 32767) * bin * bin ==
          relative(true_error<zp::qint16>(values, fine), 0.08));
}

TEST_CASE("squared_error: bins without values say nothing, to the last bit") {
    for (const std::size_t count : std::vector<std::size_t>{1, 9, 64, 5000}) {
        zp::mse_observer<> observer;
        observer.observe(batch(heavy_tails(count, 23)));
        const auto& histogram = observer.histogram();
        const double width = histogram.bin_width();
        for (const auto& [scale, zero_point] : {std::pair{0.02f, 11}, {0.3f, 0}, {1.7f, 255}}) {
            const double step = scale / width, low = step * -zero_point, high = step * (255 - zero_point);
            double error = 0, values = 0;
            for (std::size_t i = 0; i != histogram.counts().size(); ++i) {
                const double middle = histogram.edge(i) / width + 0.5;
                const double inside = static_cast<double>(zp::round_half_even(middle / step)) * step;
                const auto distance = static_cast<float>(middle - (middle < low ? low : middle > high ? high : inside));
                const bool is_noise = step < 1 && middle >= low && middle <= high;
                const double own = is_noise ? step * step / 12 : static_cast<double>(distance) * distance + 1.0 / 12;
                const auto bin = static_cast<double>(histogram.counts()[i]);
                error += bin * static_cast<float>(own);
                values += bin;
            }
            CHECK(zp::squared_error(histogram, {scale, zero_point}, 0, 255) == error / values);
        }
    }
}

TEST_CASE("mse_observer: no symmetric range on a fine grid is notably better") {
    for (unsigned seed = 0; seed != 4; ++seed) {
        auto values = heavy_tails(3000, seed);
        if (seed == 1)
            for (float& x : values) x = std::fabs(x);
        if (seed == 2)
            for (float& x : values) x = std::cbrt(x);
        zp::mse_observer<> observer;
        observer.observe(batch(values));
        const float all = std::max(-observer.range().min, observer.range().max);
        double least_symmetric = 1e30, least_affine = 1e30;
        for (int i = 1; i <= 200; ++i) {
            const float reach = all * static_cast<float>(i) / 200;
            least_symmetric = std::min(
                least_symmetric,
                true_error<zp::qint4>(values, zp::choose_qparams<zp::qint4, zp::per_tensor_symmetric>(-reach, reach)));
        }
        for (int low = 0; low <= 40; ++low)
            for (int high = 1; high <= 40; ++high)
                least_affine = std::min(
                    least_affine, true_error<zp::quint4>(
                                      values, zp::choose_qparams<zp::quint4, zp::per_tensor_affine>(
                                                  std::min(observer.range().min, 0.0f) * static_cast<float>(low) / 40,
                                                  observer.range().max * static_cast<float>(high) / 40)));
        const auto found_symmetric = observer.calculate_qparams<zp::qint4, zp::per_tensor_symmetric>("conv1").front();
        const auto found_affine = observer.calculate_qparams<zp::quint4, zp::per_tensor_affine>("conv1").front();
        CHECK(true_error<zp::qint4>(values, found_symmetric) < 1.03 * least_symmetric);
        CHECK(true_error<zp::quint4>(values, found_affine) < 1.05 * least_affine);
    }
}

TEST_CASE("mse_observer: better than keeping everything, where tails are long") {
    const auto values = heavy_tails(20000, 18);
    zp::mse_observer<> observer;
    zp::min_max_observer everything;
    observer.observe(batch(values));
    everything.observe(batch(values));
    const auto error = [&](const auto& chooser) {
        return true_error<zp::qint4>(
            values, chooser.template calculate_qparams<zp::qint4, zp::per_tensor_symmetric>("conv1").front());
    };
    CHECK(error(observer) < 0.5 * error(everything));
    CHECK(true_error<zp::qint8>(values, symmetric(observer)) < true_error<zp::qint8>(values, symmetric(everything)));
    CHECK(true_error<zp::quint8>(values, affine(observer)) < true_error<zp::quint8>(values, affine(everything)));
}
