// SPDX-License-Identifier: BSD-3-Clause
// zp::ranks: training and calibration by several processes, over MPI. Link with MPI's C interface.
#pragma once

// The C++ interface of old MPI versions, which has nothing to do here, would have to be linked.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/state_bytes.hpp>
#include <zeropoint/training/gradient_exchange.hpp>

namespace zp::inline v0 {

/// How ranks speak with each other.
struct ranks_options {
    /// Gradients have the bits of one process, whatever the number of ranks: no sum is left to MPI, which promises no order. Else
    /// MPI_Iallreduce adds them, in buckets.
    bool exact = true;
    std::size_t bucket_bytes = std::size_t{25} << 20;  // of one sum by MPI, where it is not exact
    /// Seconds to wait for the other ranks, who may compute longer or have ended; then it is a rank_error.
    double patience = 600;
};

/// The ranks of a communicator, as a gradient_exchange: `zp::ranks world{MPI_COMM_WORLD};` between MPI_Init and MPI_Finalize, one in each
/// process. It works over a copy of the communicator, so its messages do not meet the caller's. Only the thread that MPI was
/// initialized for may use it. Errors of MPI, ranks that disagree and ranks that do not answer raise rank_error; then end the process
/// (MPI_Abort), start all again and resume from the last checkpoint.
class ranks {
public:
    /// Of a communicator, of which it makes a copy: all of its ranks call it. A rank_error without MPI_Init.
    explicit ranks(MPI_Comm communicator, const ranks_options& options = {}) : options_(options) {
        int is_initialized = 0;
        MPI_Initialized(&is_initialized);
        if (is_initialized == 0) raise<rank_error>("ranks: MPI is not initialized: call MPI_Init first");
        check(MPI_Comm_dup(communicator, &communicator_), "MPI_Comm_dup");
        check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
    }
    ~ranks() {
        // After an error MPI may still write into the buffers, and the others may not come to free the communicator.
        if (is_broken_ || std::uncaught_exceptions() != exceptions_) {
            (void)memory_.release();
            return;
        }
        int is_finalized = 0;
        MPI_Finalized(&is_finalized);
        if (is_finalized == 0) MPI_Comm_free(&communicator_);
    }
    ranks(const ranks&) = delete;
    ranks& operator=(const ranks&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// As given.
    const ranks_options& options() const { return options_; }

    /// Of gradient_exchange. In exact mode each rank adds up the nodes of the tree that its parts make up, all send each rank a share of
    /// the values of these sums, each finishes the tree of its share, and all get all shares: a rank sends and gets about two times
    /// the gradient, whatever the number of ranks.
    void sum_parts(std::span<const std::vector<float>> parts, std::size_t count, std::span<float> sum) {
        const part_range own = part_range::of(count, rank_, size_);
        if (parts.size() != own.size())
            raise<rank_error>("ranks: rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " has " +
                              std::to_string(own.size()) + " of " + std::to_string(count) + " parts, got " +
                              std::to_string(parts.size()));
        for (const std::vector<float>& part : parts)
            if (part.size() != sum.size())
                raise<rank_error>("ranks: expected parts of " + std::to_string(sum.size()) + " values, got " +
                                  std::to_string(part.size()));
        if (count == 0) {
            std::fill(sum.begin(), sum.end(), 0.0f);
        } else if (options_.exact) {
            sum_exactly(parts, own, count, sum);
        } else {
            sum_fast(parts, own, count, sum);
        }
    }
    /// Each rank's values are sent to all: `values` has as many for each of `count` parts.
    void gather(std::span<double> values, std::size_t count) {
        if (count == 0) return;
        const std::size_t each = values.size() / count;
        std::vector<int> counts, places;
        for (int r = 0; r != size_; ++r) {
            const part_range one = part_range::of(count, r, size_);
            counts.push_back(length(one.size() * each));
            places.push_back(length(one.first * each));
        }
        const part_range own = part_range::of(count, rank_, size_);
        memory_->sent.resize(own.size() * each * sizeof(double));
        memory_->received.resize(values.size() * sizeof(double));
        if (!memory_->sent.empty())
            std::memcpy(memory_->sent.data(), values.data() + own.first * each, memory_->sent.size());
        MPI_Request request;
        check(MPI_Iallgatherv(memory_->sent.data(), length(own.size() * each), MPI_DOUBLE, memory_->received.data(),
                              counts.data(), places.data(), MPI_DOUBLE, communicator_, &request),
              "MPI_Iallgatherv");
        wait(request, "losses");
        if (!values.empty()) std::memcpy(values.data(), memory_->received.data(), memory_->received.size());
    }
    /// Exact: the smallest of minima, the largest of maxima.
    void widen(std::span<observed_range> ranges) {
        std::vector<float> ends;
        for (const observed_range& range : ranges) ends.push_back(range.min);
        for (const observed_range& range : ranges) ends.push_back(-range.max);
        reduce(ends, MPI_MIN, "ranges");
        for (std::size_t i = 0; i != ranges.size(); ++i) ranges[i] = {ends[i], -ends[ranges.size() + i]};
    }
    bool any(bool is_so) {
        std::vector<float> value = {is_so ? 1.0f : 0.0f};
        reduce(value, MPI_MAX, "answers");
        return value[0] != 0;
    }
    void broadcast(std::span<float> values) { broadcast_bytes(std::as_writable_bytes(values), 0, "parameters"); }
    void require_same(std::uint64_t digest, std::string_view what) {
        const std::vector<std::uint64_t> all = gather_numbers(digest);
        for (int r = 1; r != size_; ++r)
            if (all[static_cast<std::size_t>(r)] != all[0])
                raise<rank_error>("ranks: rank " + std::to_string(r) + " and rank 0 differ in " + std::string(what) +
                                  ": all ranks must be given the same network, data, options and seed");
    }

    /// One number of each rank.
    std::vector<std::uint64_t> gather_numbers(std::uint64_t own) {
        const auto count = static_cast<std::size_t>(size_);
        memory_->sent.resize(sizeof own);
        memory_->received.resize(count * sizeof own);
        std::memcpy(memory_->sent.data(), &own, sizeof own);
        MPI_Request request;
        check(MPI_Iallgather(memory_->sent.data(), 1, MPI_UINT64_T, memory_->received.data(), 1, MPI_UINT64_T,
                             communicator_, &request),
              "MPI_Iallgather");
        wait(request, "numbers");
        std::vector<std::uint64_t> all(count);
        std::memcpy(all.data(), memory_->received.data(), memory_->received.size());
        return all;
    }
    /// The bytes of `from` for all; as many everywhere.
    void broadcast_bytes(std::span<std::byte> bytes, int from, const char* what) {
        constexpr std::size_t most = std::size_t{1} << 30;
        for (std::size_t first = 0; first < bytes.size(); first += most) {
            const std::span<std::byte> part = bytes.subspan(first, std::min(most, bytes.size() - first));
            memory_->received.assign(part.begin(), part.end());
            MPI_Request request;
            check(MPI_Ibcast(memory_->received.data(), length(part.size()), MPI_BYTE, from, communicator_, &request),
                  "MPI_Ibcast");
            wait(request, what);
            std::copy(memory_->received.begin(), memory_->received.end(), part.begin());
        }
    }

private:
    struct buffers {
        std::vector<std::byte> sent, received;
        std::vector<std::vector<float>> buckets;
        std::vector<int> sent_counts, sent_places, received_counts, received_places;
    };

    static int length(std::size_t count) {
        if (count > static_cast<std::size_t>(std::numeric_limits<int>::max()))
            raise<rank_error>("ranks: " + std::to_string(count) + " values are more than a message of MPI can hold");
        return static_cast<int>(count);
    }
    void check(int code, const char* call) {
        if (code == MPI_SUCCESS) return;
        char text[MPI_MAX_ERROR_STRING] = {};
        int size = 0;
        MPI_Error_string(code, text, &size);
        is_broken_ = true;
        raise<rank_error>("ranks: " + std::string(call) + " on rank " + std::to_string(rank_) + ": " +
                          std::string(text) + after_errors);
    }
    static constexpr const char* after_errors =
        "; end this process with MPI_Abort, start all ranks again and resume from the last checkpoint";

    void wait(MPI_Request request, const char* what) { wait(std::span(&request, 1), what); }
    /// Waits, but not for ever: a rank that was killed answers nobody.
    void wait(std::span<MPI_Request> requests, const char* what) {
        const auto begin = std::chrono::steady_clock::now();
        for (int is_done = 0;;) {
            check(MPI_Testall(length(requests.size()), requests.data(), &is_done, MPI_STATUSES_IGNORE), "MPI_Testall");
            if (is_done != 0) return;
            if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options_.patience)
                break;
            std::this_thread::yield();
        }
        is_broken_ = true;
        raise<rank_error>("ranks: rank " + std::to_string(rank_) + " waited " + number_text(options_.patience) +
                          " s for the others' " + std::string(what) +
                          ": one of them has ended or hangs (ranks_options::patience)" + after_errors);
    }

