// SPDX-License-Identifier: BSD-3-Clause
// Operators that move values, and resizing, against golden vectors made by PyTorch (scripts/golden/operators_rearrange.py
// and operators_pooling.py).
#include <zeropoint/kernel/elementwise/where.hpp>
#include <zeropoint/kernel/movement/interpolate.hpp>
#include <zeropoint/kernel/movement/pad.hpp>
#include <zeropoint/kernel/movement/rearrange.hpp>
#include <zeropoint/kernel/reduction/argmax.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;
using kernel::pad_mode;
using kernel::resize_rule;
using zp::shape;
using zp_test::golden_file;

constexpr int hwc_axis[] = {-1, 2, 0, 1};  // of 1, C, H, W

template <class T> struct image {
    shape extents;
    std::vector<T> values;
    bool operator==(const image&) const = default;
};

// A tensor of [1, C, H, W], channels last.
template <class T> image<T> image_of(const golden_file& golden, const std::string& name) {
    return {golden.image_shape(name), golden.image<T>(name)};
}

template <class T> image<T> image_with(const shape& extents) {
    return {extents, std::vector<T>(static_cast<std::size_t>(extents.size()))};
}
template <class T> image<T> copied(const image<T>& x, const kernel::box_copy& box, const shape& out) {
    image<T> y = image_with<T>(out);
    kernel::copy_box<arch>(box, x.values.data(), y.values.data());
    return y;
}

// The output shape is what the formula gives, not what the file has: a wrong one shows.
template <class T>
image<T> computed(const std::string& name, const std::vector<int>& o, const image<T>& x, const shape& wanted) {
    const shape& in = x.extents;
    const auto number = [&](std::size_t i) { return o[i]; };
    if (name == "slice") {
        int begin[3] = {}, step[3] = {1, 1, 1};
        const int axis = hwc_axis[number(0)], extent = kernel::extent_of(in, axis);
        const auto place = [&](int index) { return index < 0 ? index + extent : index; };
        begin[axis] = place(number(1));
        step[axis] = number(3);
        shape out = in;
        (axis == 0   ? out.height
         : axis == 1 ? out.width
                     : out.channels) = (place(number(2)) - begin[axis] + step[axis] - 1) / step[axis];
        return copied(x, kernel::slice_copy(in, begin, step, out), out);
    }
    if (name == "permute") {
        const int order[3] = {hwc_axis[number(1)], hwc_axis[number(2)], hwc_axis[number(0)]};
        return copied(x, kernel::permute_copy(in, order), kernel::permuted_shape(in, order));
    }
    if (name == "flip") {
        bool flipped[3] = {};
        for (const int axis : o) flipped[hwc_axis[axis]] = true;
        return copied(x, kernel::flip_copy(in, flipped), in);
    }
    if (name == "expand") return copied(x, kernel::expand_copy(in, wanted), wanted);
    if (name == "pixel_shuffle")
        return copied(x, kernel::pixel_shuffle_copy(in, number(0)), kernel::pixel_shuffled_shape(in, number(0)));
    if (name == "pixel_unshuffle")
        return copied(x, kernel::pixel_unshuffle_copy(in, number(0)), kernel::pixel_unshuffled_shape(in, number(0)));
    if (name == "channel_shuffle") return copied(x, kernel::channel_shuffle_copy(in, number(0)), in);
    image<T> y = image_with<T>(wanted);
    if (name == "roll") kernel::roll<arch>(in, {number(1), number(2), number(0)}, x.values.data(), y.values.data());
    if (name == "reshape")
        kernel::reshape<arch>(in, {number(1), number(2), number(0)}, x.values.data(), y.values.data());
    if (name == "gather")
        kernel::gather<arch>(in, hwc_axis[number(0)], o.data() + 1, static_cast<int>(o.size()) - 1, x.values.data(),
                             y.values.data());
    return y;
}

// Sides are before and after W, H and, where there are six, C.
kernel::pad_sides sides_of(const std::vector<int>& o) {
    kernel::pad_sides sides{{o[2], o[0], 0}, {o[3], o[1], 0}};
    if (o.size() == 6) {
        sides.before[2] = o[4];
        sides.after[2] = o[5];
    }
    return sides;
}
template <class T> image<T> padded(const image<T>& x, const std::vector<int>& o, pad_mode mode, T value) {
    const kernel::pad_sides sides = sides_of(o);
    image<T> y = image_with<T>(kernel::padded_shape(x.extents, sides));
    kernel::pad<arch>(x.extents, sides, mode, value, x.values.data(), y.values.data());
    return y;
}

