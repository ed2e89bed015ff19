// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/movement_gradient.hpp>
#include <zeropoint/kernel/movement/interpolate.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;
using zp::shape;

std::size_t size(const shape& s) { return static_cast<std::size_t>(s.size()); }

/// Whole numbers: sums of them are exact.
floats whole(std::size_t count) {
    floats values = arrays::reals(count, 5, -9, 9);
    for (float& value : values) value = std::nearbyint(value);
    return values;
}

/// The forward movement of one value at a time says where its gradient comes from. `forward(x, y)`, `backward(dy, dx)`.
template <class Forward, class Backward>
void compare(std::size_t in, std::size_t out, Forward forward, Backward backward, double bound = 0) {
    const floats dy = whole(out);
    floats expected(in);
    for (std::size_t i = 0; i != in; ++i) {
        floats x(in), y(out);
        x[i] = 1;
        forward(x.data(), y.data());
        double sum = 0;
        for (std::size_t k = 0; k != out; ++k) sum += double{y[k]} * double{dy[k]};
        expected[i] = static_cast<float>(sum);
    }
    floats dx(in, NAN);
    backward(dy.data(), dx.data());
    CHECK(distance(dx, expected) <= bound);
}

template <class Arch> void compare_box(const kernel::box_copy& box, const shape& in, const shape& out) {
    compare(
        size(in), size(out), [&](const float* x, float* y) { kernel::copy_box<Arch>(box, x, y); },
        [&](const float* dy, float* dx) { kernel::box_gradient<Arch>(box, dy, in.size(), dx); });
}

}  // namespace

TEST_CASE("gradients of copies: slices, expansions, flips, permutations, parts of a concatenation") {
    arrays::for_each_architecture([&]<class Arch>() {
        for (const int channels : {1, 3, 8, 20}) {
            const shape in{4, 5, channels};
            compare_box<Arch>(kernel::slice_copy(in, {1, 0, 0}, {1, 1, 1}, {2, 5, channels}), in, {2, 5, channels});
            compare_box<Arch>(kernel::slice_copy(in, {3, 4, 0}, {-1, -2, 1}, {4, 3, channels}), in, {4, 3, channels});
            compare_box<Arch>(kernel::flip_copy(in, {true, false, true}), in, in);
            compare_box<Arch>(kernel::expand_copy({1, 5, 1}, {3, 5, channels}), {1, 5, 1}, {3, 5, channels});
            compare_box<Arch>(kernel::expand_copy({4, 1, channels}, {4, 6, channels}), {4, 1, channels},
                              {4, 6, channels});
            compare_box<Arch>(kernel::permute_copy(in, {2, 0, 1}), in, kernel::permuted_shape(in, {2, 0, 1}));
            compare_box<Arch>(kernel::place_copy(in, {0, 0, 2}, {4, 5, channels + 3}), in, {4, 5, channels + 3});
            // A movement that reads each value once has an inverse.
            const kernel::box_copy turned = kernel::permute_copy(in, {1, 2, 0});
            compare(
                size(in), size(in), [&](const float* x, float* y) { kernel::copy_box<Arch>(turned, x, y); },
                [&](const float* dy, float* dx) { kernel::copy_box<Arch>(kernel::inverse_copy(turned), dy, dx); });
        }
        compare_box<Arch>(kernel::pixel_shuffle_copy({2, 3, 12}, 2), {2, 3, 12}, {4, 6, 3});
        compare_box<Arch>(kernel::channel_shuffle_copy({2, 3, 12}, 3), {2, 3, 12}, {2, 3, 12});
    });
}

