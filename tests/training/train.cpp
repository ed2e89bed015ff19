// SPDX-License-Identifier: BSD-3-Clause
// Training as a whole: gradients against differences of losses, codes against those of the converted network, resumption to the bit.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/io/little_endian.hpp>
#include <zeropoint/io/safetensors_reader.hpp>
#include <zeropoint/io/whole_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

// clang-format off
struct net : zp::model<zp::input<6, 6, 3>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>, zp::relu6,
    zp::residual<zp::conv2d<"conv2", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1, .bias = false}>,
                 zp::batch_norm2d<"norm2">>, zp::relu,
    zp::max_pool2d<2>,
    zp::conv2d<"depthwise", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise}>, zp::relu,
    zp::avg_pool2d<3>, zp::flatten,
    zp::linear<"fc", 4>> {};
struct two_outputs : zp::model<zp::input<1, 1, 5>, zp::linear<"first", 3>, zp::output<"scores">, zp::relu,
    zp::linear<"second", 2>, zp::output<"more">> {};
struct one_output : zp::model<zp::input<1, 1, 5>, zp::linear<"first", 3>> {};
// clang-format on

using weights = zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>;
struct fixed : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, weights> {};
/// Ranges that follow the batches, and one that would.
struct stays
    : zp::qconfig<
          zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::fixed_range<zp::moving_average_min_max_observer<>>>,
          weights> {};
struct following : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                               weights, zp::for_layer<"fc", stays>> {};
struct learned : zp::qconfig<zp::quantizer<zp::quint4, zp::per_tensor_affine, zp::learned_step<zp::min_max_observer>>,
                             zp::quantizer<zp::custom_range<std::int8_t, -7, 7>, zp::per_channel_symmetric,
                                           zp::learned_step<zp::min_max_observer>>> {};

constexpr std::size_t count = 40, size = 108, classes = 4;

std::vector<std::vector<float>> images() { return made_up::inputs<net>(count, 3); }
std::vector<int> labels() {
    zp_test::generator next(5);
    std::vector<int> all(count);
    for (int& label : all) label = static_cast<int>(next.real(0, 3.99f));
    return all;
}

/// The mean cross entropy of all images, of a network's own outputs.
template <class Network> double loss_of(const Network& network) {
    const auto xs = images();
    const auto wanted = labels();
    double loss = 0;
    for (std::size_t i = 0; i != count; ++i) {
        std::array<float, classes> y{};
        network(xs[i], y);
        double sum = 0;
        for (const float value : y) sum += std::exp(double{value});
        loss += std::log(sum) - double{y[static_cast<std::size_t>(wanted[i])]};
    }
    return loss / static_cast<double>(count);
}
/// An executor whose parts run backwards.
struct backwards {
    static constexpr int workers() { return 3; }
    template <class Body> static void run(int parts, const Body& body) {
        for (int part = parts; part-- != 0;) body(part);
    }
};

template <class Config> auto calibrated() {
    return zp::calibrate(zp::prepare<Config>(zp::fuse(made_up::network<net>(1))), images());
}
template <class Network> std::vector<float> values_of(const Network& network) {
    const auto values = network.values();
    return {values.begin(), values.end()};
}
const zp::training_options few_steps{
    .epochs = 3, .batch = 11, .block = 4, .optimizer = zp::sgd{.lr = 0.05, .momentum = 0.9}, .schedule = zp::cosine{}};

template <class Config> void check_codes(zp::fake_quantized<net, Config>& qat) {
    const auto int8 = zp::convert(qat);
    const zp::tape tape = qat.make_tape(8);
    zp::block_runner<zp::default_architecture> runner(tape);
    const auto xs = images();
    for (int i = 0; i != 8; ++i) std::memcpy(runner.input(0, i), xs[static_cast<std::size_t>(i)].data(), size * 4);
    runner.forward(8, qat.pack(), true);
    std::size_t compared = 0, differing = 0;
    for (int i = 0; i != 8; ++i) {
        std::array<float, classes> y{};
        typename zp::quantized<net, Config>::workspace memory;
        int8.run(xs[static_cast<std::size_t>(i)].data(), y.data(), memory.bytes, [&](int row, const void* values) {
            const auto& n = int8.rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            const auto bytes = static_cast<std::size_t>(n.out.extents.size());
            compared += bytes;
            for (std::size_t k = 0; k != bytes; ++k)
                differing += runner.codes(row, i)[k] != static_cast<const std::byte*>(values)[k];
        });
        for (std::size_t k = 0; k != classes; ++k) CHECK(runner.output(0, i)[k] == y[k]);
    }
    CHECK(compared > 8 * 500);
    CHECK(differing == 0);
}

}  // namespace

