// SPDX-License-Identifier: BSD-3-Clause
// The 1,797 handwritten digits: 8 x 8 pixels each, a third of them kept for testing. data/README.md tells their origin.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/io/safetensors_reader.hpp>

using image = std::array<float, 64>;   // 8 x 8 x 1, from 0 (paper) to 1 (ink)
using scores = std::array<float, 10>;  // one a digit

struct labelled_images {
    std::vector<image> images;
    std::vector<int> labels;
};

struct digits {
    labelled_images training, test;
};

inline digits load_digits(const std::string& folder) {
    const auto file = zp::safetensors_file::read(folder + "/digits.safetensors");
    constexpr std::int64_t count = 1797;
    const auto bytes = [&](const char* name, const zp::file_shape& shape) {
        return file.values<std::uint8_t>(file.expect(name, zp::file_dtype::U8, shape));
    };
    const auto pixels = bytes("images", {count, 8, 8});
    const auto labels = bytes("labels", {count});
    const auto is_test = bytes("is_test", {count});
    digits all;
    for (std::size_t i = 0; i != labels.size(); ++i) {
        labelled_images& part = is_test[i] != 0 ? all.test : all.training;
        image& x = part.images.emplace_back();
        for (std::size_t k = 0; k != x.size(); ++k) x[k] = static_cast<float>(pixels[i * x.size() + k]) / 16;
        part.labels.push_back(labels[i]);
    }
    return all;
}

/// The digit that a model reads in each image.
template <class Model> std::vector<int> read_digits(const Model& model, const std::vector<image>& images) {
    std::vector<int> read;
    for (const image& x : images) {
        scores y;
        model(x, y);
        read.push_back(static_cast<int>(std::max_element(y.begin(), y.end()) - y.begin()));
    }
    return read;
}

/// How often two lists agree.
inline double percent_equal(const std::vector<int>& a, const std::vector<int>& b) {
    int equal = 0;
    for (std::size_t i = 0; i != a.size(); ++i) equal += a[i] == b[i];
    return 100.0 * equal / static_cast<double>(a.size());
}
