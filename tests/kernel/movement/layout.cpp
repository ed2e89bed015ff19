#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/movement/layout.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("nchw_to_nhwc and back") {
    for (const zp::shape s : {zp::shape{1, 1, 1}, {2, 3, 4}, {5, 7, 3}, {33, 31, 40}, {1, 1, 100}, {9, 9, 1}}) {
        std::vector<int> nchw(static_cast<std::size_t>(s.size()));
        std::iota(nchw.begin(), nchw.end(), 0);
        std::vector<int> nhwc(nchw.size()), back(nchw.size());
        kernel::nchw_to_nhwc<int>(nchw.data(), s, nhwc.data());
        std::size_t i = 0;
        for (int y = 0; y != s.height; ++y)
            for (int x = 0; x != s.width; ++x)
                for (int c = 0; c != s.channels; ++c) REQUIRE(nhwc[i++] == (c * s.height + y) * s.width + x);
        kernel::nhwc_to_nchw<int>(nhwc.data(), s, back.data());
        CHECK(back == nchw);
    }
}

TEST_CASE("transpose_matrix: every extent around squares and blocks, each size of value, every architecture") {
    const auto check = []<class T, class Arch>() {
        for (const std::size_t rows : {1u, 3u, 7u, 8u, 9u, 15u, 16u, 31u, 32u, 33u, 50u, 65u}) {
            for (const std::size_t columns : {1u, 3u, 4u, 8u, 15u, 16u, 17u, 24u, 33u, 64u, 70u}) {
                arrays::generator next(rows + columns);
                std::vector<T> x(rows * columns);
                for (T& value : x) value = static_cast<T>(next());
                std::vector<T> y(x.size()), wanted(x.size());
                for (std::size_t r = 0; r != rows; ++r)
                    for (std::size_t c = 0; c != columns; ++c) wanted[c * rows + r] = x[r * columns + c];
                kernel::transpose_matrix<T, Arch>(x.data(), rows, columns, y.data());
                CHECK(y == wanted);
            }
        }
    };
    arrays::for_each_architecture([&]<class Arch>() {
        check.template operator()<std::uint8_t, Arch>();
        check.template operator()<std::int8_t, Arch>();
        check.template operator()<std::int16_t, Arch>();
        check.template operator()<std::int32_t, Arch>();
    });
}

TEST_CASE("oihw_to_ohwi and back") {
    constexpr int out = 3, in = 5, height = 2, width = 3;
    std::vector<int> oihw(out * in * height * width);
    std::iota(oihw.begin(), oihw.end(), 0);
    std::vector<int> ohwi(oihw.size()), back(oihw.size());
    kernel::oihw_to_ohwi<int>(oihw.data(), out, in, height * width, ohwi.data());
    std::size_t at = 0;
    for (int o = 0; o != out; ++o)
        for (int y = 0; y != height; ++y)
            for (int x = 0; x != width; ++x)
                for (int i = 0; i != in; ++i) REQUIRE(ohwi[at++] == ((o * in + i) * height + y) * width + x);
    kernel::ohwi_to_oihw<int>(ohwi.data(), out, in, height * width, back.data());
    CHECK(back == oihw);
}

TEST_CASE("chw_columns_to_hwc: a linear layer behind a flatten gives the same products") {
    const zp::shape s{3, 4, 5};
    constexpr int rows = 4;
    std::vector<std::int32_t> w(static_cast<std::size_t>(rows * s.size())), image(static_cast<std::size_t>(s.size()));
    std::iota(w.begin(), w.end(), -100);
    std::iota(image.begin(), image.end(), 1);
    std::vector<std::int32_t> permuted(w.size()), back(w.size()), nhwc(image.size());
    kernel::chw_columns_to_hwc<std::int32_t>(w.data(), rows, s, permuted.data());
    kernel::nchw_to_nhwc<std::int32_t>(image.data(), s, nhwc.data());
    for (std::size_t r = 0; r != rows; ++r) {
        const auto begin = static_cast<std::ptrdiff_t>(r * image.size());
        CHECK(std::inner_product(image.begin(), image.end(), w.begin() + begin, 0) ==
              std::inner_product(nhwc.begin(), nhwc.end(), permuted.begin() + begin, 0));
    }
    kernel::hwc_columns_to_chw<std::int32_t>(permuted.data(), rows, s, back.data());
    CHECK(back == w);
}
