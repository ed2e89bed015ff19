// SPDX-License-Identifier: BSD-3-Clause
// prepare: the fused float network with an observer for every activation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <zeropoint/graph/given_qparams.hpp>
#include <zeropoint/observe/range_statistics.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/input_sums.hpp>
#include <zeropoint/workflow/kept_inputs.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp::inline v0 {

/// What watches one activation: the observer that the qconfig names, and the statistics that reports are made of.
template <class Quantizer> struct activation_observer {
    using quantizer_type = Quantizer;
    typename Quantizer::observer_type observer{};
    range_statistics statistics{};
};

namespace detail {
/// The observers of an entry of a qconfig.
template <std::size_t Entry, class Quantizer, int Count> struct entry_observers {
    activation_observer<Quantizer> all[Count]{};
};
template <std::size_t Entry, class Quantizer> struct entry_observers<Entry, Quantizer, 0> {};
/// A std::tuple of them without its functions, of which each network has a set.
template <class... Entries> struct observers_by_entry : Entries... {};
}  // namespace detail

/// One activation_observer a qparams_id, of the type that its rule of the qconfig asks for.
template <class Stage> class observer_set {
    using entries = typename Stage::entries;
    static constexpr int count = Stage::table.qparams_count;
    struct place {
        int entry = 0, index = 0;
    };
    struct plan {
        place places[count == 0 ? 1 : count]{};
        int counts[entries::count]{};
        int reporters[count == 0 ? 1 : count]{};
    };
    static constexpr plan layout = [] {
        plan p;
        bool seen[count == 0 ? 1 : count]{};
        for (int i = 0; i != Stage::table.size; ++i) {
            const node& n = Stage::table.nodes[i];
            if (n.is_indices()) continue;
            const int id = n.out.qparams_id;
            if (n.flags.observed) p.reporters[id] = i;
            if (seen[id]) continue;
            seen[id] = true;
            p.places[id] = {n.config, p.counts[n.config]++};
        }
        return p;
    }();
    template <std::size_t I>
    using observers_of =
        detail::entry_observers<I, typename entries::template entry<static_cast<int>(I)>::activation, layout.counts[I]>;
    template <std::size_t... I>
    static auto storage(std::index_sequence<I...>) -> detail::observers_by_entry<observers_of<I>...>;
    using sequence = std::make_index_sequence<static_cast<std::size_t>(entries::count)>;

public:
    /// The node whose values the observer and the statistics of a qparams_id see.
    static constexpr int reporter(int qparams_id) { return layout.reporters[qparams_id]; }
    /// Calls f with the activation_observer of a qparams_id.
    template <class F> void visit(int qparams_id, F&& f) { visit(*this, qparams_id, f, sequence{}); }
    template <class F> void visit(int qparams_id, F&& f) const { visit(*this, qparams_id, f, sequence{}); }

private:
    template <class Self, class F, std::size_t... I>
    static void visit(Self& self, int qparams_id, F& f, std::index_sequence<I...>) {
        const place at = layout.places[qparams_id];
        const auto one = [&]<class Observers>(Observers& observers, int entry) {
            if constexpr (requires { Observers::all; })
                if (entry == at.entry) f(observers.all[at.index]);
        };
        (one(static_cast<std::conditional_t<std::is_const_v<Self>, const observers_of<I>, observers_of<I>>&>(
                 self.observers_),
             static_cast<int>(I)),
         ...);
    }
    decltype(storage(sequence{})) observers_{};
};

