// SPDX-License-Identifier: MIT OR Apache-2.0
// Tells a sanitizer of each switch between stacks that Boost.Context makes. It is linked before the three functions
// of which Boost's switches are made (ld --wrap), so that it sees all of them: where a fiber starts, ends and is
// thrown out, too. It is compiled without the sanitizer. What Boost takes for the address of a suspended stack is
// the address of that stack's record here.
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <new>
#include <utility>
#ifdef SEEN_BY_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#else
#include <sanitizer/common_interface_defs.h>
#endif

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;
using entry = void (*)(transfer_t);
using on_top = transfer_t (*)(transfer_t);

extern "C" {
transfer_t __real_jump_fcontext(fcontext_t to, void *data);
fcontext_t __real_make_fcontext(void *top, std::size_t size, entry);
transfer_t __real_ontop_fcontext(fcontext_t to, void *data, on_top);
}

namespace {

// A stack, at the top of itself; that of a thread is in its thread_local memory.
struct alignas(16) stack {
    fcontext_t suspended = nullptr;
    entry begin = nullptr;
#ifdef SEEN_BY_THREAD_SANITIZER
    void *seen = nullptr;
#else
    const void *bottom = nullptr;
    std::size_t size = 0;
    void *fake = nullptr;
#endif
};

struct thread {
    stack own;
    stack *running = &own;
    stack *before = nullptr; // which this thread left last
    on_top call = nullptr;
    bool was_called = false; // `result` is what the running stack was given
    transfer_t result = {};
};
// Not inlined: a stack may go on on another thread.
[[gnu::noinline]] thread &here() {
    static thread_local thread one;
    thread *found = &one;
    asm volatile("" : "+r"(found));
    return *found;
}

stack *leave_for(fcontext_t to) {
    thread &on = here();
    stack *from = on.running, *next = static_cast<stack *>(to);
    on.before = from;
    on.running = next;
#ifdef SEEN_BY_THREAD_SANITIZER
    from->seen = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next->seen, 0);
#else
    __sanitizer_start_switch_fiber(&from->fake, next->bottom, next->size);
#endif
    return next;
}

// First on the stack that runs now. Its result has the record of the stack that was left.
transfer_t arrive(transfer_t by) {
    thread &on = here();
    stack *before = on.before;
    before->suspended = by.fctx;
#ifndef SEEN_BY_THREAD_SANITIZER
    const void *bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(on.running->fake, &bottom, &size);
    if (!before->bottom) {
        before->bottom = bottom;
        before->size = size;
    }
#endif
    return {before, by.data};
}

void begin(transfer_t by) {
    transfer_t translated = arrive(by);
    here().running->begin(translated);
}

transfer_t call_on_top(transfer_t by) {
    transfer_t translated = arrive(by);
    transfer_t result = here().call(translated); // may free the stack that was left
    here().result = result;
    here().was_called = true;
    return result;
}

transfer_t come_back(transfer_t by) {
    thread &on = here();
    return std::exchange(on.was_called, false) ? on.result : arrive(by);
}

} // namespace

extern "C" {

fcontext_t __wrap_make_fcontext(void *top, std::size_t size, entry run) {
    auto at = (reinterpret_cast<std::uintptr_t>(top) - sizeof(stack)) & ~std::uintptr_t{63};
    std::size_t used = reinterpret_cast<std::uintptr_t>(top) - at;
    auto *made = new (reinterpret_cast<void *>(at)) stack;
    made->begin = run;
#ifdef SEEN_BY_THREAD_SANITIZER
    made->seen = __tsan_create_fiber(0);
#else
    made->bottom = static_cast<char *>(top) - size;
    made->size = size - used;
#endif
    made->suspended = __real_make_fcontext(reinterpret_cast<void *>(at), size - used, begin);
    return made;
}

transfer_t __wrap_jump_fcontext(fcontext_t to, void *data) {
    return come_back(__real_jump_fcontext(leave_for(to)->suspended, data));
}

transfer_t __wrap_ontop_fcontext(fcontext_t to, void *data, on_top call) {
    here().call = call;
    return come_back(__real_ontop_fcontext(leave_for(to)->suspended, data, call_on_top));
}

#ifdef SEEN_BY_THREAD_SANITIZER
// Processes of their own, in which threads are started: scheduling.hpp.
[[gnu::visibility("default")]] const char *__tsan_default_options() {
    return "die_after_fork=0";
}
// The reference count of Boost's algorithms ends with a fence, which ThreadSanitizer does not know.
[[gnu::visibility("default")]] const char *__tsan_default_suppressions() {
    return "race:boost::fibers::algo::intrusive_ptr_release\n";
}
#endif

} // extern "C"
