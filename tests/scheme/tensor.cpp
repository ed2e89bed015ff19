// SPDX-License-Identifier: BSD-3-Clause
// Tensors and views: what converts to what, and what they hold.
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <doctest/doctest.h>

#include <zeropoint/scheme/tensor.hpp>

namespace {

using bytes = zp::tensor<zp::quint8>;
using floats = zp::tensor<zp::float32>;

static_assert(std::convertible_to<bytes&, zp::tensor_view<zp::quint8>> &&
              std::convertible_to<const bytes&, zp::tensor_view<zp::quint8>>);
static_assert(std::convertible_to<bytes&, zp::mutable_tensor_view<zp::quint8>>);
static_assert(!std::convertible_to<const bytes&, zp::mutable_tensor_view<zp::quint8>>, "what is const is not written");
static_assert(!std::convertible_to<zp::tensor_view<zp::quint8>, zp::mutable_tensor_view<zp::quint8>>);
static_assert(!std::is_constructible_v<zp::tensor_view<zp::quint8>, const std::uint8_t*, zp::shape>,
              "codes need scale and zero point");
static_assert(!std::is_constructible_v<zp::tensor_view<zp::quint8>, const float*, zp::shape, zp::qparams>);
static_assert(!std::is_constructible_v<zp::tensor<zp::quint8>, zp::shape> &&
              std::is_constructible_v<floats, zp::shape>);
static_assert(std::is_trivially_copyable_v<zp::tensor_view<zp::quint8>>);

}  // namespace

TEST_CASE("tensor: owns aligned zeros, and views see its values and qparams") {
    bytes codes({2, 3, 4}, {0.5f, 7});
    CHECK(codes.size() == 24);
    CHECK(codes.values().size() == 24);
    CHECK(codes.data()[23] == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(codes.data()) % 64 == 0);

    const zp::mutable_tensor_view<zp::quint8> writable = codes;
    writable.data()[5] = 9;
    const zp::tensor_view<zp::quint8> view = writable;
    CHECK(view.values()[5] == 9);
    CHECK(view.shape() == zp::shape{2, 3, 4});
    CHECK(view.quantization == zp::qparams{0.5f, 7});

    const bytes copy = codes;
    writable.data()[5] = 1;
    CHECK(copy.values()[5] == 9);
    CHECK_THROWS_AS(floats({2, 0, 1}), zp::shape_error);
}

TEST_CASE("tensor: quantize and dequantize by the qparams that the tensor carries") {
    floats real({1, 2, 2});
    real.data()[0] = 1.0f;
    real.data()[1] = -1.0f;
    real.data()[2] = 1000.0f;
    bytes codes({1, 2, 2}, {0.5f, 10});
    zp::quantize<zp::quint8>(real, codes);
    CHECK(codes.values()[0] == 12);
    CHECK(codes.values()[1] == 8);
    CHECK(codes.values()[2] == 255);
    CHECK(codes.values()[3] == 10);
    zp::dequantize<zp::quint8>(codes, real);
    CHECK(real.values()[1] == -1.0f);
    CHECK(real.values()[2] == 122.5f);

    floats smaller({1, 2, 1});
    CHECK_THROWS_WITH_AS(zp::quantize<zp::quint8>(smaller, codes), "quantize: input is 1x2x1, output 1x2x2",
                         zp::shape_error);
    CHECK_THROWS_AS(zp::dequantize<zp::quint8>(codes, smaller), zp::shape_error);
}

TEST_CASE("weight_view: one scale a channel, or one for all") {
    const std::int8_t values[] = {1, 2, 3, 4};
    const zp::qparams each[] = {{0.5f, 0}, {0.25f, 0}}, one[] = {{2.0f, 0}};
    CHECK(zp::weight_view<zp::qint8>{values, each}.channel(1).scale == 0.25f);
    CHECK(zp::weight_view<zp::qint8>{values, one}.channel(1).scale == 2.0f);
}
