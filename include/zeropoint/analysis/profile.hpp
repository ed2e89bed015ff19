// SPDX-License-Identifier: BSD-3-Clause
// Where the time of a network goes: each row measured, and beside it what its float rows take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/analysis/row_runner.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/io/json_writer.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp::inline v0 {

/// How long zp::profile measures.
struct profile_options {
    double seconds = 0.5;  ///< of the clock, for all networks together; of each at least two inferences are measured
};

/// One row of a network, timed. Nanoseconds are the least of all inferences, less what reading the clock takes.
struct profiled_row {
    int row = 0;             ///< its place in the network
    std::string name;        ///< as tables and reports have it, and qconfigs take it
    std::string operation;   ///< what it computes, with all that is fused into it
    std::int64_t macs = 0;   ///< multiply-accumulates of one inference
    double nanoseconds = 0;  ///< of one inference
    double float_nanoseconds =
        -1;                 ///< of the rows of the float network that it stands for; below 0 where it stands for none
    bool is_float = false;  ///< it computes float32 by float32, so that its float rows do the same

    /// Whether floats were faster: by a tenth and by more than 10 ns, below which least times are not that sure.
    bool is_slower_than_float() const {
        return !is_float && float_nanoseconds >= 0 && nanoseconds > 1.1 * float_nanoseconds + 10;
    }
};
/// What zp::profile has measured.
struct network_profile {
    std::vector<profiled_row> rows;  ///< in the order in which they run, without inputs
    double nanoseconds = 0;          ///< of a whole inference, without a clock between the rows
    double float_nanoseconds = -1;   ///< the same of the float network; below 0 where none was given
    std::uint64_t inferences = 0;    ///< how many were measured of each network

    /// Of all rows: more than an inference where rows are so short that looking at the clock slows them.
    double nanoseconds_of_rows() const {
        double sum = 0;
        for (const profiled_row& row : rows) sum += row.nanoseconds;
        return sum;
    }
    /// Sentences about rows that take longer than the float rows they stand for, on this machine and for this input; and about
    /// the whole.
    std::vector<std::string> warnings() const {
        std::vector<std::string> all;
        const auto times = [](double own, double floats) {
            return detail::fixed_text(0, own) + " ns, in float32 " + detail::fixed_text(0, floats);
        };
        for (const profiled_row& row : rows)
            if (row.is_slower_than_float())
                all.push_back(row.name + " takes " + times(row.nanoseconds, row.float_nanoseconds) +
                              ": zp::keep_float<\"" + row.name +
                              "\"> may be faster, what it costs to leave and enter codes counted");
        if (float_nanoseconds >= 0 && nanoseconds > 1.02 * float_nanoseconds)
            all.push_back("the whole network takes " + times(nanoseconds, float_nanoseconds) +
                          ": on this machine it is faster as it was");
        return all;
    }
};

