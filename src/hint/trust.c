// SPDX-License-Identifier: MIT OR Apache-2.0
#include "hint/trust.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/system_call.h"
#include "hint/service_socket.h"
#include "observe/statistics_memory.h"

static bool owns_place_of_service(uid_t user) {
    struct stat place = {0};
    int fd = hf_sys_open(HF_SERVICE_DIRECTORY, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool known = hf_sys_fstat(fd, &place) == 0;
    hf_sys_close(fd);
    return known && place.st_uid == user && !(place.st_mode & S_IWOTH);
}

bool hf_trusts_listener(int connection, const char *socket_name) {
    struct ucred listener = {0};
    socklen_t length = sizeof(listener);
    if (hf_sys_getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0 || length != sizeof(listener))
        return false;
    if (listener.uid == 0 || listener.uid == getauxval(AT_EUID)) // as the program was started: nobody fakes that
        return true;
    return strcmp(socket_name, HF_SERVICE_SOCKET) == 0 && owns_place_of_service(listener.uid);
}

// What the kernel says of a descriptor: some lines of a name and a value each.
static bool says(const char *about, const char *line) {
    const char *found = strstr(about, line);
    return found && (found == about || found[-1] == '\n');
}

bool hf_is_frozen_map(int fd) {
    struct stat file = {0};
    if (hf_sys_fstat(fd, &file) != 0 || (file.st_mode & S_IFMT) != 0) // the kernel's own descriptors have no type
        return false;
    char path[sizeof("/proc/self/fdinfo/") + 12], about[1024];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    int info = hf_sys_open(path, O_RDONLY | O_CLOEXEC);
    if (info < 0)
        return true;
    long got = hf_sys_read(info, about, sizeof(about) - 1);
    hf_sys_close(info);
    about[got > 0 ? got : 0] = '\0';
    return says(about, "map_type:\t2\n") && // BPF_MAP_TYPE_ARRAY
           says(about, "frozen:\t1\n");
}

bool hf_is_memory_for_statistics(int fd) {
    const int settled = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct stat file = {0};
    long seals = hf_sys_fcntl(fd, F_GET_SEALS, 0);
    return seals >= 0 && (seals & settled) == settled && hf_sys_fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
           file.st_size == (off_t)HF_STATISTICS_BYTES;
}
