// SPDX-License-Identifier: BSD-3-Clause
// Rows of quantized tables by index, and bags of them, against the definition: odd lengths, empty bags, padding.
#include <zeropoint/kernel/movement/embedding.hpp>
#include <zeropoint/kernel/reference/embedding.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
using kernel::embedding_bag_mode;

template <class Code, int Bits> struct problem {
    int rows, columns;
    std::vector<Code> codes;
    std::vector<kernel::embedding_row> grids;
    std::vector<std::int32_t> indices, offsets;
    std::vector<float> weights;
    std::ptrdiff_t padding_index;

    explicit problem(arrays::generator& next)
        : rows(next.integer(1, 9)),
          columns(next.integer(0, 5) == 0 ? next.integer(120, 300) : next.integer(1, 70)),
          codes(arrays::codes<Code>(
              static_cast<std::size_t>(rows) * kernel::embedding_table<Code, Bits>::row_bytes(columns), next())),
          padding_index(next.integer(0, 2) == 0 ? next.integer(0, rows - 1) : -1) {
        const int lowest = Bits == 4 ? 0 : std::numeric_limits<Code>::min();
        for (int row = 0; row != rows; ++row)
            grids.push_back({next.real(1e-3f, 2.0f), next.integer(lowest, lowest + (1 << Bits) - 1),
                             next.integer(0, 1) == 0 ? 0.0f : next.real(-3.0f, 3.0f)});
        const int bags = next.integer(1, 5);
        for (int bag = 0; bag != bags; ++bag) {
            offsets.push_back(static_cast<std::int32_t>(indices.size()));
            for (int i = next.integer(0, 6); i > 0; --i) {
                indices.push_back(next.integer(0, rows - 1));
                weights.push_back(next.real(-2.0f, 2.0f));
            }
        }
    }
    kernel::embedding_table<Code, Bits> table() const { return {codes.data(), grids.data(), columns}; }
    std::size_t end(std::size_t bag) const {
        return bag + 1 == offsets.size() ? indices.size() : static_cast<std::size_t>(offsets[bag + 1]);
    }
};

template <class Code, int Bits> void check(int count, std::uint64_t seed) {
    arrays::generator next(seed);
    for (int i = 0; i != zp_test::fewer(count); ++i) {
        const problem<Code, Bits> p(next);
        const auto columns = static_cast<std::size_t>(p.columns);
        const bool weighted = next.integer(0, 1) == 1;
        const auto mode = next.integer(0, 1) == 1 ? embedding_bag_mode::sum : embedding_bag_mode::mean;
        const float* weights = weighted ? p.weights.data() : nullptr;
        std::vector<float> expected_rows, expected_bags;
        for (const std::int32_t index : p.indices)
            for (int c = 0; c != p.columns; ++c)
                expected_rows.push_back(kernel::reference::embedding_value(p.table(), index, c));
        for (std::size_t bag = 0; bag != p.offsets.size(); ++bag)
            for (int c = 0; c != p.columns; ++c)
                expected_bags.push_back(kernel::reference::embedding_bag_value(
                    p.table(), p.indices.data(), static_cast<std::size_t>(p.offsets[bag]), p.end(bag), weights, mode,
                    p.padding_index, c));
        CAPTURE(p.columns);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> rows(p.indices.size() * columns, NAN), bags(p.offsets.size() * columns, NAN);
            kernel::embedding<Arch>(p.table(), p.indices.data(), p.indices.size(), rows.data());
            CHECK(arrays::same_bits(rows, expected_rows));
            kernel::embedding_bag<Arch>(p.table(), p.indices.data(), p.indices.size(), p.offsets.data(),
                                        p.offsets.size(), weights, mode, p.padding_index, bags.data());
            CHECK(arrays::same_bits(bags, expected_bags));
        });
    }
}

}  // namespace

TEST_CASE("embedding: random tables of 8 and 4 bits") {
    check<std::uint8_t, 8>(500, 51);
    check<std::int8_t, 8>(500, 52);
    check<std::uint8_t, 4>(500, 53);
}

TEST_CASE_TEMPLATE("embedding_codes: copies", Code, std::uint8_t, std::int8_t) {
    arrays::generator next(54);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const problem<Code, 8> p(next);
        const auto columns = static_cast<std::size_t>(p.columns);
        std::vector<Code> rows(p.indices.size() * columns);
        kernel::embedding_codes(p.codes.data(), p.columns, p.indices.data(), p.indices.size(), rows.data());
        bool copied = true;
        for (std::size_t j = 0; j != rows.size(); ++j)
            copied =
                copied && rows[j] == p.codes[static_cast<std::size_t>(p.indices[j / columns]) * columns + j % columns];
        CHECK(copied);
    }
}
