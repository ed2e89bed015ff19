// SPDX-License-Identifier: BSD-3-Clause
// Attention over a cache of 8 bits: the bits of its definition in plain loops, over odd extents, beyond the context, of extreme values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/cached_attention_int8.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

std::size_t size_of(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }
/// Of one rounding: what is stored is contracted with nothing.
float product(float a, float b) {
    const volatile float result = a * b;
    return result;
}

/// Symmetric codes of numbers, the largest of which has the code `most`.
struct codes {
    float scale = 0;
    std::vector<std::int64_t> numbers;

    codes() = default;
    codes(const float* x, int count, float most) {
        float largest = 0;
        for (int i = 0; i != count; ++i)
            if (!(std::abs(x[i]) <= std::numeric_limits<float>::max())) scale = std::numeric_limits<float>::quiet_NaN();
            else largest = std::max(largest, std::abs(x[i]));
        if (scale == 0) scale = std::max(largest / most, 0x1p-100f);
        for (int i = 0; i != count; ++i)
            numbers.push_back(scale > 0 ? std::llrint(double{product(x[i], 1 / scale)}) : 0);
    }
    std::int64_t dot(const codes& other) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i != numbers.size(); ++i) sum += numbers[i] * other.numbers[i];
        return sum;
    }
};

struct sequence {
    kernel::cached_attention_extents e;
    int places;
    std::vector<float> q, k, v;

    sequence(kernel::cached_attention_extents extents, int count)
        : e(extents),
          places(count),
          q(arrays::reals(size_of(count, e.heads * e.depth), 1, -2, 2)),
          k(arrays::reals(size_of(count, e.key_heads * e.depth), 2, -2, 2)),
          v(arrays::reals(size_of(count, e.key_heads * e.depth), 3, -2, 2)) {}

