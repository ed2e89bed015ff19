// SPDX-License-Identifier: BSD-3-Clause
// Accuracy and processor seconds of the methods that repair it, on one network under one qconfig: compare_repairs.py compiles and runs it.
//     g++ -DNETWORK=digits_cnn ... ; repairs <folder of digits.safetensors> <augmented.safetensors> <weights> W4A4 <first seed> <last seed> [method]...
// A line a network: method, accuracy, that on the augmented images, seconds. What draws numbers does so once a seed. With -DLEARNED the same bits are
// trained with learned step sizes, on labels, on the float network's outputs, and on both; the first and the last layer learn theirs too.
// With -DRESCALED channels are rescaled first, which changes nothing but ranges, and weights and activations have 8 bits a tensor. With
// -DRANGES the second column is the SQNR of the outputs in dB, under default_qconfig, over ranges chosen in three ways.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#ifdef LEARNED
#include <zeropoint/training/train.hpp>
#else
#include <zeropoint/methods/correct_biases.hpp>
#include <zeropoint/methods/equalize.hpp>
#include <zeropoint/methods/gptq.hpp>
#include <zeropoint/methods/reconstruct_blocks.hpp>
#include <zeropoint/methods/search_ranges.hpp>
#endif
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../examples/01_digits/digits_data.hpp"

// clang-format off
/// MobileNetV2's blocks on 8 x 8 pixels, with relus in place of relu6: compare_repairs.py trains it.
inline constexpr zp::conv wide(int channels) { return {.out_channels = channels, .bias = false}; }
inline constexpr zp::conv window(int stride) { return {.kernel = 3, .stride = stride, .padding = 1, .groups = zp::depthwise, .bias = false}; }
struct mobile : zp::model<zp::input<8, 8, 1>,
    zp::conv2d<"stem", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"stem_norm">, zp::relu,
    zp::residual<
        zp::conv2d<"b1.expand", wide(48)>, zp::batch_norm2d<"b1.n1">, zp::relu,
        zp::conv2d<"b1.depthwise", window(1)>, zp::batch_norm2d<"b1.n2">, zp::relu,
        zp::conv2d<"b1.project", wide(16)>, zp::batch_norm2d<"b1.n3">>,
    zp::conv2d<"b2.expand", wide(48)>, zp::batch_norm2d<"b2.n1">, zp::relu,
    zp::conv2d<"b2.depthwise", window(2)>, zp::batch_norm2d<"b2.n2">, zp::relu,
    zp::conv2d<"b2.project", wide(24)>, zp::batch_norm2d<"b2.n3">,
    zp::residual<
        zp::conv2d<"b3.expand", wide(72)>, zp::batch_norm2d<"b3.n1">, zp::relu,
        zp::conv2d<"b3.depthwise", window(1)>, zp::batch_norm2d<"b3.n2">, zp::relu,
        zp::conv2d<"b3.project", wide(24)>, zp::batch_norm2d<"b3.n3">>,
    zp::conv2d<"head", wide(96)>, zp::batch_norm2d<"head_norm">, zp::relu,
    zp::avg_pool2d<4>, zp::flatten,
    zp::linear<"classifier", 10>> {};
// clang-format on
template <class Net> struct ends;  // the first and the last layer keep 8 bits
template <> struct ends<digits_cnn> {
    template <class Eight> using first = zp::for_layer<"conv1", Eight>;
    template <class Eight> using last = zp::for_layer<"fc2", Eight>;
};
template <> struct ends<mobile> {
    template <class Eight> using first = zp::for_layer<"stem", Eight>;
    template <class Eight> using last = zp::for_layer<"classifier", Eight>;
};

template <int Bits> using unsigned_bits = zp::custom_range<std::uint8_t, 0, (1 << Bits) - 1>;
template <int Bits> using signed_bits = zp::custom_range<std::int8_t, -(1 << (Bits - 1)), (1 << (Bits - 1)) - 1>;
#ifdef LEARNED
using range_observer = zp::learned_step<zp::mse_observer<>>;
#else
using range_observer = zp::mse_observer<>;
#endif
template <int Bits> using activations = zp::quantizer<unsigned_bits<Bits>, zp::per_tensor_affine, range_observer>;
template <int Bits> using weights = zp::quantizer<signed_bits<Bits>, zp::per_channel_symmetric, range_observer>;
struct eight : zp::qconfig<activations<8>, weights<8>> {};
template <int WeightBits, int ActivationBits>
struct few : zp::qconfig<activations<ActivationBits>, weights<WeightBits>, ends<NETWORK>::first<eight>,
                         ends<NETWORK>::last<eight>> {};
struct per_tensor : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>> {};
struct min_max : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                             zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>> {};