/// A network that learns ranges while it runs in float32. Give it data with zp::calibrate.
template <class Net, class Config, class Arch> class prepared : public network<prepared_stage<Net, Config, Arch>> {
public:
    using base = network<prepared_stage<Net, Config, Arch>>;
    using config = Config;

    /// Runs one input (height x width x channels floats, or indices, which zp::calibrate has checked) and observes every
    /// activation. NaN and infinity raise calibration_error with the layer's name; what came before stays observed.
    void observe(const typename base::input_value* x) requires(base::inputs().size() == 1) {
        const void* const xs[] = {x};
        observe(xs);
    }
    /// The same of several: one pointer an input.
    void observe(const void* const* xs) {
        if (memory_.size() == 0) memory_ = aligned_buffer(memory_bytes());
        observe(xs, memory_.data(), samples_ + 1, [](int, const auto& see) { see(); });
    }
    /// The same in memory of the caller's, of memory_bytes() at a multiple of 64: for several inputs at once, where `in_turn(i, see)` calls
    /// see() when all earlier inputs have been seen by whatever row i feeds. Row number rows().size() is the input as a whole, and
    /// `number` the input's, from 1, for errors: how many were observed changes meanwhile.
    template <class InTurn>
    void observe(const void* const* xs, std::byte* memory, std::uint64_t number, const InTurn& in_turn) {
        observe_as<typename base::stage>(xs, memory, number, in_turn);
    }
    /// The same by the steps of another stage of the same rows, whose states may go on from input to input, in memory_bytes_of that.
    template <class Running, class InTurn>
    void observe_as(const void* const* xs, std::byte* memory, std::uint64_t number, const InTurn& in_turn) {
        std::array<void*, base::outputs().size()> ys;
        for (std::size_t p = 0; p != ys.size(); ++p) ys[p] = memory + output_offsets<Running>[p];
        base::template run_as<Running>(xs, ys.data(), memory, [&](int i, const void* values) {
            in_turn(i, [&] {
                observe_node(i, static_cast<const float*>(values), number);
                input_sums_.observe(i, static_cast<const float*>(values));
            });
        });
        in_turn(base::stage::table.size, [&] {
            kept_.observe(xs);
            ++samples_;
        });
    }
    static constexpr std::size_t memory_bytes() { return memory_bytes_of<typename base::stage>(); }
    template <class Running> static constexpr std::size_t memory_bytes_of() { return output_offsets<Running>.back(); }
    /// How many inputs were observed.
    std::uint64_t samples() const { return samples_; }
    const observer_set<prepared_stage<Net, Config, Arch>>& observers() const { return observers_; }
    /// What the correction of biases needs; empty under a qconfig without zp::correct_biases.
    const input_sums<prepared_stage<Net, Config, Arch>>& sums_of_inputs() const { return input_sums_; }
    /// Some of the inputs; none under a qconfig that compares no outputs.
    const kept_inputs<prepared_stage<Net, Config, Arch>>& kept() const { return kept_; }
    kept_inputs<prepared_stage<Net, Config, Arch>>& kept() { return kept_; }
    /// Smallest and largest value of a node, whose scale may be another node's; those of nothing are infinite.
    observed_range range_of_values(int i) const { return ranges_[static_cast<std::size_t>(i)]; }

    /// Scales and zero points that go before those of observers.
    const given_qparams& given() const { return given_; }
    given_qparams& given() { return given_; }

    /// Adds what another copy of this network has observed: calibrate copies in several threads or processes, then merge.
    /// Raises value_error where both were given different scales of the same values.
    void merge(const prepared& other) {
        given_.merge(other.given_);
        for (int id = 0; id != base::stage::table.qparams_count; ++id)
            observers_.visit(id, [&](auto& mine) {
                other.observers_.visit(id, [&](const auto& theirs) {
                    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(mine)>,
                                                 std::remove_cvref_t<decltype(theirs)>>) {
                        mine.observer.merge(theirs.observer);
                        mine.statistics.merge(theirs.statistics);
                    }
                });
            });
        for (std::size_t i = 0; i != ranges_.size(); ++i) widen(i, other.ranges_[i].min, other.ranges_[i].max);
        input_sums_.merge(other.input_sums_);
        kept_.merge(other.kept_);
        samples_ += other.samples_;
    }
    /// All that was learned from data: for copies in other processes (distributed/mpi.hpp). Not what was given, which each gives itself.
    template <class Visitor> void each_state(Visitor&& visit) {
        for (int id = 0; id != base::stage::table.qparams_count; ++id)
            observers_.visit(id, [&](auto& mine) {
                visit(mine.observer);
                visit(mine.statistics);
            });
        visit(ranges_);
        visit(input_sums_);
        visit(kept_);
        visit(samples_);
    }

private:
    /// Where each output lies in memory_, and behind the last where that ends.
    template <class Running>
    static constexpr auto output_offsets = [] {
        std::array<std::size_t, base::outputs().size() + 1> offsets{
            align_up(static_cast<std::size_t>(Running::table.arena_bytes))};
        for (std::size_t p = 0; p + 1 != offsets.size(); ++p)
            offsets[p + 1] =
                offsets[p] + align_up(sizeof(float) * static_cast<std::size_t>(base::outputs()[p].extents.size()));
        return offsets;
    }();

    void observe_node(int i, const float* values, std::uint64_t number) {
        const node& n = base::stage::table.nodes[i];
        if (n.op->is_output) return;  // seen where it is made
        const shape& extents = n.out.extents;
        const auto count = static_cast<std::size_t>(extents.size());
        if (n.out.qparams_id >= 0) {
            const kernel::min_max_result found = kernel::min_max<Arch>(values, count);
            if (found.first_not_finite == count) widen(static_cast<std::size_t>(i), found.min, found.max);
        }
        if (!n.flags.observed) return;
        const std::string where = display_name(base::rows(), i) + ", calibration input " + std::to_string(number);
        const observation seen{{values, count}, extents.channels, 1, where};
        observers_.visit(n.out.qparams_id, [&](auto& watched) {
            observe_with<Arch>(watched.statistics, seen);
            observe_with<Arch>(watched.observer, seen);
        });
    }
    void widen(std::size_t i, float min, float max) {
        ranges_[i] = {std::min(ranges_[i].min, min), std::max(ranges_[i].max, max)};
    }

    observer_set<prepared_stage<Net, Config, Arch>> observers_;
    [[no_unique_address]] input_sums<prepared_stage<Net, Config, Arch>> input_sums_;
    [[no_unique_address]] kept_inputs<prepared_stage<Net, Config, Arch>> kept_;
    std::array<observed_range, static_cast<std::size_t>(base::stage::table.size)> ranges_{};
    aligned_buffer memory_;  // the arena, then the outputs
    given_qparams given_;
    std::uint64_t samples_ = 0;
};

/// Observers for every activation, as QConfig says. Next: zp::calibrate(prepared, batches).
template <class QConfig, class Net, class Arch> prepared<Net, QConfig, Arch> prepare(const fused<Net, Arch>& floats) {
    prepared<Net, QConfig, Arch> result;
    std::copy_n(floats.parameters(), floats.parameter_bytes, result.parameters());  // perhaps none, and no memory
    return result;
}
/// An unfused network is fused first: no qconfig quantizes a batch norm of its own.
template <class QConfig, class Net, class Arch>
prepared<Net, QConfig, Arch> prepare(const float_model<Net, Arch>& trained) {
    return prepare<QConfig>(fuse(trained));
}

}  // namespace zp::inline v0
