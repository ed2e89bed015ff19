// SPDX-License-Identifier: BSD-3-Clause
// Attention over a cache: its definition in double, over odd extents and beyond the context; sines and cosines of all quarters.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/attention/cached_attention.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

std::size_t size_of(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

struct sequence {
    kernel::cached_attention_extents e;
    int places;
    double theta;
    std::vector<float> q, k, v;

    sequence(kernel::cached_attention_extents extents, int count, double base)
        : e(extents),
          places(count),
          theta(base),
          q(arrays::reals(size_of(count, e.heads * e.depth), 1, -2, 2)),
          k(arrays::reals(size_of(count, e.key_heads * e.depth), 2, -2, 2)),
          v(arrays::reals(size_of(count, e.key_heads * e.depth), 3, -2, 2)) {}

    /// A head of a place, turned.
    std::vector<double> head(const std::vector<float>& all, int heads, int place, int h) const {
        const float* x = all.data() + size_of(place, heads * e.depth) + size_of(h, e.depth);
        std::vector<double> y(x, x + e.depth);
        if (theta == 0) return y;
        for (int i = 0; i != e.depth / 2; ++i) {
            const double angle = place * std::pow(theta, -2.0 * i / e.depth), a = double{x[i]},
                         b = double{x[i + e.depth / 2]};
            y[static_cast<std::size_t>(i)] = a * std::cos(angle) - b * std::sin(angle);
            y[static_cast<std::size_t>(i + e.depth / 2)] = b * std::cos(angle) + a * std::sin(angle);
        }
        return y;
    }
    std::vector<double> expected(int place, int h) const {
        const int group = h / e.together(), first = std::max(0, place - e.context + 1);
        const auto query = head(q, e.heads, place, h);
        std::vector<double> y(static_cast<std::size_t>(e.depth)), scores;
        for (int t = first; t <= place; ++t) {
            const auto key = head(k, e.key_heads, t, group);
            double sum = 0;
            for (std::size_t d = 0; d != key.size(); ++d) sum += query[d] * key[d];
            scores.push_back(sum / std::sqrt(double(e.depth)));
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        for (double& score : scores) total += score = std::exp(score - largest);
        for (std::size_t t = 0; t != scores.size(); ++t)
            for (std::size_t d = 0; d != y.size(); ++d)
                y[d] +=
                    scores[t] / total *
                    double{
                        v[size_of(first + static_cast<int>(t), e.key_heads * e.depth) + size_of(group, e.depth) + d]};
        return y;
    }
    template <class Arch, int Depth> std::vector<float> run() const {
        const auto frequencies = kernel::rotary_frequencies<Depth>(theta == 0 ? 1 : theta);
        std::vector<float> keys(static_cast<std::size_t>(e.key_floats())),
            values(static_cast<std::size_t>(e.value_floats())), scratch(static_cast<std::size_t>(e.scratch_floats())),
            y(q.size());
        for (int place = 0; place != places; ++place) {
            std::vector<kernel::sine_and_cosine> turns;
            for (const float f : frequencies)
                turns.push_back(kernel::sine_and_cosine_of(static_cast<float>(place) * f));
            const auto key = size_of(place, e.key_heads * e.depth);
            // Heads in two parts now and then: what one has done changes nothing for the other.
            const int middle = place % 3 == 1 ? e.key_heads / 2 : 0;
            const auto first = y.begin() + static_cast<std::ptrdiff_t>(size_of(place, e.heads * e.depth)),
                       behind = first + static_cast<std::ptrdiff_t>(middle) * e.together() * e.depth;
            for (const kernel::panel_range heads : {kernel::panel_range{middle}, kernel::panel_range{0, middle}}) {
                kernel::cached_attention<Arch>(e, heads, q.data() + size_of(place, e.heads * e.depth), k.data() + key,
                                               v.data() + key, place, theta == 0 ? nullptr : turns.data(), keys.data(),
                                               values.data(), scratch.data(),
                                               y.data() + size_of(place, e.heads * e.depth));
                if (heads.begin != 0) CHECK(std::all_of(first, behind, [](float value) { return value == 0; }));
            }
        }
        return y;
    }
};

template <int Depth> void compare(int heads, int key_heads, int context, int places, double theta) {
    const sequence s({heads, key_heads, Depth, context}, places, theta);
    const auto first = s.run<zp::default_architecture, Depth>();
    for (int place = 0; place != places; ++place)
        for (int h = 0; h != heads; ++h) {
            const auto expected = s.expected(place, h);
            for (std::size_t d = 0; d != expected.size(); ++d)
                CHECK(std::abs(double{first[size_of(place, heads * Depth) + size_of(h, Depth) + d]} - expected[d]) <
                      3e-6);
        }
    arrays::for_each_architecture([&]<class Arch>() { CHECK(arrays::same_bits(s.run<Arch, Depth>(), first)); });
}

}  // namespace

TEST_CASE("cached_attention: its definition, grouped, turned, beyond the context") {
    compare<4>(1, 1, 20, 7, 0);
    compare<6>(4, 2, 17, 40, 10000);
    compare<16>(6, 6, 3, 11, 500000);
    compare<10>(5, 1, 33, 33, 10000);
    compare<3>(2, 1, 1, 5, 0);
}

TEST_CASE("sine_and_cosine_of: near the libraries', in all quarters") {
    double most = 0;
    for (int i = 0; i != 20000; ++i) {
        const auto angle = static_cast<float>(i * i) * 0.0026f;  // up to 2^20
        const auto found = kernel::sine_and_cosine_of(angle);
        most = std::max({most, std::abs(double{found.sine} - std::sin(double{angle})),
                         std::abs(double{found.cosine} - std::cos(double{angle}))});
    }
    CHECK(most < 3.1e-8);
    CHECK(kernel::sine_and_cosine_of(0).cosine == 1);
    const auto frequencies = kernel::rotary_frequencies<64>(10000);
    for (std::size_t i = 0; i != frequencies.size(); ++i)
        CHECK(double{frequencies[i]} == doctest::Approx(std::pow(10000.0, -2.0 * double(i) / 64)).epsilon(1e-7));
}
