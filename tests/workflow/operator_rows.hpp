// SPDX-License-Identifier: BSD-3-Clause
// Networks of operators, row by row through every stage: the test says what an operator is, of real numbers and
// of codes, and each row that ran is compared with that, over the values which it read.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>

#include "../support/made_up.hpp"

namespace operator_rows {

template <class Dtype>
struct config : zp::qconfig<zp::quantizer<Dtype, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

/// What a row wrote: floats, or codes of `range`, as numbers.
struct written {
    zp::shape extents;
    zp::qparams range;
    std::vector<double> numbers;

    /// The real numbers that are meant.
    written real() const {
        written y{extents, {}, {}};
        for (const double code : numbers) y.numbers.push_back(double{range.scale} * (code - range.zero_point));
        return y;
    }
    int size() const { return extents.size(); }
};

/// Codes are read under their ranges; floats have scale 1.
template <class Network, class Range>
std::vector<written> trace(const Network& model, const std::vector<float>& x, Range range) {
    typename Network::workspace memory;
    std::vector<float> y(static_cast<std::size_t>(model.output_shape.size()));
    std::vector<written> rows;
    model.run(x.data(), y.data(), memory.bytes, [&](int i, const void* values) {
        const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
        rows.push_back({row.out.extents, {1.0f, 0}, {}});
        if (row.out.storage != zp::scalar_type::float32) rows.back().range = range(row);
        const auto copy = [&]<class T>(const T* from) {
            rows.back().numbers.assign(from, from + row.out.extents.size());
        };
        if (row.out.storage == zp::scalar_type::float32) copy(static_cast<const float*>(values));
        else if (row.out.storage == zp::scalar_type::int8) copy(static_cast<const std::int8_t*>(values));
        else copy(static_cast<const std::uint8_t*>(values));
    });
    return rows;
}

/// The operands of a row among what was written.
inline std::vector<written> operands_of(const zp::node& row, const std::vector<written>& rows) {
    std::vector<written> operands;
    for (int k = 0; k != row.input_count; ++k) operands.push_back(rows[static_cast<std::size_t>(row.inputs[k])]);
    return operands;
}

/// The place in an operand of extents `own`, 1 along some axes, for a place in `full`.
inline std::size_t place_in(const zp::shape& own, const zp::shape& full, int place) {
    const int c = place % full.channels, w = place / full.channels % full.width, h = place / full.channels / full.width;
    return static_cast<std::size_t>(((own.height == 1 ? 0 : h) * own.width + (own.width == 1 ? 0 : w)) * own.channels +
                                    (own.channels == 1 ? 0 : c));
}

/// Normally distributed values, by sums of twelve.
inline std::vector<float> normal(int count, std::uint64_t seed) {
    zp_test::generator next(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values)
        for (int i = 0; i != 12; ++i) value += next.real(-0.5f, 0.5f);
    return values;
}

/// Through all stages and a file, on normal data: `rows` rows of these kinds, for each of which real_result(row, operands)
/// gives the numbers that its float form must come near to, code_result(row, operands, range) the codes. Each int8 row is
/// at least 30 dB above its own rounding.
template <class Net, class Config, class Reals, class Codes>
void check(int rows, std::span<const zp::operator_kind* const> kinds, Reals real_result, Codes code_result) {
    const auto trained = made_up::network<Net>(9);
    std::vector<std::vector<float>> inputs;
    for (std::uint64_t seed = 0; seed != 6; ++seed)
        inputs.push_back(normal(zp::float_model<Net>::input_shape.size(), seed));
    const auto fused = zp::fuse(trained);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(fused), inputs));
    const auto loaded = zp::load<zp::quantized<Net, Config>>(zp::to_bytes(int8), "memory");
    const auto floats = [](const zp::node&) { return zp::qparams{1.0f, 0}; };
    const auto range = [&](const zp::node& row) { return int8.ranges()[row.out.qparams_id]; };
    std::vector<double> signal, noise;
    for (const auto& x : inputs) {
        int found = 0;
        const std::vector<written> in_float = trace(fused, x, floats);
        CHECK(trace(trained, x, floats).back().numbers == in_float.back().numbers);
        for (std::size_t i = 0; i != in_float.size(); ++i) {
            const zp::node& row = fused.rows()[i];
            if (!zp_test::is_one_of(row, kinds)) continue;
            CAPTURE(std::string(row.op->name));
            const std::vector<double> wanted = real_result(row, operands_of(row, in_float));
            int different = 0;
            for (std::size_t k = 0; k != wanted.size(); ++k)
                different += !(std::abs(in_float[i].numbers[k] - wanted[k]) <= 1e-5 * (std::abs(wanted[k]) + 1e-3));
            CHECK(wanted.size() == in_float[i].numbers.size());
            CHECK(different == 0);
        }
        const std::vector<written> in_codes = trace(int8, x, range);
        CHECK(trace(loaded, x, range).back().numbers == in_codes.back().numbers);
        for (std::size_t i = 0; i != in_codes.size(); ++i) {
            const zp::node& row = int8.rows()[i];
            if (!zp_test::is_one_of(row, kinds)) continue;
            CAPTURE(std::string(row.op->name));
            CHECK(row.out.storage != zp::scalar_type::float32);
            std::vector<written> operands = operands_of(row, in_codes);
            CHECK(in_codes[i].numbers == code_result(row, operands, range(row)));
            for (written& operand : operands) operand = operand.real();
            const std::vector<double> wanted = real_result(row, operands), got = in_codes[i].real().numbers;
            const auto number = static_cast<std::size_t>(found++);
            signal.resize(std::max(signal.size(), number + 1));
            noise.resize(signal.size());
            for (std::size_t k = 0; k != wanted.size(); ++k) {
                signal[number] += wanted[k] * wanted[k];
                noise[number] += std::pow(got[k] - wanted[k], 2);
            }
        }
        CHECK(found == rows);
    }
    for (std::size_t i = 0; i != signal.size(); ++i) {
        CAPTURE(i);
        CHECK(noise[i] * 1000 <= signal[i]);  // 30 dB
        CHECK(signal[i] > 0);
    }
}

}  // namespace operator_rows
