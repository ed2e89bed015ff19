// SPDX-License-Identifier: BSD-3-Clause
// Softmax and normalizations of codes against golden vectors of PyTorch, LiteRT and ONNX Runtime (scripts/golden).
#include <zeropoint/kernel/normalize/l2_normalize.hpp>
#include <zeropoint/kernel/normalize/normalize.hpp>
#include <zeropoint/kernel/normalize/softmax.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

// Every code of these groups is the exact real result rounded once, ties to even; equality is demanded.

namespace {

using arch = zp::default_architecture;
using zp_test::golden_file;

template <class T> zp::kernel::output_codes codes_of(zp::qparams y, bool relu = false) {
    return {y.zero_point, relu ? y.zero_point : std::int32_t{std::numeric_limits<T>::min()},
            std::int32_t{std::numeric_limits<T>::max()}, nullptr};
}

// A tensor as images x channels x pixels: the axis of the channels, what is before it, and what is behind it.
struct layout {
    std::size_t images = 1, channels = 1, pixels = 1;

    layout(const zp::file_shape& extents, std::size_t axis) {
        for (std::size_t i = 0; i != extents.size(); ++i)
            (i < axis ? images : i == axis ? channels : pixels) *= static_cast<std::size_t>(extents[i]);
    }
    template <class T> std::vector<T> channels_last(const std::vector<T>& x) const {
        std::vector<T> y(x.size());
        for (std::size_t i = 0; i != x.size(); ++i)
            y[(i / (channels * pixels) * pixels + i % pixels) * channels + i / pixels % channels] = x[i];
        return y;
    }
};

template <class T> std::vector<T> softmax_of(const golden_file& golden, const std::string& group, const layout& l) {
    const zp::qparams x_range = golden.range(group, 0), y_range = golden.range(group, 1);
    const auto x = l.channels_last(golden.values<T>(group + "/x"));
    std::array<std::int32_t, zp::kernel::softmax_table_size> table;
    zp::kernel::make_softmax_table(x_range.scale, table.data());
    std::vector<T> y(x.size());
    zp::kernel::softmax<arch>(x.data(), l.images * l.pixels, l.channels, table.data(), y_range.scale,
                              codes_of<T>(y_range), y.data());
    return y;
}

// gains and offsets from a group's weight and bias.
struct affine {
    std::vector<float> gains, offsets;
    affine(const golden_file& golden, const std::string& group, float y_scale) {
        gains = golden.values<float>(group + "/weight");
        offsets = golden.values<float>(group + "/bias");
        zp::kernel::divide_by_scale(gains.data(), gains.size(), 1, y_scale, gains.data());
        zp::kernel::divide_by_scale(offsets.data(), offsets.size(), 0, y_scale, offsets.data());
    }
};

}  // namespace

TEST_CASE_TEMPLATE("operator parity: softmax is PyTorch's", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_normalization");
    const auto groups = golden.groups<T>("softmax/");
    CHECK(groups.size() == 4);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const auto axis = static_cast<std::size_t>(golden.values<std::int32_t>(group + "/options")[0]);
        const layout l(golden.extents(group + "/x"), axis);
        CHECK(softmax_of<T>(golden, group, l) == l.channels_last(golden.exact<T>(group)));
    }
}

TEST_CASE_TEMPLATE("operator parity: softmax is LiteRT's and ONNX Runtime's", T, std::uint8_t, std::int8_t) {
    for (const auto& [file, name] :
         {std::pair("operators_litert", "SOFTMAX/"), std::pair("operators_onnxruntime", "QLinearSoftmax/")}) {
        const golden_file golden(file);
        const auto groups = golden.groups<T>(name);
        CHECK(groups.size() == (name[0] == 'S' && !std::is_signed_v<T> ? 0 : 1));
        for (const std::string& group : groups) {
            CAPTURE(group);
            const layout l(golden.extents(group + "/x"), 1);
            CHECK(softmax_of<T>(golden, group, l) == golden.exact<T>(group));
        }
    }
}