TEST_CASE("train: a step of a float network goes down the gradient of its loss, array by array") {
    auto floats = zp::fuse(made_up::network<net>(1));
    auto trained = floats;
    zp::train(trained, zp::labelled(images(), labels()),
              {.batch = static_cast<int>(count), .block = 7, .optimizer = zp::sgd{.lr = 1}});
    const auto* before = reinterpret_cast<const float*>(floats.parameters());
    const auto* after = reinterpret_cast<const float*>(trained.parameters());
    std::vector<zp::trained_part> parts;
    zp::detail::append_parts_of_parameters<zp::fused_stage<net>>(parts);
    CHECK(parts.size() == 8);
    zp_test::generator next(8);
    for (const zp::trained_part& part : parts) {
        std::vector<float> direction(part.count);
        double expected = 0, largest = 0;
        for (std::size_t k = 0; k != part.count; ++k) {
            direction[k] = next.real(-1, 1);
            const double gradient = double{before[part.offset + k]} - double{after[part.offset + k]};
            expected += gradient * double{direction[k]};
            largest += std::fabs(gradient);
        }
        const double h = 1e-3;
        const auto moved = [&](double by) {
            auto network = floats;
            auto* values = reinterpret_cast<float*>(network.parameters()) + part.offset;
            for (std::size_t k = 0; k != part.count; ++k) values[k] += static_cast<float>(by * double{direction[k]});
            return loss_of(network);
        };
        const double found = (moved(h) - moved(-h)) / (2 * h);
        INFO(part.name, ": expected ", expected, ", found ", found);
        CHECK(std::fabs(found - expected) < 5e-3 * largest + 1e-4);
        CHECK(largest > 0);
    }
}

TEST_CASE("train: what is trained is what is converted, to the last code") {
    auto first = zp::prepare_qat(calibrated<fixed>());
    const double before = loss_of(zp::convert(first));
    const auto report = zp::train(first, zp::labelled(images(), labels()), few_steps);
    CHECK(report.losses.size() == 3);
    CHECK(report.steps == 12);
    CHECK(loss_of(zp::convert(first)) < 0.8 * before);
    check_codes(first);

    auto second = zp::prepare_qat<following>(zp::fuse(made_up::network<net>(1)));
    CHECK_FALSE(second.has_ranges());
    zp::train(second, zp::labelled(images(), labels()), few_steps);
    check_codes(second);

    auto calibrated_before = zp::prepare_qat(calibrated<following>());
    const auto range_of = [&](const zp::node& n) {
        return *calibrated_before.as_prepared().given().range_of(n.out.qparams_id);
    };
    const zp::node &conv1 = calibrated_before.rows()[1], &fc = calibrated_before.rows().back();
    const zp::qparams first_range = range_of(conv1), last_range = range_of(fc);
    zp::train(calibrated_before, zp::labelled(images(), labels()), few_steps);
    CHECK(range_of(conv1) != first_range);
    CHECK(range_of(fc) == last_range);

    auto third = zp::prepare_qat(calibrated<learned>());
    const auto start = values_of(third);
    zp::train(third, zp::labelled(images(), labels()), few_steps);
    check_codes(third);
    int moved = 0;
    for (const zp::trained_part& part : third.parts()) {
        bool differs = false;
        for (std::size_t k = 0; k != part.count; ++k)
            differs = differs || third.values()[part.offset + k] != start[part.offset + k];
        if (part.group == zp::parameter_group::scales) moved += differs;
        else CHECK_MESSAGE(differs, part.name);
    }
    CHECK(moved >= 8);
}

TEST_CASE("train: the loss is that of the int8 network") {
    auto qat = zp::prepare_qat(calibrated<fixed>());
    const double expected = loss_of(zp::convert(qat));
    const auto report = zp::train(qat, zp::labelled(images(), labels()), {.batch = static_cast<int>(count)});
    CHECK(std::fabs(report.losses.front() - expected) < 1e-6);
}

