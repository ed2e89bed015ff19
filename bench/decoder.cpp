// SPDX-License-Identifier: BSD-3-Clause
// A block of Llama's shapes, a token at a time: tokens a second of float, 8-bit and 4-bit weights, in rounds that take turns; and its
// attention alone behind 2048 tokens, with a cache of floats and of 8 bits. And an
// image of a gigabyte of 4-bit weights, mapped or copied: how long it takes until the first token, and the memory that it takes.
//
//     bench_decoder                    the block
//     bench_decoder save FILE          writes the image; then, in new processes:
//     bench_decoder map FILE, bench_decoder copy FILE
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/io/mapped_file.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/io/packed_image_writer.hpp>
#include <zeropoint/models/llama.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/streaming.hpp>

namespace {

using clock_type = std::chrono::steady_clock;
double milliseconds_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

template <class Policy> using config_of = zp::dynamic_qconfig<Policy>;
using four_bits = zp::dynamic_group_policy<>;

/// A layer of TinyLlama's extents.
constexpr zp::models::llama_extents of_block{.length = 4, .layers = 1, .vocabulary = 100, .context = 256};
struct block : zp::models::llama<of_block> {};
/// Its attention alone, queries, keys and values side by side.
template <int CacheBits>
struct attention
    : zp::model<
          zp::input<1, 4, 2560>,
          zp::causal_attention<zp::causal_attention_options{
              .heads = 32, .key_heads = 4, .depth = 64, .context = 2048, .theta = 10000, .cache_bits = CacheBits}>> {};
/// Nine layers of Llama 7B's: a gigabyte of 4-bit weights.
constexpr zp::models::llama_extents of_gigabyte{.length = 4,
                                                .channels = 4096,
                                                .layers = 9,
                                                .heads = 32,
                                                .key_heads = 32,
                                                .depth = 128,
                                                .inner = 11008,
                                                .vocabulary = 100,
                                                .context = 256};
struct gigabyte : zp::models::llama<of_gigabyte> {};
using large = zp::dynamically_quantized<gigabyte, config_of<four_bits>>;

class numbers {
public:
    float operator()() {
        state_ = state_ * 1664525u + 1013904223u;
        return static_cast<float>(static_cast<std::int32_t>(state_)) * 0x1p-31f;
    }

private:
    std::uint32_t state_ = 1;
};

template <class Stream, class... Executor>
std::function<void()> token_of(std::shared_ptr<Stream> stream, const Executor&... executor) {
    return [stream, &executor..., y = std::vector<float>(std::size_t{2048}), token = 0]() mutable {
        (*stream)(std::array{std::int32_t{token}}, y, executor...);
        token = (token + 7) % 100;
    };
}
struct timed {
    const char* name;
    std::function<void()> token;
    double best = 1e30;
};

/// Microseconds of a step behind so many others, the least of some rounds, on one thread and on all of a pool, in turns.
template <int CacheBits, class Pool> void measure_attention(const Pool& pool, int tokens, int rounds) {
    using network = zp::float_model<attention<CacheBits>>;
    const network model;
    const auto alone = std::make_unique<zp::streaming<network>>(model);
    const auto by_threads = std::make_unique<zp::streaming<network, 16>>(model);
    numbers next;
    std::vector<float> x(2560), y(2048);
    double best[2] = {1e30, 1e30};
    for (int token = 0; token != tokens + rounds; ++token) {
        for (float& value : x) value = next();
        const auto begin = clock_type::now();
        (*alone)(x, y);
        const double of_one = milliseconds_since(begin);
        (*by_threads)(x, y, pool);
        const double of_all = milliseconds_since(begin) - of_one;
        if (token < tokens) continue;
        best[0] = std::min(best[0], of_one);
        best[1] = std::min(best[1], of_all);
    }
    std::printf("its attention behind %d tokens, cache of %d bits (%.2f MB): %.0f us, on %d threads %.0f\n", tokens,
                CacheBits, zp::streaming<network>::state_bytes / 1e6, 1000 * best[0], pool.workers(), 1000 * best[1]);
}

void measure_block(int rounds) {
    zp::float_model<block> trained;
    numbers next;
    auto* floats = reinterpret_cast<float*>(trained.parameters());
    for (std::size_t i = 0; i != static_cast<std::size_t>(trained.parameter_bytes) / sizeof(float); ++i)
        floats[i] = 0.03f * next();
    using eight = zp::dynamically_quantized<block, config_of<zp::dynamic_policy<>>>;
    using four = zp::dynamically_quantized<block, config_of<four_bits>>;
    const four quantized = zp::quantize_dynamic<config_of<four_bits>>(trained);
    const eight of_eight = zp::quantize_dynamic<config_of<zp::dynamic_policy<>>>(trained);
    constexpr int most_workers = 16;
    const int workers = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_workers);
    const zp::executors::thread_pool pool(workers);
    timed all[] = {
        {"float", token_of(std::make_shared<zp::streaming<zp::float_model<block>>>(trained))},
        {"float, threads",
         token_of(std::make_shared<zp::streaming<zp::float_model<block>, most_workers>>(trained), pool)},
        {"int8 weights", token_of(std::make_shared<zp::streaming<eight>>(of_eight))},
        {"4-bit weights", token_of(std::make_shared<zp::streaming<four>>(quantized))},
        {"int8, threads", token_of(std::make_shared<zp::streaming<eight, most_workers>>(of_eight), pool)},
        {"4-bit, threads", token_of(std::make_shared<zp::streaming<four, most_workers>>(quantized), pool)},
    };
    for (int round = 0; round != rounds; ++round)
        for (timed& one : all) {
            const auto begin = clock_type::now();
            one.token();
            one.best = std::min(one.best, milliseconds_since(begin));
        }
    std::printf(
        "a layer of 2048 channels, 32 heads of 64 over 4 of keys, 5632 inner; behind up to 256 tokens; on %d threads\n",
        workers);
    for (const timed& one : all)
        std::printf("%-14s %8.3f ms a token %8.0f tokens/s\n", one.name, one.best, 1000 / one.best);
    measure_attention<32>(pool, rounds < 10 ? 20 : 2048, rounds);
    measure_attention<8>(pool, rounds < 10 ? 20 : 2048, rounds);
    const std::vector<std::byte> file = zp::to_bytes(quantized);
    const auto begin = clock_type::now();
    static_cast<void>(zp::load<four>(file));
    std::printf("its safetensors file, %.1f MB, is checked and packed in %.0f ms\n",
                static_cast<double>(file.size()) / 1e6, milliseconds_since(begin));
}

