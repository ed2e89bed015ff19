// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/movement/rearrange.hpp>
#include <zeropoint/kernel/reference/rearrange.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
namespace reference = zp::kernel::reference;
using kernel::box_copy;
using reference::position;
using zp::shape;

// Values by which a misplaced one shows, in all three types.
template <class T> std::vector<T> values(const shape& s, std::uint64_t seed) {
    arrays::generator next(seed);
    std::vector<T> x(static_cast<std::size_t>(s.size()));
    for (T& value : x) value = static_cast<T>(next());
    return x;
}

template <class Test> void for_each_type(Test test) {
    test.template operator()<std::uint8_t>();
    test.template operator()<std::int8_t>();
    test.template operator()<float>();
}

// `compute<Arch>(x, y)` against `expect(x, y)`, on every architecture and type.
template <class Compute, class Expect>
void compare(const shape& in, const shape& out, std::uint64_t seed, Compute compute, Expect expect) {
    CAPTURE(zp::to_string(in));
    CAPTURE(zp::to_string(out));
    for_each_type([&]<class T>() {
        const std::vector<T> x = values<T>(in, seed);
        std::vector<T> expected(static_cast<std::size_t>(out.size()));
        expect(x.data(), expected.data());
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<T> y(expected.size(), T{42});
            compute.template operator()<Arch>(x.data(), y.data());
            CHECK(y == expected);
        });
    });
}
template <class Expect>
void compare_box(const shape& in, const shape& out, std::uint64_t seed, const box_copy& box, Expect expect) {
    compare(
        in, out, seed, [&]<class Arch>(const auto* x, auto* y) { kernel::copy_box<Arch>(box, x, y); }, expect);
}

// Extents from one value to more than a few vectors.
shape random_shape(arrays::generator& next) {
    const int channels[] = {1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 70, next.integer(1, 90)};
    return {next.integer(1, 9), next.integer(1, 40), channels[next.integer(0, 11)]};
}

constexpr shape image{4, 6, 8};
constexpr int channels_first[3] = {2, 0, 1};
static_assert(kernel::permuted_shape(image, channels_first) == shape{8, 4, 6});
static_assert(kernel::permute_copy(image, channels_first).simplified().count == 2);
static_assert(kernel::permute_copy(image, {0, 1, 2}).is_view() && !kernel::permute_copy(image, {1, 0, 2}).is_view());
static_assert(kernel::permute_copy({1, 5, 7}, {1, 0, 2}).is_view());
static_assert(kernel::slice_copy(image, {0, 0, 0}, {1, 1, 1}, {2, 6, 8}).is_view());
static_assert(!kernel::slice_copy(image, {1, 0, 0}, {1, 1, 1}, {2, 6, 8}).is_view());
static_assert(!kernel::slice_copy(image, {0, 0, 0}, {1, 2, 1}, {4, 3, 8}).is_view());
static_assert(kernel::reshape_is_view({2, 3, 1}, {3, 2, 1}) && kernel::reshape_is_view({1, 1, 6}, {3, 2, 1}));
static_assert(kernel::reshape_is_view({2, 3, 5}, {6, 1, 5}) && !kernel::reshape_is_view({2, 3, 5}, {1, 1, 30}));

}  // namespace

TEST_CASE("slice: any begin and step on three axes") {
    arrays::generator next(1);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const shape in = random_shape(next);
        int begin[3], step[3], extent[3];
        for (int axis = 0; axis != 3; ++axis) {
            const int n = kernel::extent_of(in, axis);
            step[axis] = next.integer(0, 2) == 0 ? next.integer(1, 3) : 1;
            begin[axis] = next.integer(0, n - 1);
            extent[axis] = next.integer(1, (n - 1 - begin[axis]) / step[axis] + 1);
            if (next.integer(0, 4) == 0) {  // backwards
                begin[axis] += (extent[axis] - 1) * step[axis];
                step[axis] = -step[axis];
            }
        }
        const shape out{extent[0], extent[1], extent[2]};
        compare_box(in, out, next(), kernel::slice_copy(in, begin, step, out), [&](const auto* x, auto* y) {
            reference::rearrange(in, out, x, y, [&](position p) {
                return position{begin[0] + p.h * step[0], begin[1] + p.w * step[1], begin[2] + p.c * step[2]};
            });
        });
    }
}

