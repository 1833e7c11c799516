// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/thread_checker.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "preload/glibc.h"

// valgrind preloads a library for each tool, vgpreload_TOOL-ARCHITECTURE-linux.so, by LD_PRELOAD, which the program may
// have cleared by now.
static int is_checkers(struct dl_phdr_info *object, size_t size, void *argument) {
    (void)size, (void)argument;
    const char *tool = object->dlpi_name ? strstr(object->dlpi_name, "/vgpreload_") : NULL;
    if (!tool)
        return 0;
    tool += strlen("/vgpreload_");
    return strncmp(tool, "helgrind-", 9) == 0 || strncmp(tool, "drd-", 4) == 0;
}

bool hf_has_thread_checker(void) {
    return hf_glibc_is_sanitized() || dl_iterate_phdr(is_checkers, NULL) != 0;
}