    void reduce(std::vector<float>& values, MPI_Op operation, const char* what) {
        memory_->sent.resize(values.size() * sizeof(float));
        memory_->received.resize(values.size() * sizeof(float));
        if (values.empty()) return;
        std::memcpy(memory_->sent.data(), values.data(), memory_->sent.size());
        MPI_Request request;
        check(MPI_Iallreduce(memory_->sent.data(), memory_->received.data(), length(values.size()), MPI_FLOAT,
                             operation, communicator_, &request),
              "MPI_Iallreduce");
        wait(request, what);
        std::memcpy(values.data(), memory_->received.data(), memory_->received.size());
    }

    void sum_exactly(std::span<const std::vector<float>> parts, part_range own, std::size_t count,
                     std::span<float> sum) {
        const std::size_t size = sum.size();
        buffers& m = *memory_;
        // The nodes of all ranks, which everyone can tell.
        std::vector<std::vector<part_range>> nodes;
        for (int r = 0; r != size_; ++r) nodes.push_back(tree_nodes(part_range::of(count, r, size_), count));
        const std::vector<part_range>& mine = nodes[static_cast<std::size_t>(rank_)];
        const part_range share = part_range::of(size, rank_, size_);

        // To each rank its share of each of my nodes; from each rank my share of each of its nodes.
        m.sent_counts.clear(), m.sent_places.clear(), m.received_counts.clear(), m.received_places.clear();
        std::size_t sent = 0, received = 0;
        for (int r = 0; r != size_; ++r) {
            m.sent_counts.push_back(length(mine.size() * part_range::of(size, r, size_).size()));
            m.sent_places.push_back(length(sent));
            sent += static_cast<std::size_t>(m.sent_counts.back());
            m.received_counts.push_back(length(nodes[static_cast<std::size_t>(r)].size() * share.size()));
            m.received_places.push_back(length(received));
            received += static_cast<std::size_t>(m.received_counts.back());
        }
        m.sent.resize(sent * sizeof(float));
        m.received.resize(received * sizeof(float));
        auto* const out = reinterpret_cast<float*>(m.sent.data());
        for (std::size_t k = 0; k != mine.size(); ++k) {
            const std::vector<float> value = sum_of_parts(mine[k], own, parts);
            for (int r = 0; r != size_; ++r) {
                const part_range one = part_range::of(size, r, size_);
                std::copy(value.begin() + static_cast<std::ptrdiff_t>(one.first),
                          value.begin() + static_cast<std::ptrdiff_t>(one.last),
                          out + m.sent_places[static_cast<std::size_t>(r)] + k * one.size());
            }
        }
        MPI_Request request;
        check(MPI_Ialltoallv(m.sent.data(), m.sent_counts.data(), m.sent_places.data(), MPI_FLOAT, m.received.data(),
                             m.received_counts.data(), m.received_places.data(), MPI_FLOAT, communicator_, &request),
              "MPI_Ialltoallv");
        wait(request, "gradients");

        const auto* const in = reinterpret_cast<const float*>(m.received.data());
        const std::vector<float> mine_of_all =
            sum_of_node({0, count}, share.size(), [&](part_range node) -> const float* {
                std::size_t place = 0;
                for (const std::vector<part_range>& of_rank : nodes)
                    for (const part_range& one : of_rank) {
                        if (one == node) return in + place;
                        place += share.size();
                    }
                return nullptr;
            });

        m.sent_counts.clear(), m.sent_places.clear();
        for (int r = 0; r != size_; ++r) {
            const part_range one = part_range::of(size, r, size_);
            m.sent_counts.push_back(length(one.size()));
            m.sent_places.push_back(length(one.first));
        }
        m.sent.resize(share.size() * sizeof(float));
        m.received.resize(size * sizeof(float));
        if (share.size() != 0) std::memcpy(m.sent.data(), mine_of_all.data(), m.sent.size());
        check(MPI_Iallgatherv(m.sent.data(), length(share.size()), MPI_FLOAT, m.received.data(), m.sent_counts.data(),
                              m.sent_places.data(), MPI_FLOAT, communicator_, &request),
              "MPI_Iallgatherv");
        wait(request, "sums of gradients");
        if (size != 0) std::memcpy(sum.data(), m.received.data(), m.received.size());
    }

