// SPDX-License-Identifier: MIT OR Apache-2.0
// Tools that look for races between the program's threads.
#ifndef HF_PRELOAD_THREAD_CHECKER_H
#define HF_PRELOAD_THREAD_CHECKER_H

#include <stdbool.h>

// Does somebody look for races here who has to see each lock and unlock by its pthread function? ThreadSanitizer, or
// valgrind's helgrind and drd. They know nothing of locks of ours, and would report races that are none. (memcheck and
// the other tools of valgrind's don't mind.)
bool hf_has_thread_checker(void) __attribute__((cold));

#endif
