// SPDX-License-Identifier: BSD-3-Clause
// Scales and zero points that somebody chose: convert takes them in place of what observers say.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

/// Ranges of activations by qparams_id, and those of weights by row of the prepared network and array of the row's parameters (0, the
/// filters, for convolutions and linear layers). A method that chooses codes as well stores `scale * (code - zero_point)` as the
/// weights of the network beside them: convert gives back exactly those codes. Nothing is given at first, which costs nothing.
class given_qparams {
public:
    /// What codes of the activations of a qparams_id mean.
    template <class = void> void give_range(int qparams_id, const qparams& range) {
        set(ranges_, qparams_id, 0, {range});
    }
    /// What codes of weights mean: one for all, or one an output channel (of a matrix: a row; of weight-only layers with groups:
    /// a group, all groups of an output behind each other).
    template <class = void> void give_weights(int row, int array, std::vector<qparams> channels) {
        set(weights_, row, array, std::move(channels));
    }
    /// Observers decide again.
    template <class = void> void take_back() {
        ranges_.clear();
        weights_.clear();
    }
    /// Whether nothing is given: observers decide everything.
    bool empty() const { return ranges_.empty() && weights_.empty(); }

    /// Null where none is given.
    const qparams* range_of(int qparams_id) const {
        const std::vector<qparams>* found = find(ranges_, qparams_id, 0);
        return found == nullptr ? nullptr : found->data();
    }
    /// Null where none are given; else one for all, or one an output channel.
    const std::vector<qparams>* weights_of(int row, int array) const { return find(weights_, row, array); }

    /// Takes over what `other` has beside this. Raises value_error where both have the same of different values.
    template <class = void> void merge(const given_qparams& other) {
        merge(ranges_, other.ranges_, "activations");
        merge(weights_, other.weights_, "weights");
    }

private:
    struct entry {
        int of, array;
        std::vector<qparams> values;
    };
    using entries = std::vector<entry>;

    // Plain loops, over what is short: whoever includes a network pays for what this class instantiates.
    static const std::vector<qparams>* find(const entries& all, int of, int array) {
        for (const entry& e : all)
            if (e.of == of && e.array == array) return &e.values;
        return nullptr;
    }
    template <class = void> static void set(entries& all, int of, int array, std::vector<qparams> values) {
        for (entry& e : all)
            if (e.of == of && e.array == array) return e.values.swap(values);
        all.push_back({of, array, std::move(values)});
    }
    template <class = void> static bool are_equal(const std::vector<qparams>& a, const std::vector<qparams>& b) {
        std::size_t i = 0;
        while (i != a.size() && i != b.size() && a[i] == b[i]) ++i;
        return i == a.size() && i == b.size();
    }
    template <class = void> static void merge(entries& mine, const entries& others, const char* what) {
        for (const entry& other : others) {
            const std::vector<qparams>* own = find(mine, other.of, other.array);
            if (own == nullptr) set(mine, other.of, other.array, other.values);
            else if (!are_equal(*own, other.values))
                raise<value_error>(
                    std::string("merge: two copies of a network were given different scales of the same ") + what +
                    ": give them after merging");
        }
    }

    entries ranges_, weights_;
};

}  // namespace zp::inline v0
