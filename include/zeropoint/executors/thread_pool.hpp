// SPDX-License-Identifier: BSD-3-Clause
// zp::executors::thread_pool: parts of a network on threads of our own, for programs without OpenMP or oneTBB. Link with threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include <zeropoint/core/error.hpp>

namespace zp::inline v0::executors {

/// How long the threads of a pool look for work before they sleep. A network whose calls follow one another faster than that finds them
/// awake: a part then begins after about a microsecond, where waking a thread takes ten to a hundred.
inline constexpr std::chrono::microseconds default_spin{200};

/// `zp::executors::thread_pool pool(4); model(x, y, memory, pool);`: the calling thread and three more, which the pool starts and which
/// end with it. Several threads may run networks on one pool at once: each call takes the threads that are idle and runs the other parts
/// itself, so that nobody waits for threads that serve another call. A part may run networks on the same pool.
///
/// Part k of a node runs on thread k wherever that is idle, so that rows stay in the caches of who computed them. Calls allocate
/// nothing. Threads are not pinned: `each_thread` calls a function on all of them that may.
class thread_pool {
public:
    /// As many workers as the machine has processors; 1 where that is not known.
    thread_pool() : thread_pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {}
    /// The most workers of a pool: a call notes on its stack which of them help.
    static constexpr int most_workers = 1024;

    /// `workers` counts the calling thread. Raises value_error for less than one, more than most_workers or a negative time, and
    /// machine_error where the system does not start so many threads.
    explicit thread_pool(int workers, std::chrono::microseconds spin = default_spin) : workers_(workers), spin_(spin) {
        if (workers < 1 || workers > most_workers)
            raise<value_error>("thread_pool(workers): expected 1 to " + std::to_string(most_workers) +
                               " workers, of which the calling thread is one, found " + std::to_string(workers));
        if (spin.count() < 0)
            raise<value_error>("thread_pool(workers, spin): expected a time of at least 0 us, found " +
                               std::to_string(spin.count()) + " us");
        helpers_ = std::make_unique<helper[]>(static_cast<std::size_t>(workers - 1));
        start();
    }
    /// No call may be running.
    ~thread_pool() { stop(); }
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    int workers() const noexcept { return workers_; }
    /// Less than for executors whose threads may be asleep.
    static constexpr std::int64_t least_work() noexcept { return 2000; }

    template <class Body> void run(int parts, const Body& body) const noexcept {
        const task all{[](const void* object, int part) noexcept { (*static_cast<const Body*>(object))(part); }, &body};
        run_task(parts, all);
    }

    /// Calls `f(k)` on thread k of each of [0, workers()), 0 being the calling one: to pin or to name threads, say. No other call may
    /// be running. `f` does not throw.
    template <class F> void each_thread(const F& f) const noexcept { run(workers_, f); }

private:
    struct task {
        void (*call)(const void* body, int part) noexcept = nullptr;
        const void* body = nullptr;
    };
    /// A thread, and what it is to do next: null where it looks for that. Only who finds it idle or asleep gives it a task, and only
    /// itself becomes idle again.
    struct alignas(64) helper {
        std::atomic<const task*> next{nullptr};
        std::mutex mutex;
        std::condition_variable woken;
        std::thread thread;
    };

    static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
        __asm__ __volatile__("yield" ::: "memory");
#endif
    }

    void run_task(int parts, const task& all) const noexcept {
        const int helped = std::min(parts, workers_) - 1;
        std::uint64_t given[most_workers / 64] = {};
        for (int k = 0; k < helped; ++k) given[k / 64] |= std::uint64_t{give(helpers_[at(k)], all)} << k % 64;
        if (parts > 0) all.call(all.body, 0);
        for (int k = 0; k < parts - 1; ++k)
            if (k >= helped || (given[k / 64] >> k % 64 & 1) == 0) all.call(all.body, k + 1);
        for (int k = 0; k < helped; ++k) wait_for(helpers_[at(k)], all);
    }
    static constexpr std::size_t at(int k) { return static_cast<std::size_t>(k); }
    bool give(helper& to, const task& what) const noexcept {
        const task* found = nullptr;
        if (to.next.compare_exchange_strong(found, &what)) return true;
        if (found != &asleep_ || !to.next.compare_exchange_strong(found, &what)) return false;
        { const std::lock_guard lock(to.mutex); }  // it waits by now, or has not looked yet
        to.woken.notify_one();
        return true;
    }
    /// Until a helper is done with a task, or never had it. Looks some thousand times, and then lets others run between: there may be
    /// fewer processors than threads.
    static void wait_for(const helper& of, const task& what) noexcept {
        for (int looks = 0; of.next.load(std::memory_order_acquire) == &what; ++looks) {
            if (looks < 4096) pause();
            else std::this_thread::yield();
        }
    }

    void work(helper& self, int part) const noexcept {
        using clock = std::chrono::steady_clock;
        for (;;) {
            const task* next = self.next.load(std::memory_order_acquire);
            for (auto end = clock::now() + spin_; next == nullptr && clock::now() < end;)
                for (int looks = 0; next == nullptr && looks != 64; ++looks) {
                    pause();
                    next = self.next.load(std::memory_order_acquire);
                }
            if (next == nullptr && self.next.compare_exchange_strong(next, &asleep_)) {
                std::unique_lock lock(self.mutex);
                self.woken.wait(lock, [&] { return (next = self.next.load()) != &asleep_; });
            }
            if (next == &ended_) return;
            next->call(next->body, part);
            self.next.store(nullptr, std::memory_order_release);
        }
    }

    void start() {
        for (int k = 0; k != workers_ - 1; ++k) {
            helper& one = helpers_[at(k)];
#if defined(__cpp_exceptions)
            try {
                one.thread = std::thread([this, &one, k] { work(one, k + 1); });
            } catch (const std::system_error& failure) {
                stop();
                raise<machine_error>("thread_pool(" + std::to_string(workers_) + "): the system started " +
                                     std::to_string(k) + " of " + std::to_string(workers_ - 1) +
                                     " threads, and then: " + failure.what() + "; ask for fewer workers");
            }
#else
            one.thread = std::thread([this, &one, k] { work(one, k + 1); });
#endif
        }
    }
    void stop() noexcept {
        for (int k = 0; k != workers_ - 1 && helpers_[at(k)].thread.joinable(); ++k) {
            while (!give(helpers_[at(k)], ended_)) std::this_thread::yield();
            helpers_[at(k)].thread.join();
        }
    }

    int workers_;
    std::chrono::microseconds spin_;
    std::unique_ptr<helper[]> helpers_;
    task asleep_, ended_;  // what `next` points to where it is no task
};

}  // namespace zp::inline v0::executors
