// SPDX-License-Identifier: BSD-3-Clause
// A model that can run: one block of parameters and a loop over a constexpr table of steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/machine/machine.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/graph/cut.hpp>
#include <zeropoint/graph/graph.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/row_name.hpp>
#include <zeropoint/model/executor.hpp>
#include <zeropoint/model/parameter_memory.hpp>
#include <zeropoint/model/port_ranges.hpp>
#include <zeropoint/model/verdict.hpp>
#include <zeropoint/pass/plan.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

/// The largest workspace that a call without one may put on the stack.
inline constexpr int stack_workspace_bytes = 128 * 1024;

/// The most bytes that a call gives by value: `auto y = model(x)`.
inline constexpr int most_returned_bytes = 4096;

template <fixed_string Name, fixed_string Nearest, class Net> struct no_port_named {
    static_assert(
        sizeof(Net) == 0,
        "this model has no input or output of that name (see no_port_named<Name, the nearest name that there is, "
        "Model>): an input is called as zp::named says, else \"input\", an output as zp::output says, else \"output\"");
};
/// What was probably meant by the name of a port that is not there.
template <class Stage> constexpr row_text nearest_port(std::string_view wrong) {
    name_search search(wrong);
    row_text nearest;
    const auto consider = [&](std::string_view name) {
        if (search.is_nearer(name)) nearest = text_of_row(name, -1);
    };
    for (const port& one : detail::ports<Stage>::inputs) consider(one.name);
    for (const port& one : detail::ports<Stage>::outputs) consider(one.name);
    return nearest;
}
template <class Stage, fixed_string Name> inline constexpr row_text nearest_port_of = nearest_port<Stage>(Name.view());
template <fixed_string Name, class Net> struct no_codes_at_port {
    static_assert(
        sizeof(Net) == 0,
        "no codes go through this port (see no_codes_at_port<Name, Model>): ask an int8 network whose qconfig has a "
        "zp::codes_in or zp::codes_out of it");
};

