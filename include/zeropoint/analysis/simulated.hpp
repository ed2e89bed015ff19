// SPDX-License-Identifier: BSD-3-Clause
// A quantized network computed in floats, row by row, of which every rounding can be switched off while the program runs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/analysis/coded_arrays.hpp>
#include <zeropoint/analysis/grid_values.hpp>
#include <zeropoint/analysis/row_runner.hpp>
#include <zeropoint/operators/fused_table.hpp>
#include <zeropoint/workflow/convert.hpp>

namespace zp::inline v0 {

/// On which grid the values of a row lie.
enum class precision : std::uint8_t {
    as_converted,  ///< that of the quantized network
    int16,         ///< symmetric codes of 16 bits over the range that was observed: int16_qconfig's
    float32        ///< none
};

/// What can be switched: a row of the quantized network that rounds values, weights, or both.
struct simulated_row {
    int row = 0;               // of the quantized network
    std::string name;          // of the layer: see value_name
    std::string operation;     // the operator's name
    bool has_values = false;   // rounds what it gives
    bool has_weights = false;  // has codes for weights
};

namespace detail {

/// Values to the nearest of a grid and back, in place.
template <class Arch>
void round_to_grid(float* values, std::size_t count, const value_type& type, const qparams& range, std::byte* codes) {
    floats_to_values<Arch>(type, range, values, count, codes);
    values_to_floats<Arch>(type, range, codes, count, values);
}
/// The same of operators whose results in steps are often ties, as the mean of four codes is: what float sums leave beside a tie is taken
/// off, so that it goes to the even code as in integers.
inline void round_near_ties(float* values, std::size_t count, const value_type& type, const qparams& range) {
    const double low = type.quant_min - range.zero_point, high = type.quant_max - range.zero_point;
    for (std::size_t i = 0; i != count; ++i) {
        const double real = values[i] == values[i] ? double{values[i]} : 0.0;  // NaN becomes 0, as in quantize()
        const double steps = std::clamp(real / double{range.scale}, low - 1, high + 1);
        const double nearest = static_cast<double>(round_half_even(steps * 8192)) / 8192;
        values[i] = range.scale * static_cast<float>(round_half_even(std::clamp(nearest, low, high)));
    }
}
/// The same on the finer grid in front of a fused table.
inline void round_to_table(float* values, std::size_t count, const node& n, const qparams& range) {
    const double parts = table_parts(n), inverse = parts / double{range.scale}, step = double{range.scale} / parts;
    const double low = parts * (n.out.quant_min - range.zero_point),
                 high = parts * (n.out.quant_max - range.zero_point + 1) - 1;
    for (std::size_t i = 0; i != count; ++i) {
        const double steps = std::clamp(double{values[i]} * inverse, low, high);
        values[i] = static_cast<float>(static_cast<double>(round_half_even(steps)) * step);
    }
}

}  // namespace detail

/// The rows of zp::quantized<Net, QConfig> in float32: each computes with the real values of the quantized network's weights, and what it
/// gives is rounded to the grid that its codes have. Values then differ from the codes' by one step where a sum lies near the middle of
/// two (float sums are rounded, integer ones are not), by what an operator without weights rounds inside (softmax, norms, recurrent
/// layers), and not at all elsewhere: docs/inspection.md has figures.
///
/// Every row may be switched to 16 bits or to float32, its weights to float32, by name and at run time. A row that only picks values of
/// the grid it shares with its inputs (max_pool2d, relu, concat) follows them.
///
/// It is called as a network is, with float ports where the quantized one has codes. Calls are const, and safe from many threads with a
/// workspace each. Dynamically quantized rows have rounded weights and unrounded inputs.
template <class Net, class QConfig, class Arch = default_architecture> class simulated {
    using float_stage = prepared_stage<Net, QConfig, Arch>;
    using int8_stage = quantized_stage<Net, QConfig, Arch>;
    static constexpr const auto& rows_ = int8_stage::table;
    static constexpr std::size_t size = static_cast<std::size_t>(rows_.size);

public:
    using net = Net;
    /// The qconfig.
    using config = QConfig;
    using stage = float_stage;
    /// The int8 network that is simulated.
    using quantized_type = network<int8_stage>;
    /// The float network whose rows compute.
    using float_type = network<float_stage>;
    using input_value = typename float_type::input_value;
    using output_value = float;
    static constexpr shape input_shape = float_type::input_shape, output_shape = float_type::output_shape;
    static constexpr std::span<const port> inputs() { return float_type::inputs(); }
    static constexpr std::span<const port> outputs() { return float_type::outputs(); }
    /// Those of the quantized network.
    static constexpr std::span<const node> rows() { return quantized_type::rows(); }

    /// The memory of one call, on the heap.
    class workspace {
        static constexpr std::size_t arena = static_cast<std::size_t>(float_stage::table.arena_bytes) + 1;

    public:
        /// What it takes, nearly.
        static constexpr std::size_t bytes() { return offsets.back() * sizeof(float) + largest * 2 + 2 * arena; }
        workspace() : values_(offsets.back() * sizeof(float)), codes_(largest * 2), copies_(arena) {}

    private:
        friend class simulated;
        float* values(std::size_t i) { return reinterpret_cast<float*>(values_.data()) + offsets[i]; }
        row_runner<float_stage> runner_;
        aligned_buffer values_, codes_, copies_;
        std::array<bool, size> rounded_{};  // which rows gave values on their grid
    };

    /// Of a float network (fused, prepared or calibrated) and the quantized one that was made of it.
    template <class Stage>
    simulated(const network<Stage>& floats, const quantized_type& int8) : parameters_(float_type::parameter_bytes) {
        static_assert(std::is_same_v<typename Stage::net, Net> && Stage::size == float_stage::size,
                      "zp::simulate(floats, int8): floats must be the fused, prepared or calibrated network that int8 "
                      "was converted from");
        std::copy_n(floats.parameters(), float_type::parameter_bytes, parameters_.data());
        std::copy_n(int8.ranges(), int8_stage::table.qparams_count, ranges_.begin());
        rounded_ = active_ = parameters_;
        for (std::size_t i = 0; i != size; ++i) add_row(i, int8);
        enable_all();
    }
    simulated(const calibrated<Net, QConfig, Arch>& source, const quantized_type& int8)
        : simulated(static_cast<const network<float_stage>&>(source), int8) {
        for (std::size_t i = 0; i != size; ++i) {
            const observed_range seen = source.range_of_values(float_value_of(rows_.nodes, static_cast<int>(i)));
            if (seen.min <= seen.max) wide_[i] = wide_range(seen.min, seen.max);
        }
    }

    /// What can be switched, in the order of rows.
    std::span<const simulated_row> switches() const { return switches_; }
    /// Switches the values and the weights of a layer to floats: `name` is that of the layer, as the float network has it, or of an add
    /// or function that is merged into its row. Raises value_error where no row has it.
    void disable(std::string_view name) { set(name, precision::float32, false); }
    /// As converted again.
    void enable(std::string_view name) { set(name, precision::as_converted, true); }
    /// Everything in floats: the float network.
    void disable_all() {
        for (const simulated_row& one : switches_) set(one, precision::float32, false);
    }
    /// Everything as converted: as the object begins.
    void enable_all() {
        for (const simulated_row& one : switches_) set(one, precision::as_converted, true);
    }
    /// The values of a layer, and whether its weights are rounded.
    void set(std::string_view name, precision values, bool rounds_weights) {
        bool is_there = false;
        for (const simulated_row& one : switches_)
            if (is_named(one, name)) set(one, values, rounds_weights), is_there = true;
        if (!is_there)
            raise<value_error>("simulated network: no row that rounds is called \"" + std::string(name) +
                               "\": switches() lists them");
    }
    void set(const simulated_row& one, precision values, bool rounds_weights) {
        if (one.has_values) values_of_[static_cast<std::size_t>(one.row)] = values;
        if (one.has_weights) set_weights(one.row, rounds_weights);
    }
    /// How the values of a row are rounded now.
    precision values_of(const simulated_row& one) const { return values_of_[static_cast<std::size_t>(one.row)]; }
    /// Whether the weights of a row are rounded now.
    bool rounds_weights(const simulated_row& one) const { return rounds_[static_cast<std::size_t>(one.row)]; }
    /// Of all qparams_ids, as the quantized network has them.
    const qparams* ranges() const { return ranges_.data(); }
    /// Real values of a row of the quantized network, as the last run in this memory has left them.
    const float* values(int row, workspace& memory) const { return memory.values(static_cast<std::size_t>(row)); }
    /// Scale and zero point of the values of a row of codes.
    const qparams& range_of(int row) const {
        return ranges_[static_cast<std::size_t>(rows_.nodes[row].out.qparams_id)];
    }

    /// y = model(x, y, memory), as zp::network's call.
    template <class Input, class Output> void operator()(const Input& x, Output&& y, workspace& memory) const {
        const auto xs = detail::input_side<float_stage, Input>::checked(x, memory.copies_.data());
        const auto ys = detail::output_side<float_stage, std::remove_reference_t<Output>>::checked(y);
        run(xs.data(), ys.data(), memory);
    }
    template <class Input, class Output> void operator()(const Input& x, Output&& y) const {
        workspace memory;
        (*this)(x, y, memory);
    }
    /// The values of the only output.
    template <class Input> auto operator()(const Input& x) const {
        static_assert(float_type::outputs().size() == 1,
                      "auto y = model(x): this model has several outputs: call model(x, zp::out(...), memory)");
        std::array<float, static_cast<std::size_t>(output_shape.size())> y;
        (*this)(x, y);
        return y;
    }

    /// The same over plain pointers, one a port; calls `after(row, values)` behind every row of the quantized network, with its real
    /// values. Rows in front of `first` are those of the run before in this memory. Rows from `end` on do not run: outputs stay.
    template <class AfterRow>
    void run(const void* const* xs, void* const* ys, workspace& memory, AfterRow after, int first = 0,
             int end = rows_.size) const {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(end); ++i) {
            compute(i, xs, ys, memory);
            round_values(i, memory);
            if (!rows_.nodes[i].op->is_output) after(static_cast<int>(i), static_cast<const float*>(memory.values(i)));
        }
        if (end != rows_.size || marked_output_count(rows_) != 0) return;
        std::copy_n(memory.values(size - 1), output_shape.size(), static_cast<float*>(ys[0]));
    }
    void run(const void* const* xs, void* const* ys, workspace& memory, int first = 0) const {
        run(
            xs, ys, memory, [](int, const float*) {}, first);
    }

private:
    static constexpr std::size_t count_of(std::size_t i) {
        return static_cast<std::size_t>(rows_.nodes[i].out.extents.size());
    }
    static constexpr auto offsets = [] {
        std::array<std::size_t, size + 1> at{};
        for (std::size_t i = 0; i != size; ++i) at[i + 1] = (at[i] + count_of(i) + 15) / 16 * 16;
        return at;
    }();
    static constexpr std::size_t largest = [] {
        std::size_t most = 1;
        for (std::size_t i = 0; i != size; ++i) most = std::max(most, count_of(i));
        return most;
    }();
    /// Whether row i gives values of its inputs alone, on the grid that they have.
    static constexpr bool follows(std::size_t i) {
        const node& n = rows_.nodes[i];
        if (!n.out.is_codes() || n.input_count == 0 || n.requantized_inputs != 0) return false;
        if (!n.op->picks_values && !n.op->moves_nothing) return false;
        for (int k = 0; k != n.input_count; ++k)
            if (rows_.nodes[n.inputs[k]].out.qparams_id != n.out.qparams_id || !rows_.nodes[n.inputs[k]].out.is_codes())
                return false;
        return true;
    }
    static qparams wide_range(float low, float high) {
        const float most = std::max(std::abs(low), std::abs(high));
        return {most > 0 ? most / 32767.0f : 1.0f, 0};
    }

