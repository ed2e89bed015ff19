// SPDX-License-Identifier: BSD-3-Clause
// The list of a file's tensors beside files: the same names, dtypes and shapes, for every way in which parameters are kept.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/tensors_in_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>

#include "../support/made_up.hpp"

namespace {
namespace listed {

/// Filters of all kinds, a fused table and one alone, a rescaled branch, a norm that stays floats.
struct images
    : zp::model<zp::input<6, 5, 3>, zp::conv2d<"a", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::batch_norm2d<"bn">, zp::silu,
                zp::concat<zp::conv_transpose2d<"up", zp::conv_transpose{.out_channels = 4, .kernel = 1}>,
                           zp::conv2d<"depthwise", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>,
                           zp::sequential<zp::identity, zp::sigmoid>>,
                zp::prelu<"slopes">, zp::layer_norm<"norm">, zp::flatten, zp::linear<"fc", 7>, zp::tanh> {};
/// Indices, tables, matrices of a recurrent layer, parts of one tensor.
struct words
    : zp::model<zp::indices<9>, zp::embedding<"words", 20, 32>,
                zp::lstm<"lstm", 32, zp::recurrent_options{.layers = 2, .output = zp::recurrent_output::last_step}>,
                zp::linear<"fc", 40>> {};
struct tokens : zp::model<zp::input<1, 6, 64>, zp::self_attention<"attention", 4>, zp::linear<"fc", 33>> {};

struct affine_weights
    : zp::qconfig<zp::default_qconfig::activation,
                  zp::quantizer<zp::quint8, zp::per_channel_affine, zp::per_channel_min_max_observer>> {};

using descriptions = std::map<std::string, std::string>;

template <class Stage> descriptions listed_tensors() {
    descriptions all;
    for (const zp::tensor_in_file& t : zp::tensors_in_file<Stage>()) {
        CHECK(all.count(t.name) == 0);
        all[t.name] = zp::describe(t.dtype, t.shape);
    }
    return all;
}
template <class Network> void check_file(const Network& model) {
    descriptions found;
    const auto bytes = zp::to_bytes(model);
    const auto file = zp::safetensors_file::parse(bytes, "the file");
    for (const zp::file_tensor& t : file.tensors()) found[t.name] = zp::describe(t.dtype, t.shape);
    CHECK(listed_tensors<typename Network::stage>() == found);
}
template <class Net, class Config, class Batch> void check_int8(const Batch& batch) {
    check_file(zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(made_up::network<Net>(1))), batch)));
}

}  // namespace listed
}  // namespace

TEST_CASE("tensors in a file: int8 networks of images") {
    using namespace listed;
    const auto batch = made_up::inputs<images>(3, 1);
    check_int8<images, zp::default_qconfig>(batch);
    check_int8<images, zp::fbgemm_qconfig>(batch);  // float biases
    check_int8<images, zp::int16_qconfig>(batch);   // int64 biases, tables of nodes
    check_int8<images, affine_weights>(batch);
}
TEST_CASE("tensors in a file: float and dynamic networks") {
    using namespace listed;
    check_file(made_up::network<images>(1));
    check_file(made_up::network<tokens>(1));  // parts of one tensor stay whole
    check_file(made_up::network<words>(1));
    check_file(zp::quantize_dynamic<zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer>>(
        zp::fuse(made_up::network<tokens>(1))));
    check_file(zp::quantize_dynamic<
               zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer, zp::embedding_bits<4>>>(
        zp::fuse(made_up::network<words>(1))));
}
TEST_CASE("tensors in a file: an int8 LSTM") {
    using namespace listed;
    std::vector<std::vector<std::int32_t>> batch{{0, 1, 2, 3, 4, 5, 6, 7, 19}, {3, 3, 3, 3, 9, 9, 9, 9, 9}};
    check_int8<words, zp::default_qconfig>(batch);
}