namespace detail {

/// Runs a network by itself and row by row, and keeps the least time of each.
template <class Stage, class Input> class row_timer {
    using clock = std::chrono::steady_clock;
    using side = input_side<Stage, Input>;

public:
    row_timer(const network<Stage>& model, const Input& x)
        : model_(model),
          arena_(static_cast<std::size_t>(Stage::table.arena_bytes) + 1),
          inputs_(side::checked(x, arena_.data())),
          best(network<Stage>::rows().size(), 1e30) {
        for (const port& p : network<Stage>::outputs()) {
            outputs_.emplace_back(static_cast<std::size_t>(p.extents.size()) * 4);
            pointers_.push_back(outputs_.back().data());
        }
        for (int i = 0; i != 1000; ++i) {
            const clock::time_point start = clock::now();
            clock_cost_ = std::min(clock_cost_, nanoseconds(clock::now() - start));
        }
    }
    void measure() {
        clock::time_point last = clock::now();
        model_.run(inputs_.data(), pointers_.data(), arena_.data());
        whole = std::min(whole, nanoseconds(clock::now() - last) - clock_cost_);
        last = clock::now();
        model_.run(inputs_.data(), pointers_.data(), arena_.data(), [&](int row, const void*) {
            const clock::time_point now = clock::now();
            double& least = best[static_cast<std::size_t>(row)];
            least = std::min(least, std::max(nanoseconds(now - last) - clock_cost_, 0.0));
            last = clock::now();
        });
    }

private:
    static double nanoseconds(clock::duration time) { return std::chrono::duration<double, std::nano>(time).count(); }
    const network<Stage>& model_;
    aligned_buffer arena_;
    typename side::pointers inputs_;
    std::vector<aligned_buffer> outputs_;
    std::vector<void*> pointers_;
    double clock_cost_ = 1e30;

public:
    std::vector<double> best;  // of each row
    double whole = 1e30;
};

/// All timers in turns, so that what disturbs the machine disturbs them alike.
template <class... Timers> std::uint64_t measure_in_turns(const profile_options& options, Timers&... timers) {
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t inferences = 0;
    do {
        (timers.measure(), ...);
        ++inferences;
    } while (inferences < 2 ||
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < options.seconds);
    return inferences;
}
template <class Stage, class Timer> network_profile profile_of(const Timer& timer, std::uint64_t inferences) {
    network_profile all;
    all.nanoseconds = timer.whole;
    all.inferences = inferences;
    for (int i = 0; i != Stage::table.size; ++i) {
        const node& n = Stage::table.nodes[i];
        if (n.op->is_input) continue;
        all.rows.push_back({i, display_name(n, i), operation_text(Stage::table.view(i)),
                            macs_of_nodes<Stage>[static_cast<std::size_t>(i)],
                            timer.best[static_cast<std::size_t>(i)]});
        all.rows.back().is_float = n.is_float() && !changes_grid(n) && n.weights.storage == scalar_type::float32;
    }
    return all;
}
/// Whether a stage runs steps of another one, whose rows its own are made of.
template <class Stage> concept runs_steps = requires { typename Stage::streamed; };
/// A row of a stage, or of the one whose steps it runs; null for one that keeps positions of a stream.
template <class Stage> const node* row_of_sequence(int row) {
    const node& n = Stage::table.nodes[row];
    if constexpr (runs_steps<Stage>) return n.from.self < 0 ? nullptr : &Stage::streamed::table.nodes[n.from.self];
    else return &n;
}
/// Gives every float row to the row of the other network that stands for it; what that has contracted belongs to the next, and what
/// keeps positions to what does so in front of that.
template <class Stage, class FloatStage> void add_float_times(network_profile& all, const std::vector<double>& floats) {
    const auto float_rows_of_sequence = [] {
        if constexpr (runs_steps<FloatStage>) return FloatStage::streamed::table.size;
        else return FloatStage::table.size;
    };
    std::vector<profiled_row*> owners(static_cast<std::size_t>(float_rows_of_sequence()));
    for (profiled_row& row : all.rows) {
        const node* n = row_of_sequence<Stage>(row.row);
        if (n == nullptr || changes_grid(*n) || n->op->is_output) continue;
        const float_rows made(n->from);
        for (int r = 0; r != made.count; ++r) owners[static_cast<std::size_t>(made.rows[r])] = &row;
    }
    profiled_row* next = nullptr;
    for (std::size_t i = floats.size(); i-- != 0;) {
        const node& n = FloatStage::table.nodes[i];
        if (n.op->is_input || n.op->is_output) continue;
        profiled_row* owner = nullptr;
        if (row_of_sequence<FloatStage>(static_cast<int>(i)) == nullptr) {
            const bool is_first = next == nullptr || next == all.rows.data();
            owner = is_first || row_of_sequence<Stage>(next[-1].row) != nullptr ? next : next - 1;
        } else {
            const std::size_t row = runs_steps<FloatStage> ? static_cast<std::size_t>(n.from.self) : i;
            next = owners[row] != nullptr ? owners[row] : next;
            owner = next;
        }
        if (owner != nullptr) owner->float_nanoseconds = std::max(owner->float_nanoseconds, 0.0) + floats[i];
    }
}
/// Both networks in turns.
template <class Stage, class FloatStage, class Input>
network_profile profile_beside(const network<Stage>& model, const network<FloatStage>& floats, const Input& x,
                               const profile_options& options) {
    row_timer<Stage, Input> timer(model, x);
    row_timer<FloatStage, Input> float_timer(floats, x);
    const std::uint64_t inferences = measure_in_turns(options, timer, float_timer);
    network_profile all = profile_of<Stage>(timer, inferences);
    all.float_nanoseconds = float_timer.whole;
    add_float_times<Stage, FloatStage>(all, float_timer.best);
    return all;
}

/// "12.3".
inline std::string microseconds_text(double nanoseconds) {
    return nanoseconds < 0 ? std::string() : fixed_text(2, nanoseconds / 1e3);
}
/// a / b with so many digits behind the point, and nothing where one of them was not measured.
inline std::string ratio_text(int digits, double a, double b, const char* unit = "") {
    return a < 0 || b <= 0 ? std::string() : fixed_text(digits, a / b) + unit;
}

}  // namespace detail