template <class T> image<T> nearest(const image<T>& x, resize_rule rule, const shape& out, double factor = 0) {
    image<T> y = image_with<T>(out);
    kernel::interpolate_nearest<arch>(kernel::make_nearest_axis(rule, x.extents.height, out.height, factor),
                                      kernel::make_nearest_axis(rule, x.extents.width, out.width, factor),
                                      static_cast<std::size_t>(out.channels), x.values.data(), y.values.data());
    return y;
}
template <class T>
image<T> bilinear(const image<T>& x, bool align_corners, const shape& out, int zero_point, int p = 0, int q = 0) {
    const resize_rule rule = align_corners ? resize_rule::align_corners : resize_rule::half_pixel;
    image<T> y = image_with<T>(out);
    kernel::interpolate_bilinear<arch>(kernel::make_linear_axis(rule, x.extents.height, out.height, p, q),
                                       kernel::make_linear_axis(rule, x.extents.width, out.width, p, q),
                                       static_cast<std::size_t>(out.channels), zero_point, x.values.data(),
                                       y.values.data());
    return y;
}

}  // namespace

TEST_CASE("operator parity: copies are PyTorch's") {
    const golden_file golden("operators_rearrange");
    std::size_t count = 0;
    for (const std::string name : {"slice", "permute", "flip", "roll", "expand", "reshape", "pixel_shuffle",
                                   "pixel_unshuffle", "channel_shuffle", "gather"}) {
        for (const std::string& group : golden.groups<std::uint8_t>(name + "/", "y")) {
            CAPTURE(group);
            const auto wanted = image_of<std::uint8_t>(golden, group + "/y");
            CHECK((computed(name, golden.options(group), image_of<std::uint8_t>(golden, group + "/x"),
                            wanted.extents) == wanted));
            ++count;
        }
    }
    CHECK(count == 4 + 6 + 5 + 3 + 3 + 8 + 3 * 2 + 3);
    for (const std::string& group : golden.groups<std::uint8_t>("cat/", "y")) {
        const auto wanted = image_of<std::uint8_t>(golden, group + "/y");
        auto y = image_with<std::uint8_t>(wanted.extents);
        int begin[3] = {};
        for (const std::string part : {"/x0", "/x1", "/x2"}) {
            const auto x = image_of<std::uint8_t>(golden, group + part);
            kernel::copy_box<arch>(kernel::place_copy(x.extents, begin, y.extents), x.values.data(), y.values.data());
            const int axis = hwc_axis[golden.options(group)[0]];
            begin[axis] += kernel::extent_of(x.extents, axis);
        }
        CHECK((y == wanted));
        ++count;
    }
    CHECK(count == 41);
}

TEST_CASE("operator parity: pad, where and argmax are PyTorch's") {
    const golden_file golden("operators_rearrange");
    const std::string names[] = {"pad_constant", "pad_reflect", "none", "pad_replicate", "pad_circular"};
    int count = 0;
    for (int mode = 0; mode != 5; ++mode) {
        for (const std::string& group : golden.groups<std::uint8_t>(names[mode] + "/", "y")) {
            CAPTURE(group);
            CHECK(
                (padded(image_of<std::uint8_t>(golden, group + "/x"), golden.options(group),
                        static_cast<pad_mode>(mode), std::uint8_t{7}) == image_of<std::uint8_t>(golden, group + "/y")));
            ++count;
        }
    }
    CHECK(count == 8);
    for (const std::string& group : golden.groups<std::uint8_t>("where/", "y")) {
        const auto condition = image_of<std::uint8_t>(golden, group + "/x0"),
                   a = image_of<std::uint8_t>(golden, group + "/x1"), b = image_of<std::uint8_t>(golden, group + "/x2");
        auto y = image_with<std::uint8_t>(a.extents);
        const auto pixels = static_cast<std::size_t>(a.extents.pixels());
        if (condition.extents == a.extents)
            kernel::where<arch>(condition.values.data(), std::uint8_t{0}, a.values.data(), b.values.data(),
                                a.values.size(), y.values.data());
        else
            kernel::where_pixels<arch>(condition.values.data(), std::uint8_t{0}, a.values.data(), b.values.data(),
                                       pixels, a.values.size() / pixels, y.values.data());
        CHECK((y == image_of<std::uint8_t>(golden, group + "/y")));
        ++count;
    }
    CHECK(count == 10);
    const auto logits = image_of<std::uint8_t>(golden, "argmax/0/x");
    std::vector<std::int32_t> indices(static_cast<std::size_t>(logits.extents.pixels()));
    kernel::argmax<arch>(logits.values.data(), indices.size(), static_cast<std::size_t>(logits.extents.channels), 0,
                         indices.data());
    CHECK(indices == golden.values<std::int32_t>("argmax/0/y"));
}

