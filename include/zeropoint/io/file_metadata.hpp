// SPDX-License-Identifier: BSD-3-Clause
// Text by key that travels with tensors.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/io/sorted_order.hpp>

namespace zp::inline v0 {

/// Free text that travels with the tensors, ordered by key: what std::map has, as far as files need it. A map of the standard library
/// takes compilers longer than all that reads files beside it.
template <class Void> class basic_file_metadata {
public:
    using value_type = std::pair<std::string, std::string>;  ///< a key and its text
    using const_iterator = const value_type*;                ///< valid until an entry is added

    basic_file_metadata() = default;
    basic_file_metadata(std::initializer_list<value_type> all) {
        for (const value_type& entry : all) emplace(entry.first, entry.second);
    }
    /// Of entries in any order; of those with one key the first counts.
    [[gnu::cold]] explicit basic_file_metadata(std::vector<value_type> all) {
        const auto before = [&](std::size_t a, std::size_t b) { return all[a].first < all[b].first; };
        for (const std::size_t i : sorted_order(all.size(), before))
            if (entries_.empty() || entries_.back().first != all[i].first)
                entries_.emplace_back(std::move(all[i].first), std::move(all[i].second));
    }

    const_iterator begin() const { return entries_.data(); }                  ///< The entry of the smallest key.
    const_iterator end() const { return entries_.data() + entries_.size(); }  ///< Behind the last entry.
    std::size_t size() const { return entries_.size(); }                      ///< The number of entries.
    bool empty() const { return entries_.empty(); }                           ///< Whether there are none.

    /// The entry of that key, or end().
    [[gnu::cold]] const_iterator find(std::string_view key) const {
        const const_iterator place = begin() + place_of(key);
        return place != end() && place->first == key ? place : end();
    }
    /// Whether there is an entry of that key.
    bool contains(std::string_view key) const { return find(key) != end(); }
    /// The number of entries of that key: 0 or 1.
    std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }

    /// What emplace() says, as the pair of std::map.
    struct emplaced {
        const_iterator first;  ///< the entry of the key
        bool second;           ///< whether it was added
    };
    /// The entry of that key, and whether it was added: one that is there remains as it is.
    [[gnu::cold]] emplaced emplace(std::string key, std::string value) {
        if (const const_iterator found = find(key); found != end()) return {found, false};
        const std::size_t place = place_of(key);
        entries_.emplace_back(std::move(key), std::move(value));
        for (std::size_t i = entries_.size() - 1; i != place; --i) {
            entries_[i].first.swap(entries_[i - 1].first);
            entries_[i].second.swap(entries_[i - 1].second);
        }
        return {begin() + place, true};
    }

    friend bool operator==(const basic_file_metadata& a, const basic_file_metadata& b) {
        bool equal = a.size() == b.size();
        for (std::size_t i = 0; equal && i != a.size(); ++i) {
            const value_type &x = a.entries_[i], &y = b.entries_[i];
            equal = x.first == y.first && x.second == y.second;
        }
        return equal;
    }

private:
    /// Where the key stands, or would.
    [[gnu::cold]] std::size_t place_of(std::string_view key) const {
        return first_not_before(entries_.size(), [&](std::size_t i) { return entries_[i].first.compare(key) < 0; });
    }

    std::vector<value_type> entries_;
};
/// The class itself, which is a template so that programs compile the members that they call.
using file_metadata = basic_file_metadata<void>;

}  // namespace zp::inline v0