    std::vector<kernel::sine_and_cosine> turns(int place) const {
        std::vector<kernel::sine_and_cosine> all;
        for (int i = 0; i != e.depth / 2; ++i)
            all.push_back(kernel::sine_and_cosine_of(static_cast<float>(place) / static_cast<float>(1 + i)));
        return all;
    }
    std::vector<float> head(const std::vector<float>& all, int heads, int place, int h, bool turned) const {
        const float* x = all.data() + size_of(place, heads * e.depth) + size_of(h, e.depth);
        std::vector<float> y(x, x + e.depth);
        if (turned) kernel::rotate_halves(x, e.depth, turns(place).data(), y.data());
        return y;
    }
    /// As the header says it, one number after the other.
    std::vector<float> expected(int place, int h, bool turned) const {
        const int group = h / e.together(), count = std::min(place + 1, e.context);
        const auto query = head(q, e.heads, place, h, turned);
        const int length = e.depth + e.depth % 2;
        const codes of_query(query.data(), e.depth, static_cast<float>(std::min(32767, 2147483647 / (127 * length))));
        std::vector<float> scores(static_cast<std::size_t>(count)), weights(scores.size());
        std::vector<codes> values(scores.size());
        const float factor = product(of_query.scale, 1 / std::sqrt(static_cast<float>(e.depth)));
        for (int t = place - count + 1; t <= place; ++t) {
            const auto slot = static_cast<std::size_t>(t % e.context);
            const auto key = head(k, e.key_heads, t, group, turned), value = head(v, e.key_heads, t, group, false);
            const codes of_key(key.data(), e.depth, 127);
            values[slot] = codes(value.data(), e.depth, 127);
            scores[slot] = product(static_cast<float>(of_query.dot(of_key)), product(factor, of_key.scale));
        }
        float largest = -std::numeric_limits<float>::infinity(), parts[16] = {};
        for (const float score : scores) largest = score > largest ? score : largest;
        for (std::size_t t = 0; t != scores.size(); ++t) {
            const float p = kernel::exp_of_nonpositive(scores[t] - largest);
            parts[t % 16] += p;
            weights[t] = product(p, values[t].scale);
        }
        for (std::size_t half = 8; half != 0; half /= 2)
            for (std::size_t i = 0; i != half; ++i) parts[i] += parts[i + half];
        std::vector<float> y(static_cast<std::size_t>(e.depth));
        for (std::size_t first = 0; first < weights.size(); first += 512) {
            const auto size = std::min<std::size_t>(512, weights.size() - first);
            const codes of_block(weights.data() + first, static_cast<int>(size), 32767);
            for (std::size_t d = 0; d != y.size(); ++d) {
                std::int64_t sum = 0;
                for (std::size_t t = 0; t != size; ++t) sum += of_block.numbers[t] * values[first + t].numbers[d];
                REQUIRE(std::abs(sum) <= 2147483647);
                y[d] += product(static_cast<float>(sum), of_block.scale);
            }
        }
        for (float& value : y) value = product(value, 1 / parts[0]);
        return y;
    }
    template <class Arch> std::vector<float> run(bool turned) const {
        const kernel::int8_cache cache(e);
        std::vector<std::int8_t> keys(static_cast<std::size_t>(cache.all_key_bytes())),
            values(static_cast<std::size_t>(cache.all_value_bytes()));
        std::vector<float> scales(static_cast<std::size_t>(cache.scales())), y(q.size());
        zp::aligned_buffer scratch(cache.scratch_bytes);
        for (int place = 0; place != places; ++place) {
            const auto angles = turns(place);
            const auto key = size_of(place, e.key_heads * e.depth), query = size_of(place, e.heads * e.depth);
            // Heads in two parts now and then: what one has done changes nothing for the other.
            const int middle = place % 3 == 1 ? e.key_heads / 2 : 0;
            const auto first = y.begin() + static_cast<std::ptrdiff_t>(query),
                       behind = first + static_cast<std::ptrdiff_t>(middle) * e.together() * e.depth;
            for (const kernel::panel_range heads : {kernel::panel_range{middle}, kernel::panel_range{0, middle}}) {
                std::fill_n(scratch.data(), cache.scratch_bytes, std::byte{0xff});
                kernel::cached_attention_int8<Arch>(cache, heads, q.data() + query, k.data() + key, v.data() + key,
                                                    place, turned ? angles.data() : nullptr, keys.data(), values.data(),
                                                    scales.data(), scratch.data(), y.data() + query);
                if (heads.begin != 0) CHECK(std::all_of(first, behind, [](float value) { return value == 0; }));
            }
        }
        return y;
    }
    /// The bits of the definition, of every step-th place and the last, on every architecture.
    void compare(bool turned, int step = 1) const {
        const auto first = run<zp::default_architecture>(turned);
        const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        for (int place = (places - 1) % step; place < places; place += step)
            for (int h = 0; h != e.heads; ++h) {
                CAPTURE(place);
                CAPTURE(h);
                const auto wanted = expected(place, h, turned);
                CHECK(std::equal(wanted.begin(), wanted.end(),
                                 first.data() + size_of(place, e.heads * e.depth) + size_of(h, e.depth), same));
            }
        arrays::for_each_architecture([&]<class Arch>() {
            const auto other = run<Arch>(turned);
            CHECK(std::equal(other.begin(), other.end(), first.begin(), same));
        });
    }
};

}  // namespace

TEST_CASE("cached_attention_int8: the bits of its definition, grouped, turned, beyond the context") {
    sequence({1, 1, 4, 20}, 7).compare(false);
    sequence({4, 2, 6, 17}, 40).compare(true);
    sequence({6, 6, 16, 3}, 11).compare(true);
    sequence({10, 2, 70, 33}, 35).compare(true);
    sequence({2, 1, 3, 1}, 5).compare(false);
    sequence({3, 3, 1, 40}, 45).compare(false);
    sequence({26, 2, 33, 64}, 70).compare(false, 3);
    sequence({2, 1, 8, 1100}, 1300).compare(true, 61);  // three blocks of places
}