TEST_CASE("gradients of pad, roll, tile, gather, reshape") {
    arrays::for_each_architecture([&]<class Arch>() {
        const shape in{3, 4, 9};
        const kernel::pad_sides sides{{2, 1, 0}, {1, 3, 2}}, narrow{{2, 1, 3}, {1, 2, 2}};
        using kernel::pad_mode;
        for (const pad_mode mode :
             {pad_mode::constant, pad_mode::reflect, pad_mode::symmetric, pad_mode::replicate, pad_mode::circular}) {
            for (const kernel::pad_sides& around : {sides, narrow}) {
                CAPTURE(static_cast<int>(mode));
                compare(
                    size(in), size(kernel::padded_shape(in, around)),
                    [&](const float* x, float* y) { kernel::pad<Arch>(in, around, mode, 0.0f, x, y); },
                    [&](const float* dy, float* dx) { kernel::pad_gradient<Arch>(in, around, mode, dy, dx); });
            }
        }
        compare(
            size(in), size(in),
            [&](const float* x, float* y) {
                kernel::roll<Arch>(in, {2, -1, 4}, x, y);
            },
            [&](const float* dy, float* dx) {
                kernel::roll_gradient<Arch>(in, {2, -1, 4}, dy, dx);
            });
        compare(
            size(in), size(kernel::tiled_shape(in, 2, 3, 2)),
            [&](const float* x, float* y) { kernel::tile<Arch>(in, 2, 3, 2, x, y); },
            [&](const float* dy, float* dx) { kernel::tile_gradient<Arch>(in, 2, 3, 2, dy, dx); });
        const std::int32_t indices[] = {2, 0, 2, 1, 2};
        for (const int axis : {0, 1, 2}) {
            const shape out = axis == 0 ? shape{5, 4, 9} : axis == 1 ? shape{3, 5, 9} : shape{3, 4, 5};
            compare(
                size(in), size(out),
                [&](const float* x, float* y) { kernel::gather<Arch>(in, axis, indices, 5, x, y); },
                [&](const float* dy, float* dx) { kernel::gather_gradient<Arch>(in, axis, indices, 5, dy, dx); });
        }
        const shape other{2, 9, 6};
        compare(
            size(in), size(in), [&](const float* x, float* y) { kernel::reshape<Arch>(in, other, x, y); },
            [&](const float* dy, float* dx) { kernel::reshape<Arch>(other, in, dy, dx); });
    });
}

TEST_CASE("gradients of interpolation") {
    using kernel::resize_rule;
    arrays::for_each_architecture([&]<class Arch>() {
        for (const resize_rule rule : {resize_rule::corner, resize_rule::half_pixel, resize_rule::align_corners}) {
            for (const shape& out : {shape{7, 9, 9}, shape{2, 3, 9}, shape{6, 8, 9}, shape{1, 1, 9}}) {
                const shape in{3, 4, 9};
                CAPTURE(static_cast<int>(rule));
                CAPTURE(to_string(out));
                const auto rows = kernel::make_nearest_axis(rule, in.height, out.height),
                           columns = kernel::make_nearest_axis(rule, in.width, out.width);
                compare(
                    size(in), size(out),
                    [&](const float* x, float* y) { kernel::interpolate_nearest<Arch>(rows, columns, 9, x, y); },
                    [&](const float* dy, float* dx) {
                        kernel::interpolate_nearest_gradient<Arch>(rows, columns, 9, dy, dx);
                    });
                const auto down = kernel::make_linear_axis(rule, in.height, out.height),
                           across = kernel::make_linear_axis(rule, in.width, out.width);
                compare(
                    size(in), size(out),
                    [&](const float* x, float* y) { kernel::interpolate_bilinear<Arch>(down, across, 9, 0, x, y); },
                    [&](const float* dy, float* dx) {
                        kernel::interpolate_bilinear_gradient<Arch>(down, across, 9, dy, dx);
                    },
                    1e-6);
            }
        }
    });
}

TEST_CASE("gradients of tables: rows by index, and bags of them") {
    arrays::for_each_architecture([&]<class Arch>() {
        for (const int columns : {1, 8, 13}) {
            const std::int32_t indices[] = {4, 0, 4, 2, 1, 4, 2}, offsets[] = {0, 3, 3};
            const std::size_t values = static_cast<std::size_t>(5 * columns);
            compare(
                values, static_cast<std::size_t>(7 * columns),
                [&](const float* table, float* y) { kernel::embedding_codes(table, columns, indices, 7, y); },
                [&](const float* dy, float* dtable) {
                    std::fill_n(dtable, values, 0.0f);
                    kernel::add_embedding_gradient<Arch>(indices, 7, columns, -1, dy, dtable);
                });
            for (const auto mode : {kernel::embedding_bag_mode::sum, kernel::embedding_bag_mode::mean})
                compare(
                    values, static_cast<std::size_t>(3 * columns),
                    [&](const float* table, float* y) {
                        kernel::embedding_bag<Arch>(kernel::float_table{table, columns}, indices, 7, offsets, 3,
                                                    nullptr, mode, 2, y);
                    },
                    [&](const float* dy, float* dtable) {
                        std::fill_n(dtable, values, 0.0f);
                        kernel::add_embedding_bag_gradient<Arch>(indices, 7, offsets, 3, mode, 2, columns, dy, dtable);
                    },
                    1e-6);
        }
    });
    float table[4] = {1, 1, 1, 1};
    const float dy[4] = {1, 2, 3, 4};
    const int indices[2] = {1, 0};
    kernel::add_embedding_gradient<zp::portable>(indices, 2, 2, 1, dy, table);  // PyTorch's padding_idx
    CHECK((table[0] == 4 && table[1] == 5 && table[2] == 1 && table[3] == 1));
}