/// Measures each row of a network over x, which is what a call takes: the least time of many inferences on one thread, in memory of its own.
/// Any stage has rows: float, int8 and dynamically quantized ones. Values may decide what a row costs (denormal floats, for one), so x should be
/// an input that the network will meet.
template <class Stage, class Input>
network_profile profile(const network<Stage>& model, const Input& x, const profile_options& options = {}) {
    detail::row_timer<Stage, Input> timer(model, x);
    const std::uint64_t inferences = detail::measure_in_turns(options, timer);
    return detail::profile_of<Stage>(timer, inferences);
}
/// The same, and beside each row what the rows of `floats`, the fused network that the model was made of, take for it: which rows int8 makes
/// faster, and which not. Both run in turns, over the same x.
template <class Stage, class Net, class Arch, class Input>
    requires std::is_same_v<typename Stage::net, Net> network_profile profile(const network<Stage>& model,
                                                                              const fused<Net, Arch>& floats,
                                                                              const Input& x,
                                                                              const profile_options& options = {}) {
        return detail::profile_beside(model, floats, x, options);
    }
/// And of steps of streams, where int8 is not always faster: `zp::profile(int8_stream.step_network(), float_stream.step_network(), x)`,
/// the second one of the fused network. States are what a sequence begins with in zeros.
template <detail::runs_steps Stage, detail::runs_steps FloatStage, class Input>
    requires std::is_same_v<typename FloatStage::streamed,
                            fused_stage<typename Stage::net, typename FloatStage::architecture>>
        network_profile profile(const network<Stage>& step, const network<FloatStage>& float_step, const Input& x,
                                const profile_options& options = {}) {
        return detail::profile_beside(step, float_step, x, options);
    }

/// A table of text, one line a row, totals below: microseconds, the share of all rows, billions of multiply-accumulates a second; and of two
/// networks the float rows' microseconds, how many times as fast the row is, and the warnings.
template <std::same_as<network_profile> Profile> std::string to_string(const Profile& all) {
    const bool has_floats = all.float_nanoseconds >= 0;
    const double sum = all.nanoseconds_of_rows();
    std::vector<std::vector<std::string>> lines{{"row", "name", "operation", "us", "share", "GMAC/s"}};
    if (has_floats) lines[0].insert(lines[0].end(), {"float us", "times as fast"});
    const auto add = [&](const profiled_row& row, const std::string& number, const std::string& share) {
        lines.push_back(
            {number, row.name, row.operation, detail::microseconds_text(row.nanoseconds), share,
             row.macs == 0 ? std::string() : detail::ratio_text(1, static_cast<double>(row.macs), row.nanoseconds)});
        if (!has_floats) return;
        lines.back().push_back(detail::microseconds_text(row.float_nanoseconds));
        lines.back().push_back(detail::ratio_text(2, row.float_nanoseconds, row.nanoseconds));
    };
    profiled_row whole{0, "whole inference", "", 0, all.nanoseconds, all.float_nanoseconds};
    for (const profiled_row& row : all.rows) {
        whole.macs += row.macs;
        add(row, std::to_string(row.row), detail::ratio_text(1, 100 * row.nanoseconds, sum, " %"));
    }
    add(whole, "", "");
    constexpr bool to_the_right[] = {true, false, false, true, true, true, true, true};
    std::string text = detail::aligned_columns(lines, std::span(to_the_right).first(lines[0].size()));
    for (const std::string& warning : all.warnings()) text += "warning: " + warning + "\n";
    return text;
}

/// Everything as JSON: "nanoseconds", "float_nanoseconds" (null without a float network), "inferences", "rows" with the members of
/// profiled_row, and "warnings".
template <std::same_as<network_profile> Profile> std::string to_json(const Profile& all) {
    json_writer json;
    const auto add_times = [&](double own, double floats) {
        json.member("nanoseconds", own);
        json.key("float_nanoseconds");
        if (floats < 0) json.null();
        else json.value(floats);
    };
    json.open_object();
    add_times(all.nanoseconds, all.float_nanoseconds);
    json.member("inferences", all.inferences);
    json.rows("rows", all.rows, [&](const profiled_row& row) {
        json.member("row", row.row);
        json.member("name", row.name);
        json.member("operation", row.operation);
        json.member("macs", row.macs);
        add_times(row.nanoseconds, row.float_nanoseconds);
    });
    json.array("warnings", all.warnings());
    json.close_object();
    return json.text() + "\n";
}

}  // namespace zp::inline v0
