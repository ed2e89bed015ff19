// SPDX-License-Identifier: BSD-3-Clause
// Scales and zero points of PyTorch's observers: scripts/golden/observers.py says what is in the file. All are equal.
#include <cstdint>
#include <span>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/fixed_qparams_observer.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>

#include "../support/golden_file.hpp"

namespace {

struct golden_file {
    zp_test::golden_file file{"observers"};

    template <class T = float> std::vector<T> read(const std::string& name) const { return file.values<T>(name); }
};

struct qparams_table {
    std::vector<float> scale;
    std::vector<std::int32_t> zero_point;

    qparams_table(const golden_file& golden, const std::string& name)
        : scale(golden.read(name + "/scale")), zero_point(golden.read<std::int32_t>(name + "/zero_point")) {}
    void check(std::size_t row, const std::vector<zp::qparams>& found) const {
        for (std::size_t c = 0; c != found.size(); ++c) {
            CHECK(found[c].scale == scale[row * found.size() + c]);
            CHECK(found[c].zero_point == zero_point[row * found.size() + c]);
        }
    }
};

template <class D, class S, class O>
void check(const golden_file& golden, const std::string& name, const std::vector<O>& observers) {
    INFO(name);
    const qparams_table table(golden, name);
    for (std::size_t i = 0; i != observers.size(); ++i) {
        INFO("input ", i);
        table.check(i, observers[i].template calculate_qparams<D, S>("golden"));
    }
}

/// One observer an input, each fed its batches as often as the file says.
template <class O> std::vector<O> fed(const golden_file& golden) {
    const auto input = golden.read("per_tensor/input");
    const auto repeats = golden.read<std::int32_t>("per_tensor/repeats");
    constexpr std::size_t batches = 5, size = 200;
    REQUIRE(repeats.size() >= 20 * batches);
    std::vector<O> observers(repeats.size() / batches);
    for (std::size_t i = 0; i != repeats.size(); ++i)
        for (std::int32_t times = 0; times != repeats[i]; ++times)
            observers[i / batches].observe({std::span(input).subspan(i * size, size), 1, 1, "golden"});
    return observers;
}

/// The same for observers of channels: 6 of 40 values (axis 0), or 40 of which every value has its turn (axis 1).
template <class O> std::vector<O> fed_channels(const golden_file& golden, int channels, int inner) {
    const auto input = golden.read("per_channel/input");
    constexpr std::size_t batches = 4, size = 240;
    std::vector<O> observers(input.size() / batches / size);
    for (std::size_t i = 0; i != observers.size() * batches; ++i)
        observers[i / batches].observe({std::span(input).subspan(i * size, size), channels, inner, "golden"});
    return observers;
}

template <class O>
void check_ranges(const golden_file& golden, const std::string& name, const std::vector<O>& observers) {
    const auto min = golden.read(name + "/min"), max = golden.read(name + "/max");
    for (std::size_t i = 0; i != observers.size(); ++i) {
        CHECK(observers[i].range().min == min[i]);
        CHECK(observers[i].range().max == max[i]);
    }
}

template <class O> void check_min_max_like(const golden_file& golden, const std::string& name) {
    const auto observers = fed<O>(golden);
    check_ranges(golden, name, observers);
    check<zp::quint8, zp::per_tensor_affine>(golden, name + "/quint8_affine", observers);
    check<zp::qint8, zp::per_tensor_affine>(golden, name + "/qint8_affine", observers);
    check<zp::qint8, zp::per_tensor_symmetric>(golden, name + "/qint8_symmetric", observers);
    check<zp::qint8_narrow, zp::per_tensor_symmetric>(golden, name + "/qint8_narrow_symmetric", observers);
    check<zp::quint8_reduced, zp::per_tensor_affine>(golden, name + "/quint8_reduced_affine", observers);
    check<zp::qint8_reduced, zp::per_tensor_symmetric>(golden, name + "/qint8_reduced_symmetric", observers);
}

template <class O> void check_per_channel(const golden_file& golden, const std::string& name, int channels, int inner) {
    const auto observers = fed_channels<O>(golden, channels, inner);
    check<zp::qint8, zp::per_channel_symmetric>(golden, name + "/qint8_symmetric", observers);
    check<zp::qint8_narrow, zp::per_channel_symmetric>(golden, name + "/qint8_narrow_symmetric", observers);
    check<zp::qint8, zp::per_channel_affine>(golden, name + "/qint8_affine", observers);
    check<zp::quint8, zp::per_channel_affine>(golden, name + "/quint8_affine", observers);
}

}  // namespace

