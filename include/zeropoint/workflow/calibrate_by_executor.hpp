// SPDX-License-Identifier: BSD-3-Clause
// calibrate over an executor: several inputs run at once, and are observed one after another, so that what was seen is the same.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/model/executor.hpp>
#include <zeropoint/model/spread.hpp>
#include <zeropoint/workflow/calibrate.hpp>

// Observers of several parts of the data can be merged, but many then depend on where the data was cut: histograms stretch their bins as
// values come, averages move. So there is one observer, and turns: a row of input k is observed when that of input k - 1 has been. Inputs
// run through the network one row behind the other:
//
//     worker 0   input 0:  row 1  row 2  row 3  row 4 ...
//     worker 1   input 1:         row 1  row 2  row 3 ...
//
// Whoever is free takes the next input, so that all earlier ones have been taken: nobody waits for what has not begun, however few threads
// an executor has.

namespace zp::inline v0 {
namespace detail {

/// Stands for a prepared network whose inputs are run several at once.
template <class Prepared, class Executor> class parallel_observation {
public:
    using stage = typename Prepared::stage;
    static constexpr bool takes_indices = Prepared::takes_indices;
    static constexpr std::span<const port> inputs() { return Prepared::inputs(); }
    static constexpr std::span<const node> rows() { return Prepared::rows(); }

    parallel_observation(Prepared& network, const Executor& with)
        : network_(network), with_(with), workers_(std::max(1, static_cast<int>(with.workers()))) {
        for (int i = 0; i != workers_; ++i) memory_.emplace_back(Prepared::memory_bytes());
    }
    /// Keeps a copy of the input, and runs all that are kept when there are enough of them.
    void observe(const void* const* xs) {
        for (std::size_t p = 0; p != kept_.size(); ++p) {
            const auto* bytes = static_cast<const std::byte*>(xs[p]);
            kept_[p].insert(kept_[p].end(), bytes, bytes + bytes_of_port(p));
        }
        if (++count_ == static_cast<std::size_t>(workers_) * inputs_of_worker) run();
    }
    /// Runs what is kept.
    void run() {
        for (auto& row : seen_) row.store(0, std::memory_order_relaxed);
        first_number_ = network_.samples() + 1;
        const std::size_t count = std::exchange(count_, 0);
        spread(count, with_,
               [&](std::size_t k, int worker) { run_input(k, memory_[static_cast<std::size_t>(worker)].data()); });
        for (auto& values : kept_) values.clear();
        done_ += count;
    }
    /// How many inputs there were, and how many of them were observed.
    std::uint64_t received() const { return done_ + count_; }
    std::uint64_t done() const { return done_; }

private:
    static constexpr int row_count = stage::table.size;
    /// More inputs at once leave workers idle less often; their values are copied.
    static constexpr std::size_t inputs_of_worker = 8;
    static constexpr std::size_t bytes_of_port(std::size_t p) {
        return static_cast<std::size_t>(inputs()[p].extents.size()) *
               static_cast<std::size_t>(size_of(inputs()[p].storage));
    }
    /// The row behind which all is done that row i does to what it feeds: the last one that feeds the same observer.
    static constexpr auto last_of_same = [] {
        std::array<int, static_cast<std::size_t>(row_count) + 1> last{};
        for (int i = 0; i <= row_count; ++i) {
            last[static_cast<std::size_t>(i)] = i;
            if (i == row_count || !stage::table.nodes[i].flags.observed) continue;
            for (int k = i + 1; k < row_count; ++k) {
                const node& other = stage::table.nodes[k];
                if (other.flags.observed && other.out.qparams_id == stage::table.nodes[i].out.qparams_id)
                    last[static_cast<std::size_t>(i)] = k;
            }
        }
        return last;
    }();
    void run_input(std::size_t k, std::byte* memory) {
        std::array<const void*, Prepared::inputs().size()> xs{};
        for (std::size_t p = 0; p != xs.size(); ++p) xs[p] = kept_[p].data() + k * bytes_of_port(p);
        const auto observe = [&] {
            network_.observe(xs.data(), memory, first_number_ + k, [&](int i, const auto& see) {
                const auto row = static_cast<std::size_t>(i);
                wait_for(seen_[static_cast<std::size_t>(last_of_same[row])], k);
                see();
                seen_[row].store(k + 1, std::memory_order_release);
            });
        };
#if defined(__cpp_exceptions)
        try {
            observe();
        } catch (...) {  // inputs behind this one give up, those before it go on
            for (std::size_t first = failed_; k < first && !failed_.compare_exchange_weak(first, k);) {}
            throw;
        }
#else
        observe();
#endif
    }
    /// Until input k - 1 has been seen. Where an earlier one failed, it never is: what is thrown then is not what spread() throws.
    void wait_for(const std::atomic<std::size_t>& row, std::size_t k) const {
        for (int looks = 0; row.load(std::memory_order_acquire) != k; ++looks) {
#if defined(__cpp_exceptions)
            struct given_up {};
            if (failed_.load(std::memory_order_relaxed) < k) throw given_up();
#endif
            if (looks > 1000) std::this_thread::yield();
        }
    }

    Prepared& network_;
    const Executor& with_;
    int workers_;
    std::vector<aligned_buffer> memory_;                                  // one a worker
    std::array<std::vector<std::byte>, Prepared::inputs().size()> kept_;  // inputs one behind the other, a port each
    std::size_t count_ = 0;                                               // of them
    std::uint64_t done_ = 0, first_number_ = 1;                           // the latter of those that are kept
    std::array<std::atomic<std::size_t>, static_cast<std::size_t>(row_count) + 1> seen_{};  // how many inputs, by row
    std::atomic<std::size_t> failed_{std::numeric_limits<std::size_t>::max()};
};

}  // namespace detail

/// zp::calibrate with several inputs at once: `with` runs them, each in memory of its worker. What is observed, raised and reported is what
/// zp::calibrate(network, batches, progress) gives, bit for bit, for every observer and any number of workers; progress is called on
/// the calling thread, perhaps for several batches one after another.
template <class Net, class Config, class Arch, class Batches, executor Executor,
          class Progress = void (*)(const calibration_progress&)>
calibrated<Net, Config, Arch> calibrate(
    prepared<Net, Config, Arch> network, const Batches& batches, const Executor& with,
    Progress progress = [](const calibration_progress&) {}) {
    detail::parallel_observation<prepared<Net, Config, Arch>, Executor> observing(network, with);
    const std::uint64_t before = network.samples();
    calibration_progress done;
    std::vector<std::uint64_t> ends;  // of batches that were not reported yet
    const auto report = [&] {
        std::size_t reported = 0;
        for (; reported != ends.size() && ends[reported] <= observing.done(); ++reported) {
            ++done.batches;
            done.samples = before + ends[reported];
            std::invoke(progress, std::as_const(done));
        }
        ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(reported));
    };
    detail::for_each_batch<prepared<Net, Config, Arch>>(batches, [&](const auto& batch) {
#if defined(__cpp_exceptions)
        try {
            detail::observe_batch(observing, batch);
        } catch (...) {  // what is wrong with an earlier input comes first
            observing.run();
            report();
            throw;
        }
#else
        detail::observe_batch(observing, batch);
#endif
        ends.push_back(observing.received());
        report();
    });
    observing.run();
    report();
    return calibrated<Net, Config, Arch>(std::move(network));
}

}  // namespace zp::inline v0
