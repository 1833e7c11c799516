// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/wait_kind.hpp"
#include "monitor/bpf/futex_look.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::cli {
namespace {

struct known_function {
    std::string_view begins_with;
    wait_class is;
    const char *label;
};

// Of the C library, without leading underscores; the first that fits.
constexpr std::array functions = {
    known_function{"pthread_mutex_", wait_class::lock, "mutex"},
    known_function{"mtx_", wait_class::lock, "mutex"},
    known_function{"pthread_rwlock_", wait_class::lock, "rwlock"},
    known_function{"pthread_cond_", wait_class::other, "cond"},
    known_function{"cnd_", wait_class::other, "cond"},
    known_function{"sem_", wait_class::other, "sem"},
    known_function{"pthread_barrier_", wait_class::other, "barrier"},
    known_function{"pthread_join", wait_class::other, "join"},
    known_function{"pthread_timedjoin", wait_class::other, "join"},
    known_function{"pthread_clockjoin", wait_class::other, "join"},
    known_function{"thrd_join", wait_class::other, "join"},
    known_function{"syscall", wait_class::own, "own"},
};

constexpr std::array<std::string_view, 10> allocating = {
    "malloc",          "free",           "calloc",        "realloc", "libc_malloc", "operator new",
    "operator delete", "posix_memalign", "aligned_alloc", "cfree"};

bool some_frame(const call_chain &chain, std::string_view beginning) {
    return std::ranges::any_of(chain, [&](const auto &each) { return each.function.starts_with(beginning); });
}

// CPython's, whose words all lie in one object: condition variables' and mutexes'. Since it is handed on by signals,
// its sleeps do not look like a lock's.
bool is_gil(const call_chain &chain, const std::string &symbol) {
    return symbol.starts_with("_PyRuntime") || some_frame(chain, "take_gil");
}

// Threads of Java's machine sleep at words of their own, whatever they wait for.
wait_kind kind_in_java(const call_chain &chain) {
    if (some_frame(chain, "ObjectMonitor::wait") || some_frame(chain, "ObjectSynchronizer::wait"))
        return {.is = wait_class::other, .label = "cond", .name = "Java's Object.wait()", .parks = true};
    if (some_frame(chain, "ObjectMonitor::"))
        return {.is = wait_class::lock,
                .label = "monitor",
                .name = "Java's monitors: which one can't be seen, each thread sleeps at a place of its own",
                .parks = true};
    if (some_frame(chain, "Unsafe_Park") || some_frame(chain, "Parker::park"))
        return {.is = wait_class::own,
                .label = "parked",
                .name = "java.util.concurrent: its locks, queues and idle pools (LockSupport.park)",
                .parks = true};
    if (some_frame(chain, "JavaThread::sleep") || some_frame(chain, "JVM_Sleep"))
        return {.is = wait_class::other, .label = "sleep", .name = "Java's Thread.sleep()", .parks = true};
    return {.is = wait_class::other, .label = "machine", .name = "threads of Java's machine itself", .parks = true};
}

bool is_in_java(const call_chain &chain) {
    return some_frame(chain, "libjvm.so+") || some_frame(chain, "os::Platform") || some_frame(chain, "ObjectMonitor::");
}

// Go's machine makes its system calls itself: where code in C sleeps the innermost frame is the C library's.
bool is_in_go(const call_chain &chain) {
    return some_frame(chain, "runtime.futex") || (!chain.empty() && chain.front().is_gos);
}

// Its mutexes are owned words; what is 2 are its conditions and joins. It has no tables to unwind by: where it sleeps
// is all that is known, in a program that is linked with it statically by these names.
bool is_in_musl(const call_chain &chain) {
    constexpr std::array<std::string_view, 6> names = {"ld-musl-", "libc.so+", "__syscall_cp",
                                                       "__cp_",    "sccp",     "__timedwait"};
    return !chain.empty() &&
           std::ranges::any_of(names, [&](std::string_view each) { return chain.front().function.starts_with(each); });
}

wait_kind kind_in_c(const call_chain &chain) {
    std::string function = lock_function_in(chain);
    if (std::ranges::any_of(allocating, [&](std::string_view each) { return function.starts_with(each); }))
        return {.is = wait_class::lock, .label = "malloc"};
    auto known =
        std::ranges::find_if(functions, [&](const auto &each) { return function.starts_with(each.begins_with); });
    return known == functions.end() ? wait_kind{} : wait_kind{.is = known->is, .label = known->label};
}

} // namespace

bool is_for_lock(const call_chain &waiter, std::uint32_t look) {
    if ((look & HF_FUTEX_OF_LOCK) == 0)
        return false;
    if ((look & HF_FUTEX_IS_TWO) == 0)
        return true;
    // A condition variable of glibc's from 2.41 on counts in the word that it sleeps at. The same function takes the
    // mutex back, by FUTEX_WAIT.
    std::string function = lock_function_in(waiter);
    bool is_conditions = function.starts_with("pthread_cond_") || function.starts_with("cnd_");
    if (is_conditions && !is_in_holdfast(waiter))
        return !is_in_musl(waiter) && (look & HF_FUTEX_BY_BITSET) == 0;
    return !is_in_musl(waiter);
}

wait_kind kind_of(const call_chain &waiter, const std::string &symbol, bool for_lock) {
    if (is_gil(waiter, symbol))
        return {.is = wait_class::lock, .label = "GIL", .name = "Python's GIL"};
    if (is_in_go(waiter))
        return {.is = wait_class::other,
                .label = "machine",
                .name = "Go's scheduler: its idle threads; goroutines that wait for locks are not seen by the kernel",
                .parks = true};
    if (is_in_java(waiter) && !for_lock)
        return kind_in_java(waiter);
    wait_kind found = kind_in_c(waiter);
    // A barrier counts its rounds in the word, so that its second one looks like a lock's.
    bool counts = found.label == "barrier" || found.label == "sem" || found.label == "join";
    if (for_lock && found.is != wait_class::lock && !counts) // a condition variable's mutex, or another design's lock
        found = {.is = wait_class::lock, .label = found.label == "cond" ? "mutex" : "lock"};
    return found;
}

std::uint64_t object_of(const wait_kind &kind, std::uint64_t address) {
    bool has_several = kind.label == "cond" || kind.label == "rwlock";
    return has_several ? address & ~std::uint64_t{7} : address;
}

// Where glibc's objects have the words that are slept at: a variable that begins there is the object itself.
std::string object_of(const wait_kind &kind, const std::string &symbol) {
    static constexpr std::array<std::string_view, 2> of_conditions = {"+0x28", "+0x2c"}, of_rwlocks = {"+0x8", "+0xc"};
    for (const auto &[label, ends] : {std::pair("cond", of_conditions), std::pair("rwlock", of_rwlocks)}) {
        for (std::string_view end : ends) {
            if (kind.label == label && symbol.ends_with(end))
                return symbol.substr(0, symbol.size() - end.size());
        }
    }
    return symbol;
}

} // namespace holdfast::cli
