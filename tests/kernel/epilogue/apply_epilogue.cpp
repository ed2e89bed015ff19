// SPDX-License-Identifier: BSD-3-Clause
// The vector form of finish_rows against finish_one, in exact buffers.
#include "../support/convolution_kernels.hpp"

#include <memory>

#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>

using namespace zp_test;
using namespace zp::kernel;

namespace {

/// Multipliers, ratios and sums for some channels and rows, so that codes of the whole range come out.
struct tile_problem {
    int rows, channels, pitch;
    std::vector<float> multiplier, ratio;
    std::vector<std::int32_t> sums;

    tile_problem(random_engine& random, int width)
        : rows(uniform(random, 1, uniform(random, 0, 3) == 0 ? 80 : 20)), channels(uniform(random, 1, width)) {
        pitch = channels + uniform(random, 0, 3);
        for (int c = 0; c != channels; ++c) {
            multiplier.push_back(static_cast<float>(uniform(random, 1, 1000)) * 1e-4f);
            ratio.push_back(residual_ratio(static_cast<float>(uniform(random, 1, 1000)), uniform(random, 1, 1000)));
        }
        for (int i = 0; i != rows * width; ++i) {
            const int bits = uniform(random, 1, 31);
            sums.push_back(static_cast<std::int32_t>(random()) >> (31 - bits));
        }
    }
    std::size_t size() const { return static_cast<std::size_t>((rows - 1) * pitch + channels); }
};

/// An array that ends, and begins, exactly where a sanitizer looks.
template <class T> std::unique_ptr<T[]> exact(std::size_t size) { return std::unique_ptr<T[]>(new T[size]{}); }

template <class Arch, class Out, class Epilogue>
bool finishes_exactly(const tile_problem& p, const Epilogue& epilogue, Out* y) {
    constexpr int width = panel_width<Arch>;
    std::vector<Out> wanted(y, y + p.size());
    for (int row = 0; row != p.rows; ++row) {
        for (int c = 0; c != p.channels; ++c) {
            const int at = row * p.pitch + c;
            wanted[static_cast<std::size_t>(at)] =
                finish_one(epilogue, p.sums[static_cast<std::size_t>(row * width + c)], c, y + at);
        }
    }
    finish_rows<Arch>(epilogue, p.sums.data(), p.rows, 0, p.channels, y, p.pitch);
    return std::memcmp(y, wanted.data(), p.size() * sizeof(Out)) == 0;
}

/// A grid of 1024 codes, now and then only a part of it, in front of a table that tells neighbours from each other.
output_codes fine_codes(random_engine& random) {
    static const std::vector<std::uint8_t> table = [] {
        std::vector<std::uint8_t> entries(1024);
        for (std::size_t i = 0; i != entries.size(); ++i) entries[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
        return entries;
    }();
    const int low = uniform(random, 0, 2) == 0 ? uniform(random, 0, 500) : 0;
    const int high = uniform(random, 0, 2) == 0 ? uniform(random, 501, 1022) : 1023;
    return {uniform(random, low, high), low, high, table.data(), true};
}

template <class Out, class Residual> void check_residual(unsigned seed) {
    random_engine random(seed);
    std::uint8_t table[256];
    for (int i = 0; i != 256; ++i) table[i] = static_cast<std::uint8_t>(i * 7 + 3);
    for_each_vector_width([&](auto architecture) {
        using arch = decltype(architecture);
        for (int i = 0; i != 300; ++i) {
            const tile_problem p(random, panel_width<arch>);
            const int low = std::numeric_limits<Out>::min(), high = std::numeric_limits<Out>::max();
            output_codes codes{uniform(random, low, high), low, high, nullptr};
            if (uniform(random, 0, 1) == 0) codes.min = codes.zero_point;
            if (uniform(random, 0, 3) == 0) codes.table = table;
            else if (uniform(random, 0, 3) == 0) codes = fine_codes(random);
            const int r_low = std::numeric_limits<Residual>::min(), r_high = std::numeric_limits<Residual>::max();
            const auto y = exact<Out>(p.size());
            const auto residual = exact<Residual>(p.size());
            for (std::size_t r = 0; r != p.size(); ++r)
                residual[r] = static_cast<Residual>(uniform(random, r_low, r_high));
            const int zero_points[] = {r_low, r_high, uniform(random, r_low, r_high)};
            nearest_even_add<Residual> add{p.multiplier.data(),
                                           p.ratio.data(),
                                           codes,
                                           residual.get(),
                                           zero_points[uniform(random, 0, 2)],
                                           y.get()};
            INFO(operations<arch>::name, " ", p.rows, " x ", p.channels);
            CHECK(finishes_exactly<arch, Out>(p, add, y.get()));
            if constexpr (std::is_same_v<Out, Residual>) {  // in place
                add.output = add.residual;
                CHECK(finishes_exactly<arch, Out>(p, add, residual.get()));
            }
        }
    });
}

template <class Out> void check_table(unsigned seed) {
    random_engine random(seed);
    std::uint8_t table[256];
    for (int i = 0; i != 256; ++i) table[i] = static_cast<std::uint8_t>(i * 11 + 5);
    for_each_vector_width([&](auto architecture) {
        using arch = decltype(architecture);
        for (int i = 0; i != 300; ++i) {
            const tile_problem p(random, panel_width<arch>);
            const int low = std::numeric_limits<Out>::min(), high = std::numeric_limits<Out>::max();
            output_codes codes{uniform(random, low, high), low, high, uniform(random, 0, 2) == 0 ? nullptr : table};
            if (uniform(random, 0, 2) == 0) codes = fine_codes(random);
            const auto y = exact<Out>(p.size());
            CHECK(finishes_exactly<arch, Out>(p, nearest_even{p.multiplier.data(), codes}, y.get()));
        }
    });
}

}  // namespace

TEST_CASE("finish_rows: residual sums, every number of rows and channels") {
    check_residual<std::uint8_t, std::uint8_t>(41);
    check_residual<std::int8_t, std::int8_t>(42);
    check_residual<std::uint8_t, std::int8_t>(43);
    check_residual<std::int8_t, std::uint8_t>(44);
}

TEST_CASE("finish_rows: codes through a table, every number of rows and channels") {
    check_table<std::uint8_t>(45);
    check_table<std::int8_t>(46);
}

TEST_CASE("finish_rows: a residual at the end of every algorithm") {
    random_engine random(47);
    const conv2d_geometry geometries[] = {
        {.in = {5, 4, 6},
         .out = {5, 4, 21},
         .kernel_height = 3,
         .kernel_width = 3,
         .padding_top = 1,
         .padding_left = 1},
        {.in = {5, 5, 21}, .out = {3, 3, 21}, .kernel_height = 3, .kernel_width = 3, .groups = 21},
        {.in = {3, 3, 7}, .out = {3, 3, 21}, .groups = 7},
    };
    for (const conv2d_geometry& g : geometries) {
        const problem<std::uint8_t, std::int8_t> p(random, g, {3, 0, 255}, operands::random, operands::random, false);
        std::vector<float> multiplier(21), ratio(21);
        for (std::size_t c = 0; c != 21; ++c) {
            multiplier[c] = 1e-3f * static_cast<float>(c + 1);
            ratio[c] = residual_ratio(static_cast<float>(c + 1), 0.07);
        }
        const std::vector<std::int32_t> sums = expected<std::int32_t>(p, accumulators{});
        std::vector<std::int8_t> residual(sums.size()), y(sums.size()), wanted(sums.size());
        for (std::int8_t& r : residual) r = static_cast<std::int8_t>(uniform(random, -128, 127));
        const nearest_even_add<std::int8_t> add{multiplier.data(), ratio.data(), {7, -128, 127, nullptr},
                                                residual.data(),   -3,           y.data()};
        for (std::size_t i = 0; i != sums.size(); ++i)
            wanted[i] = static_cast<std::int8_t>(add(sums[i], static_cast<int>(i % 21), residual[i]));
        using arch = zp::default_architecture;
        const auto algorithm = conv2d_algorithm::automatic;
        zp::aligned_buffer packed(conv2d_packed_bytes<arch>(g, algorithm, false));
        zp::aligned_buffer scratch(conv2d_scratch_bytes<arch>(g, algorithm));
        pack_conv2d<arch>(g, algorithm, p.view(), p.codes, packed.data());
        conv2d<arch>(g, algorithm, p.x.data(), p.codes, packed.data(), add, y.data(), scratch.data());
        CHECK(y == wanted);
    }
}
