// SPDX-License-Identifier: BSD-3-Clause
// Attention of a sequence to another one, in integers and in float: other lengths, depths and factors, keys that no query of a
// block sees, some of the heads alone.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/attention.hpp>
#include <zeropoint/kernel/attention/integer_attention.hpp>
#include <zeropoint/kernel/reference/attention.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// Queries of one memory, keys and values side by side in another.
struct problem {
    kernel::attention_extents e;
    std::vector<float> queries, memory;

    problem(const kernel::attention_extents& extents, std::uint64_t seed, float reach)
        : e(extents),
          queries(arrays::reals(count(e.rows, e.model()), seed, -reach, reach)),
          memory(arrays::reals(count(e.columns, e.model() + e.value_model()), seed + 99, -reach, reach)) {}
    static std::size_t count(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

    kernel::attention_rows rows() const {
        const std::ptrdiff_t pitch = e.model() + e.value_model();
        return {queries.data(), memory.data(), memory.data() + e.model(), e.model(), pitch, pitch};
    }
    kernel::reference::attention_problem reference() const {
        const kernel::attention_rows x = rows();
        const auto size = [](auto value) { return static_cast<std::size_t>(value); };
        return {size(e.rows), size(e.columns), size(e.heads),       size(e.depth),     size(e.value_depth), x.queries,
                x.keys,       x.values,        size(x.query_pitch), size(x.key_pitch), size(x.value_pitch), e.factor};
    }
};

/// The same values, -0 being 0, or NaN both.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

enum class masks { none, keys, causal, window, any };
/// heads x rows x columns values; of masks::keys a row of them.
std::vector<float> mask_of(const kernel::attention_extents& e, masks kind, std::uint64_t seed) {
    std::vector<float> values;
    arrays::generator next(seed);
    if (kind == masks::none) return values;
    const int rows = kind == masks::keys ? 1 : e.heads * e.rows, reach = next.integer(1, 30);
    const int last = next.integer(0, e.columns);
    for (int row = 0; row != rows; ++row)
        for (int j = 0; j != e.columns; ++j) {
            const int at = row % e.rows * e.columns / e.rows;
            const bool seen = kind == masks::keys     ? j < last && next.integer(0, 3) != 0
                              : kind == masks::causal ? j <= at
                              : kind == masks::window ? at - reach < j && j < at + reach && row % 7 != 3
                                                      : next.integer(0, 3) == 0;
            values.push_back(seen ? next.real(0.5f, 2) : 0.0f);
        }
    return values;
}
kernel::attention_mask view(const kernel::attention_extents& e, masks kind, const std::vector<float>& values) {
    if (kind == masks::none) return {};
    if (kind == masks::keys) return {values.data(), 0, 0};
    // Of the first two a matrix for all heads.
    const std::ptrdiff_t matrix = std::ptrdiff_t{e.rows} * e.columns;
    return {values.data(), e.columns, kind == masks::any ? matrix : 0};
}
/// The values as the view says: heads may share a matrix.
std::vector<float> expanded(const kernel::attention_extents& e, masks kind, std::vector<float> values) {
    if (kind != masks::causal && kind != masks::window) return values;
    const auto matrix = static_cast<std::ptrdiff_t>(problem::count(e.rows, e.columns));
    for (int head = 1; head < e.heads; ++head)
        std::copy(values.begin(), values.begin() + matrix, values.begin() + head * matrix);
    return values;
}

template <class Arch>
std::vector<float> run(const problem& p, const kernel::attention_mask& mask, std::vector<kernel::panel_range> parts) {
    const kernel::integer_attention_plan<Arch> plan(p.e);
    std::vector<float> y(problem::count(p.e.rows, p.e.value_model()), -7.0f);
    for (const kernel::panel_range heads : parts) {  // each in a memory of its own
        zp::aligned_buffer scratch(plan.bytes);
        std::fill_n(reinterpret_cast<std::uint8_t*>(scratch.data()), plan.bytes, std::uint8_t{0xc9});
        kernel::integer_attention<Arch>(plan, p.rows(), y.data(), scratch.data(), mask, heads);
    }
    return y;
}

}  // namespace

