// SPDX-License-Identifier: BSD-3-Clause
// What is compiled once an architecture, as the rest of the program sees it: a call that takes the architecture first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "../01_digits/digits_data.hpp"

/// The digit that the int8 model in a file reads in each image, and the scores of all images, one after another.
struct digit_reader {
    struct result {
        std::vector<int> digits;
        std::vector<float> scores;
    };
    template <class Arch> result operator()(Arch, const std::string& model_path, std::span<const image> images) const;
};
