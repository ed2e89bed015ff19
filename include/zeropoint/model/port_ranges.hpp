// SPDX-License-Identifier: BSD-3-Clause
// The ranges of a call: what stands for which port, and what is checked of it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/ports.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/model/index_input.hpp>
#include <zeropoint/model/verdict.hpp>

namespace zp::inline v0 {

/// An image with its channels outermost, as PyTorch has it: `model(zp::nchw(pixels), scores)`.
template <class Range> struct nchw_values { const Range& values; };
/// `model(zp::nchw(image), y)`: an image, or images, whose channels are outermost, as PyTorch has them. The range
/// must outlive the call.
template <class Range> nchw_values<Range> nchw(const Range& values) { return {values}; }

/// A range for the port of that name: `zp::in(zp::as<"mask">(m), zp::as<"ids">(i))`.
template <fixed_string Name, class Range> struct named_range { Range& values; };
/// `zp::as<"left">(values)`: the range for the port of that name, within zp::in or zp::out.
template <fixed_string Name, class Range> named_range<Name, std::remove_reference_t<Range>> as(Range&& values) {
    return {values};
}

/// What goes into a model of several inputs: a range for each, in the order of declaration, or each with a name. It refers to them, for
/// the length of a call.
template <class... Ranges> struct input_ranges { std::tuple<const Ranges&...> values; };
/// The inputs of a call, in the order of declaration or by name: `model(zp::in(a, b), y)`. Ranges must outlive the
/// call.
template <class... Ranges> input_ranges<Ranges...> in(const Ranges&... values) { return {{values...}}; }
/// What comes out, likewise.
template <class... Ranges> struct output_ranges { std::tuple<Ranges&...> values; };
/// The outputs of a call, in the order of declaration or by name: `model(x, zp::out(y, z))`.
template <class... Ranges> output_ranges<std::remove_reference_t<Ranges>...> out(Ranges&&... values) {
    return {{values...}};
}

/// What the user reads where a range has not the values of its port. `Port` is its name, `Values` how many came.
template <fixed_string Port, shape Extents, std::size_t Expected, std::size_t Came> struct input_of_size {
    static_assert(Came == Expected,
                  "model(x, y): x does not have the number of values that the model's input has (height x width x "
                  "channels of one input, as a call takes one); see input_of_size<port, shape{height, width, channels, "
                  "depth}, values that it has, values that came>");
};
template <fixed_string Port, shape Extents, std::size_t Expected, std::size_t Came> struct output_of_size {
    static_assert(Came == Expected,
                  "model(x, y): y does not have the number of values that the model's output has; see "
                  "output_of_size<port, shape{height, width, channels, depth}, values that it has, values that came>");
};
/// Where a call has more or fewer ranges than the model ports, or names another port.
template <int Ranges, int Ports> struct ranges_for_inputs {
    static_assert(Ranges == Ports,
                  "model(zp::in(...), y): give as many ranges as the model has inputs (see ranges_for_inputs<given, "
                  "inputs>), in the order in which it declares them");
};
template <int Ranges, int Ports> struct ranges_for_outputs {
    static_assert(Ranges == Ports,
                  "model(x, zp::out(...)): give as many ranges as the model has outputs (see ranges_for_outputs<given, "
                  "outputs>), in the order in which it declares them");
};
template <fixed_string Port, bool IsThere> struct range_for_port {
    static_assert(IsThere,
                  "zp::as<\"name\">(range): give each port of this side of the model one range, by its name, or none "
                  "a name (see range_for_port<the port without a range, ...>)");
};

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
/// What zp::nchw and zp::unchecked speak of.
template <class Range> struct plain_range { using type = Range; };
template <class Range> struct plain_range<nchw_values<Range>> { using type = Range; };
template <class Range> struct plain_range<unchecked_values<Range>> { using type = Range; };
template <class Range> using value_of = std::remove_const_t<typename element_of<Range>::type>;

template <const port& Port> inline constexpr auto name_of_port = exact<std::string_view(Port.name).size()>(Port.name);

/// The ports of a stage, and what its messages call them: by name where there are several.
template <class Stage> struct ports {
    static constexpr int input_count = zp::input_count(Stage::table), output_count = zp::output_count(Stage::table);
    static constexpr auto inputs = inputs_of<static_cast<std::size_t>(input_count)>(Stage::table);
    static constexpr auto outputs = outputs_of<static_cast<std::size_t>(output_count)>(Stage::table);
    template <int P> static constexpr port input = inputs[static_cast<std::size_t>(P)];
    template <int P> static constexpr port output = outputs[static_cast<std::size_t>(P)];
};
/// "input", or "input \"left\"".
template <class Stage> std::string name_of_input(const port& at) {
    return ports<Stage>::input_count == 1 ? "input" : "input \"" + std::string(at.name) + "\"";
}
template <class Stage> std::string name_of_output(const port& at) {
    return ports<Stage>::output_count == 1 ? "output" : "output \"" + std::string(at.name) + "\"";
}

inline const char* values_text(scalar_type storage) {
    return storage == scalar_type::float32 ? "floats" : storage == scalar_type::int32 ? "indices" : "codes";
}
template <class = void> void check_range_size(const std::string& which, const port& at, std::size_t found) {
    if (found == static_cast<std::size_t>(at.extents.size())) return;
    raise<shape_error>(
        "the model's " + which + " is " + to_string(at.extents) + ", that is " + std::to_string(at.extents.size()) +
        " " + values_text(at.storage) + ", but a range of " + std::to_string(found) + " came" +
        (found != 0 && found % static_cast<std::size_t>(at.extents.size()) == 0 ? ": one input goes in a call" : ""));
}
/// Whether a range is one of a port's values, floats or codes; where it is not, this says so, and nothing is done with it that
/// would fail as well.
template <const port& Port, class Range> constexpr bool check_range() {
    using element = value_of<Range>;
    constexpr bool fits = std::is_same_v<element, storage_of<Port.storage>>;
    static_assert(is_contiguous<Range>,
                  "model(x, y): x and y must be contiguous ranges, such as std::array, std::vector or std::span");
    static_assert(fits || !is_contiguous<Range> || Port.storage != scalar_type::float32,
                  "model(x, y): this model takes and gives floats; quantize and dequantize happen inside it");
    static_assert(fits || !is_contiguous<Range> || Port.storage == scalar_type::float32,
                  "model(x, y): codes go through this port, as zp::codes_in or zp::codes_out of the qconfig says: its "
                  "range must hold the storage type of activations, such as std::uint8_t");
    return fits;
}

/// How a range is read as input P of a stage. `checked(range, arena)` gives its values, in the arena where they had to be changed.
template <class Stage, int P> class input_argument {
    using ports = detail::ports<Stage>;
    static constexpr const port& at = ports::template input<P>;
    static constexpr bool takes_indices = at.storage == scalar_type::int32;
    using value = storage_of<at.storage>;
    template <class Range> static constexpr bool is_static = static_extent<const Range> != std::dynamic_extent;

    template <class Range> static constexpr void check_static_size() {
        if constexpr (is_static<Range>)
            static_cast<void>(
                sizeof(input_of_size<name_of_port<ports::template input<P>>, at.extents,
                                     static_cast<std::size_t>(at.extents.size()), static_extent<const Range>>));
    }
    static value* place(std::byte* arena) noexcept {
        return reinterpret_cast<value*>(arena + Stage::table.nodes[at.node].at.arena_offset);
    }
    template <class Range> static const value* checked_values(const Range& x) noexcept(is_static<Range>) {
        check_static_size<Range>();
        if constexpr (check_range<ports::template input<P>, const Range>()) {
            if constexpr (!is_static<Range>) check_range_size(name_of_input<Stage>(at), at, std::span(x).size());
            return std::span(x).data();
        } else {
            return nullptr;
        }
    }
    /// Indices of 32 bits are read where they are, others are copied to where nchw puts an image.
    template <bool Checks, class Range>
    static const value* checked_indices(const Range& x, std::byte* arena) noexcept(!Checks && is_static<Range>) {
        using element = value_of<const Range>;
        static_assert(index_value<element>,
                      "model(x, y): this model takes indices: x must be a contiguous range of integers of 32 or 64 "
                      "bits, such as std::array<std::int32_t, N>");
        check_static_size<Range>();
        if constexpr (index_value<element>) {
            if constexpr (!is_static<Range>) check_range_size(name_of_input<Stage>(at), at, std::span(x).size());
            const element* values = std::span(x).data();
            if constexpr (Checks) check_indices(std::span(Stage::table.nodes), at.node, values);
            if constexpr (std::is_same_v<element, value>) {
                return values;
            } else {
                value* copies = place(arena);
                for (int i = 0; i != at.extents.size(); ++i) copies[i] = static_cast<value>(values[i]);
                return copies;
            }
        } else {
            return nullptr;
        }
    }

public:
    template <class Range>
    static constexpr bool is_early = is_static<typename plain_range<std::remove_const_t<Range>>::type> &&
                                     (!takes_indices || is_unchecked<std::remove_const_t<Range>>);

    template <class Range>
    static const void* checked(const Range& x, [[maybe_unused]] std::byte* arena) noexcept(is_early<Range>) {
        if constexpr (takes_indices) return checked_indices<true>(x, arena);
        else return checked_values(x);
    }
    template <class Range>
    static const void* checked(const unchecked_values<Range>& x,
                               std::byte* arena) noexcept(is_early<unchecked_values<Range>>) {
        static_assert(takes_indices, "model(zp::unchecked(x), y): this model takes floats, of which none is checked");
        if constexpr (takes_indices) return checked_indices<false>(x.values, arena);
        else return nullptr;
    }
    template <class Range>
    static const void* checked(const nchw_values<Range>& x, std::byte* arena) noexcept(is_early<nchw_values<Range>>) {
        static_assert(!takes_indices, "model(zp::nchw(x), y): this model takes indices, which are no image");
        if constexpr (takes_indices) {
            return nullptr;
        } else {
            const value* planes = checked_values(x.values);
            kernel::nchw_to_nhwc(planes, at.extents, place(arena));
            return place(arena);
        }
    }
};

/// How a range is written as output P of a stage.
template <class Stage, int P> struct output_argument {
    using ports = detail::ports<Stage>;
    static constexpr const port& at = ports::template output<P>;
    template <class Range> static constexpr bool is_early = static_extent<Range> != std::dynamic_extent;

    template <class Range> static void* checked(Range& y) noexcept(is_early<Range>) {
        constexpr bool is_const = std::is_const_v<typename element_of<Range>::type>;
        static_assert(!is_const, "model(x, y): y is const, but the result is written to it");
        if constexpr (is_early<Range>)
            static_cast<void>(
                sizeof(output_of_size<name_of_port<ports::template output<P>>, at.extents,
                                      static_cast<std::size_t>(at.extents.size()), static_extent<Range>>));
        if constexpr (check_range<ports::template output<P>, Range>() && !is_const) {
            if constexpr (!is_early<Range>) check_range_size(name_of_output<Stage>(at), at, std::span(y).size());
            return std::span(y).data();
        } else {
            return nullptr;
        }
    }
};

/// A range, and the name of its port, if it has one.
template <class Range> struct argument {
    using range = Range;
    static constexpr const char* name = nullptr;
    static Range& values(Range& x) noexcept { return x; }
};
template <fixed_string Name, class Range> struct argument<named_range<Name, Range>> {
    using range = Range;
    static constexpr const char* name = Name.text;
    static Range& values(const named_range<Name, Range>& x) noexcept { return x.values; }
};
template <fixed_string Name, class Range>
struct argument<const named_range<Name, Range>> : argument<named_range<Name, Range>> {};

/// Which of the ranges is that of port P: the P-th where none has a name. -1: none.
template <class... Ranges> constexpr int argument_for(int p, const char* name) {
    const char* const names[] = {argument<Ranges>::name..., nullptr};
    constexpr int count = static_cast<int>(sizeof...(Ranges));
    bool is_named = false;
    for (int i = 0; i != count; ++i) is_named = is_named || names[i] != nullptr;
    if (!is_named) return p < count ? p : -1;
    for (int i = 0; i != count; ++i)
        if (names[i] != nullptr && std::string_view(names[i]) == name) return i;
    return -1;
}

/// The ranges of a side of a call as a tuple: one that stands alone is that of the only port.
template <class X> struct input_pack {
    using tuple = std::tuple<const X&>;
    static tuple make(const X& x) noexcept { return {x}; }
};
template <class... Ranges> struct input_pack<input_ranges<Ranges...>> {
    using tuple = std::tuple<const Ranges&...>;
    static const tuple& make(const input_ranges<Ranges...>& x) noexcept { return x.values; }
};
template <class Y> struct output_pack {
    using tuple = std::tuple<Y&>;
    static tuple make(Y& y) noexcept { return {y}; }
};
template <class... Ranges> struct output_pack<output_ranges<Ranges...>> {
    using tuple = std::tuple<Ranges&...>;
    static const tuple& make(const output_ranges<Ranges...>& y) noexcept { return y.values; }
};
template <class... Ranges>
struct output_pack<const output_ranges<Ranges...>> : output_pack<output_ranges<Ranges...>> {};

/// What tells the sides of a call apart.
template <class Stage> struct input_ports {
    using pointer = const void*;
    static constexpr int count = ports<Stage>::input_count;
    template <int P> static constexpr port at = ports<Stage>::template input<P>;
    template <int P> using argument = input_argument<Stage, P>;
    template <int Given> using rule = ranges_for_inputs<Given, count>;
};
template <class Stage> struct output_ports {
    using pointer = void*;
    static constexpr int count = ports<Stage>::output_count;
    template <int P> static constexpr port at = ports<Stage>::template output<P>;
    template <int P> using argument = output_argument<Stage, P>;
    template <int Given> using rule = ranges_for_outputs<Given, count>;
};

/// All ranges of a side of a call: how they are checked, and whether when the program is compiled. A rule that they break has been said,
/// and nothing else follows from it: their pointers are null then.
template <class Ports, class Tuple> struct call_side;
template <class Ports, class... Ranges> struct call_side<Ports, std::tuple<Ranges&...>> {
    static constexpr auto sequence = std::make_integer_sequence<int, Ports::count>{};
    using pointers = std::array<typename Ports::pointer, static_cast<std::size_t>(Ports::count)>;
    template <int P> static constexpr int argument_of = argument_for<Ranges...>(P, Ports::template at<P>.name);

    static constexpr bool fits =
        sizeof...(Ranges) == static_cast<std::size_t>(Ports::count)&&[]<int... P>(std::integer_sequence<int, P...>) {
        return ((argument_of<P> >= 0) && ...);
    }
    (sequence);
    /// Says what does not fit. A failed static_assert in a constant would spread to all that uses it.
    static void check_rules() noexcept {
        constexpr int given = static_cast<int>(sizeof...(Ranges));
        static_cast<void>(sizeof(typename Ports::template rule<given>));
        if constexpr (given == Ports::count) []<int... P>(std::integer_sequence<int, P...>) {
                (static_cast<void>(sizeof(range_for_port<name_of_port<Ports::template at<P>>, argument_of<P> >= 0>)),
                 ...);
            }
        (sequence);
    }
    template <int P>
    using argument_at = argument<std::tuple_element_t<static_cast<std::size_t>(argument_of<P>), std::tuple<Ranges...>>>;

    static constexpr bool is_early = []<int... P>(std::integer_sequence<int, P...>) {
        if constexpr (fits)
            return (Ports::template argument<P>::template is_early<typename argument_at<P>::range> && ...);
        else return true;
    }
    (sequence);
    /// Inputs have an arena, in which they may be changed.
    template <class... Arena>
    static pointers check(const std::tuple<Ranges&...>& ranges, Arena... arena) noexcept(is_early) {
        check_rules();
        return [&]<int... P>(std::integer_sequence<int, P...>)->pointers {
            if constexpr (fits)
                return {Ports::template argument<P>::checked(
                    argument_at<P>::values(std::get<static_cast<std::size_t>(argument_of<P>)>(ranges)), arena...)...};
            else return {};
        }
        (sequence);
    }
};
template <class Stage, class X> struct input_side : call_side<input_ports<Stage>, typename input_pack<X>::tuple> {
    static auto checked(const X& x, std::byte* arena) noexcept(input_side::is_early) {
        return input_side::check(input_pack<X>::make(x), arena);
    }
};
template <class Stage, class Y> struct output_side : call_side<output_ports<Stage>, typename output_pack<Y>::tuple> {
    static auto checked(Y& y) noexcept(output_side::is_early) { return output_side::check(output_pack<Y>::make(y)); }
};

}  // namespace detail
}  // namespace zp::inline v0
