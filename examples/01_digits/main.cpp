// SPDX-License-Identifier: BSD-3-Clause
// From a trained float network to an int8 one, end to end, on real handwritten digits. quantize() is the whole story;
// the rest measures what came of it.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/zeropoint.hpp>

#include "digits_cnn.hpp"
#include "digits_data.hpp"
#include "fingerprint.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "outcome.hpp"

/// `calibration` holds images of the kind that the network will meet, and none of the test images.
template <class QConfig>
outcome quantize(const zp::fused<digits_cnn>& fused, const std::vector<image>& calibration, const labelled_images& test,
                 const std::string& file) {
    const auto prepared = zp::prepare<QConfig>(fused);             // float, with an observer for every activation
    const auto calibrated = zp::calibrate(prepared, calibration);  // the observers have seen data
    const auto int8 = zp::convert(calibrated);                     // integers: the float weights stay behind
    zp::save(int8, file);
    const auto reloaded = zp::load<zp::quantized<digits_cnn, QConfig>>(file);  // all that a deployed program does

    outcome result = measure(reloaded, test, file);
    result.reloaded_identical = fingerprint(int8, test.images) == fingerprint(reloaded, test.images);
    result.layers = sqnr_by_layer(fused, reloaded, std::span(test.images).first(sqnr_images));
    result.calibration = zp::report(calibrated);
    return result;
}

int main(int argc, char** argv) try {
    const options chosen = parse_options(argc, argv);
    const digits data = load_digits(chosen.data);
    const std::string float_file = chosen.data + "/digits_cnn.safetensors";
    const auto fused = zp::fuse(zp::load<digits_cnn>(float_file));
    std::vector<image> calibration;  // every fourth of the training images
    for (std::size_t i = 0; i < data.training.images.size(); i += 4) calibration.push_back(data.training.images[i]);

    std::printf("\nA network that reads handwritten digits: %zu images to test it, %zu others to calibrate it.\n",
                data.test.images.size(), calibration.size());
    std::printf("Times are medians of single calls on one thread of this machine, compiled for %s.\n\n",
                zp::name_of<zp::default_architecture>());

    std::filesystem::create_directories(chosen.out);
    std::vector<outcome> all{measure(fused, data.test, float_file)};
    all.front().name = "float32";
    for_each_qconfig([&]<class QConfig>(const std::string& name) {
        all.push_back(quantize<QConfig>(fused, calibration, data.test, chosen.out + "/" + name + ".safetensors"));
        all.back().name = name;
    });

    const std::vector<promise> promises = check_promises(all);
    print_tables(all, promises);
    std::printf("\nThe int8 files are in %s\n", chosen.out.c_str());
    if (!chosen.json.empty()) write_json(all, promises, chosen.json);
    return std::all_of(promises.begin(), promises.end(), [](const promise& one) { return one.kept; }) ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
