// SPDX-License-Identifier: BSD-3-Clause
// Dtypes: their ranges, storage and names.
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <doctest/doctest.h>

#include <zeropoint/core/dtype.hpp>

namespace {

template <class D> constexpr bool has(std::int32_t min, std::int32_t max) {
    return zp::quantized_dtype<D> && D::quant_min == min && D::quant_max == max && D::is_signed == (min < 0) &&
           static_cast<std::int64_t>(static_cast<typename D::storage>(min)) == min &&
           static_cast<std::int64_t>(static_cast<typename D::storage>(max)) == max;
}

static_assert(has<zp::quint8>(0, 255) && has<zp::qint8>(-128, 127) && has<zp::qint8_narrow>(-127, 127));
static_assert(has<zp::quint8_reduced>(0, 127) && has<zp::qint8_reduced>(-64, 63));
static_assert(has<zp::qint4>(-8, 7) && has<zp::quint4>(0, 15));
static_assert(has<zp::qint16>(-32768, 32767) && has<zp::qint32>(-2147483647 - 1, 2147483647));
static_assert(has<zp::custom_range<std::int8_t, -16, 15>>(-16, 15));
static_assert(std::is_same_v<zp::qint4::storage, std::int8_t> && std::is_same_v<zp::quint4::storage, std::uint8_t>);

static_assert(zp::dtype<zp::float32> && !zp::quantized_dtype<zp::float32>);
static_assert(!zp::dtype<float> && !zp::dtype<int>, "a C++ type is no dtype");

}  // namespace

TEST_CASE("dtype: every dtype knows its name") {
    CHECK(std::string_view(zp::quint8::name) == "quint8");
    CHECK(std::string_view(zp::qint8_narrow::name) == "qint8_narrow");
    CHECK(std::string_view(zp::float32::name) == "float32");
}

TEST_CASE("scalar_type: sizes and names of the storage types") {
    CHECK(zp::scalar_type_of<zp::quint8::storage> == zp::scalar_type::uint8);
    CHECK(zp::scalar_type_of<zp::qint32::storage> == zp::scalar_type::int32);
    CHECK(zp::size_of(zp::scalar_type::uint8) == 1);
    CHECK(zp::size_of(zp::scalar_type::int8) == 1);
    CHECK(zp::size_of(zp::scalar_type::int16) == 2);
    CHECK(zp::size_of(zp::scalar_type::int32) == 4);
    CHECK(zp::size_of(zp::scalar_type::float32) == 4);
    CHECK(std::string_view(zp::name_of(zp::scalar_type::int16)) == "int16");
    CHECK(std::string_view(zp::name_of(zp::scalar_type::float32)) == "float32");
}
