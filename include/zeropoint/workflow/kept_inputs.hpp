// SPDX-License-Identifier: BSD-3-Clause
// Some of the inputs that calibration has seen, for conversions that compare outputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <zeropoint/model/network.hpp>

namespace zp::inline v0 {

/// At most Count of the inputs of a prepared stage: those whose values have the smallest hashes. So they depend neither on the order of the
/// inputs nor on who saw them, as if they were drawn by chance, and copies that saw parts of the data merge to the same. A stage whose
/// qconfig compares no outputs keeps none, and has no memory for them.
template <class Stage, int Count = Stage::entries::kept_inputs> class kept_inputs {
    using words = std::vector<std::uint32_t>;  // of all ports, one behind the other: floats, or indices of 32 bits
    static constexpr std::size_t ports = network<Stage>::inputs().size();
    /// Where each port begins, and behind the last where that ends.
    static constexpr auto offsets = [] {
        std::array<std::size_t, ports + 1> begins{};
        for (std::size_t p = 0; p != ports; ++p)
            begins[p + 1] = begins[p] + static_cast<std::size_t>(network<Stage>::inputs()[p].extents.size());
        return begins;
    }();
    struct input {
        std::uint64_t hash = 0;
        words values;
        bool operator<(const input& other) const {
            if (hash != other.hash) return hash < other.hash;
            const std::size_t shorter = std::min(values.size(), other.values.size());
            std::size_t i = 0;
            while (i != shorter && values[i] == other.values[i]) ++i;
            return i != shorter ? values[i] < other.values[i] : values.size() < other.values.size();
        }
        template <class Visitor> void each_state(Visitor&& visit) {
            visit(hash);
            visit(values);
        }
    };
    /// FNV-1a over words, its bits mixed once more: it has to spread inputs, not to withstand anybody.
    static std::uint64_t hash_of(const words& values) {
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const std::uint32_t value : values) hash = (hash ^ value) * 0x100000001b3u;
        hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
        return hash ^ hash >> 32;
    }

public:
    /// One input of the network, a pointer a port.
    void observe(const void* const* xs) {
        scratch_.values.resize(offsets.back());
        for (std::size_t p = 0; p != ports; ++p)
            std::memcpy(scratch_.values.data() + offsets[p], xs[p], 4 * (offsets[p + 1] - offsets[p]));
        scratch_.hash = hash_of(scratch_.values);
        if (inputs_.size() == Count && !(scratch_ < inputs_.back())) return;
        insert(scratch_);
    }
    void merge(const kept_inputs& other) {
        for (const input& one : other.inputs_) insert(one);
    }
    bool empty() const { return inputs_.empty(); }
    std::size_t size() const { return inputs_.size(); }
    /// Forgets them: nothing is left to compare outputs over.
    void clear() { inputs_.clear(); }
    /// visit(xs), one pointer a port, for each.
    template <class Visit> void for_each(Visit visit) const {
        for (const input& one : inputs_) {
            std::array<const void*, ports> xs;
            for (std::size_t p = 0; p != ports; ++p) xs[p] = one.values.data() + offsets[p];
            visit(static_cast<const void* const*>(xs.data()));
        }
    }
    template <class Visitor> void each_state(Visitor&& visit) { visit(inputs_); }

private:
    void insert(const input& one) {
        inputs_.insert(std::upper_bound(inputs_.begin(), inputs_.end(), one), one);
        if (inputs_.size() > Count) inputs_.pop_back();
    }

    std::vector<input> inputs_;  // by hash
    input scratch_;
};
template <class Stage> class kept_inputs<Stage, 0> {
public:
    void observe(const void* const*) {}
    void merge(const kept_inputs&) {}
    static constexpr bool empty() { return true; }
    static constexpr std::size_t size() { return 0; }
    void clear() {}
    template <class Visit> void for_each(Visit) const {}
    template <class Visitor> void each_state(Visitor&&) {}
};
template <class Batches> inline constexpr bool are_kept_inputs = false;
template <class Stage, int Count> inline constexpr bool are_kept_inputs<kept_inputs<Stage, Count>> = true;

}  // namespace zp::inline v0
