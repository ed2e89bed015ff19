// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints: all that training goes on from, as a safetensors file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/io/safetensors_reader.hpp>
#include <zeropoint/io/safetensors_writer.hpp>
#include <zeropoint/training/learned_step.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

/// Where training is, and what it remembers beside the network.
struct training_state {
    std::uint64_t epoch = 0, batch = 0, step = 0, batches = 0, seed = 0;
    double epoch_loss = 0;
    std::vector<double> losses;
    std::uint64_t raised_scales = 0;
    std::vector<float> first, second, average;
};

inline constexpr const char* checkpoint_format = "zeropoint.training";

template <class Values> void add_values(safetensors_writer& file, const char* name, const Values& values) {
    file.add(name, {static_cast<std::int64_t>(std::size(values))}, values);
}
template <class T> std::vector<T> values_of(const safetensors_file& file, const char* name) {
    return file.values<T>(file.expect(name));
}

/// Replaces the file, or leaves it as it was and raises file_error.
template <class Network>
void write_checkpoint(const std::string& path, const Network& network, const training_state& state) {
    safetensors_writer file;
    file.metadata("format", checkpoint_format);
    file.metadata("format_version", "1");
    file.metadata("network", Network::training_signature());
    const std::vector<std::int64_t> numbers{
        static_cast<std::int64_t>(state.epoch), static_cast<std::int64_t>(state.batch),
        static_cast<std::int64_t>(state.step),  static_cast<std::int64_t>(state.batches),
        static_cast<std::int64_t>(state.seed),  static_cast<std::int64_t>(state.raised_scales)};
    add_values(file, "clock", numbers);
    add_values(file, "epoch_loss", std::vector<double>{state.epoch_loss});
    add_values(file, "losses", state.losses);
    add_values(file, "values", network.values());
    add_values(file, "ranges", network.range_state());
    add_values(file, "first", state.first);
    add_values(file, "second", state.second);
    add_values(file, "average", state.average);
    file.write(path);
}

/// False where there is no such file. Raises file_error where it is not a checkpoint of this network.
template <class Network> bool read_checkpoint(const std::string& path, Network& network, training_state& state) {
    if (!file_stream(path, file_access::read).is_open()) return false;
    const safetensors_file file = safetensors_file::read(path);
    if (const std::string format = file.expect_metadata("format"); format != checkpoint_format)
        raise<file_error>(path + ": expected a checkpoint of training, found a file of format \"" + format + "\"");
    if (const std::string signature = file.expect_metadata("network"); signature != Network::training_signature())
        raise<file_error>(path + ": expected a checkpoint of this network and qconfig, whose signature is " +
                          Network::training_signature() + ", found that of another, " + signature);
    const auto numbers = values_of<std::int64_t>(file, "clock");
    const auto epoch_loss = values_of<double>(file, "epoch_loss");
    const auto values = values_of<float>(file, "values"), ranges = values_of<float>(file, "ranges");
    if (numbers.size() != 6 || epoch_loss.size() != 1 || ranges.size() != network.range_state().size())
        raise<file_error>(path + ": expected a checkpoint of training, found other tensors");
    state.epoch = static_cast<std::uint64_t>(numbers[0]);
    state.batch = static_cast<std::uint64_t>(numbers[1]);
    state.step = static_cast<std::uint64_t>(numbers[2]);
    state.batches = static_cast<std::uint64_t>(numbers[3]);
    state.seed = static_cast<std::uint64_t>(numbers[4]);
    state.raised_scales = static_cast<std::uint64_t>(numbers[5]);
    state.epoch_loss = epoch_loss.front();
    state.losses = values_of<double>(file, "losses");
    state.first = values_of<float>(file, "first");
    state.second = values_of<float>(file, "second");
    state.average = values_of<float>(file, "average");
    network.set_range_state(ranges);
    if (network.values().size() != values.size())
        raise<file_error>(path + ": expected " + std::to_string(network.values().size()) + " trained values, found " +
                          std::to_string(values.size()));
    std::copy(values.begin(), values.end(), network.values().begin());
    return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace zp
