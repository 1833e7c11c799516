// SPDX-License-Identifier: MIT OR Apache-2.0
// What ThreadSanitizer is told of fibers under ces<>: Boost's own library, as distributions build it, tells it
// nothing. The switch itself is in that library, which is not instrumented; so it is noted in the last function of
// ours before it, whose own entry and exit must not be noted: HF_FIBERS_UNNOTED. Fibers that are started by
// launch::dispatch, and condition variables or joins of Boost's own, remain unseen. Without ThreadSanitizer there is
// nothing here.
#pragma once

#include <boost/fiber/context.hpp>

#if defined(__SANITIZE_THREAD__)
#define HF_FIBERS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HF_FIBERS_TSAN 1
#endif
#endif

#ifdef HF_FIBERS_TSAN
#include <mutex>
#include <sanitizer/tsan_interface.h>
#include <unordered_map>
#define HF_FIBERS_UNNOTED [[gnu::noinline, gnu::no_sanitize("thread")]]
#else
#define HF_FIBERS_UNNOTED
#endif

namespace holdfast::fibers::detail {

#ifdef HF_FIBERS_TSAN

// A stack that is used by another fiber later keeps its entry: ThreadSanitizer then takes the two for one.
class noted_fibers {
public:
    void *of(const boost::fibers::context *fiber) {
        std::lock_guard held(mutex_);
        void *&noted = noted_[fiber];
        if (!noted)
            noted = __tsan_create_fiber(0);
        return noted;
    }
    void *is_here(const boost::fibers::context *fiber) {
        std::lock_guard held(mutex_);
        return noted_[fiber] = __tsan_get_current_fiber();
    }

private:
    std::mutex mutex_;
    std::unordered_map<const boost::fibers::context *, void *> noted_;
};
inline noted_fibers &noted_switches() {
    static noted_fibers *all = new noted_fibers; // used by threads that end last
    return *all;
}

inline void *note_running(const boost::fibers::context *fiber) {
    return noted_switches().is_here(fiber);
}
HF_FIBERS_UNNOTED inline void note_return(void *noted) {
    if (__tsan_get_current_fiber() != noted)
        __tsan_switch_to_fiber(noted, 0);
}
inline void note_ready(boost::fibers::context *fiber) {
    __tsan_release(fiber);
}
HF_FIBERS_UNNOTED inline void note_switch(boost::fibers::context *to) {
    __tsan_acquire(to);
    __tsan_switch_to_fiber(noted_switches().of(to), 0);
}

#else

inline void *note_running(const boost::fibers::context *) noexcept {
    return nullptr;
}
inline void note_return(void *) noexcept {}
inline void note_ready(boost::fibers::context *) noexcept {}
inline void note_switch(boost::fibers::context *) noexcept {}

#endif

} // namespace holdfast::fibers::detail
