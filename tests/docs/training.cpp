// SPDX-License-Identifier: BSD-3-Clause
// The code of docs/training.md, compiled and run as it stands there.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/training/train.hpp>

#include "network.hpp"

// clang-format off
// [qconfig]
using low_bits = zp::custom_range<std::int8_t, -7, 7>;       // 4 bits, symmetric
struct qat_qconfig : zp::qconfig<
    zp::quantizer<zp::quint4, zp::per_tensor_affine, zp::learned_step<zp::histogram_observer<>>>,
    zp::quantizer<low_bits, zp::per_channel_symmetric, zp::learned_step<zp::mse_observer<>>>,
    zp::for_layer<"conv1", my_qconfig>, zp::for_layer<"fc", my_qconfig>> {};    // first and last: 8 bits
// [/qconfig]
// [own-gradient]
struct cube {
    static constexpr const char* kind = "cube";
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static void forward(const zp::operands<float>& o) noexcept {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] * o.x()[i] * o.x()[i];
    }
};
inline constexpr zp::operator_kind cubes{"cube"};
struct cube_layer : zp::operator_layer<cubes, "", cube> {};

template <> struct zp::gradient_of<cubes> {
    template <class Arch> static void backward(const zp::gradient_operands& o) noexcept {
        if (o.dxs[0] == nullptr) return;  // nobody asks
        for (std::size_t i = 0; i != o.x_size() * static_cast<std::size_t>(o.samples); ++i)
            o.dxs[0][i] = 3 * o.xs[0][i] * o.xs[0][i] * o.dy[i];
    }
};
// [/own-gradient]
// clang-format on

namespace {

struct cubic : zp::model<zp::input<1, 1, 4>, zp::linear<"first", 4>, cube_layer, zp::linear<"last", 2>> {};

}  // namespace

TEST_CASE("docs: training") {
    const scratch_folder folder("training");
    const std::string float_file = folder.file("digits_cnn.safetensors"), checkpoint = folder.file("run.safetensors"),
                      int8_file = folder.file("trained.safetensors");
    const auto images = made_up::inputs<digits_cnn>(24);
    std::vector<int> labels;
    for (int i = 0; i != 24; ++i) labels.push_back(i % 10);
    // [whole]
    const auto trained = zp::load<digits_cnn>(float_file);
    const auto calibrated = zp::calibrate(zp::prepare<qat_qconfig>(zp::fuse(trained)), images);
    auto qat = zp::prepare_qat(calibrated);
    const auto report = zp::train(qat, zp::labelled(images, labels),
                                  {.epochs = 2,
                                   .batch = 8,
                                   .optimizer = zp::sgd{.lr = 0.01, .momentum = 0.9, .scales_lr = 0.001},
                                   .schedule = zp::cosine{},
                                   .freeze_observers_after = 1,
                                   .seed = 1,
                                   .checkpoint = checkpoint,
                                   .resume = true});
    const auto int8 =
        zp::convert(qat);  // zp::quantized<digits_cnn, qat_qconfig>: what it was trained with, code by code
    zp::save(int8, int8_file);
    // [/whole]
    CHECK(report.losses.size() == 2);
    // [progress]
    zp::train(qat, zp::labelled(images, labels), {.batch = 8, .clip_norm = 1}, zp::executors::serial{},
              [](const zp::training_progress& now) {
                  if (now.batch % 100 == 0)
                      std::printf("epoch %d: loss %.4f, rate %g, %.0f s left\n", now.epoch, now.mean_loss, now.rate,
                                  now.seconds_left);
                  return true;  // false ends training behind this step: return !stopped, set by a signal's handler
              });
    // [/progress]
    // [batch-norms]
    auto with_norms = zp::prepare_qat(calibrated, trained);  // trained was not fused: its batch norms are trained too
    zp::train(with_norms, zp::labelled(images, labels),
              {.epochs = 3, .batch = 8, .freeze_observers_after = 2, .freeze_batch_norms_after = 1});
    const auto folded = zp::convert(with_norms);
    // [/batch-norms]
    CHECK_FALSE(with_norms.batch_norms_are_live());
    CHECK(folded.parameter_bytes == int8.parameter_bytes);
    // [floats]
    auto floats = zp::fuse(trained);
    zp::train(floats, zp::labelled(images, labels), {.epochs = 1, .batch = 8, .optimizer = zp::adamw{.lr = 1e-3}});
    // [/floats]
    // [distill]
    const auto teacher = zp::fuse(trained);
    zp::train(qat, zp::unlabelled(images), {.batch = 8, .loss = zp::distill(teacher, {.temperature = 4})});
    // [/distill]
    auto cubes_trained = zp::fuse(made_up::network<cubic>());
    const auto vectors = made_up::inputs<cubic>(8);
    CHECK(
        zp::train(cubes_trained, zp::labelled(vectors, std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}), {.batch = 8}).steps ==
        1);
}
