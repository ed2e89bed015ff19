// SPDX-License-Identifier: BSD-3-Clause
// What ThreadSanitizer cannot see of a library that it was not compiled for: parts begin after the call did, and end before it returns.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define ZEROPOINT_UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ZEROPOINT_UNDER_THREAD_SANITIZER 1
#endif
#endif

#if defined(ZEROPOINT_UNDER_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace zp::inline v0::executors {

/// The order that every executor gives: what was written before the call is seen by each part, and what parts wrote after the call. Parts
/// have no order among themselves. Without ThreadSanitizer it is nothing.
template <class Body> class fork_and_join {
public:
    explicit fork_and_join(const Body& body) : body_(body) { release(&begun_); }
    ~fork_and_join() { acquire(&ended_); }
    fork_and_join(const fork_and_join&) = delete;
    fork_and_join& operator=(const fork_and_join&) = delete;

    void operator()(int part) const noexcept {
        acquire(&begun_);
        body_(part);
        release(&ended_);
    }

private:
    static void acquire([[maybe_unused]] char* at) {
#if defined(ZEROPOINT_UNDER_THREAD_SANITIZER)
        __tsan_acquire(at);
#endif
    }
    static void release([[maybe_unused]] char* at) {
#if defined(ZEROPOINT_UNDER_THREAD_SANITIZER)
        __tsan_release(at);
#endif
    }
    const Body& body_;
    mutable char begun_ = 0, ended_ = 0;
};

}  // namespace zp::inline v0::executors
