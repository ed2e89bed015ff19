// SPDX-License-Identifier: BSD-3-Clause
// Attention in int8 of 12 heads of 32 channels, without a mask, with one of half the keys, with one below the diagonal; the masked
// softmax of codes beside softmax.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/integer_attention.hpp>
#include <zeropoint/kernel/normalize/masked_softmax.hpp>

#include "support/measure.hpp"

namespace {

namespace kernel = zp::kernel;
using arch = zp::default_architecture;

enum class masks { none, half, causal };
constexpr const char* names[] = {"no_mask", "half_of_keys", "causal"};

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    std::uint32_t seed = 1;
    for (std::uint32_t& value : values) value = seed = seed * 1664525u + 1013904223u;
    return values;
}
/// `kept` and `left_out` in one row, or in a row for each query.
template <class T> std::vector<T> mask_of(masks kind, int rows, T kept, T left_out) {
    std::vector<T> mask;
    for (int row = 0; row != (kind == masks::causal ? rows : 1); ++row)
        for (int j = 0; j != rows; ++j)
            mask.push_back((kind == masks::half ? j < rows / 2 : j <= row) ? kept : left_out);
    return mask;
}

void add_attention(int rows, masks kind) {
    constexpr int heads = 12, depth = 32, model = heads * depth;
    const std::string name = "attention/" + std::to_string(rows) + "/" + names[static_cast<int>(kind)];
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        const kernel::integer_attention_plan<arch> plan(rows, heads, depth);
        const zp::aligned_buffer scratch(plan.bytes);
        std::vector<float> x, y(static_cast<std::size_t>(rows * model));
        for (const std::uint32_t number : numbers(3 * y.size()))
            x.push_back(static_cast<float>(static_cast<std::int32_t>(number)) * 0x1p-30f);
        const auto mask = mask_of(kind, rows, 1.0f, 0.0f);
        const kernel::attention_mask view{kind == masks::none ? nullptr : mask.data(), kind == masks::causal ? rows : 0,
                                          0};
        const kernel::attention_rows parts{x.data(),  x.data() + model, x.data() + 2 * model,
                                           3 * model, 3 * model,        3 * model};
        // Products of all scores, whatever of them is computed.
        bench::measure(state, {4.0 * rows * rows * model}, [&] {
            kernel::integer_attention<arch>(plan, parts, y.data(), const_cast<std::byte*>(scratch.data()), view);
        });
    })->UseManualTime();
}

void add_softmax(int columns, masks kind) {
    const std::string name = "softmax_of_codes/64x" + std::to_string(columns) + "/" + names[static_cast<int>(kind)];
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        const auto rows = std::size_t{64}, count = static_cast<std::size_t>(columns);
        std::vector<std::int32_t> table(kernel::softmax_table_size);
        kernel::make_softmax_table(0.05f, table.data());
        std::vector<std::uint8_t> x, y(rows * count);
        for (const std::uint32_t number : numbers(y.size())) x.push_back(static_cast<std::uint8_t>(number >> 24));
        const auto mask = mask_of<std::uint8_t>(kind, std::max(columns, 64), 255, 3);
        const kernel::code_mask<std::uint8_t> view{mask.data(), 3, kind == masks::causal ? count : 0};
        const kernel::output_codes codes{0, 0, 255};
        bench::measure(state, {static_cast<double>(y.size())}, [&] {
            if (kind == masks::none)
                kernel::softmax<arch>(x.data(), rows, count, table.data(), 1.0f / 256, codes, y.data());
            else kernel::masked_softmax<arch>(x.data(), rows, count, view, table.data(), 1.0f / 256, codes, y.data());
        });
    })->UseManualTime();
}

[[maybe_unused]] const bool registered = [] {
    for (const int rows : {64, 128, 512})
        for (const masks kind : {masks::none, masks::half, masks::causal}) add_attention(rows, kind);
    for (const int columns : {16, 64, 128, 512})
        for (const masks kind : {masks::none, masks::half, masks::causal}) add_softmax(columns, kind);
    return true;
}();

}  // namespace
