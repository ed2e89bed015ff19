// SPDX-License-Identifier: BSD-3-Clause
// Any per-tensor observer, once a channel; and which form of an observer a qscheme asks for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// Batches must have whole rows of channels x inner values, and always as many channels. `channels_so_far` is 0 at
/// first.
template <class = void> void require_channels(const observation& seen, std::size_t channels_so_far) {
    if (seen.channels < 1 || seen.inner < 1 || seen.values.size() % seen.row() != 0)
        raise<shape_error>(std::string(seen.where) + ": " + std::to_string(seen.values.size()) +
                           " values are not whole rows of " + std::to_string(seen.channels) + " channels x " +
                           std::to_string(seen.inner));
    if (channels_so_far != 0 && channels_so_far != static_cast<std::size_t>(seen.channels))
        raise<shape_error>(std::string(seen.where) + ": expected " + std::to_string(channels_so_far) +
                           " channels as in the batches before, got " + std::to_string(seen.channels));
}
template <class = void> void require_same_channels(std::size_t mine, std::size_t others) {
    if (mine != others)
        raise<shape_error>("merge: expected an observer of the same tensor with " + std::to_string(mine) +
                           " channels, got " + std::to_string(others));
}

/// `Observer` for every channel on its own: per-channel mse, percentile, histogram, or an observer of one's own.
template <class Observer> class per_channel_observer : public observation_count {
    static_assert(
        observer<Observer>,
        "per_channel_observer<Observer>: Observer must be an observer, see zp::observer in observe/observer.hpp");

public:
    using per_channel_form = per_channel_observer;
    static constexpr bool only_per_channel = true;  // it serves no per_tensor scheme
    static constexpr merge_order order = Observer::order;

    /// A batch with NaN or infinity adds nothing.
    template <class Arch = default_architecture> void observe(const observation& seen) {
        if (seen.values.empty()) return;
        require_channels(seen, channels_.size());
        (void)range_of<Arch>(seen);
        channels_.resize(static_cast<std::size_t>(seen.channels));
        const auto inner = static_cast<std::size_t>(seen.inner);
        std::vector<float> gathered;
        for (std::size_t c = 0; c != channels_.size(); ++c) {
            gathered.clear();
            for (std::size_t first = c * inner; first < seen.values.size(); first += seen.row())
                gathered.insert(gathered.end(), seen.values.begin() + static_cast<std::ptrdiff_t>(first),
                                seen.values.begin() + static_cast<std::ptrdiff_t>(first + inner));
            observe_with<Arch>(channels_[c], observation{gathered, 1, 1, seen.where});
        }
        add(seen);
    }
    void merge(const per_channel_observer& other) {
        if (other.channels_.empty()) return;
        if (channels_.empty()) channels_.resize(other.channels_.size());
        require_same_channels(channels_.size(), other.channels_.size());
        for (std::size_t c = 0; c != channels_.size(); ++c) channels_[c].merge(other.channels_[c]);
        add(other);
    }
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view where) const {
        static_assert(!QScheme::is_per_tensor,
                      "per_channel_observer<Observer> serves per_channel and per_group schemes: for a per_tensor "
                      "scheme take the Observer itself");
        if (channels_.empty()) reject_no_data(where, "per_channel_observer");
        std::vector<qparams> all;
        for (std::size_t c = 0; c != channels_.size(); ++c)
            all.push_back(channels_[c]
                              .template calculate_qparams<DType, per_tensor_of<QScheme>, Rule>(
                                  std::string(where) + ", channel " + std::to_string(c))
                              .front());
        return all;
    }
    observed_range range() const {
        observed_range all;
        for (const Observer& channel : channels_) all = all.with(channel.range());
        return all;
    }
    /// How many channels were seen; 0 before the first batch.
    std::size_t channels() const { return channels_.size(); }
    template <class Visitor> void each_state(Visitor&& visit) {
        observation_count::each_state(visit);
        visit(channels_);
    }

private:
    template <class QScheme> using per_tensor_of = qscheme<per_tensor, typename QScheme::symmetry>;

    std::vector<Observer> channels_;
};

template <class Observer, bool PerTensor> struct observer_form { using type = Observer; };
template <class Observer> struct observer_form<Observer, false> { using type = per_channel_observer<Observer>; };
template <class Observer>
    requires requires { typename Observer::per_channel_form; }
struct observer_form<Observer, false> {
    using type = typename Observer::per_channel_form;
};

/// The observer that serves a scheme: for per_tensor the given one; otherwise its member `per_channel_form`, or one of
/// it a channel. So `min_max_observer` may stand beside any qscheme.
template <class Observer, class QScheme>
using observer_for = typename observer_form<Observer, QScheme::is_per_tensor>::type;

/// Whether Observer can serve QScheme: all but a per-channel observer under a per_tensor scheme.
template <class Observer, class QScheme> inline constexpr bool observer_serves = !QScheme::is_per_tensor || !requires {
    Observer::only_per_channel;
};

}  // namespace zp::inline v0
