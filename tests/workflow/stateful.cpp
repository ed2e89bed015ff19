// SPDX-License-Identifier: BSD-3-Clause
// Networks that see a sequence frame by frame and go on from call to call: what one call with the whole sequence gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/svdf.hpp>
#include <zeropoint/workflow/calibrate_sequences.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/stateful.hpp>

#include "../support/made_up.hpp"

namespace {

constexpr int frame = 8, frames = 3, features = 5, scores = 3;

/// Windows that do not reach out of a frame, so that frames one after another and all at once give the same.
template <int Length>
struct voice : zp::model<zp::input<1, Length, features>,
                         zp::conv1d<"patch", zp::conv{.out_channels = 16, .kernel = 4, .stride = 4}>, zp::relu,
                         zp::lstm<"lstm", 12, zp::recurrent_options{.layers = 2}>, zp::gru<"gru", 9>,
                         zp::svdf<"svdf", 6, 2, 3>, zp::linear<"scores", scores>> {};
using frame_net = voice<frame>;
using whole_net = voice<frame * frames>;

std::vector<float> recording(std::uint64_t seed) { return made_up::values(frame * frames * features, seed, -2, 2); }

/// A network of frames, beside one over the whole recording, which has the same parameters.
template <class Frames, class Whole> double largest_difference(const Frames& parts, const Whole& all) {
    constexpr std::size_t given = Frames::output_shape.size();
    const auto stream = std::make_unique<zp::stateful<Frames>>(parts);
    double largest = 0;
    for (std::uint64_t seed = 20; seed != 23; ++seed, stream->reset()) {
        const std::vector<float> x = recording(seed);
        std::vector<float> whole(given * frames), y(given * frames);
        all(x, whole, *std::make_unique<typename Whole::workspace>());
        for (std::size_t i = 0; i != frames; ++i)
            (*stream)(std::span(x).subspan(i * frame * features, frame * features),
                      std::span(y).subspan(i * given, given));
        CHECK(std::any_of(whole.begin(), whole.end(), [](float value) { return std::abs(value) > 0.1f; }));
        for (std::size_t i = 0; i != y.size(); ++i)
            largest = std::max(largest, std::abs(double{whole[i]} - double{y[i]}));
    }
    return largest;
}

/// Under a qconfig, calibrated with the same recordings, which are cut into frames for one of the two.
template <class Config> void compare_int8() {
    const auto parts = made_up::network<frame_net>(3);
    const auto all = made_up::network<whole_net>(3);
    std::vector<std::vector<float>> recordings;
    for (std::uint64_t seed = 1; seed != 6; ++seed) recordings.push_back(recording(seed));
    const auto seen = zp::calibrate_sequences(zp::prepare<Config>(parts), recordings);
    CHECK(seen.samples() == 5 * frames);
    const auto frame_wise = zp::convert(seen);
    const auto at_once = zp::convert(zp::calibrate(zp::prepare<Config>(all), recordings));
    for (int id = 0; id != decltype(at_once)::stage::table.qparams_count; ++id) {
        CHECK(frame_wise.ranges()[id].scale == at_once.ranges()[id].scale);
        CHECK(frame_wise.ranges()[id].zero_point == at_once.ranges()[id].zero_point);
    }
    CHECK(largest_difference(frame_wise, at_once) == 0);
}

}  // namespace

TEST_CASE("stateful: frames of an int8 network give the integers of the whole recording, and calibrate to its ranges") {
    using zp::quantizer;
    struct unsigned_config
        : zp::qconfig<quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                      quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
    compare_int8<unsigned_config>();
    compare_int8<zp::int16_qconfig>();
}

TEST_CASE("stateful: float networks and dynamic ones") {
    const auto parts = made_up::network<frame_net>(3);
    const auto all = made_up::network<whole_net>(3);
    CHECK(largest_difference(parts, all) < 1e-5);
    CHECK(largest_difference(zp::fuse(parts), zp::fuse(all)) < 1e-5);
    CHECK(largest_difference(zp::quantize_dynamic(parts), zp::quantize_dynamic(all)) < 0.02);  // ranges of a call
}

TEST_CASE("stateful: reset, a state that is kept and restored, and several workers") {
    const auto parts = made_up::network<frame_net>(3);
    constexpr std::size_t size = frame * features, given = zp::float_model<frame_net>::output_shape.size();
    const std::vector<float> x = recording(7);
    const auto at = [&](std::size_t i) { return std::span(x).subspan(i * size, size); };
    zp::stateful<zp::float_model<frame_net>> stream(parts);
    zp::stateful<zp::float_model<frame_net>, 2> by_two(parts);
    static_assert(decltype(stream)::input_shape == zp::shape{1, frame, features});
    std::array<float, given> first{}, second{}, y{};
    stream(at(0), first);
    std::array<std::byte, decltype(stream)::state_bytes> kept;
    std::ranges::copy(stream.state(), kept.begin());
    stream(at(1), second);
    CHECK(first != second);
    stream.reset();
    stream(at(0), y);
    CHECK(y == first);
    stream(at(2), y);
    stream.restore(kept);
    stream(at(1), y);
    CHECK(y == second);
    const zp::executors::thread_pool pool(2);
    by_two(at(0), y, pool);
    CHECK(y == first);
    by_two(at(1), y, pool);
    CHECK(y == second);
}

TEST_CASE("stateful: an input of its own in each call, where calibrate begins anew") {
    using config = zp::default_qconfig;
    const auto parts = made_up::network<frame_net>(3);
    const std::vector<float> x = recording(9);
    const auto anew = zp::calibrate(zp::prepare<config>(parts), x);
    const auto going_on = zp::calibrate_sequences(zp::prepare<config>(parts), x);
    CHECK(anew.samples() == going_on.samples());
    int differ = 0;
    for (std::size_t i = 0; i != anew.rows().size(); ++i)
        differ += anew.range_of_values(static_cast<int>(i)).max != going_on.range_of_values(static_cast<int>(i)).max;
    CHECK(differ > 0);
    int calls = 0;
    const auto more =
        zp::calibrate_sequences(going_on, std::vector{x, recording(10)}, [&](const zp::calibration_progress& done) {
            ++calls;
            CHECK(done.batches == static_cast<std::uint64_t>(calls));
        });
    CHECK(calls == 2);
    CHECK(more.samples() == 3 * frames);
}

TEST_CASE("stateful: from a packed image, where it lies") {
    using config = zp::default_qconfig;
    const auto parts = made_up::network<frame_net>(3);
    const auto int8 = zp::convert(zp::calibrate_sequences(zp::prepare<config>(parts), recording(9)));
    using network = std::remove_const_t<decltype(int8)>;
    zp::stateful<network> loaded(int8);
    const auto image = zp::packed_image(loaded.step_network());
    zp::aligned_buffer bytes(image.size());
    std::ranges::copy(image, bytes.data());
    zp::stateful<zp::in_place<network>> stream(std::span<const std::byte>(bytes.data(), image.size()));
    REQUIRE(stream);
    const std::vector<float> x = recording(11);
    std::array<float, network::output_shape.size()> expected{}, y{};
    for (std::size_t i = 0; i != frames; ++i) {
        const auto part = std::span(x).subspan(i * frame * features, frame * features);
        loaded(part, expected);
        stream(part, y);
        CHECK(y == expected);
    }
}