/// The network of a stage. `Stage` has `net` (the user's model), `table` (its graph) and `steps` (one function a row).
///
/// Inference is const, allocates nothing and is safe from many threads at once on one network, each with a workspace of
/// its own. Inputs are float, height x width x channels, of zp::indices integers, and codes where the qconfig says so; outputs are
/// float, or codes.
template <class Stage> class network : detail::parameter_memory<Stage> {
    static_assert(
        Stage::table.parameter_bytes != too_many_bytes,
        "the parameters of this network take 2 GiB or more, which is more than it counts: floats of half a billion "
        "parameters do. Quantize the state dict without its float network, by zp::quantize_dynamic_file, or "
        "take fewer bits");
    using memory_type = detail::parameter_memory<Stage>;
    using ports = detail::ports<Stage>;
    static constexpr bool has_one_port_each = ports::input_count == 1 && ports::output_count == 1;
    static constexpr port first_input = ports::input_count == 0 ? port{} : ports::inputs[0],
                          first_output = ports::output_count == 0 ? port{} : ports::outputs[0];

public:
    using stage = Stage;
    using net = typename Stage::net;

    /// What goes in and what comes out, in the order of declaration: names, extents, storage.
    static constexpr std::span<const port> inputs() { return ports::inputs; }
    /// What comes out, in the order of declaration.
    static constexpr std::span<const port> outputs() { return ports::outputs; }
    /// Of the first input and the first output: of most models the only ones.
    static constexpr shape input_shape = first_input.extents, output_shape = first_output.extents;
    /// Whether the first input is integers that choose rows of tables.
    static constexpr bool takes_indices = first_input.storage == scalar_type::int32;
    /// The type of the first input's values: float, std::int32_t of indices, or that of codes.
    using input_value = storage_of<first_input.storage>;
    /// The type of the first output's values: float, or that of codes.
    using output_value = storage_of<first_output.storage>;
    /// Bytes that one call works in: the size of a workspace.
    static constexpr int arena_bytes = Stage::table.arena_bytes;
    /// Bytes of packed weights, biases, scales and tables.
    static constexpr int parameter_bytes = Stage::table.parameter_bytes;
    /// Behind the arena begins what further parts work in.
    static constexpr int first_part_at = static_cast<int>(align_up(static_cast<std::size_t>(arena_bytes)));
    /// The table of the network, in execution order.
    static constexpr std::span<const node> rows() {
        return {Stage::table.nodes, static_cast<std::size_t>(Stage::table.size)};
    }

    /// The memory that one call works in. Put it where it suits: on the stack, in a member, on the heap.
    struct workspace {
        /// The arena, at a multiple of 64 bytes.
        alignas(buffer_alignment) std::byte bytes[arena_bytes == 0 ? 1 : arena_bytes];
    };

    /// The same of a call whose nodes are cut into as many parts as Workers, which work at once: what a part works in comes once a
    /// worker.
    template <int Workers> struct workspace_for {
        static_assert(Workers >= 1, "workspace_for<Workers>: Workers must be at least 1");
        static constexpr int workers = Workers;
        /// How many times what a part works in comes beside the arena.
        static constexpr int parts = Workers == 1 ? 0 : Workers - 1 + Stage::parts_need_more;
        /// The arena, and behind it what further parts work in.
        alignas(buffer_alignment) std::byte bytes[first_part_at + parts * Stage::part_bytes + (arena_bytes == 0)];
    };

    /// Raises machine_error where this machine has not what the network is compiled for.
    network() requires detail::owns_parameters<Stage> : memory_type(parameter_bytes) {
        require_machine<typename Stage::architecture>();
    }
    /// Over parameters and ranges that stay where they are. Nobody looks at them: in_place does.
    constexpr network(const std::byte* block, const qparams* slots) noexcept requires(!detail::owns_parameters<Stage>)
        : memory_type(block, slots) {}

    /// y = model(x). x: input_shape floats, y: output_shape floats, each a contiguous range. Ranges of static size
    /// (std::array, C arrays, fixed spans) are checked when they are compiled, and the call is noexcept; others are
    /// checked when it runs and raise shape_error. `zp::nchw(x)` takes an image with its channels outermost.
    ///
    /// Of several inputs or outputs, `model(zp::in(a, b), zp::out(y, z), memory)`, in the order of declaration; or by name,
    /// `zp::in(zp::as<"right">(b), zp::as<"left">(a))`. Results may be written before all inputs are read: the ranges of a call must not
    /// overlap.
    ///
    /// Of a model of indices x is integers of 32 or 64 bits. All of them are looked at before anything runs: one outside of
    /// the table of an embedding that reads it raises value_error, so that the call is not noexcept. `zp::unchecked(x)` takes
    /// them as they are.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y, workspace& memory) const noexcept(is_checked_early<Input, Output>) {
        call(x, y, memory.bytes);
    }
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y) const noexcept(is_checked_early<Input, Output>) {
        check_stack();
        workspace memory;
        call(x, y, memory.bytes);
    }
    /// The same of a model with one output of at most most_returned_bytes: it comes as a std::array.
    template <class Input>
    auto operator()(const Input& x, workspace& memory) const noexcept(input_side<Input>::is_early) {
        static_assert(ports::output_count <= 1,
                      "auto y = model(x): this model has several outputs: call model(x, zp::out(...), memory)");
        static_assert(
            returned_bytes <= most_returned_bytes,
            "auto y = model(x): this model's output has more than 4096 bytes: call model(x, y, memory), where y is "
            "a range of yours");
        constexpr bool is_given = ports::output_count == 1 && returned_bytes <= most_returned_bytes;
        std::array<output_value, is_given ? static_cast<std::size_t>(output_shape.size()) : 1> y;
        if constexpr (is_given) call(x, y, memory.bytes);
        return y;
    }
    template <class Input> auto operator()(const Input& x) const noexcept(input_side<Input>::is_early) {
        check_stack();
        workspace memory;
        return (*this)(x, memory);
    }

    /// y = model(x), by several workers at once: an executor such as zp::executors::openmp runs the parts of a node, and one node
    /// runs after another. Results are those of the call without it, bit for bit. No node has more parts than the memory is for, than
    /// the executor has workers, or than are worth it; what has none runs on the calling thread.
    template <class Input, class Output, int Workers, class Executor>
    void operator()(const Input& x, Output&& y, workspace_for<Workers>& memory, const Executor& with) const {
        static_assert(
            executor<Executor>,
            "model(x, y, memory, executor): executor must have workers(), an int, and run(parts, body), which "
            "calls body(part) for each part of [0, parts): see zp::executor");
        if constexpr (executor<Executor> && Stage::is_valid) {
            const auto xs = input_side<Input>::checked(x, memory.bytes);
            const auto ys = output_side<Output>::checked(y);
            run_parts(xs.data(), ys.data(), memory.bytes, Workers, with);
        }
    }

    template <class Input, class Output, class Executor>
    void operator()(const Input&, Output&&, workspace&, const Executor&) const {
        static_assert(sizeof(Executor) == 0,
                      "model(x, y, memory, executor): a workspace has room for one worker; give memory of the type "
                      "decltype(model)::workspace_for<workers>");
    }

    /// The same over plain pointers, one a port, without checks; calls `after(row, values)` behind every row, for observing.
    template <class AfterRow> void run(const void* const* xs, void* const* ys, std::byte* arena, AfterRow after) const {
        run_as<Stage>(xs, ys, arena, std::move(after));
    }
    /// The same by the steps of another stage of the same rows and parameters.
    template <class Running, class AfterRow>
    void run_as(const void* const* xs, void* const* ys, std::byte* arena, AfterRow after) const {
        const context c{Running::table.nodes, parameters(), ranges(), arena, xs, ys, arena};
        for (int i = 0; i != Running::table.size; ++i) {
            const node& n = Running::table.nodes[i];
            Running::steps[static_cast<std::size_t>(i)](n, c);
            after(i, static_cast<const void*>(c.template value<std::byte>(i)));
        }
    }
    void run(const void* const* xs, void* const* ys, std::byte* arena) const noexcept {
        const context c{Stage::table.nodes, parameters(), ranges(), arena, xs, ys, arena};
        if constexpr (requires { requires Stage::runs_inlined; }) return Stage::run_inlined(c);
        for (int i = 0; i != Stage::table.size; ++i)
            Stage::steps[static_cast<std::size_t>(i)](Stage::table.nodes[i], c);
    }
    /// By an executor, in the memory of a workspace_for so many workers.
    template <executor Executor>
    void run_parts(const void* const* xs, void* const* ys, std::byte* arena, int workers, const Executor& with) const {
        run_parts(xs, ys, arena, workers, with, [](int, const void*) {});
    }
    template <executor Executor, class AfterRow>
    void run_parts(const void* const* xs, void* const* ys, std::byte* arena, int workers, const Executor& with,
                   AfterRow after) const {
        const context c{Stage::table.nodes, parameters(), ranges(), arena, xs, ys, arena};
        const int most = std::min(workers, static_cast<int>(with.workers()));
        for (int i = 0; i != Stage::table.size; ++i) {
            const node& n = Stage::table.nodes[i];
            const node_cut& cut = Stage::cuts[static_cast<std::size_t>(i)];
            const run_function step = Stage::steps[static_cast<std::size_t>(i)];
            const node_cut::choice by = cut.choose(most, detail::least_work_of(with));
            const auto run_one = [&](int part) noexcept {
                // The first part works where the node does, if that is enough; else behind those of all others.
                const bool fits = by.by_panels || cut.scratch_bytes <= n.at.scratch_bytes;
                const int own = first_part_at + (part == 0 ? workers - 1 : part - 1) * Stage::part_bytes;
                const int scratch = part == 0 && fits ? n.at.scratch_offset : own;
                if (by.by_panels) run_panels(step, n, c, cut.panels_of(part, by.parts), scratch);
                else run_rows(step, n, c, cut.rows_of(part, by.parts), scratch);
            };
            if (by.by_panels && n.at.state_bytes != 0) c.begin_state(n);
            if (by.parts == 1) step(n, c);
            else with.run(by.parts, run_one);
            after(i, static_cast<const void*>(c.template value<std::byte>(i)));
        }
    }
    /// Of one input and one output.
    template <class AfterRow>
    void run(const input_value* x, output_value* y, std::byte* arena, AfterRow after) const requires has_one_port_each {
        const void* const xs[] = {x};
        void* const ys[] = {y};
        run(xs, ys, arena, after);
    }
    void run(const input_value* x, output_value* y, std::byte* arena) const noexcept requires has_one_port_each {
        const void* const xs[] = {x};
        void* const ys[] = {y};
        run(xs, ys, arena);
    }

    /// The parameter block: parameter_bytes, as this architecture has them packed.
    using memory_type::parameters;
    /// Scale and zero point of every slot; see node::slot. Empty in float stages.
    using memory_type::ranges;
    /// What the codes of a port mean: value = scale * (code - zero_point).
    template <fixed_string Name> const qparams& qparams_of() const noexcept {
        constexpr int at = port_node(Name.view());
        if constexpr (at < 0) {
            static_cast<void>(sizeof(no_port_named<Name, exact_text<nearest_port_of<Stage, Name>>, net>));
            return ranges()[0];
        } else if constexpr (!Stage::table.nodes[at].out.is_codes()) {
            static_cast<void>(sizeof(no_codes_at_port<Name, net>));
            return ranges()[0];
        } else {
            return ranges()[Stage::table.nodes[at].out.qparams_id];
        }
    }

