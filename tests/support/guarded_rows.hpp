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
/// a multiple of that.
class guarded_buffer {
public:
    guarded_buffer(std::size_t size, guard end) : size_(size), memory_(size), data_(memory_.place(size, end)) {
        // As floats NaN, so that what is read before it is written shows.
        if (size != 0) std::memset(data_, 0xFF, size);
    }
    guarded_buffer(std::span<const std::byte> bytes, guard end) : guarded_buffer(bytes.size(), end) {
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

/// Runs row i, or some rows of its output, and compares.
inline void check_guarded_row(const guarded_network& network, std::size_t i, zp::cut_nodes part, guard end) {
    const zp::node& n = network.rows[i];
    zp::node& own = part.nodes[0];
    std::array<std::unique_ptr<guarded_buffer>, zp::max_inputs> inputs;
    const void* xs[zp::max_inputs] = {};
    void* ys[1 + zp::max_inputs] = {};
    for (std::size_t k = 0; k != static_cast<std::size_t>(n.input_count); ++k) {
        zp::node& input = part.nodes[1 + k];
        const auto& values = network.values[static_cast<std::size_t>(n.inputs[k])];
        inputs[k] =
            std::make_unique<guarded_buffer>(bytes_of_value(values, input.out, part.first_value[1 + k]), end);
        xs[k] = ys[1 + k] = inputs[k]->data();
        if (input.op->is_input) input.options[0] = static_cast<int>(k);
        input.at.arena_offset = zp::in_user_output - 1 - static_cast<int>(k);
    }
    const auto wanted = bytes_of_value(network.values[i], own.out, part.first_value[0]);
    const guarded_buffer y(wanted.size(), end);
    const guarded_buffer parameters(
        std::span(network.parameters + n.at.parameter_offset, static_cast<std::size_t>(n.at.parameter_bytes)), end);
    const guarded_buffer scratch(static_cast<std::size_t>(n.at.scratch_bytes), end);
    const guarded_buffer state(static_cast<std::size_t>(n.at.state_bytes), end);
    if (n.flags.keeps_state) std::memset(state.data(), 0, state.bytes().size());  // a stream's first step
    ys[0] = y.data();
    own.at.arena_offset = zp::in_user_output;
    own.at.parameter_offset = own.at.scratch_offset = own.at.state_offset = 0;
    network.steps[i](
        own, {part.nodes.data(), parameters.data(), network.ranges, scratch.data(), xs, ys, state.data()});
    CHECK(std::ranges::equal(y.bytes(), wanted));
}

/// All rows, whole and in parts, at both ends.
inline void check_guarded_rows(const guarded_network& network) {
    for (std::size_t i = 0; i != network.rows.size(); ++i) {
        const zp::node& n = network.rows[i];
        if (n.op->is_input) continue;
        const std::string name = zp::display_name(network.rows, static_cast<int>(i)), kind = n.op->name;
        CAPTURE(name);
        CAPTURE(kind);
        zp::cut_nodes whole({network.rows.data(), n}, {});
        whole.nodes[0] = n;
        for (std::size_t k = 0; k != static_cast<std::size_t>(n.input_count); ++k) {
            whole.nodes[1 + k] = network.rows[static_cast<std::size_t>(n.inputs[k])];
            whole.nodes[0].inputs[k] = static_cast<short>(1 + k);
        }
        whole.first_value = {};
        const zp::node_cut& cut = network.cuts[i];
        for (const guard end : {guard::behind, guard::before}) {
            CAPTURE(static_cast<int>(end));
            check_guarded_row(network, i, whole, end);
            for (int p = 0; cut.parts > 1 && p != cut.parts; p = p == 0 || p + 1 == cut.parts ? p + 1 : cut.parts - 1) {
                CAPTURE(p);
                const zp::cut_nodes part({network.rows.data(), n}, zp::part_of_rows(cut.rows, p, cut.parts));
                check_guarded_row(network, i, part, end);
            }
        }
    }
}

/// The same of a network, whose inputs and outputs are given by port.
template <class Network> void check_guarded(const Network& model, const void* const* xs, void* const* ys) {
    const auto memory = std::make_unique<typename Network::workspace>();
    std::memset(memory->bytes, 0, sizeof memory->bytes);  // states begin with zeros
    guarded_network network{
        model.rows(), Network::stage::steps, Network::stage::cuts, model.parameters(), model.ranges(), {}};
    network.values.resize(network.rows.size());
    model.run(xs, ys, memory->bytes, [&](int i, const void* values) {
        const auto row = static_cast<std::size_t>(i);
        const zp::value_type& out = network.rows[row].out;
        const auto* bytes = static_cast<const std::byte*>(values);
        network.values[row].assign(bytes, bytes + out.extents.size() * zp::size_of(out.storage));
    });
    check_guarded_rows(network);
}
template <class Network> void check_guarded(const Network& model, const typename Network::input_value* x) {
    std::vector<typename Network::output_value> y(static_cast<std::size_t>(Network::output_shape.size()));
    const void* const xs[] = {x};
    void* const ys[] = {y.data()};
    check_guarded(model, xs, ys);
}

}  // namespace zp_test
