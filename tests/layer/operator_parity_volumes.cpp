// SPDX-License-Identifier: BSD-3-Clause
// Pooling of volumes against golden vectors made by PyTorch (scripts/golden/operators_pooling.py).
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/reduction/volume_pooling.hpp>

#include "../support/golden_file.hpp"

namespace {

zp::shape volume_of(const zp::file_shape& extents) {  // [1, C, D, H, W]
    const auto extent = [&](std::size_t i) { return static_cast<int>(extents[i]); };
    return {extent(3), extent(4), extent(1), extent(2)};
}

// A tensor of the file, channels last.
template <class T> std::vector<T> volume(const zp_test::golden_file& file, const std::string& name) {
    const auto values = file.values<T>(name);
    std::vector<T> y(values.size());
    zp::kernel::nchw_to_nhwc(values.data(), volume_of(file.extents(name)), y.data());
    return y;
}

}  // namespace

TEST_CASE_TEMPLATE("operator parity: pooling of volumes is exact, and PyTorch's but for ties", T, std::uint8_t,
                   std::int8_t) {
    using arch = zp::default_architecture;
    const zp_test::golden_file file("operators_pooling");
    const std::string dtype = std::is_signed_v<T> ? "_qint8" : "_quint8";
    for (const std::string name :
         {"max_pool3d/2x2x2", "avg_pool3d/2x2x2", "avg_pool3d/3x3x3_padded", "adaptive_avg_pool3d/to_2x1x3"}) {
        const std::string group = name + dtype;
        CAPTURE(group);
        const auto o = file.values<std::int32_t>(group + "/options");
        const auto zero_point = file.values<std::int32_t>(group + "/zero_point")[0];
        const zp::shape in = volume_of(file.extents(group + "/x")), out = volume_of(file.extents(group + "/codes"));
        const auto x = volume<T>(file, group + "/x");
        std::vector<T> y(static_cast<std::size_t>(out.size()));
        zp::kernel::conv3d_geometry g;
        g.plane.in = {in.height, in.width, in.channels}, g.plane.out = {out.height, out.width, out.channels};
        g.in_depth = in.depth, g.out_depth = out.depth;
        const bool is_max = name[0] == 'm';
        const std::size_t each = is_max ? 4 : 3;  // options an axis
        if (name[1] != 'd') {
            g.kernel_depth = o[0], g.stride_depth = o[1], g.padding_front = o[2];
            g.plane.kernel_height = o[each], g.plane.stride_height = o[each + 1], g.plane.padding_top = o[each + 2];
            g.plane.kernel_width = o[2 * each], g.plane.stride_width = o[2 * each + 1];
            g.plane.padding_left = o[2 * each + 2];
        }
        if (is_max) {
            std::vector<T> scratch(static_cast<std::size_t>(zp::kernel::max_pool3d_scratch(g)));
            zp::kernel::max_pool3d<arch>(g, x.data(), y.data(), scratch.data());
        } else if (name[1] == 'v') {
            zp::kernel::avg_pool3d<arch>(g, o[10] != 0, zero_point, x.data(), y.data());
        } else {
            zp::kernel::adaptive_avg_pool3d<arch>(in, out, zero_point, x.data(), y.data());
        }
        const auto theirs = volume<T>(file, group + "/codes");
        CHECK(y == (file.has(group + "/exact") ? volume<T>(file, group + "/exact") : theirs));
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::abs(y[i] - theirs[i]) <= 1);
    }
}