TEST_CASE("train: neither workers nor an interruption change a bit") {
    const auto config = [](const std::string& file) {
        zp::training_options options = few_steps;
        options.checkpoint = file;
        options.optimizer = zp::adam{.lr = 1e-2};
        options.average = zp::weight_average{.decay = 0.9};
        options.resume = !file.empty();
        return options;
    };
    const auto xs = images();
    const auto wanted = labels();
    auto whole = zp::prepare_qat(calibrated<learned>());
    const auto report = zp::train(whole, zp::labelled(xs, wanted), config(""));
    auto parallel = zp::prepare_qat(calibrated<learned>());
    zp::train(parallel, zp::labelled(xs, wanted), config(""), backwards{});
    CHECK(values_of(parallel) == values_of(whole));

    const std::string file = std::string(P_tmpdir) + "/zeropoint_training.safetensors";
    for (const std::size_t stop : {1u, 4u, 7u}) {
        std::remove(file.c_str());
        auto part = zp::prepare_qat(calibrated<learned>());
        std::size_t steps = 0;
        const auto first = zp::train(part, zp::labelled(xs, wanted), config(file), zp::executors::serial{},
                                     [&](const zp::training_progress&) { return ++steps != stop; });
        CHECK(first.was_stopped);
        auto rest = zp::prepare_qat(calibrated<learned>());
        const auto second = zp::train(rest, zp::labelled(xs, wanted), config(file));
        CHECK(values_of(rest) == values_of(whole));
        CHECK(second.losses == report.losses);
    }
    auto other = zp::prepare_qat(calibrated<fixed>());
    CHECK(zp_test::error_of([&] {
              zp::train(other, zp::labelled(xs, wanted), config(file));
          }).find("expected a checkpoint of this network and qconfig") != std::string::npos);
    std::remove(file.c_str());
}

TEST_CASE("train: a checkpoint with what no training comes to is a sentence, and changes nothing") {
    const auto xs = images();
    const auto wanted = labels();
    const std::string file = std::string(P_tmpdir) + "/zeropoint_damaged.safetensors";
    std::remove(file.c_str());
    zp::training_options options = few_steps;
    options.checkpoint = file;
    options.optimizer = zp::adam{};
    options.average = zp::weight_average{};
    auto network = zp::prepare_qat(calibrated<learned>());
    zp::train(network, zp::labelled(xs, wanted), options, zp::executors::serial{},
              [steps = 0](const zp::training_progress&) mutable { return ++steps != 6; });
    const std::vector<std::byte> good = zp::read_whole_file(file);

    options.resume = true;
    const auto error_with = [&](const char* tensor, std::size_t place, auto value, const std::string& metadata = "",
                                bool has_checksums = false) {
        std::vector<std::byte> bytes = good;
        const auto set_behind = [&](const std::string& key, char digit) {
            const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
            bytes[text.find(key) + key.size()] = static_cast<std::byte>(digit);
        };
        if (!metadata.empty()) {
            set_behind(metadata, '9');
        } else {
            if (!has_checksums) set_behind("\"format_version\":\"", '1');
            const auto opened = zp::safetensors_file::view(bytes, file);
            const std::size_t offset = static_cast<std::size_t>(opened.expect(tensor).bytes.data() - bytes.data());
            zp::store_little_endian(value, bytes.data() + offset + place * sizeof value);
        }
        zp::write_whole_file(file, bytes);
        auto resumed = zp::prepare_qat(calibrated<learned>());
        const auto before = values_of(resumed);
        const std::string error = zp_test::error_of([&] { zp::train(resumed, zp::labelled(xs, wanted), options); });
        CHECK(values_of(resumed) == before);
        return error.substr(std::min(error.size(), file.size() + 2));
    };
    const float nan = zp::not_a_number;
    CHECK(error_with("clock", 1, std::int64_t{1000}) ==
          "tensor \"clock\": expected a step of an epoch, and the losses of those before, found batch 1000 of 4 in "
          "epoch 1, step 6, 1 losses: the file is damaged");
    CHECK(error_with("clock", 0, std::int64_t{-1}).find("expected a step of an epoch") != std::string::npos);
    CHECK(error_with("clock", 2, std::int64_t{7}).find("expected a step of an epoch") != std::string::npos);
    CHECK(error_with("epoch_loss", 0, std::nan("")) ==
          "tensor \"epoch_loss\": expected a finite number, found nan at 0");
    CHECK(error_with("values", 3, nan) == "tensor \"values\": expected finite numbers, found nan at 3");
    CHECK(error_with("first", 5, zp::infinity) == "tensor \"first\": expected finite numbers, found inf at 5");
    CHECK(error_with("second", 1, -1.0f) == "tensor \"second\": expected numbers of at least 0, found -1 at 1");
    CHECK(error_with("average", 0, nan) == "tensor \"average\": expected finite numbers, found nan at 0");
    CHECK(error_with("ranges", 5, -1.0f) ==
          "tensor \"ranges\": expected ranges that training comes to, found the scale -1 of range 0");
    CHECK(error_with("ranges", 6, 1e30f) ==
          "tensor \"ranges\": expected ranges that training comes to, found the zero point 1e+30 of range 0");
    CHECK(error_with("ranges", 8, nan) ==
          "tensor \"ranges\": expected ranges that training comes to, found nan of range 1");
    CHECK(error_with("", 0, 0, "\"format_version\":\"") ==
          "expected a checkpoint of format version 1 or 2, found 9, which another version of zeropoint has written");
    bool has_scales = false;
    for (const zp::trained_part& part : network.parts())
        if (part.floor >= 0) {
            CHECK(error_with("values", part.offset, -0.5f) ==
                  "tensor \"values\": expected scales above their floor, found -0.5 at 0");
            has_scales = true;
            break;
        }
    CHECK(has_scales);
    const std::string damaged = error_with("values", 3, 0.25f, "", true);
    CHECK(damaged.find("tensor \"values\": expected bytes of the CRC-32 ") == 0);
    CHECK(damaged.find(": the file is damaged") != std::string::npos);

    // What is a checkpoint, but of another training.
    zp::write_whole_file(file, good);
    const auto error_of = [&](const zp::training_options& others) {
        auto resumed = zp::prepare_qat(calibrated<learned>());
        const auto before = values_of(resumed);
        const std::string error = zp_test::error_of([&] { zp::train(resumed, zp::labelled(xs, wanted), others); });
        CHECK(values_of(resumed) == before);
        return error;
    };
    auto others = options;
    others.optimizer = zp::sgd{};
    CHECK(error_of(others).find("was written with another kind of optimizer") != std::string::npos);
    others = options;
    others.seed += 1;
    CHECK(error_of(others).find("was written with another seed") != std::string::npos);
    CHECK(zp::train(network, zp::labelled(xs, wanted), options).steps == 12);
    std::remove(file.c_str());
}