    void sum_fast(std::span<const std::vector<float>> parts, part_range own, std::size_t count, std::span<float> sum) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (const part_range& node : tree_nodes(own, count)) {
            const std::vector<float> value = sum_of_parts(node, own, parts);
            for (std::size_t i = 0; i != sum.size(); ++i) sum[i] += value[i];
        }
        const std::size_t most = std::max<std::size_t>(options_.bucket_bytes / sizeof(float), 1);
        std::vector<std::vector<float>>& buckets = memory_->buckets;
        buckets.clear();
        for (std::size_t first = 0; first < sum.size(); first += most) {
            const std::span<float> part = sum.subspan(first, std::min(most, sum.size() - first));
            buckets.emplace_back(part.begin(), part.end());
        }
        std::vector<MPI_Request> requests(buckets.size(), MPI_REQUEST_NULL);
        for (std::size_t b = 0; b != buckets.size(); ++b)
            check(MPI_Iallreduce(MPI_IN_PLACE, buckets[b].data(), length(buckets[b].size()), MPI_FLOAT, MPI_SUM,
                                 communicator_, &requests[b]),
                  "MPI_Iallreduce");
        wait(requests, "gradients");
        for (std::size_t b = 0; b != buckets.size(); ++b)
            std::copy(buckets[b].begin(), buckets[b].end(), sum.begin() + static_cast<std::ptrdiff_t>(b * most));
    }

