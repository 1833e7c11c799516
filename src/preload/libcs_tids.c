// SPDX-License-Identifier: MIT OR Apache-2.0
// Owners of mutexes are known by the numbers that glibc knows them by (thread/thread_number.h). Where it keeps a
// thread's it tells debuggers: a description in libthread_db's form, the field's bits, elements, and offset from what
// pthread_self() returns.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "thread/thread_number.h"

__attribute__((constructor)) static void take_libcs_tids(void) {
    const uint32_t *field = dlvsym(RTLD_DEFAULT, "_thread_db_pthread_tid", "GLIBC_PRIVATE");
    if (!field || field[0] != 32 || field[1] != 1 || field[2] % sizeof(uint32_t) != 0)
        return;
    const char *self = (const char *)pthread_self(); // NOLINT(performance-no-int-to-ptr): glibc's descriptor
    hf_tids_are_at(self - hf_thread_pointer() + (ptrdiff_t)field[2]);
}