namespace {

digits data;
labelled_images augmented;  // the test images, turned and moved
std::vector<std::vector<float>> calibration;

/// All test images in their order, once a copy.
labelled_images load_augmented(const char* path) {
    const auto file = zp::safetensors_file::read(path);
    const std::size_t copies = 20, count = copies * data.test.labels.size();
    const auto pixels = file.values<float>("images", {static_cast<std::int64_t>(count), 8, 8});
    labelled_images all;
    for (std::size_t i = 0; i != count; ++i) {
        image& x = all.images.emplace_back();
        std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(i * x.size()), x.size(), x.begin());
        all.labels.push_back(data.test.labels[i % data.test.labels.size()]);
    }
    return all;
}
template <class Model> double accuracy(const Model& model, const labelled_images& on) {
    return percent_equal(read_digits(model, on.images), on.labels);
}
template <class Model> void print_line(const char* method, const Model& model, double seconds) {
    std::printf("%s\t%.2f\t%.2f\t%.2f\n", method, accuracy(model, data.test), accuracy(model, augmented), seconds);
    std::fflush(stdout);
}
std::string wanted_case;
std::uint64_t first_seed = 1, last_seed = 1;
std::vector<std::string> wanted;  // methods; all where none are named
template <class Make> void tell(const char* method, Make make) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), method) == wanted.end()) return;
    const std::clock_t begin = std::clock();
    const auto network = make();
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    print_line(method, network, seconds);
}
/// Once a seed.
template <class Make> void tell_each(const char* method, Make make) {
    for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) tell(method, [&] { return make(seed); });
}
template <class Config> auto prepared(const zp::fused<NETWORK>& fused) {
    return zp::calibrate(zp::prepare<Config>(fused), calibration);
}

#ifndef LEARNED
/// The same function with channels times 2^-6 to 2^6 wherever they can be divided again behind.
[[maybe_unused]] zp::fused<NETWORK> rescaled_by(zp::fused<NETWORK> network, std::uint32_t seed) {
    using stage = zp::fused_stage<NETWORK>;
    std::mt19937 next(seed);
    for (const zp::channel_site& site :
         zp::find_channel_sites({stage::loose.nodes, static_cast<std::size_t>(stage::loose.size)}).sites) {
        const zp::float_parameters p{network.rows(), network.parameters()};
        std::vector<float> factors(static_cast<std::size_t>(p.channels(site.producer)));
        for (float& factor : factors) factor = std::exp2(static_cast<float>(static_cast<int>(next() % 13) - 6));
        zp::scale_channels(p, site, factors);
    }
    return network;
}
#endif