    ranks_options options_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    int exceptions_ = std::uncaught_exceptions();
    bool is_broken_ = false;
    std::unique_ptr<buffers> memory_ = std::make_unique<buffers>();
};

/// Gives an observer, or a network that is being or was calibrated, on each rank, what all ranks have observed: states are merged in the
/// order of ranks, the same on each. So observers whose merging is exact end as one that saw all data; for those whose order matters
/// rank 1's data comes after rank 0's. A network's parameters must be equal on all ranks.
template <class Observed> void merge_ranks(ranks& world, Observed& observed) {
    if constexpr (requires {
                      observed.parameters();
                      observed.parameter_bytes;
                  }) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(observed.parameters());
        world.require_same(digest_of({bytes, static_cast<std::size_t>(observed.parameter_bytes)}), "network");
    }
    const std::vector<std::byte> own = state_bytes(observed);
    const std::vector<std::uint64_t> sizes = world.gather_numbers(own.size());
    Observed whole = observed, other = observed;
    for (int r = 0; r != world.size(); ++r) {
        std::vector<std::byte> bytes = own;
        bytes.resize(static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]));
        world.broadcast_bytes(bytes, r, "observers");
        set_state(r == 0 ? whole : other, bytes);
        if (r != 0) whole.merge(other);
    }
    observed = std::move(whole);
}

}  // namespace zp::inline v0
