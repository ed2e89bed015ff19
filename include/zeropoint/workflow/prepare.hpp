// prepare: the fused float network with an observer for every activation.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <zeropoint/observe/range_statistics.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/input_sums.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp {
inline namespace v0 {

/// What watches one activation: the observer that the qconfig names, and the statistics that reports are made of.
template <class Quantizer> struct slot_observer {
    using quantizer_type = Quantizer;
    typename Quantizer::observer_type observer{};
    range_statistics statistics{};
};

/// One slot_observer a slot, of the type that the slot's entry of the qconfig asks for.
template <class Stage> class observer_set {
    using entries = typename Stage::entries;
    static constexpr int slots = Stage::table.slots;
    struct place {
        int entry = 0, index = 0;
    };
    struct plan {
        place places[slots == 0 ? 1 : slots]{};
        int counts[entries::count]{};
        int reporters[slots == 0 ? 1 : slots]{};
    };
    static constexpr plan layout = [] {
        plan p;
        bool seen[slots == 0 ? 1 : slots]{};
        for (int i = 0; i != Stage::table.size; ++i) {
            const node& row = Stage::table.nodes[i];
            if (row.is_indices()) continue;
            if (row.observed) p.reporters[row.slot] = i;
            if (seen[row.slot]) continue;
            seen[row.slot] = true;
            p.places[row.slot] = {row.config, p.counts[row.config]++};
        }
        return p;
    }();
    template <std::size_t... I>
    static auto storage(std::index_sequence<I...>)
        -> std::tuple<std::array<slot_observer<typename entries::template entry<static_cast<int>(I)>::activation>,
                                 static_cast<std::size_t>(layout.counts[I])>...>;
    using sequence = std::make_index_sequence<static_cast<std::size_t>(entries::count)>;

public:
    /// The row whose values the observer and the statistics of a slot see.
    static constexpr int reporter(int slot) { return layout.reporters[slot]; }
    /// Calls f with the slot_observer of a slot.
    template <class F> void visit(int slot, F&& f) { visit(*this, slot, f, sequence{}); }
    template <class F> void visit(int slot, F&& f) const { visit(*this, slot, f, sequence{}); }

private:
    template <class Self, class F, std::size_t... I>
    static void visit(Self& self, int slot, F& f, std::index_sequence<I...>) {
        const place at = layout.places[slot];
        const auto one = [&](auto& observers, int entry) {
            if (entry == at.entry)
                if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(observers)>> != 0)
                    f(observers[static_cast<std::size_t>(at.index)]);
        };
        (one(std::get<I>(self.observers_), static_cast<int>(I)), ...);
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
    void observe(const typename base::input_value* x) {
        if (memory_.size() == 0) memory_ = aligned_buffer(static_cast<std::size_t>(base::arena_bytes) + output_bytes);
        base::run(x, reinterpret_cast<float*>(memory_.data() + base::arena_bytes), memory_.data(),
                  [&](int i, const void* values) {
                      observe_row(i, static_cast<const float*>(values));
                      input_sums_.observe(i, static_cast<const float*>(values));
                  });
        ++samples_;
    }
    /// How many inputs were observed.
    std::uint64_t samples() const { return samples_; }
    const observer_set<prepared_stage<Net, Config, Arch>>& observers() const { return observers_; }
    /// What the correction of biases needs; empty under a qconfig without zp::correct_biases.
    const input_sums<prepared_stage<Net, Config, Arch>>& inputs() const { return input_sums_; }
    /// Smallest and largest value of a row, whose scale may be another row's; those of nothing are infinite.
    observed_range range_of_values(int i) const { return ranges_[static_cast<std::size_t>(i)]; }

    /// Adds what another copy of this network has observed: calibrate copies in several threads or processes, then merge.
    void merge(const prepared& other) {
        for (int slot = 0; slot != base::stage::table.slots; ++slot)
            observers_.visit(slot, [&](auto& mine) {
                other.observers_.visit(slot, [&](const auto& theirs) {
                    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(mine)>,
                                                 std::remove_cvref_t<decltype(theirs)>>) {
                        mine.observer.merge(theirs.observer);
                        mine.statistics.merge(theirs.statistics);
                    }
                });
            });
        for (std::size_t i = 0; i != ranges_.size(); ++i) widen(i, other.ranges_[i].min, other.ranges_[i].max);
        input_sums_.merge(other.input_sums_);
        samples_ += other.samples_;
    }

private:
    static constexpr std::size_t output_bytes = sizeof(float) * static_cast<std::size_t>(base::output_shape.size());

    void observe_row(int i, const float* values) {
        const node& row = base::stage::table.nodes[i];
        const auto count = static_cast<std::size_t>(row.out.size());
        if (row.slot >= 0) {
            const kernel::min_max_result found = kernel::min_max<Arch>(values, count);
            if (found.first_not_finite == count) widen(static_cast<std::size_t>(i), found.min, found.max);
        }
        if (!row.observed) return;
        const std::string where = display_name(base::rows(), i);
        const observation seen{{values, count}, row.out.channels, 1, where};
        observers_.visit(row.slot, [&](auto& slot) {
            observe_with<Arch>(slot.statistics, seen);
            observe_with<Arch>(slot.observer, seen);
        });
    }

    void widen(std::size_t i, float min, float max) {
        ranges_[i] = {std::min(ranges_[i].min, min), std::max(ranges_[i].max, max)};
    }

    observer_set<prepared_stage<Net, Config, Arch>> observers_;
    std::array<observed_range, static_cast<std::size_t>(base::stage::table.size)> ranges_{};
    [[no_unique_address]] input_sums<prepared_stage<Net, Config, Arch>> input_sums_;
    aligned_buffer memory_;  // the arena, then the output
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

}  // namespace v0
}  // namespace zp