TEST_CASE("cross attention: the bits of the definition, whole and head by head") {
    arrays::generator next(8);
    for (int i = 0; i != zp_test::fewer(60); ++i) {
        const auto kind = static_cast<masks>(i % 5);
        const bool is_long = i % 6 == 0;
        kernel::attention_extents e{next.integer(1, is_long ? 130 : 40), next.integer(1, is_long ? 140 : 40),
                                    next.integer(1, 4), next.integer(1, 20), next.integer(1, 37)};
        const float factors[] = {0, 1, 0.25f, kernel::least_score_factor, kernel::largest_score_factor};
        e.factor = factors[next.integer(0, 4)];
        const auto seed = static_cast<std::uint64_t>(i);
        const problem p(e, seed, next.real(0.5f, 4));
        const auto values = mask_of(e, kind, seed);
        std::vector<float> expected(problem::count(e.rows, e.value_model()));
        kernel::reference::integer_attention(p.reference(), expected.data(), expanded(e, kind, values));
        CAPTURE(i);
        const auto check = [&]<class Arch>() {
            CHECK(same(run<Arch>(p, view(e, kind, values), {{}}), expected));
            const int middle = e.heads / 2;
            CHECK(same(run<Arch>(p, view(e, kind, values), {{middle, e.heads}, {0, middle}}), expected));
        };
        arrays::for_each_architecture(check);
        // Panels of quads that other machines multiply.
        check.template operator()<zp::portable_quads<unsigned char>>();
        check.template operator()<zp::portable_quads<signed char>>();
    }
}

TEST_CASE("cross attention: keys that a mask leaves out for all queries may hold anything, and are not read") {
    const kernel::attention_extents e{9, 40, 2, 12, 8};
    std::vector<float> mask(40, 0.0f);
    for (std::size_t j = 0; j < 40; j += 3) mask[j] = 1;
    const problem p(e, 4, 2);
    problem other = p, shorter = p;
    const std::size_t pitch = other.memory.size() / 40;
    shorter.memory.clear();
    shorter.e.columns = 14;
    for (std::size_t j = 0; j != 40; ++j) {
        const auto row = other.memory.begin() + static_cast<std::ptrdiff_t>(j * pitch);
        if (mask[j] != 0) shorter.memory.insert(shorter.memory.end(), row, row + static_cast<std::ptrdiff_t>(pitch));
        else std::fill_n(row, pitch, std::numeric_limits<float>::quiet_NaN());
    }
    arrays::for_each_architecture([&]<class Arch>() {
        const auto y = run<Arch>(p, {mask.data(), 0, 0}, {{}});
        CHECK(std::none_of(y.begin(), y.end(), [](float value) { return std::isnan(value); }));
        CHECK(same(run<Arch>(other, {mask.data(), 0, 0}, {{}}), y));
        CHECK(same(run<Arch>(shorter, {}, {{}}), y));
    });
}

TEST_CASE("cross attention: in float near softmax in double") {
    arrays::generator next(5);
    for (int i = 0; i != zp_test::fewer(20); ++i) {
        const kernel::attention_extents e{next.integer(1, 40), next.integer(1, 40), 1, next.integer(1, 20),
                                          next.integer(1, 37)};
        const problem p(e, static_cast<std::uint64_t>(i), 2);
        const auto at = [](const std::vector<float>& values, int index) {
            return double{values[static_cast<std::size_t>(index)]};
        };
        const float scale = next.real(0.1f, 0.5f);
        const int pitch = e.depth + e.value_depth;
        arrays::for_each_architecture([&]<class Arch>() {
            const auto padded = static_cast<std::size_t>(kernel::padded_rows(e.columns));
            std::vector<float> keys(padded * static_cast<std::size_t>(e.depth)),
                scores(padded * std::size_t{kernel::attention_block}), y(problem::count(e.rows, e.value_depth));
            kernel::attention_head<Arch>(p.rows(), e, scale, keys.data(), scores.data(), y.data(), e.value_depth);
            double largest = 0;
            for (int row = 0; row != e.rows; ++row) {
                std::vector<double> mean(static_cast<std::size_t>(e.value_depth));
                double total = 0;
                for (int j = 0; j != e.columns; ++j) {
                    double score = 0;
                    for (int d = 0; d != e.depth; ++d)
                        score += at(p.queries, row * e.depth + d) * at(p.memory, j * pitch + d);
                    const double weight = std::exp(score * double{scale});
                    total += weight;
                    for (int c = 0; c != e.value_depth; ++c)
                        mean[static_cast<std::size_t>(c)] += weight * at(p.memory, j * pitch + e.depth + c);
                }
                for (int c = 0; c != e.value_depth; ++c)
                    largest = std::max(
                        largest, std::abs(at(y, row * e.value_depth + c) - mean[static_cast<std::size_t>(c)] / total));
            }
            CHECK(largest < 2e-5);
        });
    }
}