TEST_CASE("operator parity: nearest takes PyTorch's inputs") {
    const golden_file golden("operators_rearrange");
    int count = 0;
    for (const std::string name : {"nearest", "nearest_exact", "nearest_factor", "nearest_exact_factor"}) {
        const resize_rule rule = name.find("exact") == name.npos ? resize_rule::corner : resize_rule::half_pixel;
        for (const std::string& group : golden.groups<std::uint8_t>(name + "/", "y")) {
            CAPTURE(group);
            const auto x = image_of<std::uint8_t>(golden, group + "/x"),
                       wanted = image_of<std::uint8_t>(golden, group + "/y");
            const std::vector<int> o = golden.options(group);
            const bool has_factor = name.find("factor") != name.npos;
            CHECK((nearest(x, rule, wanted.extents, has_factor ? static_cast<double>(o[0]) / o[1] : 0) == wanted));
            ++count;
        }
    }
    CHECK(count == 16);
    const std::vector<int> pairs = golden.options("sources/0");
    std::vector<std::uint8_t> sources;
    for (std::size_t i = 0; i != pairs.size(); i += 2) {
        const auto axis = kernel::make_nearest_axis(resize_rule::corner, pairs[i], pairs[i + 1]);
        for (int at = 0; at != axis.out; ++at) sources.push_back(static_cast<std::uint8_t>(axis.source(at)));
    }
    CHECK(sources == golden.values<std::uint8_t>("sources/0/y"));
}

TEST_CASE("operator parity: bilinear interpolation of floats") {
    const golden_file golden("operators_rearrange");
    int count = 0;
    for (const std::string name : {"bilinear", "bilinear_factor"}) {
        for (const std::string& group : golden.groups<float>(name + "/", "y")) {
            CAPTURE(group);
            const auto wanted = image_of<float>(golden, group + "/y");
            const std::vector<int> o = golden.options(group);
            const bool has_factor = name == "bilinear_factor";
            const auto y = bilinear(image_of<float>(golden, group + "/x"), o[2] != 0, wanted.extents, 0,
                                    has_factor ? o[0] : 0, has_factor ? o[1] : 0);
            for (std::size_t i = 0; i != y.values.size(); ++i) CHECK(std::abs(y.values[i] - wanted.values[i]) < 1e-6f);
            ++count;
        }
    }
    CHECK(count == 11);
}

TEST_CASE_TEMPLATE("operator parity: copies and interpolation of PyTorch's quantized tensors", T, std::uint8_t,
                   std::int8_t) {
    const golden_file golden("operators_pooling");
    int count = 0;
    for (const std::string name : {"upsample_nearest2d", "upsample_bilinear2d", "pad_constant", "pad_reflect",
                                   "pixel_shuffle", "channel_shuffle"}) {
        for (const std::string& group : golden.groups<T>(name + "/", "codes")) {
            CAPTURE(group);
            const auto x = image_of<T>(golden, group + "/x");
            const auto theirs = image_of<T>(golden, group + "/codes");
            const std::string exact = group + (golden.has(group + "/exact") ? "/exact" : "/codes");
            const auto wanted = image_of<T>(golden, exact);
            const std::vector<int> o = golden.options(group);
            const std::int32_t zero_point = golden.values<std::int32_t>(group + "/zero_point")[0];
            image<T> y;
            if (name == "upsample_nearest2d") y = nearest(x, resize_rule::corner, wanted.extents);
            else if (name == "upsample_bilinear2d") y = bilinear(x, o[2] != 0, wanted.extents, zero_point);
            else if (name == "pad_constant") y = padded(x, o, pad_mode::constant, static_cast<T>(zero_point));
            else if (name == "pad_reflect") y = padded(x, o, pad_mode::reflect, T{});
            else y = computed(name, o, x, wanted.extents);
            CHECK((y == wanted));
            for (std::size_t i = 0; i != y.values.size(); ++i) CHECK(std::abs(y.values[i] - theirs.values[i]) <= 1);
            ++count;
        }
    }
    CHECK(count == 2 + 4 + 2 + 1 + (std::is_signed_v<T> ? 0 : 1));
}
