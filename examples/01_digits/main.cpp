// From a trained float network to an int8 one, end to end, on real handwritten digits. quantize() is the whole story;
// the rest measures what came of it.
#include <cstdio>
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

/// What all ways to quantize share.
struct experiment {
    zp::fused<digits_cnn> floats;
    digits data;
    std::vector<image> calibration;  // never a test image
};

template <class QConfig> outcome quantize(const experiment& given, const std::string& file) {
    const auto prepared = zp::prepare<QConfig>(given.floats);                 // the float network with observers
    const auto calibrated = zp::calibrate(prepared, given.calibration);       // which have now seen data
    const auto int8 = zp::convert(calibrated);                                // a zp::quantized<digits_cnn, QConfig>
    zp::save(int8, file);
    const auto reloaded = zp::load<zp::quantized<digits_cnn, QConfig>>(file);  // what a deployment program does

    const labelled_images& test = given.data.test;
    outcome result = measure(reloaded, given, file);
    result.reloaded_identical = fingerprint(int8, test.images) == fingerprint(reloaded, test.images);
    result.layers = sqnr_by_layer(given.floats, reloaded, test.images);
    result.calibration = zp::report(calibrated);
    return result;
}
