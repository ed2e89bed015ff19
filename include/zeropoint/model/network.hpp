// A model that can run: one block of parameters and a loop over a constexpr table of steps.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/machine/machine.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/graph/context.hpp>
#include <zeropoint/graph/graph.hpp>
#include <zeropoint/model/index_input.hpp>
#include <zeropoint/model/verdict.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp {
inline namespace v0 {

/// An image with its channels outermost, as PyTorch has it: `model(zp::nchw(pixels), scores)`.
template <class Range> struct nchw_values { const Range& values; };
template <class Range> nchw_values<Range> nchw(const Range& values) { return {values}; }

/// The largest workspace that a call without one may put on the stack.
inline constexpr int stack_workspace_bytes = 128 * 1024;

/// A node's name for people: its own, or its operator and number.
inline std::string display_name(const node& n, int number) {
    return n.name[0] != 0 ? std::string(n.name) : std::string(n.op->name) + "_" + std::to_string(number);
}
inline std::string display_name(std::span<const node> nodes, int i) {
    return display_name(nodes[static_cast<std::size_t>(i)], i);
}

namespace detail {
template <class Range> inline constexpr bool is_contiguous = requires(Range& r) { std::span(r); };
/// Of what is no contiguous range, dynamic_extent: check_range() tells its user.
template <class Range>
inline constexpr std::size_t static_extent = [] {
    if constexpr (is_contiguous<Range>) return decltype(std::span(std::declval<Range&>()))::extent;
    else return std::dynamic_extent;
}();
/// The type that a contiguous range holds, const where it may only be read; else void.
template <class Range> struct element_of { using type = void; };
template <class Range>
    requires is_contiguous<Range>
struct element_of<Range> {
    using type = typename decltype(std::span(std::declval<Range&>()))::element_type;
};
}  // namespace detail

/// The network of a stage. `Stage` has `net` (the user's model), `table` (its graph) and `steps` (one function a row).
///
/// Inference is const, allocates nothing and is safe from many threads at once on one network, each with a workspace of
/// its own. Inputs are float, height x width x channels, or of a model that begins with zp::indices integers; outputs are
/// float.
template <class Stage> class network {
public:
    using stage = Stage;
    using net = typename Stage::net;

    static constexpr shape input_shape = Stage::table.nodes[0].out.extents;
    static constexpr shape output_shape = Stage::table.output().out.extents;
    static constexpr bool takes_indices = Stage::table.size != 0 && Stage::table.nodes[0].is_indices();
    using input_value = std::conditional_t<takes_indices, std::int32_t, float>;
    static constexpr int arena_bytes = Stage::table.arena_bytes;
    static constexpr int parameter_bytes = Stage::table.parameter_bytes;
    static constexpr std::span<const node> rows() {
        return {Stage::table.nodes, static_cast<std::size_t>(Stage::table.size)};
    }

    /// The memory that one call works in. Put it where it suits: on the stack, in a member, on the heap.
    struct workspace {
        alignas(buffer_alignment) std::byte bytes[arena_bytes == 0 ? 1 : arena_bytes];
    };

    /// Raises machine_error where this machine has not what the network is compiled for.
    network() : parameters_(static_cast<std::size_t>(parameter_bytes)) {
        require_machine<typename Stage::architecture>();
    }

    /// y = model(x). x: input_shape floats, y: output_shape floats, each a contiguous range. Ranges of static size
    /// (std::array, C arrays, fixed spans) are checked when they are compiled, and the call is noexcept; others are
    /// checked when it runs and raise shape_error. `zp::nchw(x)` takes an image with its channels outermost.
    ///
    /// Of a model of indices x is integers of 32 or 64 bits. All of them are looked at before anything runs: one outside of
    /// the table of an embedding that reads it raises value_error, so that the call is not noexcept. `zp::unchecked(x)` takes
    /// them as they are.
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y, workspace& memory) const noexcept(is_checked_early<Input, Output>) {
        run(checked_input(x, memory), checked_output(y), memory.bytes);
    }
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y) const noexcept(is_checked_early<Input, Output>) {
        static_assert(arena_bytes <= stack_workspace_bytes,
                      "this model's workspace is too large for the stack: pass one, model(x, y, memory), where memory "
                      "is a decltype(model)::workspace of static or heap storage");
        workspace memory;
        run(checked_input(x, memory), checked_output(y), memory.bytes);
    }

    /// The same over plain pointers, without checks; calls `after(row, values)` behind every row, for observing.
    template <class AfterRow> void run(const input_value* x, float* y, std::byte* arena, AfterRow after) const {
        const context c{Stage::table.nodes, parameters(), ranges(), arena, x, y, arena};
        for (int i = 0; i != Stage::table.size; ++i) {
            const node& n = Stage::table.nodes[i];
            Stage::steps[static_cast<std::size_t>(i)](n, c);
            after(i, n.op->is_input ? static_cast<const void*>(x)
                                    : static_cast<const void*>(c.template out<std::byte>(n)));
        }
    }
    void run(const input_value* x, float* y, std::byte* arena) const noexcept {
        const context c{Stage::table.nodes, parameters(), ranges(), arena, x, y, arena};
        for (int i = 0; i != Stage::table.size; ++i)
            Stage::steps[static_cast<std::size_t>(i)](Stage::table.nodes[i], c);
    }

    std::byte* parameters() noexcept { return parameters_.data(); }
    const std::byte* parameters() const noexcept { return parameters_.data(); }
    /// Scale and zero point of every slot; see node::slot. Empty in float stages.
    qparams* ranges() noexcept { return ranges_.data(); }
    const qparams* ranges() const noexcept { return ranges_.data(); }

