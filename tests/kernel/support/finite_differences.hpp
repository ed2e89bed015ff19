// SPDX-License-Identifier: BSD-3-Clause
// Gradients compared with finite differences of a loss that is computed in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/arrays.hpp"

namespace gradients {

using doubles = std::vector<double>;
using floats = std::vector<float>;

inline doubles widened(const floats& x) { return {x.begin(), x.end()}; }

/// Gradients longer than this are looked at in some places alone, which are others for other lengths; in fewer where processors
/// are emulated.
inline constexpr std::size_t most_places = zp_test::fewer_problems == 1 ? 60 : 3;
/// In the place of a value that nobody looks at.
inline constexpr double not_seen = 1e300;

/// The gradient of a scalar function of x by central differences, x being changed and put back one by one.
template <class Loss> doubles differences(doubles& x, const Loss& loss, double step = 1e-4) {
    doubles gradient(x.size(), not_seen);
    const std::size_t apart = x.size() / most_places + 1;
    for (std::size_t i = x.size() % apart; i < x.size(); i += apart) {
        const double at = x[i];
        x[i] = at + step;
        const double above = loss();
        x[i] = at - step;
        gradient[i] = (above - loss()) / (2 * step);
        x[i] = at;
    }
    return gradient;
}

/// The sum of y * dy, of which dy is the gradient by y.
inline double weighted(const doubles& y, const floats& dy) {
    double sum = 0;
    for (std::size_t i = 0; i != y.size(); ++i) sum += y[i] * double{dy[i]};
    return sum;
}

/// The largest distance of the two, in units of the largest value: of the reference, or of ours where nobody looks.
template <class Values> double distance(const floats& ours, const Values& reference) {
    if (ours.size() != reference.size()) return INFINITY;
    double largest = 1e-30, most = 0;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        if (!std::isfinite(ours[i])) return INFINITY;
        if (double{reference[i]} == not_seen) {
            largest = std::max(largest, std::fabs(double{ours[i]}));
            continue;
        }
        largest = std::max(largest, std::fabs(double{reference[i]}));
        most = std::max(most, std::fabs(double{ours[i]} - double{reference[i]}));
    }
    return most / largest;
}

/// What was there before a gradient was added to it.
inline floats beginning(std::size_t count) { return arrays::reals(count, 99, -1, 1); }
inline floats without(const floats& sums, const floats& before) {
    floats added(sums.size());
    for (std::size_t i = 0; i != sums.size(); ++i) added[i] = sums[i] - before[i];
    return added;
}

}  // namespace gradients