/// Of this process, in MB: "VmHWM", the most that it had in memory; "RssAnon" without pages of files, which cost nobody.
long memory_of(std::string_view what) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(what)) return std::stol(line.substr(what.size() + 1)) / 1024;
    return 0;
}

void save(const char* path) {
    typename zp::streaming<large>::network_type step;
    numbers next;
    for (const zp::node& n : step.rows()) {
        std::byte* to = step.parameters() + n.at.parameter_offset;
        const auto size = static_cast<std::size_t>(n.at.parameter_bytes);
        if (n.is_grouped()) {  // any codes, and scales of 0.004
            std::memset(to, 0x1c, size);
            const std::size_t bias = sizeof(float) * static_cast<std::size_t>(n.weights.channels);
            std::memset(to + size - bias, 0, bias);
            continue;
        }
        for (std::size_t i = 0; i + sizeof(float) <= size; i += sizeof(float)) {
            const float value = next();
            std::memcpy(to + i, &value, sizeof value);
        }
    }
    zp::save_packed_image(step, path);
    std::printf("%s: %zu MB\n", path, zp::in_place<typename zp::streaming<large>::network_type>::image_bytes >> 20);
}
int run(std::span<const std::byte> image, clock_type::time_point begin, int tokens) {
    const auto stream = std::make_unique<zp::streaming<zp::in_place<large>>>(image);
    if (!*stream) return std::puts(zp::text_of(stream->problem())), 1;
    const double ready = milliseconds_since(begin);
    std::vector<float> y(4096);
    double first = 0, best = 1e30;
    for (int token = 0; token != tokens; ++token) {
        const auto before = clock_type::now();
        (*stream)(std::array{std::int32_t{token % 100}}, y);
        const double spent = milliseconds_since(before);
        if (token == 0) first = spent;
        else best = std::min(best, spent);
    }
    std::printf(
        "ready in %.1f ms, first token %.0f ms, then %.0f ms (%.1f tokens/s); most in memory %ld MB, of those not "
        "the file's %ld MB\n",
        ready, first, best, 1000 / best, memory_of("VmHWM:"), memory_of("RssAnon:"));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 2 ? argv[1] : "";
    const auto begin = clock_type::now();
    if (what == "save") save(argv[2]);
    else if (what == "map") {
        const zp::mapped_file image(argv[2]);
        return run(image.bytes(), begin, 10);
    } else if (what == "copy") {
        const auto all = zp::read_whole_file(argv[2]);
        zp::aligned_buffer buffer(all.size());
        std::memcpy(buffer.data(), all.data(), all.size());
        return run({buffer.data(), buffer.size()}, begin, 10);
    } else measure_block(argc > 1 ? 2 : 300);
    return 0;
}
