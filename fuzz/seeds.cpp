// SPDX-License-Identifier: BSD-3-Clause
// Writes a folder of seeds for each fuzz target: fuzz_seeds FOLDER.
#include <filesystem>
#include <fstream>
#include <string>

#include "networks.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& folder, const std::string& name, const std::vector<std::byte>& bytes) {
    fs::create_directories(folder);
    std::ofstream to(folder / name, std::ios::binary);
    to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!to.flush()) throw std::runtime_error("cannot write " + (folder / name).string());
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const fs::path folder = arguments[1];
    const auto float_model = zp::to_bytes(made_up::network<fuzzed::images>());
    const auto float_sequences = zp::to_bytes(made_up::network<fuzzed::sequences>());
    const auto int8_model = zp::to_bytes(fuzzed::converted<fuzzed::images, zp::default_qconfig>());
    write(folder / "float_model", "made_up", float_model);
    write(folder / "float_sequences", "made_up", float_sequences);
    write(folder / "int8_model", "made_up", int8_model);
    write(folder / "int8_sequences", "made_up",
          zp::to_bytes(fuzzed::converted<fuzzed::sequences, zp::default_qconfig>()));
    write(folder / "int16_model", "made_up", zp::to_bytes(fuzzed::converted<fuzzed::images, zp::int16_qconfig>()));
    write(folder / "dynamic_model", "made_up",
          zp::to_bytes(zp::quantize_dynamic<fuzzed::dynamic_config>(made_up::network<fuzzed::words>())));
    for (const auto& [name, bytes] :
         {std::pair{"float", float_model}, {"sequences", float_sequences}, {"int8", int8_model}})
        write(folder / "safetensors", name, bytes);
}