TEST_CASE("cached_attention_int8: the largest sums, zeros, values near the ends of floats") {
    sequence same({2, 1, 6, 700}, 800);
    std::fill(same.k.begin(), same.k.end(), 0.0f);
    std::fill(same.v.begin(), same.v.end(), -3.0f);  // all codes of a block at their ends: 512 * 32767 * -127
    same.compare(false, 157);
    sequence deep({2, 2, 523, 3}, 5);
    std::fill(deep.q.begin(), deep.q.end(), 2.0f);
    // The largest sums of both signs, one place each: of codes that were not limited the wrong one would be the larger.
    for (std::size_t i = 0; i != deep.k.size(); ++i) deep.k[i] = i / size_of(2, 523) % 2 == 0 ? -2.0f : 2.0f;
    deep.compare(false);
    sequence zeros({3, 1, 5, 9}, 12);
    std::fill(zeros.q.begin(), zeros.q.end(), 0.0f);
    std::fill(zeros.v.begin(), zeros.v.end(), 0.0f);
    zeros.compare(false);
    sequence wide({4, 2, 7, 9}, 20);
    for (std::size_t i = 0; i < wide.v.size(); i += 3) wide.v[i] *= i % 2 == 0 ? 0x1p100f : 0x1p-120f;
    for (std::size_t i = 0; i < wide.k.size(); i += 5) wide.k[i] *= i % 2 == 0 ? 0x1p60f : 0x1p-140f;
    for (std::size_t i = 0; i < wide.q.size() / 2; ++i) wide.q[i] *= 0x1p40f;
    wide.compare(false);
}

TEST_CASE("cached_attention_int8: what is not finite makes NaN of those that see it, until it has left the context") {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        sequence s({4, 2, 6, 5}, 14);
        s.q[size_of(1, 4 * 6) + 3 * 6] = bad;  // place 1, head 3
        s.k[size_of(3, 2 * 6) + 2] = bad;      // place 3, the first head of keys
        s.v[size_of(9, 2 * 6) + 6] = bad;      // place 9, the second
        s.compare(false);
        const auto y = s.run<zp::default_architecture>(false);
        for (int place = 0; place != s.places; ++place)
            for (int h = 0; h != 4; ++h) {
                const bool is_bad =
                    (place == 1 && h == 3) || (h < 2 && place >= 3 && place < 8) || (h >= 2 && place >= 9);
                const float* row = y.data() + size_of(place, 4 * 6) + size_of(h, 6);
                CAPTURE(place);
                CAPTURE(h);
                CHECK(std::all_of(row, row + 6, [&](float value) { return std::isnan(value) == is_bad; }));
            }
    }
}

TEST_CASE("cached_attention_int8: near attention over floats, equal probabilities and one that is most of all") {
    for (const float size : {0.5f, 8.0f}) {
        sequence s({4, 2, 32, 600}, 700);
        for (float& x : s.q) x *= size;
        const auto y = s.run<zp::default_architecture>(true);
        std::vector<float> keys(static_cast<std::size_t>(s.e.key_floats())),
            values(static_cast<std::size_t>(s.e.value_floats())),
            scratch(static_cast<std::size_t>(s.e.scratch_floats())), wanted(y.size());
        double both = 0, of_y = 0, of_wanted = 0;
        for (int place = 0; place != s.places; ++place) {
            const auto angles = s.turns(place);
            const auto key = size_of(place, 2 * 32), query = size_of(place, 4 * 32);
            kernel::cached_attention<zp::default_architecture>(s.e, {}, s.q.data() + query, s.k.data() + key,
                                                               s.v.data() + key, place, angles.data(), keys.data(),
                                                               values.data(), scratch.data(), wanted.data() + query);
        }
        for (std::size_t i = y.size() / 2; i != y.size(); ++i) {
            both += double{y[i]} * double{wanted[i]};
            of_y += double{y[i]} * double{y[i]};
            of_wanted += double{wanted[i]} * double{wanted[i]};
        }
        const double apart = 1 - both / std::sqrt(of_y * of_wanted);
        MESSAGE("1 - cosine: " << apart);
        CHECK(apart < (size < 1 ? 1e-4 : 1e-3));
    }
}

TEST_CASE("cached_attention_int8: a quarter of the floats' memory, and scales") {
    constexpr kernel::cached_attention_extents e{32, 4, 64, 2048};
    constexpr kernel::int8_cache cache(e);
    static_assert(cache.all_key_bytes() == e.key_floats() && cache.all_value_bytes() == e.value_floats());
    static_assert(cache.scales() == 2 * 4 * 2048);
    // Rooms are whole: of 32 places, and of 32 channels of values.
    constexpr kernel::int8_cache odd(kernel::cached_attention_extents{3, 3, 5, 33});
    CHECK((odd.all_key_bytes() == 3 * 64 * 6 && odd.all_value_bytes() == 3 * 64 * 32 && odd.scales() == 2 * 3 * 64));
}
