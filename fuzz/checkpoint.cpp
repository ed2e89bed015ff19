// SPDX-License-Identifier: BSD-3-Clause
// Any bytes: an error, or a checkpoint that is saved to the same bytes, and that training goes on from or refuses by a zp::error.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "mutate.hpp"
#include "trained.hpp"

namespace {

/// A file in memory where the system has such: training reads it by its path.
struct memory_file {
    std::string path = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir) + "/zeropoint_fuzz_" +
                       std::to_string(getpid());
    ~memory_file() { std::remove(path.c_str()); }

    void write(std::span<const std::byte> bytes) const {
        std::FILE* to = std::fopen(path.c_str(), "wb");
        if (to == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), to) != bytes.size() || std::fclose(to) != 0)
            std::abort();
    }
};

template <class Network> std::vector<std::byte> read_and_saved(std::span<const std::byte> bytes, Network network) {
    const zp::safetensors_file file = zp::safetensors_file::view(bytes, "fuzzed");
    const zp::detail::checkpoint read = zp::detail::read_checkpoint(file, network);
    zp::detail::restore(network, read, file);
    return zp::detail::checkpoint_of(network, read.state).bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto untrained = fuzzed::trainee();
    static const memory_file file;
    std::vector<std::byte> saved;
    try {
        saved = read_and_saved(std::as_bytes(std::span(data, size)), untrained);
    } catch (const zp::error&) { return 0; }  // a file_error, or the value_error of ranges that do not fit one another
    if (read_and_saved(saved, untrained) != saved) std::abort();
    file.write(saved);
    try {
        auto network = untrained;
        fuzzed::train(network, file.path, [](const zp::training_progress&) { return false; });
    } catch (const zp::error&) {  // of another seed or optimizer, or of numbers that overflow in training
    }
    return 0;
}