TEST_CASE("train: what cannot be trained with is a sentence") {
    auto floats = zp::fuse(made_up::network<net>(1));
    const auto xs = images();
    auto wanted = labels();
    const auto says = [&](auto&& data, const zp::training_options& options) {
        return zp_test::error_of([&] { zp::train(floats, data, options); });
    };
    CHECK(says(zp::labelled(xs, wanted), {.batch = 41}) ==
          "train: expected a batch from 1 to the 40 inputs that came, found .batch = 41");
    CHECK(says(zp::unlabelled(xs), {}) ==
          "train: cross_entropy needs a class for each input: train with zp::labelled(inputs, labels)");
    CHECK(says(zp::labelled(xs, std::vector<int>(39)), {}) ==
          "train: 40 inputs came, so that 40 labels were expected, but 39 came");
    CHECK(says(zp::labelled(std::vector<std::vector<float>>(), std::vector<int>()), {}) ==
          "train: expected at least one input, but none came");
    CHECK(says(zp::labelled(std::vector<float>(109), std::vector<int>(1)), {}) ==
          "train: the input is 6x6x3, so that a multiple of 108 values was expected, but 109 came");
    wanted[7] = 4;
    CHECK(says(zp::labelled(xs, wanted), {}) == "train: label 7 is 4, but the network has the classes 0 to 3");
    wanted[7] = 0;
    const std::string infinite = says(zp::labelled(xs, wanted), {.epochs = 50, .optimizer = zp::sgd{.lr = 1e38}});
    CHECK(infinite.find("train: epoch 0, batch ") == 0);
    CHECK(infinite.find("the step was not taken") != std::string::npos);
    auto spoilt = xs;
    spoilt[3][5] = std::nanf("");
    floats = zp::fuse(made_up::network<net>(1));
    CHECK(says(zp::labelled(spoilt, wanted), {.shuffle = false})
              .find("train: epoch 0, batch 0: expected finite values, but input") == 0);
}