TEST_CASE("permute: all six orders") {
    arrays::generator next(2);
    for (int i = 0; i != zp_test::fewer(600); ++i) {
        const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        const auto& order = orders[i % 6];
        const shape in = random_shape(next), out = kernel::permuted_shape(in, order);
        compare_box(in, out, next(), kernel::permute_copy(in, order),
                    [&](const auto* x, auto* y) { reference::permute(in, out, order, x, y); });
    }
}

TEST_CASE("flip, expand and place") {
    arrays::generator next(3);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const shape in = random_shape(next);
        const bool flipped[3] = {next.integer(0, 1) == 0, next.integer(0, 1) == 0, next.integer(0, 1) == 0};
        compare_box(in, in, next(), kernel::flip_copy(in, flipped), [&](const auto* x, auto* y) {
            reference::rearrange(in, in, x, y, [&](position p) {
                return position{flipped[0] ? in.height - 1 - p.h : p.h, flipped[1] ? in.width - 1 - p.w : p.w,
                                flipped[2] ? in.channels - 1 - p.c : p.c};
            });
        });
        const shape one{flipped[0] ? 1 : in.height, flipped[1] ? 1 : in.width, flipped[2] ? 1 : in.channels};
        compare_box(one, in, next(), kernel::expand_copy(one, in), [&](const auto* x, auto* y) {
            reference::rearrange(one, in, x, y, [&](position p) {
                return position{flipped[0] ? 0 : p.h, flipped[1] ? 0 : p.w, flipped[2] ? 0 : p.c};
            });
        });
        const int begin[3] = {next.integer(0, 2), next.integer(0, 2), next.integer(0, 40)};
        const shape out{begin[0] + in.height + 1, begin[1] + in.width, begin[2] + in.channels + next.integer(0, 3)};
        compare_box(in, out, next(), kernel::place_copy(in, begin, out), [&]<class T>(const T* x, T* y) {
            for (int at = 0; at != out.size(); ++at) y[at] = T{42};  // the rest belongs to other inputs
            for (int h = 0; h != in.height; ++h)
                for (int w = 0; w != in.width; ++w)
                    for (int c = 0; c != in.channels; ++c)
                        y[((h + begin[0]) * out.width + w + begin[1]) * out.channels + c + begin[2]] =
                            x[(h * in.width + w) * in.channels + c];
        });
    }
}

TEST_CASE("pixel and channel shuffles, and their inverses") {
    arrays::generator next(4);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const int r = next.integer(1, 4);
        const shape small = random_shape(next), in{small.height, small.width, small.channels % 40 * r * r + r * r};
        const shape out = kernel::pixel_shuffled_shape(in, r);
        REQUIRE(kernel::pixel_unshuffled_shape(out, r) == in);
        compare_box(in, out, next(), kernel::pixel_shuffle_copy(in, r),
                    [&](const auto* x, auto* y) { reference::pixel_shuffle(in, out, r, x, y); });
        compare_box(out, in, next(), kernel::pixel_unshuffle_copy(out, r),
                    [&](const auto* x, auto* y) { reference::pixel_unshuffle(out, in, r, x, y); });
        compare_box(in, out, next(), kernel::depth_to_space_copy(in, r),
                    [&](const auto* x, auto* y) { reference::depth_to_space(in, out, r, x, y); });
        compare_box(out, in, next(), kernel::space_to_depth_copy(out, r),
                    [&](const auto* x, auto* y) { reference::space_to_depth(out, in, r, x, y); });
        const int groups = next.integer(1, 5);
        const shape shuffled{small.height, small.width, small.channels * groups};
        compare_box(shuffled, shuffled, next(), kernel::channel_shuffle_copy(shuffled, groups),
                    [&](const auto* x, auto* y) { reference::channel_shuffle(shuffled, groups, x, y); });
    }
}

TEST_CASE("tile: every position is that of the input, modulo its extents") {
    arrays::generator next(7);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const shape in{next.integer(1, 6), next.integer(1, 9), next.integer(1, 40)};
        const int height = next.integer(1, 4), width = next.integer(1, 4), channels = next.integer(1, 4);
        const shape out = kernel::tiled_shape(in, height, width, channels);
        compare(
            in, out, next(),
            [&]<class Arch>(const auto* x, auto* y) { kernel::tile<Arch>(in, height, width, channels, x, y); },
            [&](const auto* x, auto* y) {
                reference::rearrange(in, out, x, y, [&](position p) {
                    return position{p.h % in.height, p.w % in.width, p.c % in.channels};
                });
            });
    }
}

