// SPDX-License-Identifier: BSD-3-Clause
// What compare_csv.py computes again: the CSV of a comparison, and every value that it was made of.
//
// inspect_csv <digits' data> <folder>: writes table.csv, and NAME.real and NAME.rounded of each row, floats of all inputs.
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/analysis/comparison_files.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../examples/01_digits/digits_data.hpp"

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string data = argv[1], folder = argv[2];
    const auto digits = load_digits(data);
    const auto fused = zp::fuse(zp::load<digits_cnn>(data + "/digits_cnn.safetensors"));
    const auto calibrated = zp::calibrate(zp::prepare<tflite_like>(fused), digits.training.images);
    const auto int8 = zp::convert(calibrated);
    std::vector<image> shown(digits.test.images.begin(), digits.test.images.begin() + 40);
    const zp::comparison all = zp::compare(fused, int8, shown);
    std::ofstream(folder + "/table.csv") << zp::to_csv(all);

    using network = std::remove_const_t<decltype(int8)>;
    std::map<std::string, std::ofstream> files;
    const auto write = [&](const std::string& name, const float* values, std::size_t count) {
        auto [file, is_new] = files.try_emplace(name, folder + "/" + name, std::ios::binary);
        file->second.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(float)));
    };
    decltype(fused)::workspace float_memory;
    network::workspace memory;
    for (const image& x : shown) {
        scores y;
        std::vector<std::vector<float>> reals(fused.rows().size());
        fused.run(x.data(), y.data(), float_memory.bytes, [&](int row, const void* values) {
            const auto* first = static_cast<const float*>(values);
            reals[static_cast<std::size_t>(row)].assign(
                first, first + fused.rows()[static_cast<std::size_t>(row)].out.extents.size());
        });
        int8.run(x.data(), y.data(), memory.bytes, [&](int row, const void* values) {
            const zp::node& n = network::rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            const auto& real = reals[static_cast<std::size_t>(n.from.value())];
            std::vector<float> rounded;
            for (std::size_t k = 0; k != real.size(); ++k)
                rounded.push_back(
                    zp::dequantize(static_cast<const std::int8_t*>(values)[k], int8.ranges()[n.out.qparams_id]));
            const std::string name = zp::display_name(fused.rows(), n.from.value());
            write(name + ".real", real.data(), real.size());
            write(name + ".rounded", rounded.data(), rounded.size());
        });
    }
}
