// SPDX-License-Identifier: BSD-3-Clause
// State dicts that are quantized layer by layer: what quantize_dynamic of the float network gives, from one file and from several.
#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <zeropoint/io/mapped_state_dict.hpp>
#include <zeropoint/models/gpt2.hpp>
#include <zeropoint/models/llama.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/quantize_dynamic_file.hpp>

#include "../support/errors.hpp"
#include "../support/golden_file.hpp"
#include "../support/made_up.hpp"

namespace {

/// A folder of this test alone, gone when it is.
struct temporary_folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / "zeropoint_quantize_dynamic_file";
    temporary_folder() { std::filesystem::create_directories(path); }
    ~temporary_folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
};

/// Tied weights, in bfloat16: tests/golden/llama_pretrained.
struct decoder : zp::models::llama_lm<zp::models::llama_extents{
                     .length = 4,
                     .channels = 32,
                     .layers = 1,
                     .heads = 2,
                     .key_heads = 1,
                     .depth = 16,
                     .inner = 64,
                     .vocabulary = 90,
                     .context = 8,
                     .scaling = {.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 32},
                     .tied = true}> {};
/// Weights that files have in another order, that are parts of one tensor, and matrices of a recurrent layer.
struct orders : zp::model<zp::input<1, 4, 64>, zp::linear_by_inputs<"by_inputs", 64>, zp::encoder<"encoder", 1, 2, 96>,
                          zp::lstm<"lstm", 64>, zp::linear<"y", 40>> {};

using eight_bits = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer, zp::embedding_bits<8>>;
using four_bits = zp::dynamic_qconfig<zp::dynamic_group_policy<>, zp::quantize_every_layer, zp::embedding_bits<4>>;

template <class Net, class Config> void check_same(const std::string& path) {
    using network = zp::dynamically_quantized<Net, Config>;
    const auto expected = zp::to_bytes(zp::quantize_dynamic<Config>(zp::load<Net>(path)));
    CHECK(zp::to_bytes(zp::quantize_dynamic_file<network>(path)) == expected);
}

}  // namespace

TEST_CASE("quantize_dynamic_file: the codes of quantize_dynamic") {
    const std::string path = zp_test::golden_path("llama_pretrained");
    check_same<decoder, eight_bits>(path);
    check_same<decoder, four_bits>(path);
    check_same<decoder, zp::int8_weight_only_qconfig>(path);
    const temporary_folder folder;
    zp::save(made_up::network<orders>(), folder / "orders.safetensors");
    check_same<orders, eight_bits>(folder / "orders.safetensors");
    check_same<orders, zp::int4_dynamic_qconfig>(folder / "orders.safetensors");
}

TEST_CASE("quantize_dynamic_file: what the file must have") {
    using network = zp::dynamically_quantized<decoder, eight_bits>;
    const temporary_folder folder;
    const std::string path = folder / "other.safetensors";
    zp::safetensors_writer more;
    const auto file = zp::safetensors_file::read(zp_test::golden_path("llama_pretrained"));
    for (const zp::file_tensor& tensor : file.tensors())
        more.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
    more.add("model.more", {1}, std::vector<float>{1});
    more.write(path);
    CHECK(zp_test::error_of([&] { zp::quantize_dynamic_file<network>(path); }) ==
          path + ": expected no tensors but the 12 that are needed, found also \"model.more\"");
    zp::save(zp::quantize_dynamic_file<network>(zp_test::golden_path("llama_pretrained")), path);
    CHECK(zp_test::error_of([&] {
              zp::quantize_dynamic_file<network>(path);
          }).starts_with(path + ": expected a state dict of floats, found an int8 file"));
}
