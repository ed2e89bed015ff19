// SPDX-License-Identifier: BSD-3-Clause
// What every test of observers needs: the list of them, and data.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/entropy_observer.hpp>
#include <zeropoint/observe/exact_histogram_observer.hpp>
#include <zeropoint/observe/fixed_qparams_observer.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/mse_observer.hpp>
#include <zeropoint/observe/percentile_observer.hpp>
#include <zeropoint/observe/placeholder_observer.hpp>
#include <zeropoint/observe/recording_observer.hpp>

/// Those that choose qparams from data.
#define EVERY_CHOOSING_OBSERVER                                                                                       \
    zp::min_max_observer, zp::moving_average_min_max_observer<>, zp::histogram_observer<>,                            \
        zp::exact_histogram_observer<>, zp::percentile_observer<99, 100>, zp::mse_observer<>, zp::entropy_observer<>, \
        zp::recording_observer<1000>

using fixed_observer = zp::fixed_qparams_observer<zp::qparams{0.5f, 3}>;

/// Cubed normal values: long tails, so that clipping pays.
inline std::vector<float> heavy_tails(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& x : values) x = std::pow(normal(random), 3.0f);
    return values;
}

/// x to a tolerance in parts of x; plain Approx adds 1 to x first, which is more than most scales are.
inline doctest::Approx relative(double x, double tolerance) { return doctest::Approx(x).scale(0).epsilon(tolerance); }

inline zp::observation batch(std::span<const float> values) { return {values, 1, 1, "conv1"}; }

template <class O> zp::qparams affine(const O& observer) {
    return observer.template calculate_qparams<zp::quint8, zp::per_tensor_affine>("conv1").front();
}
template <class O> zp::qparams symmetric(const O& observer) {
    return observer.template calculate_qparams<zp::qint8, zp::per_tensor_symmetric>("conv1").front();
}