TEST_CASE("train: the loss is of the first output, and others disturb nothing") {
    auto both = zp::fuse(made_up::network<two_outputs>(3));
    auto first = zp::fuse(made_up::network<one_output>(3));
    const auto values = [](auto& network, int row) {
        const auto of = zp_test::array_of(network, network.rows()[static_cast<std::size_t>(row)], 0);
        return std::vector<float>(of.begin(), of.end());
    };
    const auto start = values(first, 1);
    REQUIRE(values(both, 1) == start);
    const int last = static_cast<int>(both.rows().size()) - 2;
    const auto untouched = values(both, last);
    const auto xs = made_up::inputs<one_output>(16);
    std::vector<int> wanted;
    for (int i = 0; i != 16; ++i) wanted.push_back(i % 3);
    const zp::training_options options{.epochs = 2, .batch = 8, .block = 2, .optimizer = zp::sgd{.lr = 0.1}};
    zp::train(both, zp::labelled(xs, wanted), options);
    zp::train(first, zp::labelled(xs, wanted), options);
    CHECK(values(first, 1) != start);
    CHECK(values(both, 1) == values(first, 1));
    CHECK(values(both, last) == untouched);
}

TEST_CASE("train: a step by the losses of several outputs is the sum of the steps by each") {
    const auto xs = made_up::inputs<two_outputs>(12);
    std::vector<int> numbers;
    std::vector<float> wanted;
    zp_test::generator next(6);
    for (int i = 0; i != 12; ++i) {
        numbers.push_back(i % 3);
        wanted.push_back(next.real(-1, 1));
        wanted.push_back(next.real(-1, 1));
    }
    const auto start = zp::fuse(made_up::network<two_outputs>(3));
    std::vector<zp::trained_part> parts;
    zp::detail::append_parts_of_parameters<zp::fused_stage<two_outputs>>(parts);
    const auto change = [&](const auto& data, const std::vector<zp::output_loss>& losses, double& loss) {
        auto network = start;
        loss = zp::train(network, data, {.batch = 12, .block = 5, .optimizer = zp::sgd{.lr = 1}, .losses = losses})
                   .losses.front();
        std::vector<double> all;
        for (const zp::trained_part& part : parts)
            for (std::size_t k = part.offset; k != part.offset + part.count; ++k)
                all.push_back(double{reinterpret_cast<const float*>(network.parameters())[k]} -
                              double{reinterpret_cast<const float*>(start.parameters())[k]});
        return all;
    };
    const auto scores = zp::targets("scores", numbers);
    const auto more = zp::targets("more", wanted);
    double both_loss = 0, first_loss = 0, second_loss = 0;
    const auto both =
        change(zp::with_targets(xs, scores, more), {{"scores"}, {"more", zp::mean_squared_error{}, 0.25}}, both_loss);
    const auto first = change(zp::labelled(xs, numbers), {}, first_loss);
    const auto second = change(zp::with_targets(xs, more), {{"more", zp::mean_squared_error{}}}, second_loss);
    CHECK(std::fabs(both_loss - (first_loss + 0.25 * second_loss)) < 1e-12);
    double most = 0;
    for (std::size_t k = 0; k != both.size(); ++k) {
        CHECK(std::fabs(both[k] - (first[k] + 0.25 * second[k])) < 1e-6);
        most = std::max(most, std::fabs(second[k]));
    }
    CHECK(most > 1e-3);

    auto network = start;
    const auto says = [&](const auto& data, const std::vector<zp::output_loss>& losses) {
        return zp_test::error_of([&] { zp::train(network, data, {.batch = 12, .losses = losses}); });
    };
    CHECK(says(zp::with_targets(xs, scores), {{"score"}}) ==
          "train: .losses names the output \"score\", which the network has not: mark it with zp::output<\"score\">");
    CHECK(says(zp::with_targets(xs, scores, more), {{"scores"}}) ==
          "train: targets came for the output \"more\", of which there is no loss: name it in .losses");
    CHECK(says(zp::with_targets(xs, zp::targets("other", numbers)), {{"scores"}}) ==
          "train: targets came for an output \"other\", which the network has not");
    CHECK(says(zp::with_targets(xs, scores), {{"scores"}, {"more", zp::mean_squared_error{}}})
              .find("this loss needs target values") != std::string::npos);
}