TEST_CASE("operator parity: l2_normalization is LiteRT's") {
    const golden_file golden("operators_litert");
    const std::string group = "L2_NORMALIZATION/int8";
    const zp::qparams x_range = golden.range(group, 0), y_range = golden.range(group, 1);
    const auto x = golden.values<std::int8_t>(group + "/x");
    std::vector<std::int8_t> y(x.size());
    zp::kernel::l2_normalize<arch>(x.data(), 3, x.size() / 3, x_range.zero_point, 1 / y_range.scale,
                                   codes_of<std::int8_t>(y_range), y.data());
    CHECK(y_range.scale == 1.0f / 128);
    CHECK(y == golden.exact<std::int8_t>(group));
}

namespace {

template <class T>
void check_normalization(const golden_file& golden, const std::string& name, const std::string& group) {
    CAPTURE(group);
    const zp::qparams x_range = golden.range(group, 0), y_range = golden.range(group, 1);
    const zp::file_shape extents = golden.extents(group + "/x");
    const bool rows = name == "layer_norm";
    const layout l(extents, rows ? extents.size() - 1 : 1);
    const affine numbers(golden, group, y_range.scale);
    const auto x = l.channels_last(golden.values<T>(group + "/x"));
    const std::size_t groups = name == "group_norm" ? static_cast<std::size_t>(golden.options(group)[0]) : l.channels;
    const std::size_t together = rows ? l.channels : l.pixels * l.channels / groups;
    const auto n = zp::kernel::make_normalization(together, x_range.scale, 1e-5f);
    std::vector<T> y(x.size());
    if (rows)
        zp::kernel::layer_norm<arch>(x.data(), l.images, n, numbers.gains.data(), numbers.offsets.data(),
                                     codes_of<T>(y_range), y.data());
    else
        for (std::size_t at = 0; at != x.size(); at += l.pixels * l.channels)
            zp::kernel::group_norm<arch>(x.data() + at, l.pixels, l.channels, groups, n, numbers.gains.data(),
                                         numbers.offsets.data(), codes_of<T>(y_range), y.data() + at);
    CHECK(y == l.channels_last(golden.exact<T>(group)));
}

}  // namespace

TEST_CASE_TEMPLATE("operator parity: layer_norm, group_norm and instance_norm are PyTorch's, ONNX Runtime's in QDQ", T,
                   std::uint8_t, std::int8_t) {
    const golden_file pytorch("operators_normalization"), qdq("operators_onnxruntime_layers");
    for (const std::string name : {"layer_norm", "group_norm", "instance_norm"}) {
        const auto names = pytorch.groups<T>(name + "/"), others = qdq.groups<T>(name + "/");
        CHECK(names.size() == 3);
        CHECK(others.size() == (name == "group_norm" ? 0 : 1));
        for (const std::string& group : names) check_normalization<T>(pytorch, name, group);
        for (const std::string& group : others) check_normalization<T>(qdq, name, group);
    }
}

TEST_CASE_TEMPLATE("operator parity: batch_norm, with and without relu, is PyTorch's", T, std::uint8_t, std::int8_t) {
    const golden_file golden("operators_normalization");
    const auto groups = golden.groups<T>("batch_norm");
    CHECK(groups.size() == 8);
    for (const std::string& group : groups) {
        CAPTURE(group);
        const zp::qparams x_range = golden.range(group, 0), y_range = golden.range(group, 1);
        const layout l(golden.extents(group + "/x"), 1);
        const auto array = [&](const char* name) { return golden.values<float>(group + "/" + name); };
        std::vector<float> gains(l.channels), offsets(l.channels);
        zp::kernel::make_batch_norm<arch>(l.channels, array("weight").data(), array("bias").data(),
                                          array("running_mean").data(), array("running_var").data(), 1e-5f,
                                          x_range.scale, y_range.scale, gains.data(), offsets.data());
        const auto x = l.channels_last(golden.values<T>(group + "/x"));
        std::vector<T> y(x.size());
        const bool relu = group.find("_relu") != group.npos;
        zp::kernel::batch_norm<arch>(x.data(), l.images * l.pixels, l.channels, x_range.zero_point, gains.data(),
                                     offsets.data(), codes_of<T>(y_range, relu), y.data());
        CHECK(y == l.channels_last(golden.exact<T>(group)));
    }
}