private:
    template <class Range> static constexpr std::size_t extent_of() {
        using range = std::remove_cvref_t<Range>;
        if constexpr (requires(const range& r) {
                          r.values;
                          std::span(r.values);
                      })
            return detail::static_extent<std::remove_cvref_t<decltype(std::declval<range>().values)>>;
        else return detail::static_extent<range>;
    }
    template <class Input, class Output>
    static constexpr bool is_checked_early =
        extent_of<Input>() != std::dynamic_extent&& extent_of<Output>() != std::dynamic_extent &&
        (!takes_indices || detail::is_unchecked<Input>);

    /// Whether a range is one of floats; where it is not, this says so, and nothing is done with it that would fail as well.
    template <class Range> static constexpr bool check_range() {
        using element = typename detail::element_of<Range>::type;
        static_assert(detail::is_contiguous<Range>,
                      "model(x, y): x and y must be contiguous ranges, such as std::array, std::vector or std::span");
        static_assert(std::is_same_v<std::remove_const_t<element>, float> || !detail::is_contiguous<Range>,
                      "model(x, y): this model takes and gives floats; quantize and dequantize happen inside it");
        return std::is_same_v<std::remove_const_t<element>, float>;
    }
    template <class Range> static constexpr void check_input_size() {
        constexpr std::size_t size = detail::static_extent<const Range>;
        static_assert(
            size == std::dynamic_extent || size == static_cast<std::size_t>(input_shape.size()),
            "model(x, y): x does not have the number of values that the model's input has (height x width x channels)");
    }
    template <class Range>
    static const float* checked_values(const Range& x) noexcept(detail::static_extent<const Range> !=
                                                                std::dynamic_extent) {
        check_input_size<Range>();
        if constexpr (check_range<const Range>()) {
            if constexpr (detail::static_extent<const Range> == std::dynamic_extent)
                check_size("input", input_shape, std::span(x).size());
            return std::span(x).data();
        } else {
            return nullptr;
        }
    }
    /// Indices of 32 bits are read where they are, others are copied to where nchw puts an image.
    template <bool Checks, class Range>
    static const std::int32_t* checked_indices(const Range& x, workspace& memory) noexcept(
        !Checks && detail::static_extent<const Range> != std::dynamic_extent) {
        using element = std::remove_const_t<typename detail::element_of<const Range>::type>;
        static_assert(index_value<element>,
                      "model(x, y): this model takes indices: x must be a contiguous range of integers of 32 or 64 "
                      "bits, such as std::array<std::int32_t, N>");
        check_input_size<Range>();
        if constexpr (index_value<element>) {
            if constexpr (detail::static_extent<const Range> == std::dynamic_extent)
                check_size("input", input_shape, std::span(x).size(), "indices");
            const element* values = std::span(x).data();
            if constexpr (Checks) detail::check_indices(rows(), values);
            if constexpr (std::is_same_v<element, std::int32_t>) {
                return values;
            } else {
                auto* copies = reinterpret_cast<std::int32_t*>(memory.bytes + Stage::table.nodes[0].at.arena_offset);
                for (int i = 0; i != input_shape.size(); ++i) copies[i] = static_cast<std::int32_t>(values[i]);
                return copies;
            }
        } else {
            return nullptr;
        }
    }
    template <class Input>
    static const input_value* checked_input(const Input& x, [[maybe_unused]] workspace& memory) noexcept(
        extent_of<Input>() != std::dynamic_extent && !takes_indices) {
        if constexpr (takes_indices) return checked_indices<true>(x, memory);
        else return checked_values(x);
    }
    template <class Range>
    static const input_value* checked_input(const unchecked_values<Range>& x,
                                            workspace& memory) noexcept(extent_of<Range>() != std::dynamic_extent) {
        static_assert(takes_indices, "model(zp::unchecked(x), y): this model takes floats, of which none is checked");
        if constexpr (takes_indices) return checked_indices<false>(x.values, memory);
        else return checked_input(x.values, memory);
    }
    template <class Range>
    static const input_value* checked_input(const nchw_values<Range>& x,
                                            workspace& memory) noexcept(extent_of<Range>() != std::dynamic_extent) {
        static_assert(!takes_indices, "model(zp::nchw(x), y): this model takes indices, which are no image");
        if constexpr (takes_indices) return nullptr;
        else return checked_planes(x, memory);
    }
    template <class Range>
    static const float* checked_planes(const nchw_values<Range>& x,
                                       workspace& memory) noexcept(noexcept(checked_values(x.values))) {
        const float* planes = checked_values(x.values);
        auto* pixels = reinterpret_cast<float*>(memory.bytes + Stage::table.nodes[0].at.arena_offset);
        kernel::nchw_to_nhwc(planes, input_shape, pixels);
        return pixels;
    }
    template <class Output>
    static float* checked_output(Output& y) noexcept(detail::static_extent<Output> != std::dynamic_extent) {
        constexpr bool is_const = std::is_const_v<typename detail::element_of<Output>::type>;
        static_assert(!is_const, "model(x, y): y is const, but the result is written to it");
        constexpr std::size_t size = detail::static_extent<Output>;
        static_assert(size == std::dynamic_extent || size == static_cast<std::size_t>(output_shape.size()),
                      "model(x, y): y does not have the number of values that the model's output has");
        if constexpr (check_range<Output>() && !is_const) {
            if constexpr (size == std::dynamic_extent) check_size("output", output_shape, std::span(y).size());
            return std::span(y).data();
        } else {
            return nullptr;
        }
    }
    static void check_size(const char* which, const shape& expected, std::size_t found, const char* what = "floats") {
        if (found == static_cast<std::size_t>(expected.size())) return;
        raise<shape_error>(std::string("the model's ") + which + " is " + to_string(expected) + ", that is " +
                           std::to_string(expected.size()) + " " + what + ", but a range of " + std::to_string(found) +
                           " came");
    }

    aligned_buffer parameters_;
    std::array<qparams, static_cast<std::size_t>(Stage::table.qparams_count) + 1> ranges_{};
};

}  // namespace v0
}  // namespace zp
