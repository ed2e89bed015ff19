// SPDX-License-Identifier: BSD-3-Clause
// Trains a small network with learned scales and a checkpoint after every step, and prints a number of its values. interrupted.py kills it.
// Usage: interrupted <checkpoint>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <zeropoint/training/train.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../../tests/support/generator.hpp"

namespace {

struct net : zp::model<zp::input<1, 1, 64>, zp::linear<"fc1", 128>, zp::relu, zp::linear<"fc2", 64>, zp::relu,
                       zp::linear<"fc3", 10>> {};
struct qconfig : zp::qconfig<zp::quantizer<zp::quint4, zp::per_tensor_affine, zp::learned_step<zp::min_max_observer>>,
                             zp::quantizer<zp::custom_range<std::int8_t, -7, 7>, zp::per_channel_symmetric,
                                           zp::learned_step<zp::min_max_observer>>> {};

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    zp_test::generator next(4);
    zp::float_model<net> model;
    auto* values = reinterpret_cast<float*>(model.parameters());
    for (int i = 0; i != zp::float_model<net>::parameter_bytes / 4; ++i) values[i] = next.real(-0.2f, 0.2f);
    std::vector<float> inputs(512 * 64);
    std::vector<int> labels(512);
    for (float& value : inputs) value = next.real(0, 1);
    for (int& label : labels) label = static_cast<int>(next.real(0, 9.99f));
    auto qat = zp::prepare_qat<qconfig>(zp::fuse(model));
    zp::train(qat, zp::labelled(inputs, labels),
              {.epochs = 12,
               .batch = 32,
               .optimizer = zp::adam{.lr = 1e-3},
               .schedule = zp::cosine{},
               .average = zp::weight_average{.decay = 0.99},
               .checkpoint = arguments[1],
               .checkpoint_every = 1,
               .resume = true});
    std::uint64_t hash = 14695981039346656037u;
    for (const float value : qat.values()) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}
