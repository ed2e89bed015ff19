// SPDX-License-Identifier: BSD-3-Clause
// A network that runs a step at a time as those who time it see it: by name, without its type.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace models {

/// Both forms of a network with one set of random weights, through zp::streaming, floats in and out. One thread at a time may run it.
class timed_stream {
public:
    timed_stream() = default;
    timed_stream(const timed_stream&) = delete;
    timed_stream& operator=(const timed_stream&) = delete;
    virtual ~timed_stream() = default;

    /// Floats of one step.
    virtual int inputs() const = 0;
    virtual int outputs() const = 0;
    /// Products of one step.
    virtual std::int64_t multiplications() const = 0;

    /// Begins a sequence anew.
    virtual void reset() noexcept = 0;
    /// So many steps that all have the same input; y: the last one's outputs.
    virtual void run_int8(const float* x, float* y, int steps) noexcept = 0;
    virtual void run_float(const float* x, float* y, int steps) noexcept = 0;

    /// The weights under PyTorch's names, shapes and order as safetensors.
    virtual void save_float(const std::string& path) const = 0;
};

struct named_stream {
    const char* name;
    std::unique_ptr<timed_stream> (*make)();
};
/// The networks of streaming_networks.hpp: "dense 64-64-64-16", "LSTM 1-32-1", "GRU 1-24-1", "TCN 4 x 16".
std::span<const named_stream> timed_streams();
/// Those that bench/peers has no peers for: "residual TCN 4 x 32", "wake word, 8 frames".
std::span<const named_stream> streams_without_peers();

}  // namespace models