TEST_CASE("PyTorch: MinMaxObserver") { check_min_max_like<zp::min_max_observer>({}, "min_max"); }

TEST_CASE("PyTorch: MovingAverageMinMaxObserver") {
    check_min_max_like<zp::moving_average_min_max_observer<>>({}, "moving_average_0.01");
    check_min_max_like<zp::moving_average_min_max_observer<1, 10>>({}, "moving_average_0.1");
}

TEST_CASE("PyTorch: PerChannelMinMaxObserver and MovingAveragePerChannelMinMaxObserver") {
    check_per_channel<zp::per_channel_min_max_observer>({}, "per_channel_min_max", 6, 40);
    check_per_channel<zp::per_channel_min_max_observer>({}, "per_channel_min_max_axis_1", 40, 1);
    check_per_channel<zp::moving_average_per_channel_min_max_observer<>>({}, "moving_average_per_channel_0.01", 6, 40);
    check_per_channel<zp::moving_average_per_channel_min_max_observer<1, 10>>({}, "moving_average_per_channel_0.1", 6,
                                                                              40);
}

TEST_CASE("PyTorch: HistogramObserver has the same bins, finds the same range and the same qparams") {
    const golden_file golden;
    const auto observers = fed<zp::histogram_observer<>>(golden);
    check_ranges(golden, "histogram", observers);
    const auto bins = golden.read("histogram/bins"), low = golden.read("histogram/search_min"),
               high = golden.read("histogram/search_max"), sum = golden.read("histogram/sum");
    for (std::size_t i = 0; i != observers.size(); ++i) {
        INFO("input ", i);
        const std::span<const float> counts = observers[i].counts();
        std::size_t different = 0;
        for (std::size_t b = 0; b != counts.size(); ++b) different += counts[b] != bins[i * counts.size() + b];
        CHECK(different == 0);
        CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == doctest::Approx(double{sum[i]}).epsilon(1e-6));
        const zp::observed_range seen = observers[i].range();
        const zp::observed_range best = zp::histogram_search(counts, seen.min, seen.max, 256)();
        CHECK(best.min == low[i]);
        CHECK(best.max == high[i]);
    }
    check<zp::quint8, zp::per_tensor_affine>(golden, "histogram/quint8_affine", observers);
    check<zp::qint8, zp::per_tensor_affine>(golden, "histogram/qint8_affine", observers);
    check<zp::qint8, zp::per_tensor_symmetric>(golden, "histogram/qint8_symmetric", observers);
    check<zp::quint8_reduced, zp::per_tensor_affine>(golden, "histogram/quint8_reduced_affine", observers);
    check<zp::qint8_reduced, zp::per_tensor_symmetric>(golden, "histogram/qint8_reduced_symmetric", observers);
}

TEST_CASE("PyTorch: FixedQParamsObserver gives back what it was given") {
    const golden_file golden;
    const qparams_table table(golden, "fixed_qparams");
    table.check(0, zp::fixed_qparams_observer<zp::qparams{1.0f / 256, 0}>()
                       .calculate_qparams<zp::quint8, zp::per_tensor_affine>("golden"));
    table.check(1, zp::fixed_qparams_observer<zp::qparams{2.0f / 256, 128}>()
                       .calculate_qparams<zp::quint8, zp::per_tensor_affine>("golden"));
    table.check(
        2, zp::fixed_qparams_observer<zp::qparams{0.1f, 37}>().calculate_qparams<zp::quint8, zp::per_tensor_affine>(
               "golden"));
}

TEST_CASE("PyTorch: all vectors of observers were read") {
    for (const std::string& tensor : zp_test::unread_tensors("observers", {"choose_qparams/"}))  // those: tests/scheme
        FAIL_CHECK(tensor, " is read by no test");
}
