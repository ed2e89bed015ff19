// SPDX-License-Identifier: BSD-3-Clause
// Writes a folder of seeds for each fuzz target: fuzz_seeds FOLDER.
#include <filesystem>
#include <fstream>
#include <string>

#include "networks.hpp"
#include "trained.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& folder, const std::string& name, const std::vector<std::byte>& bytes) {
    fs::create_directories(folder);
    std::ofstream to(folder / name, std::ios::binary);
    to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!to.flush()) throw std::runtime_error("cannot write " + (folder / name).string());
}

/// As short as it can be with every part that a file has: what is read once takes a fuzzer least time.
std::vector<std::byte> many_dtypes() {
    zp::safetensors_writer file;
    file.metadata("a", "\u00e9\n");
    file.add("f", {2, 1}, std::vector<float>{1, -2});
    file.add("d", {}, std::vector<double>{0.5});
    file.add("i", {3}, std::vector<std::int8_t>{1, 2, 3});
    file.add("n", {0}, std::vector<std::int32_t>{});
    return file.bytes();
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const fs::path folder = arguments[1];
    write(folder / "float_model", "made_up", zp::to_bytes(made_up::network<fuzzed::images>()));
    write(folder / "float_sequences", "made_up", zp::to_bytes(made_up::network<fuzzed::sequences>()));
    write(folder / "int8_model", "made_up", zp::to_bytes(fuzzed::converted<fuzzed::images, zp::default_qconfig>()));
    write(folder / "int8_sequences", "made_up",
          zp::to_bytes(fuzzed::converted<fuzzed::sequences, zp::default_qconfig>()));
    write(folder / "int16_model", "made_up", zp::to_bytes(fuzzed::converted<fuzzed::images, zp::int16_qconfig>()));
    write(folder / "dynamic_model", "made_up",
          zp::to_bytes(zp::quantize_dynamic<fuzzed::dynamic_config>(made_up::network<fuzzed::words>())));
    const std::string checkpoint = (folder / "checkpoint").string() + "/after_3_steps";
    fs::create_directories(folder / "checkpoint");
    fs::remove(checkpoint);
    auto network = fuzzed::trainee();
    fuzzed::train(network, checkpoint, [steps = 0](const zp::training_progress&) mutable { return ++steps != 3; });
    write(folder / "safetensors", "many_dtypes", many_dtypes());
}
