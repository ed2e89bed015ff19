// SPDX-License-Identifier: BSD-3-Clause
// Fused activations round once to 8 bits: what tables of 1024 entries gain, what they cost, and whose files they take.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../io/edited_file.hpp"
#include "../support/made_up.hpp"

namespace {

using zp::conv;

struct net : zp::model<zp::input<8, 8, 4>, zp::conv2d<"a", conv{.out_channels = 16}>, zp::hardswish,
                       zp::conv2d<"b", conv{.out_channels = 16}>, zp::hardswish> {};
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
struct fine : zp::qconfig<activations, weights> {};
struct bytes : zp::qconfig<activations, weights, zp::table_bits<8>> {};
/// An inner qconfig with a length of tables: a layer that is quantized in another way than what is behind it has none.
struct mixed : zp::qconfig<activations, weights, zp::table_bits<12>, zp::for_layer<"a", bytes>> {};

template <class Config> auto converted() {
    return zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<net>(3)), made_up::inputs<net>(16, 3)));
}

template <class Config> double signal_to_noise() {
    const auto trained = made_up::network<net>(3);
    const auto int8 = converted<Config>();
    double signal = 0, noise = 0;
    for (const auto& x : made_up::inputs<net>(8, 4)) {
        std::vector<float> a(8 * 8 * 16), b(a.size());
        trained(x, a);
        int8(x, b);
        for (std::size_t i = 0; i != a.size(); ++i) {
            signal += double{a[i]} * double{a[i]};
            noise += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
        }
    }
    return 10 * std::log10(signal / noise);
}

template <class Config> int bits_of(const char* layer) {
    for (const zp::node& row : zp::quantized<net, Config>::rows())
        if (std::string(row.name) == layer) return row.fused.lut_bits;
    return 0;
}

}  // namespace

TEST_CASE("fused tables: with 1024 entries hardswish loses less than when its input is rounded to 8 bits") {
    const double once = signal_to_noise<fine>(), twice = signal_to_noise<bytes>();
    MESSAGE("1024 entries " << once << " dB, 256 entries " << twice << " dB");
    CHECK(once > twice + 1.5);
    CHECK(once > 30);
}

TEST_CASE("fused tables: 768 bytes more a layer") {
    CHECK(zp::quantized<net, fine>::parameter_bytes - zp::quantized<net, bytes>::parameter_bytes == 2 * 768);
}

TEST_CASE("fused tables: the whole model's bits") {
    CHECK(bits_of<fine>("a") == 10);
    CHECK(bits_of<bytes>("b") == 8);
    CHECK(bits_of<mixed>("b") == 12);
    const auto& rows = zp::quantized_stage<net, mixed>::table.nodes;
    CHECK((zp_test::is(rows[2], zp::op::conv2d) && zp_test::fused_into(rows[2]) == nullptr));
}

TEST_CASE("fused tables: a file of tables of another length is refused, with the qconfig that takes it") {
    const std::vector<std::byte> of_bytes = zp::to_bytes(converted<bytes>()), of_fine = zp::to_bytes(converted<fine>());
    const std::string older = edited_file::error_of<zp::quantized<net, fine>>(of_bytes);
    CAPTURE(older);
    CHECK(older.find("have 256 entries each") != older.npos);
    CHECK(older.find("zp::table_bits<8>") != older.npos);
    const std::string finer = edited_file::error_of<zp::quantized<net, bytes>>(of_fine);
    CHECK(finer.find("have 1024 entries each") != finer.npos);
    CHECK(zp::to_bytes(zp::load<zp::quantized<net, fine>>(of_fine)) == of_fine);
}
