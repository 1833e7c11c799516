// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/spare_time.hpp"

#include <sched.h>

namespace holdfast::cli {
namespace {

void change_policy(pid_t thread, int from, int to) {
    sched_param none{};
    if (sched_getscheduler(thread) == from)
        sched_setscheduler(thread, to, &none);
}

} // namespace

void use_spare_time() {
    change_policy(0, SCHED_OTHER, SCHED_IDLE);
}

void hurry(pid_t thread) {
    change_policy(thread, SCHED_IDLE, SCHED_OTHER);
}

} // namespace holdfast::cli
