// SPDX-License-Identifier: BSD-3-Clause
// Accuracy, sizes, latency, and noise by layer.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "digits_cnn.hpp"
#include "digits_data.hpp"
#include "outcome.hpp"

/// The median of single calls on one thread, over a quarter of a second.
template <class Model> double median_microseconds(const Model& model, std::span<const image> images) {
    using clock = std::chrono::steady_clock;
    std::vector<double> times;
    typename Model::workspace memory;
    scores y;
    model(images[0], y, memory);  // fetches the parameters
    const auto end = clock::now() + std::chrono::milliseconds(250);
    do {
        const auto start = clock::now();
        model(images[times.size() % images.size()], y, memory);
        times.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
    } while (clock::now() < end);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

/// 10 log10(sum x^2 / sum (x - y)^2) of every 8-bit activation y, where x is the same activation of the float network.
template <class Int8>
std::vector<layer_sqnr> sqnr_by_layer(const zp::fused<digits_cnn>& floats, const Int8& int8,
                                      std::span<const image> images) {
    const std::span<const zp::node> float_rows = floats.rows(), rows = int8.rows();
    std::vector<std::vector<float>> expected(float_rows.size());
    std::vector<double> signal(rows.size()), noise(rows.size());
    zp::fused<digits_cnn>::workspace float_memory;
    typename Int8::workspace memory;
    scores y;
    for (const image& pixels : images) {
        floats.run(pixels.data(), y.data(), float_memory.bytes, [&](int row, const void* values) {
            const auto i = static_cast<std::size_t>(row);
            const auto* first = static_cast<const float*>(values);
            expected[i].assign(first, first + float_rows[i].out.extents.size());
        });
        int8.run(pixels.data(), y.data(), memory.bytes, [&](int row, const void* codes) {
            const auto i = static_cast<std::size_t>(row);
            if (rows[i].out.storage == zp::scalar_type::float32) return;
            const bool is_signed = rows[i].out.storage == zp::scalar_type::int8;
            const zp::qparams& range = int8.ranges()[rows[i].out.qparams_id];
            const std::vector<float>& reals = expected[static_cast<std::size_t>(rows[i].from.value())];
            for (std::size_t k = 0; k != reals.size(); ++k) {
                const int code =
                    is_signed ? static_cast<const std::int8_t*>(codes)[k] : static_cast<const std::uint8_t*>(codes)[k];
                const double x = double{reals[k]}, error = x - double{zp::dequantize(code, range)};
                signal[i] += x * x;
                noise[i] += error * error;
            }
        });
    }
    std::vector<layer_sqnr> layers;
    for (std::size_t i = 0; i != rows.size(); ++i)
        if (rows[i].out.storage != zp::scalar_type::float32)
            layers.push_back(
                {zp::display_name(float_rows, rows[i].from.value()), 10 * std::log10(signal[i] / noise[i])});
    return layers;
}

/// What there is to know about any network, float or int8, and its file.
template <class Model> outcome measure(const Model& model, const labelled_images& test, const std::string& file) {
    outcome result;
    result.read = read_digits(model, test.images);
    result.accuracy = percent_equal(result.read, test.labels);
    result.file_bytes = std::filesystem::file_size(file);
    result.parameter_bytes = model.parameter_bytes;
    result.arena_bytes = model.arena_bytes;
    result.microseconds = median_microseconds(model, test.images);
    return result;
}
