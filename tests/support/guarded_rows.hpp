// SPDX-License-Identifier: BSD-3-Clause
// Runs each row of a network by itself, with everything that it reads and writes between unreadable pages, and compares what
// it leaves with what the network leaves in ordinary memory, bit for bit. AddressSanitizer does not see the operands of
// assembly, nor a vector that leaves one value of an arena for the next.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/graph/cut.hpp>
#include <zeropoint/model/network.hpp>

#include "guarded_memory.hpp"

namespace zp_test {

/// What there is of a network when one row of it runs: no type of the network, so that all networks share this code.
struct guarded_network {
    std::span<const zp::node> rows;
    std::span<const zp::run_function> steps;
    std::span<const zp::node_cut> cuts;
    const std::byte* parameters;
    const zp::qparams* ranges;
    std::vector<std::vector<std::byte>> values;  // of each row
};

/// A buffer whose end, or begin, touches an unreadable page. Its size says how it is aligned at its end: what needs a boundary has
/// a multiple of that. With `slack` it is ordinary memory: so many bytes follow it.
class guarded_buffer {
public:
    guarded_buffer(std::size_t size, guard end, std::size_t slack = 0)
        : size_(size), memory_(size + slack), data_(memory_.place(size + slack, end)) {
        // As floats NaN, so that what is read before it is written shows.
        if (size + slack != 0) std::memset(data_, 0xFF, size + slack);
    }
    guarded_buffer(std::span<const std::byte> bytes, guard end, std::size_t slack = 0)
        : guarded_buffer(bytes.size(), end, slack) {
        if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
    }
    std::byte* data() const { return data_; }
    std::span<const std::byte> bytes() const { return {data_, size_}; }

private:
    std::size_t size_;
    guarded_memory memory_;
    std::byte* data_;
};

/// The bytes of a value, from its first_value-th on.
inline std::span<const std::byte> bytes_of_value(const std::vector<std::byte>& all, const zp::value_type& value,
                                                 int first_value) {
    const auto size = static_cast<std::size_t>(zp::size_of(value.storage));
    return std::span(all).subspan(size * static_cast<std::size_t>(first_value),
                                  size * static_cast<std::size_t>(value.extents.size()));
}

/// What row i leaves, or a part of it, from memory of its own.
inline std::vector<std::byte> run_row(const guarded_network& network, std::size_t i, zp::cut_nodes part, guard end,
                                      std::size_t slack = 0) {
    const zp::node& n = network.rows[i];
    zp::node& own = part.nodes[0];
    std::array<std::unique_ptr<guarded_buffer>, zp::max_inputs> inputs;
    const void* xs[zp::max_inputs] = {};
    void* ys[1 + zp::max_inputs] = {};
    for (std::size_t k = 0; k != static_cast<std::size_t>(n.input_count); ++k) {
        zp::node& input = part.nodes[1 + k];
        const auto& values = network.values[static_cast<std::size_t>(n.inputs[k])];
        inputs[k] =
            std::make_unique<guarded_buffer>(bytes_of_value(values, input.out, part.first_value[1 + k]), end, slack);
        xs[k] = ys[1 + k] = inputs[k]->data();
        if (input.op->is_input) input.options[0] = static_cast<int>(k);
        input.at.arena_offset = zp::in_user_output - 1 - static_cast<int>(k);
    }
    const auto size = static_cast<std::size_t>(own.out.extents.size() * zp::size_of(own.out.storage));
    const guarded_buffer y(size, end, slack);
    const guarded_buffer parameters(
        std::span(network.parameters + n.at.parameter_offset, static_cast<std::size_t>(n.at.parameter_bytes)), end,
        slack);
    const bool is_whole = own.out.extents == n.out.extents;
    const int scratch_bytes =
        is_whole ? n.at.scratch_bytes : std::max(n.at.scratch_bytes, network.cuts[i].scratch_bytes);
    const guarded_buffer scratch(static_cast<std::size_t>(scratch_bytes), end, slack);
    const guarded_buffer state(static_cast<std::size_t>(n.at.state_bytes), end, slack);
    if (n.flags.keeps_state) std::memset(state.data(), 0, state.bytes().size());  // a stream's first step
    ys[0] = y.data();
    own.at.arena_offset = zp::in_user_output;
    own.at.parameter_offset = own.at.scratch_offset = own.at.state_offset = 0;
    network.steps[i](own, {part.nodes.data(), parameters.data(), network.ranges, scratch.data(), xs, ys, state.data()});
    return {y.bytes().begin(), y.bytes().end()};
}

/// Row i and what it reads.
inline zp::cut_nodes whole_row(const guarded_network& network, std::size_t i) {
    const zp::node& n = network.rows[i];
    zp::cut_nodes whole({network.rows.data(), n}, {});
    whole.nodes[0] = n;
    for (std::size_t k = 0; k != static_cast<std::size_t>(n.input_count); ++k) {
        whole.nodes[1 + k] = network.rows[static_cast<std::size_t>(n.inputs[k])];
        whole.nodes[0].inputs[k] = static_cast<short>(1 + k);
    }
    whole.first_value = {};
    return whole;
}

inline void check_guarded_row(const guarded_network& network, std::size_t i, const zp::cut_nodes& part, guard end) {
    const auto wanted = bytes_of_value(network.values[i], part.nodes[0].out, part.first_value[0]);
    CHECK(std::ranges::equal(run_row(network, i, part, end), wanted));
}

/// All rows, whole and in parts, at both ends.
inline void check_guarded_rows(const guarded_network& network) {
    for (std::size_t i = 0; i != network.rows.size(); ++i) {
        const zp::node& n = network.rows[i];
        if (n.op->is_input) continue;
        const std::string name = zp::display_name(network.rows, static_cast<int>(i)), kind = n.op->name;
        CAPTURE(name);
        CAPTURE(kind);
        const zp::cut_nodes whole = whole_row(network, i);
        const zp::node_cut& cut = network.cuts[i];
        for (const guard end : {guard::behind, guard::before}) {
            CAPTURE(static_cast<int>(end));
            check_guarded_row(network, i, whole, end);
            for (const int p : {0, 1, cut.row_parts - 1}) {
                if (cut.row_parts == 1) break;
                CAPTURE(p);
                const zp::cut_nodes part({network.rows.data(), n}, cut.rows_of(p, cut.row_parts));
                check_guarded_row(network, i, part, end);
            }
        }
    }
}

/// Rows of fewer channels, by the functions and the parameters of all of them: what a row without filters does with the first of
/// `channels` channels. It leaves the same in ordinary memory and between unreadable pages. So a network that is compiled once is run
/// over many extents.
inline void check_narrowed_rows(const guarded_network& network, int channels) {
    for (std::size_t i = 0; i != network.rows.size(); ++i) {
        const zp::node& n = network.rows[i];
        // What is made of parameters at convert may hold their number.
        const bool holds_extents = n.out.is_codes() && zp::parameters_of({network.rows.data(), n}).count != 0;
        if (n.op->is_input || holds_extents) continue;
        const std::string kind = n.op->name;
        CAPTURE(kind);
        for (const int fewer : {1, 2, 3, 5, 7, 15, 17, 31, 33, 63}) {
            CAPTURE(fewer);
            zp::cut_nodes part = whole_row(network, i);
            for (std::size_t k = 0; k <= static_cast<std::size_t>(n.input_count); ++k) {
                int& count = part.nodes[k].out.extents.channels;
                count = count == 1 ? 1 : count / channels * fewer;
            }
            const auto wanted = run_row(network, i, part, guard::before, 4096);
            CHECK(run_row(network, i, part, guard::behind) == wanted);
            CHECK(run_row(network, i, part, guard::before) == wanted);
        }
    }
}

/// A network that has run, its inputs and outputs given by port.
template <class Network> guarded_network run_guarded(const Network& model, const void* const* xs, void* const* ys) {
    const auto memory = std::make_unique<typename Network::workspace>();
    std::memset(memory->bytes, 0, sizeof memory->bytes);  // states begin with zeros
    guarded_network network{model.rows(),       Network::stage::steps, Network::stage::cuts,
                            model.parameters(), model.ranges(),        {}};
    network.values.resize(network.rows.size());
    model.run(xs, ys, memory->bytes, [&](int i, const void* values) {
        const auto row = static_cast<std::size_t>(i);
        const zp::value_type& out = network.rows[row].out;
        const auto* bytes = static_cast<const std::byte*>(values);
        network.values[row].assign(bytes, bytes + out.extents.size() * zp::size_of(out.storage));
    });
    return network;
}
template <class Network> guarded_network run_guarded(const Network& model, const typename Network::input_value* x) {
    std::vector<typename Network::output_value> y(static_cast<std::size_t>(Network::output_shape.size()));
    const void* const xs[] = {x};
    void* const ys[] = {y.data()};
    return run_guarded(model, xs, ys);
}
template <class Network> void check_guarded(const Network& model, const typename Network::input_value* x) {
    check_guarded_rows(run_guarded(model, x));
}

}  // namespace zp_test
