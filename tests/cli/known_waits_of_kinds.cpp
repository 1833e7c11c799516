// SPDX-License-Identifier: MIT OR Apache-2.0
// A program whose threads wait in all the ways that `record` and `top` tell from each other, each in a function that is
// named for it: threads that wait, and one that ends the wait. Ends when its standard input does.
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
sem_t slots;
volatile int uses = 0; // what is written behind a call keeps it from being a tail call

namespace {

constexpr useconds_t held_us = 20'000;

// --- a reader-writer lock

[[gnu::noinline]] void touch_the_table() {
    pthread_rwlock_wrlock(&table_lock);
    uses = uses + 1;
    pthread_rwlock_unlock(&table_lock);
    usleep(500);
}

[[gnu::noinline]] void rewrite_the_table() {
    pthread_rwlock_wrlock(&table_lock);
    usleep(held_us);
    pthread_rwlock_unlock(&table_lock);
    uses = uses + 1;
    usleep(1000);
}

// --- a condition variable and a semaphore

[[gnu::noinline]] void wait_for_work() {
    pthread_mutex_lock(&queue_mutex);
    pthread_cond_wait(&queue_filled, &queue_mutex);
    pthread_mutex_unlock(&queue_mutex);
    uses = uses + 1;
}

[[gnu::noinline]] void give_work() {
    usleep(5000);
    pthread_cond_broadcast(&queue_filled);
    uses = uses + 1;
}

[[gnu::noinline]] void take_a_slot() {
    while (sem_wait(&slots) != 0)
        ;
    uses = uses + 1;
}

[[gnu::noinline]] void free_a_slot() {
    usleep(5000);
    sem_post(&slots);
    uses = uses + 1;
}

// --- a lock of its own design, as databases have them

unsigned own_word = 0; // 7: held

[[gnu::noinline]] void latch_the_page() {
    unsigned free = 0;
    while (!__atomic_compare_exchange_n(&own_word, &free, 7, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        syscall(SYS_futex, &own_word, FUTEX_WAIT_PRIVATE, 7, nullptr, nullptr, 0);
        free = 0;
    }
}

[[gnu::noinline]] void hold_the_page(useconds_t us) {
    latch_the_page();
    usleep(us);
    __atomic_store_n(&own_word, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &own_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    uses = uses + 1;
    usleep(500);
}

// --- a mutex that code waits for which is made at run time, with its name in /tmp/perf-PID.map or without

std::mutex jit_mutex;

void lock_for_jit() {
    jit_mutex.lock();
    uses = uses + 1;
}

#ifdef __x86_64__
// It calls its argument: push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret
constexpr unsigned char calling[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
constexpr unsigned char calling[] = {0};
#endif

using caller = void (*)(void (*)());

caller code_made_now(bool is_named) {
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        abort();
    memcpy(page, calling, sizeof(calling));
    if (is_named) {
        std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
        FILE *names = fopen(path.c_str(), "w");
        if (!names)
            abort();
        fprintf(names, "%lx %zx Cache.lookup_made_at_run_time\n", reinterpret_cast<unsigned long>(page),
                sizeof(calling));
        fclose(names);
    }
    caller made = nullptr;
    memcpy(&made, &page, sizeof(page));
    return made;
}

[[gnu::noinline]] void hold_for_jit() {
    jit_mutex.lock();
    usleep(held_us);
    jit_mutex.unlock();
    uses = uses + 1;
    usleep(1000);
}

// --- a holder that others keep from its CPU

std::mutex busy_mutex;

[[gnu::noinline]] void work_under_the_mutex() {
    busy_mutex.lock();
    for (int i = 0; i < 1'000'000; i++)
        uses = uses + 1;
    busy_mutex.unlock();
    uses = uses + 1;
}

template <class Function>
void for_ever(std::vector<std::thread> &threads, Function what) {
    threads.emplace_back([what] {
        for (;;)
            what();
    });
}

} // namespace

// --- what looks like Java's machine and Go's

struct ObjectMonitor {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t entered = PTHREAD_COND_INITIALIZER;
    void enter();
};

[[gnu::noinline]] void ObjectMonitor::enter() {
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&entered, &mutex);
    pthread_mutex_unlock(&mutex);
    uses = uses + 1;
}

void sleep_like_go(unsigned *word) __asm__("runtime.futex.abi0");
[[gnu::noinline]] void sleep_like_go(unsigned *word) {
    timespec time = {.tv_sec = 0, .tv_nsec = 5'000'000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
    uses = uses + 1;
}

// --- a lock that is never given back

pthread_mutex_t stuck_lock = PTHREAD_MUTEX_INITIALIZER;

namespace {

[[gnu::noinline]] void wait_for_ever() {
    pthread_mutex_lock(&stuck_lock);
    uses = uses + 1;
}

} // namespace

int main(int argc, char **argv) {
    std::vector<std::thread> threads;
    static ObjectMonitor monitors[2];
    static unsigned words[2];
    sem_init(&slots, 0, 0);
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "rwlock") {
        for (int i = 0; i < 3; i++) // each of which wakes the next
            for_ever(threads, touch_the_table);
        for_ever(threads, rewrite_the_table);
    } else if (what == "cond-and-sem") {
        for_ever(threads, wait_for_work);
        for_ever(threads, give_work);
        for_ever(threads, take_a_slot);
        for_ever(threads, free_a_slot);
    } else if (what == "own") {
        for_ever(threads, [] { hold_the_page(10); });
        for_ever(threads, [] { hold_the_page(held_us); });
    } else if (what == "jit" || what == "named-jit") {
        caller made = code_made_now(what == "named-jit");
        for_ever(threads, [made] {
            made(lock_for_jit);
            jit_mutex.unlock();
            usleep(500);
        });
        for_ever(threads, hold_for_jit);
    } else if (what == "java") {
        for (ObjectMonitor &each : monitors) {
            for_ever(threads, [&each] { each.enter(); });
            for_ever(threads, [&each] {
                usleep(5000);
                pthread_cond_broadcast(&each.entered);
            });
        }
    } else if (what == "go") {
        for (unsigned &each : words)
            for_ever(threads, [&each] { sleep_like_go(&each); });
    } else if (what == "stuck") {
        pthread_mutex_lock(&stuck_lock);
        for (int i = 0; i < 3; i++)
            for_ever(threads, wait_for_ever);
        sleep(1);                     // all of them wait
    } else if (what == "preempted") { // on one CPU
        cpu_set_t first;
        sched_getaffinity(0, sizeof(first), &first);
        for (int cpu = 0, left = 1; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &first) && left-- <= 0)
                CPU_CLR(cpu, &first);
        }
        sched_setaffinity(0, sizeof(first), &first);
        for (int i = 0; i < 4; i++)
            for_ever(threads, work_under_the_mutex);
        for_ever(threads, [] { uses = uses + 1; });
    } else {
        return 2;
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    unlink(("/tmp/perf-" + std::to_string(getpid()) + ".map").c_str());
    _exit(0);
}