    void add_row(std::size_t i, const quantized_type& int8) {
        const node& n = rows_.nodes[i];
        simulated_row one{static_cast<int>(i), value_name(rows(), float_type::rows(), static_cast<int>(i)), n.op->name};
        one.has_values = n.out.is_codes() && !n.op->is_output && !follows(i);
        if (n.at.parameter_bytes != 0 && !changes_grid(n)) {
            const node_view from = float_stage::table.view(n.from.self);
            const std::byte* block = parameters_.data() + from.n.at.parameter_offset;
            const preparation p{rows_.view(static_cast<int>(i)), int8.ranges(),
                                const_cast<std::byte*>(int8.parameters()) + n.at.parameter_offset};
            if (parameters_of(from).count != 0) {
                const auto arrays = coded_arrays(p.at, p.ranges, int8_stage::unpacks[i](p), from,
                                                 reinterpret_cast<const float*>(block));
                one.has_weights = !arrays.empty();
                write_rounded(arrays, from, reinterpret_cast<float*>(rounded_.data() + from.n.at.parameter_offset));
            }
        }
        if (n.out.is_codes()) {
            const qparams& range = ranges_[static_cast<std::size_t>(n.out.qparams_id)];
            wide_[i] = wide_range(dequantize(n.out.quant_min, range), dequantize(n.out.quant_max, range));
        }
        if (one.has_values || one.has_weights) switches_.push_back(std::move(one));
    }
    static bool is_named(const simulated_row& one, std::string_view name) {
        const node& n = rows_.nodes[one.row];
        if (one.name == name) return true;
        if (changes_grid(n)) return false;
        const float_rows made(n.from);
        for (int r = 0; r != made.count; ++r)
            if (display_name(float_type::rows(), made.rows[r]) == name) return true;
        return false;
    }
    void set_weights(int row, bool rounds) {
        const node& from = float_stage::table.nodes[rows_.nodes[row].from.self];
        const aligned_buffer& source = rounds ? rounded_ : parameters_;
        std::copy_n(source.data() + from.at.parameter_offset, from.at.parameter_bytes,
                    active_.data() + from.at.parameter_offset);
        rounds_[static_cast<std::size_t>(row)] = rounds;
    }

