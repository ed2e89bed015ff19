// SPDX-License-Identifier: BSD-3-Clause
// No memory at the n-th allocation, for every n, through every verb: std::bad_alloc, nothing lost, nothing left.
#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_json.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../support/counted_new.hpp"
#include "../support/made_up.hpp"

namespace {

struct net
    : zp::model<zp::input<4, 4, 2>, zp::conv2d<"conv", zp::conv{.out_channels = 3, .kernel = 3, .padding = 1}>,
                zp::batch_norm2d<"norm">, zp::relu, zp::residual<zp::conv2d<"branch", zp::conv{.out_channels = 3}>>,
                zp::flatten, zp::linear<"fc", 4>> {};
using int8_net = zp::quantized<net, zp::default_qconfig>;

/// How many allocations a verb makes: with a fault at each of them it must throw std::bad_alloc, and give back what it took.
template <class Verb> long faults(Verb&& verb) {
    verb();  // what is made once and kept
    for (long count = 0; count != 100'000; ++count) {
        const long before = zp_test::alive;
        bool failed = false;
        zp_test::until_fault = count;
        try {
            verb();
        } catch (const std::bad_alloc&) { failed = true; }
        const bool was_reached = zp_test::until_fault < 0;
        zp_test::until_fault = std::numeric_limits<long>::max();
        const long after = zp_test::alive;
        if (!was_reached) return failed ? -1 : count;
        if (!failed || after != before) {
            CAPTURE(count);
            CHECK(failed);
            CHECK(after == before);
            return -1;
        }
    }
    return -1;
}

}  // namespace

TEST_CASE("faults: from a file to an int8 network and back") {
    const auto model = made_up::network<net>();
    const auto inputs = made_up::inputs<net>(3);
    const auto fused = zp::fuse(model);
    const auto prepared = zp::prepare<zp::default_qconfig>(fused);
    const auto calibrated = zp::calibrate(prepared, inputs);
    const auto int8 = zp::convert(calibrated);
    const auto float_file = zp::to_bytes(model), int8_file = zp::to_bytes(int8);
    CHECK(faults([&] { static_cast<void>(zp::to_bytes(model)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::load<net>(float_file)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::fuse(model)); }) > 0);
    CHECK(faults([&] { static_cast<void>(zp::prepare<zp::default_qconfig>(fused)); }) > 0);
    CHECK(faults([&] { static_cast<void>(zp::calibrate(prepared, inputs)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::convert(calibrated)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::to_bytes(int8)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::load<int8_net>(int8_file)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::quantize_dynamic(model)); }) > 0);
    CHECK(faults([&] { auto copy = int8; }) > 0);
}

TEST_CASE("faults: what is printed") {
    const auto calibrated =
        zp::calibrate(zp::prepare<zp::default_qconfig>(zp::fuse(made_up::network<net>())), made_up::inputs<net>(3));
    const auto int8 = zp::convert(calibrated);
    CHECK(faults([&] { static_cast<void>(zp::to_string(int8)); }) > 5);
    CHECK(faults([&] { static_cast<void>(zp::to_json<int8_net::stage>()); }) > 5);
}

TEST_CASE("faults: a copy that fails leaves its target as it was") {
    const auto one = made_up::network<net>(1), other = made_up::network<net>(2);
    auto target = one;
    CHECK(faults([&] { target = other; }) >= 0);
    target = one;
    zp_test::until_fault = 0;
    try {
        target = other;
    } catch (const std::bad_alloc&) {}
    zp_test::until_fault = std::numeric_limits<long>::max();
    const auto found = zp::to_bytes(target);
    CHECK((found == zp::to_bytes(one) || found == zp::to_bytes(other)));
}

TEST_CASE("faults: a file that cannot be written whole stays as it was") {
    const auto folder = std::filesystem::temp_directory_path() / "zeropoint_test_allocation_faults";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "model.safetensors").string();
    const auto one = made_up::network<net>(1), other = made_up::network<net>(2);
    zp::save(one, path);
    const auto before = zp::read_whole_file(path);
    bool is_whole = true;
    CHECK(faults([&] {
              const long left = zp_test::until_fault;
              zp_test::until_fault = std::numeric_limits<long>::max();
              zp::save(one, path);
              zp_test::until_fault = left;
              try {
                  zp::save(other, path);
              } catch (const std::bad_alloc&) {
                  const long reached = zp_test::until_fault;
                  zp_test::until_fault = std::numeric_limits<long>::max();
                  is_whole = is_whole && zp::read_whole_file(path) == before;
                  zp_test::until_fault = reached;
                  throw;
              }
          }) > 5);
    CHECK(is_whole);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
    CHECK(files == 1);
    std::filesystem::remove_all(folder);
}
