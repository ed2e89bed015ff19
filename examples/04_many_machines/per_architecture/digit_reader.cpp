// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each architecture: the model's kernels are those of the flags at hand.
#include "../digit_reader.hpp"

#include <algorithm>

#include <zeropoint/deploy.hpp>

#include "../../01_digits/digits_cnn.hpp"

template <class Arch>
digit_reader::result digit_reader::operator()(Arch, const std::string& model_path,
                                              std::span<const image> images) const {
    const auto model = zp::load<zp::quantized<digits_cnn, per_channel_histogram, Arch>>(model_path);
    result all;
    for (const image& x : images) {
        scores y;
        model(x, y);
        all.digits.push_back(static_cast<int>(std::max_element(y.begin(), y.end()) - y.begin()));
        all.scores.insert(all.scores.end(), y.begin(), y.end());
    }
    return all;
}

template digit_reader::result digit_reader::operator()(zp::default_architecture, const std::string&,
                                                       std::span<const image>) const;
