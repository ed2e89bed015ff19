// SPDX-License-Identifier: BSD-3-Clause
// Kernels over values, a family at a time, in buffers that end at unreadable pages: what vectors read and write, and no more.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/kernel/elementwise/compare.hpp>
#include <zeropoint/kernel/elementwise/div.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/elementwise/hypot.hpp>
#include <zeropoint/kernel/elementwise/max_min.hpp>
#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/elementwise/prelu.hpp>
#include <zeropoint/kernel/elementwise/squared_difference.hpp>
#include <zeropoint/kernel/elementwise/where.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/float/float_binary.hpp>
#include <zeropoint/kernel/float/float_normalize.hpp>
#include <zeropoint/kernel/movement/concat.hpp>
#include <zeropoint/kernel/movement/interpolate.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/normalize/l2_normalize.hpp>
#include <zeropoint/kernel/normalize/normalize.hpp>
#include <zeropoint/kernel/normalize/masked_softmax.hpp>
#include <zeropoint/kernel/normalize/softmax.hpp>
#include <zeropoint/kernel/recurrent/gates.hpp>
#include <zeropoint/kernel/reduction/argmax.hpp>
#include <zeropoint/kernel/reduction/axis_extrema.hpp>
#include <zeropoint/kernel/reduction/axis_moments.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>

#include "../support/arrays.hpp"
#include "../support/guarded_memory.hpp"

namespace {

namespace kernel = zp::kernel;
using zp_test::guard;
using byte = std::uint8_t;

/// Buffers of one call. Inputs have the same values in each room of the same seed.
class room {
public:
    room(guard end, std::uint64_t seed) : end_(end), seed_(seed) {}

    template <class T> const T* input(std::size_t count) {
        T* values = next<T>(count);
        if constexpr (std::is_same_v<T, float>) copy(arrays::reals(count, ++seed_), values);
        else copy(arrays::codes<T>(count, ++seed_), values);
        return values;
    }
    template <class T> T* output(std::size_t count) {
        T* values = next<T>(count);
        std::memset(values, 0x3c, count * sizeof(T));
        outputs_.push_back({reinterpret_cast<std::byte*>(values), count * sizeof(T)});
        return values;
    }
    std::vector<std::byte> written() const {
        std::vector<std::byte> all;
        for (const auto& [from, size] : outputs_) all.insert(all.end(), from, from + size);
        return all;
    }

private:
    template <class T> T* next(std::size_t count) {
        static std::array<zp_test::guarded_memory, 6> memory{
            zp_test::guarded_memory{1 << 16}, zp_test::guarded_memory{1 << 16}, zp_test::guarded_memory{1 << 16},
            zp_test::guarded_memory{1 << 16}, zp_test::guarded_memory{1 << 16}, zp_test::guarded_memory{1 << 16}};
        std::byte* place = memory.at(used_++).place(count * sizeof(T), end_);
        REQUIRE(place != nullptr);
        return reinterpret_cast<T*>(place);
    }
    template <class T> static void copy(const std::vector<T>& from, T* to) {
        if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
    }

    guard end_;
    std::uint64_t seed_;
    std::size_t used_ = 0;
    std::vector<std::pair<std::byte*, std::size_t>> outputs_;
};

/// call.operator()<Arch>(room, n) of every n to 70 and of some beyond, at both ends of pages; what is written is what plain
/// C++ writes.
template <class Call> void check(const char* name, Call call) {
    CAPTURE(name);
    for (std::size_t n = 1; n <= 200; n += n < 70 ? 1 : 13) {
        CAPTURE(n);
        room plain(guard::behind, n);
        call.template operator()<zp::portable>(plain, n);
        const std::vector<std::byte> expected = plain.written();
        arrays::for_each_architecture([&]<class Arch>() {
            for (const guard end : {guard::behind, guard::before}) {
                room exact(end, n);
                call.template operator()<Arch>(exact, n);
                CHECK(exact.written() == expected);
            }
        });
    }
}

const kernel::output_codes codes{10, 0, 255, nullptr, false};

}  // namespace

