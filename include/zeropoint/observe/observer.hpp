// SPDX-License-Identifier: BSD-3-Clause
// What an observer is: something that sees float values in batches, and then chooses scale and zero point for them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/qscheme.hpp>

namespace zp::inline v0 {

/// One batch of values. Value i belongs to channel (i / inner) % channels: inner is 1 for NHWC activations, and all
/// values of a filter for weights [out_channels][...]. Groups are channels too, with inner the group's size.
struct observation {
    std::span<const float> values;  // the batch
    int channels = 1;               // how many channels values have, which repeat
    int inner = 1;                  // how many values of a channel follow each other
    std::string_view where = {};    // the layer, for error messages

    /// After how many values channels begin again.
    constexpr std::size_t row() const { return static_cast<std::size_t>(channels) * static_cast<std::size_t>(inner); }
};

/// Smallest and largest value seen, for reports. Nothing seen: {+infinity, -infinity}.
struct observed_range {
    float min = infinity, max = -infinity;  // the range; nothing seen where min > max

    /// Whether nothing was seen.
    constexpr bool empty() const { return min > max; }
    /// The smallest range that holds both.
    constexpr observed_range with(const observed_range& other) const {
        return {std::min(min, other.min), std::max(max, other.max)};
    }
    constexpr bool operator==(const observed_range&) const = default;
};

/// What may be expected of merging observers that saw parts of the data.
enum class merge_order {
    exact_any_order,  ///< the same bits as one observer that saw everything, whatever the order and the grouping
    order_dependent   ///< meant for consecutive parts: a.merge(b) says that b's data came after a's
};

// The concept, one rule a name, so that a compiler says which one an observer of one's own breaks.
// By expressions: std::copyable asks a hundred classes an observer.
template <class O> concept observer_is_a_value = requires(O& to, const O& from) {
    O();
    O(from);
    O(static_cast<O&&>(to));
    to = from;
    to = static_cast<O&&>(to);
};
template <class O> concept observer_observes = requires(O o, const observation& seen) { o.observe(seen); };
template <class O> concept observer_merges = requires(O o, const O& other) {
    o.merge(other);
    { O::order } -> std::convertible_to<merge_order>;
};
template <class O> concept observer_counts = requires(const O o) {
    { o.samples() } -> std::convertible_to<std::uint64_t>;
    { o.count() } -> std::convertible_to<std::uint64_t>;
};
template <class O> concept observer_reports = requires(const O o) {
    { o.range() } -> std::convertible_to<observed_range>;
};
template <class O> concept observer_calculates = requires(const O o, std::string_view where) {
    {
        o.template calculate_qparams<quint8, per_tensor_affine, pytorch_rule>(where)
        } -> std::same_as<std::vector<qparams>>;
};

/// What calibration needs of an observer. Any struct that has this works everywhere; no base class is asked for.
///   - default constructible and copyable;
///   - void observe(const observation&): adds a batch; NaN and infinity are its calibration_error;
///   - void merge(const O&), and static constexpr merge_order order, which says what merging promises;
///   - samples(), how many batches, and count(), how many values it has seen; range(), for reports;
///   - template <class DType, class QScheme, class Rule> std::vector<qparams> calculate_qparams(std::string_view where)
///     const: one for a per_tensor scheme, else one a channel; a calibration_error naming `where` when it has seen
///     nothing.
/// It may have each_state(visit), which calls visit(field) for each field that data has changed, so that processes can merge it; and
/// per_channel_form, the observer that takes its place beside a per_channel or per_group scheme.
template <class O>
concept observer = observer_is_a_value<O> && observer_observes<O> && observer_merges<O> && observer_counts<O> &&
    observer_reports<O> && observer_calculates<O>;

// ---- what the observers share ----

/// Raises calibration_error: the observer of `where` has seen no values.
[[noreturn]] inline void reject_no_data(std::string_view where, const char* observer_name) {
    raise<calibration_error>(std::string(where) + ": " + observer_name +
                             " has seen no values, expected at least one batch: calibrate before converting");
}

/// Raises calibration_error: value `index` of the batch is NaN or infinity; the message names layer, channel and
/// value.
[[noreturn]] inline void reject_not_finite(const observation& seen, std::size_t index) {
    raise<calibration_error>(
        std::string(seen.where) + ": expected finite values, but value " + std::to_string(index) + " of " +
        std::to_string(seen.values.size()) + " (channel " +
        std::to_string(index / static_cast<std::size_t>(seen.inner) % static_cast<std::size_t>(seen.channels)) +
        ") is " + number_text(seen.values[index]) + ": clean the calibration data, or the weights before this layer");
}

/// Range of a batch. NaN and infinity are a calibration_error that names layer, index, channel and value.
template <class Arch> observed_range range_of(const observation& seen) {
    const kernel::min_max_result found = kernel::min_max<Arch>(seen.values.data(), seen.values.size());
    if (found.first_not_finite != seen.values.size()) reject_not_finite(seen, found.first_not_finite);
    return {found.min, found.max};
}

/// choose_qparams, with the layer's name in the error for a range beyond float.
template <class DType, class QScheme, class Rule>
qparams choose_observed_qparams(float min, float max, std::string_view where) {
    if (!is_finite(max - min))
        raise<calibration_error>(std::string(where) + ": the observed range from " + number_text(min) + " to " +
                                 number_text(max) + " is too wide for a finite scale");
    return choose_qparams<DType, QScheme, Rule>(min, max);
}

// observe() of the observers here is a template over the architecture, with this translation unit's as the default: its
// code depends on the compiler's flags, so its symbol names them, and units built with different flags can be linked.
// The classes themselves do not depend on the architecture, nor do their results.

/// observer.observe(seen), for code that is itself a template over Arch; a user's observer need not know of it.
template <class Arch, class Observer> void observe_with(Observer& observer, const observation& seen) {
    if constexpr (requires { observer.template observe<Arch>(seen); }) observer.template observe<Arch>(seen);
    else observer.observe(seen);
}

/// How many batches and values were seen: the part of an observer that is always the same.
class observation_count {
public:
    std::uint64_t samples() const { return samples_; }
    std::uint64_t count() const { return count_; }
    /// Calls visit(field) for each field that data has changed: how processes send an observer's state (observe/state_bytes.hpp). Derived
    /// classes call their base's and visit their own.
    template <class Visitor> void each_state(Visitor&& visit) {
        visit(samples_);
        visit(count_);
    }

protected:
    void add(const observation& seen) {
        ++samples_;
        count_ += seen.values.size();
    }
    void add(const observation_count& other) {
        samples_ += other.samples_;
        count_ += other.count_;
    }

private:
    std::uint64_t samples_ = 0, count_ = 0;
};

/// And the range of everything seen.
class widest_range : public observation_count {
public:
    static constexpr merge_order order = merge_order::exact_any_order;

    /// A batch with NaN or infinity is a calibration_error and adds nothing; an empty one adds nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        range_ = range_.with(range_of<Arch>(seen));
        add(seen);
    }
    observed_range range() const { return range_; }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(range_);
    }

protected:
    void merge_base(const widest_range& other) {
        range_ = range_.with(other.range_);
        add(other);
    }

private:
    observed_range range_;
};

}  // namespace zp::inline v0
