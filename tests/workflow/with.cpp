// SPDX-License-Identifier: BSD-3-Clause
// Options on top of a preset.
#include <doctest/doctest.h>

#include <type_traits>

#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/qconfig_entries.hpp>
#include <zeropoint/workflow/with.hpp>

namespace {
namespace with_test {

template <class Config> using options = typename Config::options;

}  // namespace with_test
}  // namespace

TEST_CASE("with: quantizers and options of the preset stay, new options go first and replace what one alone can say") {
    using with_test::options;
    struct kept : zp::with<zp::fbgemm_qconfig, zp::keep_float<"gn">> {};
    static_assert(std::is_same_v<kept::activation, zp::fbgemm_qconfig::activation>);
    static_assert(std::is_same_v<kept::weight, zp::fbgemm_qconfig::weight>);
    static_assert(
        std::is_same_v<options<kept>,
                       std::tuple<zp::keep_float<"gn">, zp::requantize_with<zp::float_bias>, zp::table_bits<8>>>);
    static_assert(zp::table_bits_of<kept> == 8);
    static_assert(std::is_same_v<zp::qconfig_entries<kept>::requantization, zp::float_bias>);

    struct finer : zp::with<zp::fbgemm_qconfig, zp::table_bits<10>, zp::requantize_with<zp::nearest_even>> {};
    static_assert(
        std::is_same_v<options<finer>, std::tuple<zp::table_bits<10>, zp::requantize_with<zp::nearest_even>>>);
    struct twice : zp::with<kept, zp::keep_float<"fc">> {};
    static_assert(std::is_same_v<options<twice>, std::tuple<zp::keep_float<"fc">, zp::keep_float<"gn">,
                                                            zp::requantize_with<zp::float_bias>, zp::table_bits<8>>>);
    struct same : zp::with<zp::default_qconfig> {};
    static_assert(std::is_same_v<options<same>, std::tuple<>>);
    CHECK(std::is_base_of_v<zp::qconfig_tag, kept>);
}
