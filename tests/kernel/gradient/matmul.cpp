// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/matmul_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

doubles forward(const kernel::matmul_geometry& g, const doubles& a, const doubles& b, std::size_t outputs) {
    doubles y(outputs);
    const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
    for (int batch = 0; batch != g.batches; ++batch)
        for (int i = 0; i != g.rows; ++i)
            for (int j = 0; j != g.columns; ++j)
                for (int k = 0; k != g.depth; ++k)
                    y[at(batch * g.y.batch_pitch + i * g.y.row_pitch + j)] +=
                        a[at(batch * g.a.batch_pitch + i * g.a.row_pitch + k)] *
                        b[at(batch * g.b.batch_pitch + (g.transposed ? j : k) * g.b.row_pitch +
                             (g.transposed ? k : j))];
    return y;
}

/// Where a gradient is 0 because nothing is there, nothing may be written: `unseen` values of the reference.
void compare(const kernel::matmul_geometry& g) {
    CAPTURE(g.rows);
    CAPTURE(g.depth);
    CAPTURE(g.columns);
    CAPTURE(g.transposed);
    const auto size = [&](const kernel::matrix_layout& layout, int rows, int columns) {
        return static_cast<std::size_t>((g.batches - 1) * layout.batch_pitch + (rows - 1) * layout.row_pitch + columns);
    };
    const int b_rows = g.transposed ? g.columns : g.depth, b_columns = g.transposed ? g.depth : g.columns;
    const floats as = arrays::reals(size(g.a, g.rows, g.depth), 1, -1, 1),
                 bs = arrays::reals(size(g.b, b_rows, b_columns), 2, -1, 1),
                 dy = arrays::reals(size(g.y, g.rows, g.columns), 3, -1, 1);
    doubles a = widened(as), b = widened(bs);
    const auto loss = [&] { return weighted(forward(g, a, b, dy.size()), dy); };
    const doubles da = differences(a, loss), db = differences(b, loss);
    arrays::for_each_architecture([&]<class Arch>() {
        floats our_da(a.size()), our_db(b.size()), scratch(kernel::matmul_gradient_scratch<Arch>(g), NAN);
        kernel::matmul_gradient<Arch>(g, as.data(), bs.data(), dy.data(), our_da.data(), our_db.data(), scratch.data());
        CHECK(distance(our_da, da) < 2e-6);
        CHECK(distance(our_db, db) < 2e-6);
    });
}

}  // namespace

TEST_CASE("gradients of matmul: both operands, transposed, shared, of heads side by side") {
    for (const bool transposed : {false, true}) {
        for (const int depth : {1, 5, 16}) {
            compare(kernel::dense_matmul(3, depth, 7, transposed));
            compare(kernel::dense_matmul(9, depth, 19, transposed, 3));
            auto shared = kernel::dense_matmul(4, depth, 8, transposed, 3);
            shared.b.batch_pitch = 0;
            compare(shared);
        }
        // Three heads of rows of 3 x 6.
        compare({5, 6, 4, transposed, 3, {18, 6}, {transposed ? 18 : 12, transposed ? 6 : 4}, {12, 4}});
    }
}