private:
    template <class Input> using input_side = detail::input_side<Stage, Input>;
    template <class Output> using output_side = detail::output_side<Stage, std::remove_reference_t<Output>>;
    template <class Input, class Output>
    static constexpr bool is_checked_early = input_side<Input>::is_early&& output_side<Output>::is_early;
    static constexpr int returned_bytes = output_shape.size() * static_cast<int>(sizeof(output_value));

    static constexpr int port_node(std::string_view name) {
        for (const port& one : ports::inputs)
            if (name == one.name) return one.node;
        for (const port& one : ports::outputs)
            if (name == one.name) return one.node;
        return -1;
    }
    static constexpr void check_stack() {
        static_assert(arena_bytes <= stack_workspace_bytes,
                      "this model's workspace is too large for the stack: pass one, model(x, y, memory), where memory "
                      "is a decltype(model)::workspace of static or heap storage");
    }
    template <class Input, class Output>
    void call(const Input& x, Output& y, std::byte* arena) const noexcept(is_checked_early<Input, Output>) {
        if constexpr (Stage::is_valid) {  // else the verdict has said why not, and this would say it again
            const auto xs = input_side<Input>::checked(x, arena);
            const auto ys = output_side<Output>::checked(y);
            run(xs.data(), ys.data(), arena);
        }
    }
};

}  // namespace zp::inline v0