TEST_CASE("exact buffers: two operands") {
    check("add", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_add_parameters(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        kernel::add<Arch>(r.input<byte>(n), r.input<byte>(n), n, p, r.output<byte>(n));
    });
    check("mul", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_mul_parameters(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        kernel::mul<Arch>(r.input<byte>(n), r.input<byte>(n), n, p, r.output<byte>(n));
    });
    check("div", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_div_parameters(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        kernel::div<Arch>(r.input<byte>(n), r.input<byte>(n), n, p, r.output<byte>(n));
    });
    check("hypot", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_hypot_parameters<float>(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        kernel::hypot<Arch>(r.input<byte>(n), r.input<byte>(n), n, p, r.output<byte>(n));
    });
    check("squared_difference", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_squared_difference_parameters(0.05f, 120, 0.03f, 7, 0.06f, 90, 0, 255);
        kernel::squared_difference<Arch>(r.input<byte>(n), r.input<byte>(n), n, p, r.output<byte>(n));
    });
    check("maximum", []<class Arch>(room& r, std::size_t n) {
        kernel::choose_codes<Arch, kernel::larger_of>(r.input<byte>(n), r.input<byte>(n), n, byte{20}, byte{240},
                                                      r.output<byte>(n));
    });
    check("less", []<class Arch>(room& r, std::size_t n) {
        const auto c = kernel::make_code_comparison<kernel::comparison::less, byte>(0.05f, 120, 0.03f, 7);
        kernel::compare_codes<Arch, kernel::comparison::less>(r.input<byte>(n), r.input<byte>(n), n, c,
                                                              r.output<byte>(n));
    });
    check("where", []<class Arch>(room& r, std::size_t n) {
        kernel::where<Arch>(r.input<byte>(n), byte{255}, r.input<byte>(n), r.input<byte>(n), n, r.output<byte>(n));
    });
    check("add_int16", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_add_int16_parameters(0.05f, 0.03f, 0.06f, -32768, 32767);
        kernel::add_int16<Arch>(r.input<std::int16_t>(n), r.input<std::int16_t>(n), n, p, r.output<std::int16_t>(n));
    });
    check("float_binary", []<class Arch>(room& r, std::size_t n) {
        kernel::float_binary<Arch, kernel::binary::div>(r.input<float>(n), r.input<float>(n), n, -3.0f, 5.0f,
                                                        r.output<float>(n));
    });
}

TEST_CASE("exact buffers: one operand") {
    check("clamp", []<class Arch>(room& r, std::size_t n) {
        kernel::clamp<Arch>(r.input<byte>(n), n, byte{30}, byte{200}, r.output<byte>(n));
    });
    check("prelu", []<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_prelu_parameters(0.05f, 120, 0.06f, 90, 0, 255);
        kernel::prelu<Arch>(r.input<byte>(n), r.input<float>(n), n, p, r.output<byte>(n));
    });
    check("lookup_table", []<class Arch>(room& r, std::size_t n) {
        const byte* table = r.input<byte>(256);
        kernel::lookup_table<Arch>(r.input<byte>(n), n, table, r.output<byte>(n));
    });
    check("quantize", []<class Arch>(room& r, std::size_t n) {
        kernel::quantize<Arch>(r.input<float>(n), n, 0.03f, 100, 0, 255, r.output<byte>(n));
    });
    check("quantize to int16", []<class Arch>(room& r, std::size_t n) {
        kernel::quantize<Arch>(r.input<float>(n), n, 0.0003f, 0, -32768, 32767, r.output<std::int16_t>(n));
    });
    check("dequantize", []<class Arch>(room& r, std::size_t n) {
        kernel::dequantize<Arch>(r.input<byte>(n), n, 0.03f, 100, r.output<float>(n));
    });
}

TEST_CASE("exact buffers: rows") {
    check("softmax", []<class Arch>(room& r, std::size_t n) {
        std::vector<std::int32_t> table(kernel::softmax_table_size);
        kernel::make_softmax_table(0.1f, table.data());
        kernel::softmax<Arch>(r.input<byte>(3 * n), 3, n, table.data(), 1.0f / 256, codes, r.output<byte>(3 * n));
    });
    check("masked softmax", []<class Arch>(room& r, std::size_t n) {
        std::vector<std::int32_t> table(kernel::softmax_table_size);
        kernel::make_softmax_table(0.1f, table.data());
        const kernel::code_mask<byte> mask{r.input<byte>(n), byte{0}, 0};
        kernel::masked_softmax<Arch>(r.input<byte>(3 * n), 3, n, mask, table.data(), 1.0f / 256, codes,
                                     r.output<byte>(3 * n));
    });
    check("log_softmax", []<class Arch>(room& r, std::size_t n) {
        std::vector<std::int32_t> table(kernel::softmax_table_size);
        kernel::make_softmax_table(0.1f, table.data());
        const auto p = kernel::make_log_softmax_parameters(0.1f, 0.05f);
        kernel::log_softmax<Arch>(r.input<byte>(3 * n), 3, n, table.data(), p, codes, r.output<byte>(3 * n));
    });
    check("layer_norm", []<class Arch>(room& r, std::size_t n) {
        const auto m = kernel::make_normalization(n, 0.1f, 1e-5f);
        kernel::layer_norm<Arch>(r.input<byte>(3 * n), 3, m, r.input<float>(n), r.input<float>(n), codes,
                                 r.output<byte>(3 * n));
    });
    check("group_norm", []<class Arch>(room& r, std::size_t n) {
        const auto m = kernel::make_normalization(5 * n, 0.1f, 1e-5f);
        kernel::group_norm<Arch>(r.input<byte>(10 * n), 5, 2 * n, 2, m, r.input<float>(2 * n), r.input<float>(2 * n),
                                 codes, r.output<byte>(10 * n));
    });
    check("l2_normalize", []<class Arch>(room& r, std::size_t n) {
        kernel::l2_normalize<Arch>(r.input<byte>(3 * n), 3, n, 120, 128.0f, codes, r.output<byte>(3 * n));
    });
    check("layer_norm of floats", []<class Arch>(room& r, std::size_t n) {
        kernel::layer_norm<Arch>(r.input<float>(3 * n), 3, n, 1e-5f, r.input<float>(n), r.input<float>(n),
                                 r.output<float>(3 * n));
    });
    check("gru_gates", []<class Arch>(room& r, std::size_t n) {
        float* h = r.output<float>(n);
        kernel::gru_gates<Arch>(r.input<float>(3 * n), r.input<float>(3 * n), n, h);
    });
    check("argmax", []<class Arch>(room& r, std::size_t n) {
        kernel::argmax<Arch>(r.input<byte>(3 * n), 3, n, std::int32_t{0}, r.output<std::int32_t>(3));
    });
    check("range_of_finite", []<class Arch>(room& r, std::size_t n) {
        const auto [low, high] = kernel::range_of_finite<Arch>(r.input<float>(n), n);
        float* range = r.output<float>(2);
        range[0] = low, range[1] = high;
    });
}

