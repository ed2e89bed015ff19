// SPDX-License-Identifier: BSD-3-Clause
// 4-bit weights times 8-bit activations beside int8 weights, 4-bit weights alone and a loop that reads as many bytes: one linear
// layer, float in and out, in rounds that take turns. Microseconds of the best round; ratios to it are in the same line.
// bench_nibbles [rounds]
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <zeropoint/layer/linear.hpp>

namespace {

using arch = zp::default_architecture;

std::vector<float> floats(std::size_t count, std::uint32_t seed) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
    }
    return values;
}

/// The sum of all words: a loop that waits for memory and nothing else.
std::uint64_t read_all(const std::vector<std::uint64_t>& words) {
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= words.size(); i += 8)
        for (std::size_t k = 0; k != 8; ++k) sums[k] += words[i + k];
    std::uint64_t sum = 0;
    for (const std::uint64_t one : sums) sum += one;
    return sum;
}

struct timed {
    std::function<void()> call;
    double best = 1e30;

    void run(int calls) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i != calls; ++i) call();
        const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
        best = std::min(best, spent.count() / calls);
    }
};

template <int Inputs, int Outputs, int Rows, class Policy>
std::function<void()> layer_of(const std::vector<float>& weights) {
    using layer_type = zp::dynamic_linear<Inputs, Outputs, Policy, arch, Rows>;
    return [layer = std::make_shared<layer_type>(weights), memory = std::make_shared<typename layer_type::workspace>(),
            x = floats(std::size_t{Inputs} * Rows, 2), y = std::vector<float>(std::size_t{Outputs} * Rows)]() mutable {
        layer->run(x.data(), Rows, y.data(), *memory);
    };
}

template <int Inputs, int Outputs, int Rows> void measure(int rounds) {
    const std::vector<float> weights = floats(std::size_t{Inputs} * Outputs, 1);
    constexpr std::size_t bytes = std::size_t{Inputs} * Outputs / 32 * 18;
    const auto words = std::make_shared<std::vector<std::uint64_t>>(bytes / 8, 1);
    std::uint64_t sum = 0;
    timed all[] = {{layer_of<Inputs, Outputs, Rows, zp::dynamic_group_policy<>>(weights)},
                   {layer_of<Inputs, Outputs, Rows, zp::dynamic_group_policy<zp::quint4, 32>>(weights)},
                   {layer_of<Inputs, Outputs, Rows, zp::dynamic_group_policy<zp::qint4, 128>>(weights)},
                   {layer_of<Inputs, Outputs, Rows, zp::dynamic_policy<>>(weights)},
                   {layer_of<Inputs, Outputs, Rows, zp::weight_only_policy<zp::qint4, 32>>(weights)},
                   {[&] { sum += read_all(*words); }}};
    const double products = double{Inputs} * Outputs * Rows;
    const int calls = std::max(1, static_cast<int>(2e7 / products));
    for (int round = 0; round != rounds; ++round)
        for (timed& one : all) one.run(calls);
    char name[32];
    std::snprintf(name, sizeof name, "%dx%dx%d", Rows, Inputs, Outputs);
    std::printf("%-14s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f  %6.2f %6.2f %6.2f %s\n", name, all[0].best, all[1].best,
                all[2].best, all[3].best, all[4].best, all[5].best, all[3].best / all[0].best,
                all[4].best / all[0].best, all[5].best / all[0].best, sum == 0 ? "?" : "");
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_short = argc > 1 && std::strncmp(argv[1], "--", 2) == 0;  // to see that it runs
    const int rounds = is_short ? 1 : argc > 1 ? std::atoi(argv[1]) : 40;
    std::printf("us             4x8 of 32   minimum    of 128      int8    4 only      read   /int8  /4only  /read\n");
    measure<1024, 1024, 1>(20 * rounds);
    measure<1024, 1024, 8>(4 * rounds);
    measure<1024, 1024, 64>(rounds);
    if (is_short) return 0;
    measure<4096, 4096, 1>(2 * rounds);
    measure<4096, 11008, 1>(rounds);
    measure<4096, 4096, 64>(3);
}