TEST_CASE("gather and roll") {
    arrays::generator next(5);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const shape in = random_shape(next);
        const int axis = next.integer(0, 2), count = next.integer(0, 20);
        std::vector<std::int32_t> indices(static_cast<std::size_t>(count));
        for (std::int32_t& index : indices) index = next.integer(0, kernel::extent_of(in, axis) - 1);
        shape out = in;
        (axis == 0 ? out.height : axis == 1 ? out.width : out.channels) = count;
        const auto index_at = [&](int at) { return indices[static_cast<std::size_t>(at)]; };
        compare(
            in, out, next(),
            [&]<class Arch>(const auto* x, auto* y) { kernel::gather<Arch>(in, axis, indices.data(), count, x, y); },
            [&](const auto* x, auto* y) {
                reference::rearrange(in, out, x, y, [&](position p) {
                    return position{axis == 0 ? index_at(p.h) : p.h, axis == 1 ? index_at(p.w) : p.w,
                                    axis == 2 ? index_at(p.c) : p.c};
                });
            });
        const int shift[3] = {next.integer(-20, 20), next.integer(-50, 50), next.integer(0, 3) * next.integer(-9, 9)};
        const auto from = [](int at, int moved, int extent) { return ((at - moved) % extent + extent) % extent; };
        compare(
            in, in, next(), [&]<class Arch>(const auto* x, auto* y) { kernel::roll<Arch>(in, shift, x, y); },
            [&](const auto* x, auto* y) {
                reference::rearrange(in, in, x, y, [&](position p) {
                    return position{from(p.h, shift[0], in.height), from(p.w, shift[1], in.width),
                                    from(p.c, shift[2], in.channels)};
                });
            });
    }
}

TEST_CASE("space_to_batch and its inverse: blocks of any extents") {
    arrays::generator next(7);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const int height = next.integer(1, 4), width = next.integer(1, 4);
        const shape small{next.integer(1, 6), next.integer(1, 9), next.integer(1, 40)};
        const shape whole{small.height * height, small.width * width, small.channels};
        const shape batch{small.height * height * width, small.width, small.channels};
        const auto copy = kernel::space_to_batch_copy(whole, height, width);
        compare_box(whole, batch, next(), copy, [&](const auto* x, auto* y) {
            reference::rearrange(whole, batch, x, y, [&](position p) {
                const int part = p.h / small.height;
                return position{p.h % small.height * height + part / width, p.w * width + part % width, p.c};
            });
        });
        compare_box(batch, whole, next(), kernel::inverse_copy(copy), [&](const auto* x, auto* y) {
            reference::rearrange(batch, whole, x, y, [&](position p) {
                const int part = p.h % height * width + p.w % width;
                return position{part * small.height + p.h / height, p.w / width, p.c};
            });
        });
    }
}

TEST_CASE("reshape: PyTorch's order, channels first") {
    arrays::generator next(6);
    const int numbers[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 30};
    const auto any = [&] { return numbers[next.integer(0, 9)]; };
    int views = 0;
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const shape in{any(), any(), any()};
        std::vector<shape> outs;  // of equal size
        for (int height = 1; height <= in.size(); ++height)
            for (int width = 1; in.size() % height == 0 && width <= in.size() / height; ++width)
                if (in.size() / height % width == 0) outs.push_back({height, width, in.size() / height / width});
        const shape out = outs[next() % outs.size()];
        views += kernel::reshape_is_view(in, out);
        compare(
            in, out, next(), [&]<class Arch>(const auto* x, auto* y) { kernel::reshape<Arch>(in, out, x, y); },
            [&](const auto* x, auto* y) { reference::reshape(in, out, x, y); });
        std::vector<std::int32_t> x(static_cast<std::size_t>(in.size())), y(x.size());
        std::iota(x.begin(), x.end(), 0);
        reference::reshape(in, out, x.data(), y.data());
        CHECK(kernel::reshape_is_view(in, out) == (x == y));
    }
    if (zp_test::fewer_problems == 1) CHECK(views > 20);
}
