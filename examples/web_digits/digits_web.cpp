// SPDX-License-Identifier: BSD-3-Clause
// The two networks behind functions that a page can call. An error ends the program with its message on stderr.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <zeropoint/deploy.hpp>
#include <zeropoint/workflow/fuse.hpp>

#include "../01_digits/digits_cnn.hpp"
#include "drawing.hpp"

namespace {

using int8_network = zp::quantized<digits_cnn, per_channel_histogram>;
using float_network = zp::fused<digits_cnn>;
using probabilities = std::array<float, 10>;

std::optional<int8_network> int8;
std::optional<float_network> float32;
std::vector<pen_point> points;
image pixels;
probabilities result;

/// exp(score) / sum of exp(scores): what the network was trained to make of its scores.
probabilities softmax(const probabilities& scores) {
    const float largest = *std::max_element(scores.begin(), scores.end());
    probabilities weights;
    float sum = 0;
    for (std::size_t i = 0; i != scores.size(); ++i) sum += weights[i] = std::exp(scores[i] - largest);
    for (float& weight : weights) weight /= sum;
    return weights;
}

template <class Network> const float* read(const Network& network, int times) {
    static typename Network::workspace memory;
    probabilities scores{};
    for (int i = 0; i != times; ++i) network(pixels, scores, memory);
    result = softmax(scores);
    return result.data();
}

}  // namespace

extern "C" {

/// Room for a file, which the page fills before it calls load_int8 or load_float32.
std::byte* allocate(std::size_t bytes) { return new std::byte[bytes]; }

void load_int8(const std::byte* file, std::size_t bytes) {
    int8.emplace(zp::load<int8_network>(std::span(file, bytes), "the int8 network"));
    delete[] file;
}
void load_float32(const std::byte* file, std::size_t bytes) {
    float32.emplace(zp::fuse(zp::load<digits_cnn>(std::span(file, bytes), "the float network")));
    delete[] file;
}

/// Room for the points of a drawing: x, y and the stroke's number, each.
float* drawing(std::size_t count) {
    points.resize(count);
    return count == 0 ? nullptr : &points.front().x;
}
/// The 64 pixels of that drawing, which the networks then read.
const float* see() {
    pixels = pixels_of(points);
    return pixels.data();
}

/// The ten probabilities; `times` is more than once where the page wants to know how long that takes.
const float* read_int8(int times) { return read(*int8, times); }
const float* read_float32(int times) { return read(*float32, times); }

}  // extern "C"