TEST_CASE("exact buffers: images") {
    const auto extents = [](std::size_t n) { return zp::shape{4, 3, static_cast<int>(n)}; };
    check("sum over pixels", [=]<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_sum_parameters(0.1f, 7, 12, 0.1f, 3, 0, 255);
        kernel::sum_axes<Arch>(extents(n), {1, 1, extents(n).channels}, r.input<byte>(12 * n), p, r.output<byte>(n));
    });
    check("sum over channels", [=]<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_sum_parameters(0.1f, 7, static_cast<int>(n), 0.1f, 3, 0, 255);
        kernel::sum_axes<Arch>(extents(n), {4, 3, 1}, r.input<byte>(12 * n), p, r.output<byte>(12));
    });
    check("largest of rows", [=]<class Arch>(room& r, std::size_t n) {
        kernel::extremum_along<Arch, kernel::larger_of>(extents(n), {1, 3, extents(n).channels}, r.input<byte>(12 * n),
                                                        r.output<byte>(3 * n));
    });
    check("variance over pixels", [=]<class Arch>(room& r, std::size_t n) {
        const auto p = kernel::make_moment_parameters(kernel::moment::variance, 12, 1, 0.1f, 2.0f, 3, 0, 255);
        kernel::moments_along<Arch, kernel::moment::variance>(extents(n), {1, 1, extents(n).channels},
                                                              r.input<byte>(12 * n), p, r.output<byte>(n));
    });
    check("max_pool2d", [=]<class Arch>(room& r, std::size_t n) {
        kernel::conv2d_geometry g{.in = extents(n), .out = {3, 2, extents(n).channels}};
        g.kernel_height = g.kernel_width = 2;
        kernel::max_pool2d<Arch>(g, r.input<byte>(12 * n), r.output<byte>(6 * n));
    });
    check("avg_pool2d", [=]<class Arch>(room& r, std::size_t n) {
        kernel::conv2d_geometry g{.in = extents(n), .out = {3, 2, extents(n).channels}};
        g.kernel_height = g.kernel_width = 2;
        kernel::avg_pool2d<Arch>(g, false, 100, r.input<byte>(12 * n), r.output<byte>(6 * n));
    });
    check("copy_channels", [=]<class Arch>(room& r, std::size_t n) {
        byte* y = r.output<byte>(7 * n + 6 * 3);
        kernel::copy_channels<Arch>(r.input<byte>(7 * n), 7, n, y, n + 3);
    });
    check("transpose_matrix", [=]<class Arch>(room& r, std::size_t n) {
        kernel::transpose_matrix<byte, Arch>(r.input<byte>(12 * n), 12, n, r.output<byte>(12 * n));
    });
    check("nchw_to_nhwc", [=]<class Arch>(room& r, std::size_t n) {
        kernel::nchw_to_nhwc<byte, Arch>(r.input<byte>(12 * n), extents(n), r.output<byte>(12 * n));
    });
    check("interpolate_nearest", [=]<class Arch>(room& r, std::size_t n) {
        kernel::interpolate_nearest<Arch>(kernel::nearest_axis{4, 6, 4.0f / 6}, kernel::nearest_axis{3, 5, 0.6f}, n,
                                          r.input<byte>(12 * n), r.output<byte>(30 * n));
    });
}
