// SPDX-License-Identifier: BSD-3-Clause
// What becomes of mutated files: outcomes SEEDS FIRST COUNT prints a line for each, the same on every compiler and architecture.
// scripts/architectures/mutated_files.py builds it for several, and compares.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/io/whole_file.hpp>

#include "../../tests/support/generator.hpp"
#include "../model_target.hpp"

namespace {

zp_test::generator next_number(0);

/// One small change of bytes, as a fuzzer makes them.
void change(std::vector<std::uint8_t>& bytes) {
    const auto below = [](std::size_t count) { return count == 0 ? std::size_t{0} : next_number() % count; };
    const std::size_t at = below(bytes.size()), length = std::min(bytes.size() - at, 1 + below(8));
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = place + static_cast<std::ptrdiff_t>(length);
    switch (below(6)) {
        case 0:
            if (!bytes.empty()) bytes[at] ^= static_cast<std::uint8_t>(1u << below(8));
            break;
        case 1:
            if (!bytes.empty()) bytes[at] = static_cast<std::uint8_t>(next_number());
            break;
        case 2: bytes.erase(place, end); break;
        case 3: bytes.insert(place, length, static_cast<std::uint8_t>(next_number())); break;
        case 4: std::reverse(place, end); break;
        default: {
            const std::vector<std::uint8_t> piece(place, end);
            const std::size_t to = below(bytes.size());
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), piece.begin(), piece.end());
        }
    }
}

/// A number that any change of an output changes. Every NaN is one.
std::uint32_t checksum(const std::vector<float>& outputs) {
    std::vector<std::byte> bytes;
    for (float value : outputs) {
        if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
        std::array<std::byte, sizeof value> one{};
        zp::store_little_endian(value, one.data());
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return zp::crc32(bytes);
}

/// On one line.
std::string escaped(const std::string& text) {
    std::string line;
    for (const char c : text) {
        char code[8];
        std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        line += c >= ' ' && c != 0x7f ? std::string(1, c) : code;
    }
    return line;
}

/// Of float networks only whether they load: the order of their sums is the architecture's.
template <class Model> inline constexpr bool has_exact_outputs = true;
template <class Net> inline constexpr bool has_exact_outputs<zp::float_model<Net>> = false;

template <class Model> std::string outcome(std::span<const std::byte> bytes) {
    try {
        const auto model = zp::load<Model>(bytes, "mutated");
        const std::vector<float> y = fuzzed::outputs_of(model);
        char line[32];
        std::snprintf(line, sizeof line, "accepted %08x",
                      static_cast<unsigned>(has_exact_outputs<std::decay_t<decltype(model)>> ? checksum(y) : 0));
        return line;
    } catch (const zp::file_error& error) { return "refused " + escaped(error.what()); }
}

struct kind {
    const char* name;
    std::string (*outcome)(std::span<const std::byte>);
};
constexpr std::array kinds{
    kind{"float_model", outcome<fuzzed::images>}, kind{"int8_model", outcome<fuzzed::int8_images>},
    kind{"int8_sequences", outcome<fuzzed::int8_sequences>}, kind{"int16_model", outcome<fuzzed::int16_images>},
    kind{"dynamic_model", outcome<fuzzed::dynamic_words>}};

/// File `number`: that of the seed, changed once or twice.
std::vector<std::uint8_t> mutated(const std::vector<std::byte>& seed, std::uint64_t number) {
    std::vector<std::uint8_t> bytes(seed.size() + 4096);
    std::memcpy(bytes.data(), seed.data(), seed.size());
    std::size_t size = seed.size();
    next_number = zp_test::generator(number);
    for (std::uint32_t changes = 1 + next_number() % 2; changes != 0; --changes)
        size = LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), next_number());
    bytes.resize(size);
    return bytes;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
    std::vector<std::uint8_t> bytes(data, data + size);
    change(bytes);
    const std::size_t left = std::min(bytes.size(), most);
    std::copy_n(bytes.begin(), left, data);
    return left;
}

int main(int count, char** arguments) try {
    if (count != 4) return 2;
    std::vector<std::vector<std::byte>> seeds;
    for (const kind& one : kinds)
        seeds.push_back(zp::read_whole_file(std::string(arguments[1]) + "/" + one.name + "/made_up"));
    const std::uint64_t first = std::strtoull(arguments[2], nullptr, 10);
    const std::uint64_t last = first + std::strtoull(arguments[3], nullptr, 10);
    for (std::uint64_t number = first; number != last; ++number) {
        const std::size_t which = static_cast<std::size_t>(number % kinds.size());
        const std::vector<std::uint8_t> bytes = mutated(seeds[which], number);
        std::printf("%llu %s %s\n", static_cast<unsigned long long>(number), kinds[which].name,
                    kinds[which].outcome(std::as_bytes(std::span(bytes))).c_str());
    }
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
