// SPDX-License-Identifier: BSD-3-Clause
// The worst rows of MobileNetV2 and of an encoder with made-up weights, what comparing them costs, and memory over 10,000 inputs:
//
//     c++ -std=c++20 -O2 -march=native -Iinclude -Itests -I<xsimd>/include bench/accuracy/inspect_models.cpp -o build/inspect_models
//     build/inspect_models
//
// Linux: the peak of memory comes from getrusage.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/models/bert_encoder.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../../tests/support/made_up.hpp"

namespace {

struct mobilenet : zp::models::mobilenet_v2<zp::input<96, 96, 3>, 100> {};
struct encoder : zp::models::bert_encoder<16, 64, 2, 4> {};

/// So many inputs, of which one is there at a time.
template <class Net> struct stream {
    int count;
    struct iterator {
        int i;
        std::vector<float> operator*() const {
            return made_up::values(static_cast<std::size_t>(zp::float_model<Net>::input_shape.size()),
                                   static_cast<std::uint64_t>(i) + 100, -2, 2);
        }
        iterator& operator++() { return ++i, *this; }
        bool operator!=(const iterator& other) const { return i != other.i; }
    };
    iterator begin() const { return {0}; }
    iterator end() const { return {count}; }
};

long peak_kilobytes() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}
double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Net> void show(const char* name, int inputs) {
    const auto calibrated = zp::calibrate(zp::prepare<zp::default_qconfig>(made_up::network<Net>(1)), stream<Net>{32});
    const auto int8 = zp::convert(calibrated);
    for (const auto mode : {zp::comparison_mode::whole_networks, zp::comparison_mode::each_row}) {
        const double begin = seconds();
        const zp::comparison all = zp::compare(calibrated, int8, stream<Net>{inputs}, mode);
        const double each = (seconds() - begin) / inputs;
        auto worst = all.worst();
        worst.resize(std::min<std::size_t>(worst.size(), 8));
        std::printf("%s, %zu rows, %.1f ms an input\n%s\n", name, all.rows.size(), 1000 * each,
                    zp::to_string(all, worst).c_str());
    }
}

}  // namespace

int main() {
    show<mobilenet>("MobileNetV2, 96 x 96", 8);
    show<encoder>("encoder, 2 layers, 16 x 64", 64);
    const auto calibrated =
        zp::calibrate(zp::prepare<zp::default_qconfig>(made_up::network<encoder>(1)), stream<encoder>{32});
    const auto int8 = zp::convert(calibrated);
    for (const int inputs : {10, 100, 1000, 10000}) {
        const zp::comparison all = zp::compare(calibrated, int8, stream<encoder>{inputs});
        std::printf("%6d inputs: peak of memory %ld kB, output %.2f dB\n", inputs, peak_kilobytes(),
                    all.rows.back().sqnr());
    }
}