    /// Unrounded values of row i.
    void compute(std::size_t i, const void* const* xs, void* const* ys, workspace& memory) const {
        const node& n = rows_.nodes[i];
        float* y = memory.values(i);
        const std::size_t bytes = sizeof(float) * count_of(i);  // indices have four bytes too
        if (n.op->is_input) {
            std::memcpy(y, xs[port_number(n)], bytes);
        } else if (n.op->is_output) {
            std::memcpy(ys[port_number(n)], memory.values(static_cast<std::size_t>(n.inputs[0])), bytes);
        } else if (changes_grid(n)) {
            std::memcpy(y, memory.values(static_cast<std::size_t>(n.inputs[0])), bytes);
        } else {
            compute_rows(i, y, memory);
        }
    }
    void compute_rows(std::size_t i, float* y, workspace& memory) const {
        const node& n = rows_.nodes[i];
        const auto input = [&](int k) { return memory.values(static_cast<std::size_t>(n.inputs[k])); };
        const int last = float_rows(n.from).count - 1;
        compute_in_floats(memory.runner_, active_.data(), n, input, y, [&](int r) {
            if (n.from.lut < 0 || r + 1 != last || values_of_[i] != precision::as_converted) return;
            const qparams& range = ranges_[static_cast<std::size_t>(n.fused.lut_qparams_id)];
            detail::round_to_table(y, count_of(i), n, range);
        });
    }
    /// To the grid of row i, if it is switched on. One that follows its inputs is where all of them are.
    void round_values(std::size_t i, workspace& memory) const {
        std::array<bool, size>& rounded = memory.rounded_;
        const node& n = rows_.nodes[i];
        if (!n.out.is_codes() || n.op->is_output) return;
        precision how = values_of_[i];
        if (follows(i)) {
            bool all = true;
            for (int k = 0; k != n.input_count; ++k) all = all && rounded[static_cast<std::size_t>(n.inputs[k])];
            how = all ? precision::as_converted : precision::float32;
        }
        rounded[i] = how == precision::as_converted;
        float* y = memory.values(i);
        if (rounded[i] && !changes_grid(n) && !n.op->multiplies)
            detail::round_near_ties(y, count_of(i), n.out, range_of(static_cast<int>(i)));
        else if (rounded[i])
            detail::round_to_grid<Arch>(y, count_of(i), n.out, range_of(static_cast<int>(i)), memory.codes_.data());
        else if (how == precision::int16)
            detail::round_to_grid<Arch>(y, count_of(i), {n.out.extents, {}, scalar_type::int16, -32767, 32767},
                                        wide_[i], memory.codes_.data());
    }

    aligned_buffer parameters_, rounded_,
        active_;  // floats as they were, what codes stand for, and what is computed with
    std::array<qparams, static_cast<std::size_t>(int8_stage::table.qparams_count) + 1> ranges_{};
    std::array<qparams, size> wide_{};
    std::array<precision, size> values_of_{};
    std::array<bool, size> rounds_{};
    std::vector<simulated_row> switches_;
};

/// The simulated network of one that is calibrated, as zp::convert makes it of it.
template <class Net, class QConfig, class Arch>
simulated<Net, QConfig, Arch> simulate(const calibrated<Net, QConfig, Arch>& source) {
    return {source, convert(source)};
}
/// Of a network that was converted otherwise, or loaded: `floats` is the fused, prepared or calibrated one.
template <class Floats, class Net, class QConfig, class Arch>
simulated<Net, QConfig, Arch> simulate(const Floats& floats,
                                       const network<stage<quantized_nodes<Net, QConfig, Arch>>>& int8) {
    return {floats, int8};
}

}  // namespace zp::inline v0
