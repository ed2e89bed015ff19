// SPDX-License-Identifier: BSD-3-Clause
// Packed images: a network that runs from one in place gives the network's codes, and every other byte sequence is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

namespace {

using zp::conv;
using zp::image_problem;

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
template <class DType, class QScheme> using weights = zp::quantizer<DType, QScheme, zp::per_channel_min_max_observer>;

struct usual : zp::qconfig<activations<zp::quint8>, weights<zp::qint8, zp::per_channel_symmetric>> {};
struct signed_codes : zp::qconfig<activations<zp::qint8>, weights<zp::qint8, zp::per_channel_symmetric>> {};
struct affine : zp::qconfig<activations<zp::quint8>, weights<zp::quint8, zp::per_channel_affine>> {};

struct net
    : zp::model<zp::input<8, 9, 3>, zp::conv2d<"a", conv{.out_channels = 10, .kernel = 3, .padding = 1}>, zp::relu,
                zp::residual<zp::conv2d<"depthwise", conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
                zp::hardswish, zp::conv2d<"b", conv{.out_channels = 12}>, zp::max_pool2d<2>, zp::flatten,
                zp::linear<"fc", 7>> {};

template <class Arch, class Config> auto converted() {
    const auto model =
        zp::convert(zp::calibrate(zp::prepare<Config>(made_up::network<net>(1)), made_up::inputs<net>(4, 1)));
    return zp::load<zp::quantized<net, Config, Arch>>(zp::to_bytes(model));
}

/// Bytes at a 64-byte boundary, or behind one.
struct placed_bytes {
    zp::aligned_buffer memory;
    std::span<const std::byte> bytes;

    explicit placed_bytes(std::span<const std::byte> from, std::size_t behind = 0) : memory(from.size() + 64) {
        std::copy(from.begin(), from.end(), memory.data() + behind);
        bytes = {memory.data() + behind, from.size()};
    }
};

template <class Arch, class Config> void check_in_place() {
    const auto model = converted<Arch, Config>();
    const placed_bytes image(zp::packed_image(model));
    using placed = zp::in_place<zp::quantized<net, Config, Arch>>;
    static_assert(sizeof(placed) <= 4 * sizeof(void*) && placed::parameter_bytes == decltype(model)::parameter_bytes);
    REQUIRE(image.bytes.size() == placed::image_bytes);
    const placed in_flash(image.bytes);
    REQUIRE(in_flash);
    CHECK(in_flash.is_intact());
    CHECK(in_flash.parameters() >= image.bytes.data());
    CHECK(in_flash.parameters() + placed::parameter_bytes == image.bytes.data() + image.bytes.size());
    for (const auto& x : made_up::inputs<net>(5, 9, -2, 2)) {
        std::vector<float> y(7), z(7);
        model(x, y);
        in_flash(x, z);
        CHECK(y == z);
    }
    // All that a file holds can be read from the image again.
    CHECK(zp::to_bytes(in_flash) == zp::to_bytes(model));
    CHECK(zp::packed_image(model) == zp::packed_image(converted<Arch, Config>()));
}

using placed = zp::in_place<zp::quantized<net, usual, zp::portable>>;

image_problem problem_of(std::span<const std::byte> bytes, std::size_t behind = 0) {
    const placed_bytes image(bytes, behind);
    const placed model(image.bytes);
    CHECK(static_cast<bool>(model) == (model.problem() == image_problem::none));
    return model.problem();
}

}  // namespace

TEST_CASE("packed image: the network's results, in place, of this machine and of portable code") {
    check_in_place<zp::default_architecture, usual>();
    check_in_place<zp::portable, usual>();
    check_in_place<zp::portable, signed_codes>();
    check_in_place<zp::portable, affine>();
}

TEST_CASE("packed image: of a dynamic network") {
    const auto model = zp::quantize_dynamic(zp::fuse(made_up::network<net>(3)));
    using dynamic = std::remove_const_t<decltype(model)>;
    const placed_bytes image(zp::packed_image(model));
    const zp::in_place<dynamic> in_flash(image.bytes);
    REQUIRE(in_flash);
    for (const auto& x : made_up::inputs<net>(3, 9, -2, 2)) {
        std::vector<float> y(7), z(7);
        model(x, y);
        in_flash(x, z);
        CHECK(y == z);
    }
}

TEST_CASE("packed image: a call of static size is noexcept, and so is the look at an image") {
    float x[8 * 9 * 3], y[7];
    static_assert(noexcept(std::declval<const placed&>()(x, y, std::declval<placed::workspace&>())));
    static_assert(std::is_nothrow_constructible_v<placed, std::span<const std::byte>>);
    static_assert(std::is_trivially_destructible_v<placed>);
}

TEST_CASE("packed image: what is none of this network is refused, each with its reason") {
    const auto image = zp::packed_image(converted<zp::portable, usual>());
    const auto changed = [&](std::size_t at, int by) {
        auto copy = image;
        copy[at] ^= static_cast<std::byte>(by);
        return problem_of(copy);
    };
    CHECK(problem_of(image) == image_problem::none);
    CHECK(problem_of(image, 4) == image_problem::misaligned);
    CHECK(problem_of({}) == image_problem::too_short);
    CHECK(problem_of(std::span(image).first(63)) == image_problem::too_short);
    CHECK(problem_of(std::span(image).first(image.size() - 1)) == image_problem::too_short);
    CHECK(problem_of(zp::to_bytes(converted<zp::portable, usual>())) == image_problem::no_image);
    CHECK(changed(0, 1) == image_problem::no_image);
    CHECK(changed(offsetof(zp::packed_image_header, format), 2) == image_problem::other_format);
    CHECK(changed(offsetof(zp::packed_image_header, signature), 1) == image_problem::other_network);
    CHECK(changed(offsetof(zp::packed_image_header, layout), 1) == image_problem::other_layout);
    CHECK(changed(offsetof(zp::packed_image_header, bytes), 1) == image_problem::other_layout);
    CHECK(changed(offsetof(zp::packed_image_header, ranges), 1) == image_problem::other_layout);
    CHECK(changed(offsetof(zp::packed_image_header, parameters_at), 64) == image_problem::other_layout);
    CHECK(changed(offsetof(zp::packed_image_header, parameter_bytes), 64) == image_problem::other_layout);
    CHECK(problem_of(zp::packed_image(converted<zp::portable, affine>())) == image_problem::other_network);
    if (zp::has_vectors<zp::default_architecture>)
        CHECK(problem_of(zp::packed_image(converted<zp::default_architecture, usual>())) ==
              image_problem::other_architecture);
    for (int problem = 0; problem <= static_cast<int>(image_problem::other_machine); ++problem)
        CHECK(std::string(zp::text_of(static_cast<image_problem>(problem))).size() > 20);
}

TEST_CASE("packed image: a byte that changed is found by its checksum") {
    auto image = zp::packed_image(converted<zp::portable, usual>());
    for (const std::size_t at : {sizeof(zp::packed_image_header), image.size() / 2, image.size() - 1}) {
        image[at] ^= std::byte{4};
        const placed_bytes changed(image);
        const placed model(changed.bytes);
        CHECK(model);
        CHECK_FALSE(model.is_intact());
        image[at] ^= std::byte{4};
    }
}