#ifdef RANGES
/// 10 log10(signal / noise) of all outputs over the test images.
template <class Model> double decibels(const Model& model, const zp::fused<NETWORK>& fused) {
    double signal = 0, noise = 0;
    for (const image& x : data.test.images) {
        scores y, floats;
        model(x, y);
        fused(x, floats);
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{floats[i]} * double{floats[i]};
            noise += (double{y[i]} - double{floats[i]}) * (double{y[i]} - double{floats[i]});
        }
    }
    return 10 * std::log10(signal / noise);
}
void compare_ranges(const char* what, const zp::fused<NETWORK>& fused) {
    const auto calibrated = prepared<zp::default_qconfig>(fused);
    const auto wide = prepared<min_max>(fused);
    const std::clock_t begin = std::clock();
    const auto searched = zp::search_ranges(calibrated, calibration);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("%s: histogram\t%.2f\t0\t0\n", what, decibels(zp::convert(calibrated), fused));
    std::printf("%s: min_max\t%.2f\t0\t0\n", what, decibels(zp::convert(wide), fused));
    std::printf("%s: search_ranges\t%.2f\t0\t%.2f\n", what, decibels(zp::convert(searched), fused), seconds);
    std::fflush(stdout);
}
void run(const zp::float_model<NETWORK>& trained) {
    const auto fused = zp::fuse(trained);
    compare_ranges("as trained", fused);
    compare_ranges("rescaled", rescaled_by(fused, 1));
    for (std::size_t i = 0; i != 2; ++i)
        for (float& value : calibration[100 + 200 * i]) value *= 10;
    compare_ranges("rare outliers", fused);
}
#elif defined(LEARNED)
template <class Few> void run_case(const zp::float_model<NETWORK>& trained) {
    const auto fused = zp::fuse(trained);
    const auto calibrated = prepared<Few>(fused);
    const auto train = [&](const char* what, double rate, const auto& loss, const auto& samples,
                           std::optional<zp::weight_average> average = {}) {
        const std::string method = std::string(what) + ", rate " + zp::number_text(static_cast<float>(rate));
        tell_each(method.c_str(), [&](std::uint64_t seed) {
            auto qat = zp::prepare_qat(calibrated);
            zp::train(qat, samples,
                      {.epochs = 8,
                       .batch = 32,
                       .optimizer = zp::sgd{.lr = rate, .momentum = 0.9, .weight_decay = 1e-4},
                       .schedule = zp::cosine{},
                       .loss = loss,
                       .clip_norm = 5,
                       .average = average,
                       .seed = seed});
            return zp::convert(qat);
        });
    };
    const auto labelled = zp::labelled(data.training.images, data.training.labels);
    for (const double rate : {1e-2, 1e-3}) {
        train("labels", rate, zp::cross_entropy{}, labelled);
        train("labels, averaged", rate, zp::cross_entropy{}, labelled, zp::weight_average{.decay = 0.98});
        train("labels and teacher", rate, zp::distill(fused, {.temperature = 4, .weight = 0.5}), labelled);
        train("distilled", rate, zp::distill(fused, {.temperature = 4}), zp::unlabelled(data.training.images));
    }
}
#elif defined(RESCALED)
void run(const zp::float_model<NETWORK>& trained) {
    const auto fused = zp::fuse(trained);
    print_line("float", fused, 0);
    for (std::uint32_t seed = 1; seed != 6; ++seed) {
        const auto rescaled = rescaled_by(fused, seed);
        const std::string number = std::to_string(seed);
        print_line((number + ": rescaled float").c_str(), rescaled, 0);
        tell((number + ": rescaled nearest").c_str(), [&] { return zp::convert(prepared<per_tensor>(rescaled)); });
        tell((number + ": rescaled equalize").c_str(),
             [&] { return zp::convert(prepared<per_tensor>(zp::equalize(rescaled))); });
    }
}
#else
/// A method once a seed, and with its biases corrected. Where both are wanted, the seconds of the second are the correction's alone.
template <class Calibrated, class Make>
void tell_corrected(const std::string& method, const Calibrated& floats, std::uint64_t from, std::uint64_t to,
                    Make make) {
    for (std::uint64_t seed = from; seed <= to; ++seed) {
        std::optional<Calibrated> rounded;
        tell(method.c_str(), [&] { return zp::convert(rounded.emplace(make(seed))); });
        tell((method + ", correct_biases_by_data").c_str(), [&] {
            if (!rounded) rounded.emplace(make(seed));
            return zp::convert(zp::correct_biases_by_data(*rounded, floats, calibration));
        });
    }
}
template <class Few> void run_case(const zp::float_model<NETWORK>& trained) {
    const auto fused = zp::fuse(trained);
    print_line("float", fused, 0);
    const auto nearest = prepared<Few>(fused);
    tell("nearest", [&] { return zp::convert(nearest); });
    tell("correct_biases_by_data", [&] { return zp::convert(zp::correct_biases_by_data(nearest, calibration)); });
    tell("equalize", [&] { return zp::convert(prepared<Few>(zp::equalize(trained))); });
    tell("sequential_mse", [&] { return zp::convert(zp::sequential_mse(nearest, calibration)); });
    tell_corrected("gptq", nearest, 1, 1, [&](std::uint64_t) { return zp::gptq(nearest, calibration); });
    tell_corrected("adaround", nearest, first_seed, last_seed,
                   [&](std::uint64_t seed) { return zp::adaround(nearest, calibration, {.seed = seed}); });
    tell_corrected("reconstruct_blocks", nearest, first_seed, last_seed, [&](std::uint64_t seed) {
        return zp::reconstruct_blocks(nearest, calibration,
                                      {.iterations = 1'000, .batch = 32, .seed = seed, .layers = {.seed = seed}});
    });
}
#endif
#if !defined(RANGES) && !defined(RESCALED)
void run(const zp::float_model<NETWORK>& trained) {
    if (wanted_case == "W4A4") run_case<few<4, 4>>(trained);
    if (wanted_case == "W3A3") run_case<few<3, 3>>(trained);
    if (wanted_case == "W2A4") run_case<few<2, 4>>(trained);
#ifndef LEARNED
    if (wanted_case == "W4A8") run_case<few<4, 8>>(trained);
#endif
}
#endif

}  // namespace

int main(int count, char** arguments) {
    if (count < 7) {
        std::fprintf(stderr,
                     "usage: repairs <folder of digits.safetensors> <augmented.safetensors> <weights> <case> <first "
                     "seed> <last seed> "
                     "[method]...\n");
        return 1;
    }
    wanted_case = arguments[4];
    first_seed = std::strtoull(arguments[5], nullptr, 10);
    last_seed = std::strtoull(arguments[6], nullptr, 10);
    wanted.assign(arguments + 7, arguments + count);
    data = load_digits(arguments[1]);
    augmented = load_augmented(arguments[2]);
    for (std::size_t i = 0; i != 512; ++i)
        calibration.emplace_back(data.training.images[i].begin(), data.training.images[i].end());
    run(zp::load<zp::float_model<NETWORK>>(arguments[3]));
    return 0;
}
