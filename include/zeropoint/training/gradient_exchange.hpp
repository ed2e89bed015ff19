// SPDX-License-Identifier: BSD-3-Clause
// Several processes that train one network: which parts of a batch each of them has, and what they tell one another.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/observe/observer.hpp>

// A batch is cut into parts, numbered from 0. Their gradients are summed in a tree over these numbers: pairs of neighbours, then pairs
// of pairs, what has no neighbour going up as it is. So a node of the tree has parts [first, last) and is the sum of [first, middle)
// and [middle, last), with the largest power of two below last - first of them on the left. Who computes a node does not matter: the
// sum has the same bits for every number of processes.

namespace zp::inline v0 {

/// Processes do not agree, or one does not answer.
class rank_error : public error {
public:
    using error::error;
};

/// Parts [first, last).
struct part_range {
    std::size_t first = 0, last = 0;

    constexpr std::size_t size() const { return last - first; }
    constexpr bool operator==(const part_range&) const = default;
    /// What a rank has of `total` parts.
    static constexpr part_range of(std::size_t total, int rank, int ranks) {
        const auto r = static_cast<std::size_t>(rank), n = static_cast<std::size_t>(ranks);
        return {total * r / n, total * (r + 1) / n};
    }
};

/// Where a node of at least two parts is divided.
constexpr std::size_t middle_of(part_range node) { return node.first + std::bit_floor(node.size() - 1); }

/// The fewest nodes of the tree over `total` parts that make up `own`, in order.
inline std::vector<part_range> tree_nodes(part_range own, std::size_t total) {
    std::vector<part_range> nodes;
    const auto add = [&](const auto& self, part_range node) -> void {
        if (node.last <= own.first || own.last <= node.first) return;
        if (own.first <= node.first && node.last <= own.last) {
            nodes.push_back(node);
            return;
        }
        self(self, {node.first, middle_of(node)});
        self(self, {middle_of(node), node.last});
    };
    if (own.size() != 0) add(add, {0, total});
    return nodes;
}

/// The sum of a node's parts, of `size` values each, from the sums of nodes below it: value(node) gives those it has, else null.
template <class Value> std::vector<float> sum_of_node(part_range node, std::size_t size, const Value& value) {
    if (size == 0) return {};
    if (const float* known = value(node); known != nullptr) return {known, known + size};
    const std::size_t middle = middle_of(node);
    std::vector<float> left = sum_of_node({node.first, middle}, size, value);
    const std::vector<float> right = sum_of_node({middle, node.last}, size, value);
    for (std::size_t i = 0; i != size; ++i) left[i] += right[i];
    return left;
}
/// The same, of parts [own.first, own.last) that are all there.
inline std::vector<float> sum_of_parts(part_range node, part_range own, std::span<const std::vector<float>> parts) {
    return sum_of_node(node, parts.front().size(),
                       [&](part_range one) { return one.size() == 1 ? parts[one.first - own.first].data() : nullptr; });
}

/// What training needs of processes that train together. Every call is made by all of them, in the same order; each may raise
/// rank_error, after which nothing more can be said to the others.
///   - rank(), this process's number, and size(), how many there are;
///   - sum_parts(parts, count, sum): `parts` are those of `count` that are part_range::of(count, rank, size); all get the sum of all;
///   - gather(values, count): as many values for each of `count` parts; those of this rank's are there, afterwards all are;
///   - widen(ranges): each becomes the smallest that holds all ranks';
///   - broadcast(values): rank 0's, everywhere;
///   - any(is_so): whether it is so on any rank;
///   - require_same(digest, what): a rank_error that names `what`, where a rank has another digest.
template <class E>
concept gradient_exchange = requires(E& e, std::span<const std::vector<float>> parts, std::size_t count,
                                     std::span<float> floats, std::span<double> doubles,
                                     std::span<observed_range> ranges, std::uint64_t digest, std::string_view what) {
    { e.rank() } -> std::same_as<int>;
    { e.size() } -> std::same_as<int>;
    e.sum_parts(parts, count, floats);
    e.gather(doubles, count);
    e.widen(ranges);
    e.broadcast(floats);
    { e.any(bool{}) } -> std::same_as<bool>;
    e.require_same(digest, what);
};

/// One process that trains alone.
struct one_rank {
    int rank() const { return 0; }
    int size() const { return 1; }
    void sum_parts(std::span<const std::vector<float>> parts, std::size_t count, std::span<float> sum) const {
        const std::vector<float> whole = sum_of_parts({0, count}, {0, count}, parts);
        std::copy(whole.begin(), whole.end(), sum.begin());
    }
    void gather(std::span<double>, std::size_t) const {}
    void widen(std::span<observed_range>) const {}
    void broadcast(std::span<float>) const {}
    bool any(bool is_so) const { return is_so; }
    void require_same(std::uint64_t, std::string_view) const {}
};

/// FNV-1a of bytes, going on from `seed`: what ranks compare with one another.
inline std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t seed = 0xcbf29ce484222325ull) {
    for (const std::byte byte : bytes) seed = (seed ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
    return seed;
}

/// Rank 0's parameters for all, checked: the counts before, the values after.
template <gradient_exchange Exchange> void share_parameters(Exchange& with, std::span<float> values) {
    with.require_same(values.size(), "number of parameters");
    with.broadcast(values);
    with.require_same(digest_of(std::as_bytes(values)), "values of parameters");
}

}  // namespace zp::inline v0
