// SPDX-License-Identifier: BSD-3-Clause
// How nodes are cut: every row and panel is in one part, and the cut is taken whose largest part is done first.
#include <doctest/doctest.h>

#include <zeropoint/graph/cut.hpp>

TEST_CASE("node_cut: every panel is in one part, and parts begin at multiples of the unit") {
    for (const int unit : {1, 2, 4}) {
        for (int panels = 1; panels != 20; ++panels) {
            const zp::node_cut cut{.panels = panels, .panel_unit = unit, .panel_parts = (panels + unit - 1) / unit};
            for (int parts = 1; parts <= cut.panel_parts; ++parts) {
                int end = 0;
                for (int part = 0; part != parts; ++part) {
                    const zp::kernel::panel_range range = cut.panels_of(part, parts);
                    CHECK(range.begin == end);
                    CHECK(range.end > range.begin);
                    CHECK(range.begin % unit == 0);
                    end = range.end;
                }
                CHECK(end == panels);
            }
        }
    }
    static_assert(zp::kernel::panel_range().end_of(7) == 7 && zp::kernel::panel_range{2, 5}.end_of(7) == 5);
}

TEST_CASE("node_cut: every row is in one part, and parts begin at multiples of the unit") {
    for (int rows = 1; rows != 30; ++rows) {
        for (const int unit : {1, 2, 4}) {
            zp::node_cut cut{.rows = rows, .row_unit = unit, .row_parts = (rows + unit - 1) / unit};
            for (int parts = 1; parts <= cut.row_parts; ++parts) {
                int end = 0;
                for (int part = 0; part != parts; ++part) {
                    const zp::row_range range = cut.rows_of(part, parts);
                    CHECK(range.begin == end);
                    CHECK(range.count() > 0);
                    CHECK(range.begin % unit == 0);
                    end = range.end;
                }
                CHECK(end == rows);
            }
        }
    }
}

TEST_CASE("node_cut: the cut whose largest part is done first") {
    // 28 rows in tiles of 4, and 128 channels: 4 of 7 rows of tiles, or half of the panels.
    constexpr zp::node_cut tiles{.rows = 28, .row_unit = 4, .row_parts = 7, .panel_parts = 2};
    static_assert(tiles.choose(2, 0).by_panels && tiles.choose(2, 0).parts == 2);
    static_assert(!tiles.choose(4, 0).by_panels && tiles.choose(4, 0).parts == 4);
    static_assert(tiles.takes_rows() && tiles.is_cut());
    // Where it makes no difference, rows: they stay in the caches of who wrote them.
    constexpr zp::node_cut even{.rows = 28, .row_parts = 28, .panel_parts = 2};
    static_assert(!even.choose(2, 0).by_panels);
    // What every part does again decides otherwise.
    constexpr zp::node_cut costly{.rows = 28, .row_parts = 28, .panel_parts = 2, .repeated_by_rows = 300};
    static_assert(costly.choose(2, 0).by_panels);
    // One row.
    constexpr zp::node_cut vector{.rows = 1, .panel_parts = 16, .repeated_by_panels = 900, .work = 5000};
    static_assert(vector.choose(2, 0).by_panels && !vector.takes_rows());
    // As many parts as are worth it.
    static_assert(vector.choose(8, 2000).parts == 2 && vector.choose(8, 2501).parts == 1);
    static_assert(zp::node_cut().choose(8, 0).parts == 1 && !zp::node_cut().is_cut());
}
