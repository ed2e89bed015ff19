// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints: all that training goes on from, as a safetensors file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/io/safetensors_reader.hpp>
#include <zeropoint/io/safetensors_writer.hpp>
#include <zeropoint/training/trained_part.hpp>

namespace zp::inline v0::detail {

/// Where training is, and what it remembers beside the network.
struct training_state {
    std::uint64_t epoch = 0, batch = 0, step = 0, batches = 0, seed = 0;
    double epoch_loss = 0;
    std::vector<double> losses;
    std::uint64_t raised_scales = 0;
    std::vector<float> first, second, average;
};

inline constexpr const char *checkpoint_format = "zeropoint.training",
                            *checkpoint_version = "2";  // which has checksums beside what 1 has

template <class Values> void add_values(safetensors_writer& file, const char* name, const Values& values) {
    file.add(name, {static_cast<std::int64_t>(std::size(values))}, values);
}
template <class T> std::vector<T> values_of(const safetensors_file& file, const char* name) {
    return file.values<T>(file.expect(name));
}

/// What read_checkpoint reads.
template <class Network> safetensors_writer checkpoint_of(const Network& network, const training_state& state) {
    safetensors_writer file;
    file.metadata("format", checkpoint_format);
    file.metadata("format_version", checkpoint_version);
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
    file.add_checksums();
    return file;
}
/// Replaces the file, or leaves it as it was and raises file_error.
template <class Network>
void write_checkpoint(const std::string& path, const Network& network, const training_state& state) {
    checkpoint_of(network, state).write(path);
}

/// Raises file_error about the tensor where one of `values` is none that training comes to.
template <class Values, class Valid>
void expect_each(const safetensors_file& file, const char* name, const Values& values, const char* expected,
                 Valid valid) {
    for (std::size_t i = 0; i != std::size(values); ++i)
        if (!valid(values[i]))
            file.fail(file.expect(name), expected, number_text(values[i]) + " at " + std::to_string(i));
}

/// What a checkpoint has: a state, and the network's values and ranges.
struct checkpoint {
    training_state state;
    std::vector<float> values, ranges;
};

/// Of this network, and with what training comes to; else file_error.
template <class Network> checkpoint read_checkpoint(const safetensors_file& file, const Network& network) {
    const std::string& path = file.source_name();
    if (const std::string format = file.expect_metadata("format"); format != checkpoint_format)
        raise<file_error>(path + ": expected a checkpoint of training, found a file of format \"" + format + "\"");
    const std::string version = file.expect_metadata("format_version");
    if (version != "1" && version != checkpoint_version)
        raise<file_error>(path + ": expected a checkpoint of format version 1 or " + checkpoint_version + ", found " +
                          version + ", which another version of zeropoint has written");
    if (version != "1") file.require_checksums();
    if (const std::string signature = file.expect_metadata("network"); signature != Network::training_signature())
        raise<file_error>(path + ": expected a checkpoint of this network and qconfig, whose signature is " +
                          Network::training_signature() + ", found that of another, " + signature);
    const auto numbers = values_of<std::int64_t>(file, "clock");
    const auto epoch_loss = values_of<double>(file, "epoch_loss");
    checkpoint found{{}, values_of<float>(file, "values"), values_of<float>(file, "ranges")};
    const std::vector<float>& values = found.values;
    if (numbers.size() != 6 || epoch_loss.size() != 1 || found.ranges.size() != network.range_state().size())
        raise<file_error>(path + ": expected a checkpoint of training, found other tensors");
    training_state& state = found.state;
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

    if (state.batch > state.batches || state.step != state.epoch * state.batches + state.batch ||
        state.losses.size() != state.epoch + (state.batch == state.batches ? 1 : 0))
        file.fail(file.expect("clock"), "a step of an epoch, and the losses of those before",
                  "batch " + std::to_string(state.batch) + " of " + std::to_string(state.batches) + " in epoch " +
                      std::to_string(state.epoch) + ", step " + std::to_string(state.step) + ", " +
                      std::to_string(state.losses.size()) + " losses: the file is damaged");
    const auto finite = [](auto value) { return is_finite(value); };
    expect_each(file, "epoch_loss", epoch_loss, "a finite number", finite);
    expect_each(file, "losses", state.losses, "finite numbers", finite);
    expect_each(file, "values", values, "finite numbers", finite);
    expect_each(file, "first", state.first, "finite numbers", finite);
    expect_each(file, "second", state.second, "numbers of at least 0", [](float value) { return value >= 0; });
    expect_each(file, "average", state.average, "finite numbers", finite);
    for (const auto& [name, size] : {std::pair<const char*, std::size_t>{"first", state.first.size()},
                                     {"second", state.second.size()},
                                     {"average", state.average.size()}})
        if (size != 0 && size != values.size())
            file.fail(file.expect(name), "none, or " + std::to_string(values.size()) + " as there are values",
                      std::to_string(size));
    if (const std::string problem = network.problem_of_range_state(found.ranges); !problem.empty())
        file.fail(file.expect("ranges"), "ranges that training comes to", problem);
    return found;
}

/// Into the network; else nothing, and file_error where the number of values or learned scales are not those of such ranges or a running
/// variance is negative, value_error where ranges do not fit one another.
template <class Network> void restore(Network& network, const checkpoint& from, const safetensors_file& file) {
    network.set_state(from.ranges, from.values, [&](std::size_t count, const std::vector<trained_part>& parts) {
        if (count != from.values.size())
            raise<file_error>(file.source_name() + ": expected " + std::to_string(count) + " trained values, found " +
                              std::to_string(from.values.size()));
        for (const trained_part& part : parts)
            expect_each(file, "values", std::span(from.values).subspan(part.offset, part.count),
                        "scales above their floor", [&](float value) { return value >= part.floor; });
        for (const trained_part& part : network.variances())
            expect_each(file, "values", std::span(from.values).subspan(part.offset, part.count),
                        ("running variances of " + part.name + " of at least 0").c_str(),
                        [&](float value) { return value >= part.floor; });
    });
}

}  // namespace zp::inline v0::detail
