// SPDX-License-Identifier: BSD-3-Clause
// Batches beside as many single calls, int8, in turns: bench_batches [--seconds=2]. Floats in and out, the integers of single calls.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <zeropoint/model/batched.hpp>
#include <zeropoint/model/composition.hpp>

#include "models/lenet.hpp"
#include "models/mlp.hpp"
#include "models/quantize_randomly.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

/// 33 MB of weights: more than second-level caches hold, and many third-level ones.
struct mlp_4096 : zp::model<zp::input<1, 1, 4096>, zp::linear<"fc1", 4096>, zp::relu, zp::linear<"fc2", 4096>> {};

/// The least and the median time of rounds of two things in turns, in nanoseconds a call.
struct rounds {
    std::vector<double> times;
    double least() const { return *std::min_element(times.begin(), times.end()); }
    double median() {
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
        return times[times.size() / 2];
    }
    template <class F> void time(int calls, F f) {
        const auto start = clock_type::now();
        for (int call = 0; call != calls; ++call) f();
        times.push_back(std::chrono::duration<double, std::nano>(clock_type::now() - start).count() / calls);
    }
};

template <int N, class Network> void compare(const char* name, const Network& model, double seconds) {
    using batch = zp::batched<Network, N>;
    const batch all(model);
    constexpr auto in = static_cast<std::size_t>(Network::input_shape.size()),
                   out = static_cast<std::size_t>(Network::output_shape.size());
    const auto memory = std::make_unique<typename batch::workspace>();
    const auto one = std::make_unique<typename Network::workspace>();
    std::vector<float> x(N * in), y(N * out), wanted(N * out);
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) * 0.1f - 1.5f;
    const auto run_singly = [&] {
        for (std::size_t i = 0; i != N; ++i) model.run(x.data() + i * in, wanted.data() + i * out, one->bytes);
    };
    const void* const xs[] = {x.data()};
    void* const ys[] = {y.data()};
    const auto run_batch = [&] { all.run(xs, ys, memory->bytes); };
    const int calls = Network::parameter_bytes > 1000000 ? 1 : 20;
    rounds singles, batches;
    const auto begin = clock_type::now();
    do {
        singles.time(calls, run_singly);
        batches.time(calls, run_batch);
    } while (std::chrono::duration<double>(clock_type::now() - begin).count() < seconds);
    if (std::memcmp(y.data(), wanted.data(), sizeof(float) * y.size()) != 0) {
        std::fprintf(stderr, "%s: a batch of %d gives other results\n", name, N);
        std::exit(1);
    }
    std::printf("| %s | %d | %.2f | %.2f | %.2f | %.2f | %d kB, %d kB |\n", name, N, singles.least() / N / 1e3,
                batches.least() / N / 1e3, singles.least() / batches.least(), singles.median() / batches.median(),
                Network::arena_bytes / 1024, batch::arena_bytes / 1024);
    std::fflush(stdout);
}
template <class Net> auto quantized_randomly() {
    return models::quantize_randomly<Net>(zp::fuse(models::with_random_weights<Net>()));
}

}  // namespace

int main(int argc, char** argv) {
    double seconds = 1;
    for (int i = 1; i != argc; ++i)
        if (std::string_view(argv[i]).starts_with("--seconds=")) seconds = std::atof(argv[i] + 10);
    std::printf(
        "| network | batch | us an input, single calls | in a batch | ratio | of medians | arenas |\n"
        "|---|--:|--:|--:|--:|--:|--:|\n");
    const auto mlp = quantized_randomly<models::mlp_784>();
    compare<8>("mlp_784", mlp, seconds);
    compare<32>("mlp_784", mlp, seconds);
    const auto small = quantized_randomly<models::mlp_64>();
    compare<8>("mlp_64", small, seconds);
    compare<32>("mlp_64", small, seconds);
    const auto large = quantized_randomly<mlp_4096>();
    compare<8>("mlp_4096", large, seconds);
    compare<32>("mlp_4096", large, seconds);
    const auto lenet = quantized_randomly<models::lenet>();
    compare<8>("lenet", lenet, seconds);
    compare<32>("lenet", lenet, seconds);
}
