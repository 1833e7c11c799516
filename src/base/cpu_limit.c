// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/cpu_limit.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/cpu_count.h"
#include "base/file_reader.h"

uint32_t hf_cpu_limit_millis = HF_NO_CPU_LIMIT;

// A directory, with room for the name of a file in it.
struct path {
    size_t length; // of the directory's
    char text[640];
};

enum { HF_FILE_NAME_BYTES = 32 };

// False where it is too long.
static bool append(struct path *path, char next) {
    if (path->length + HF_FILE_NAME_BYTES >= sizeof(path->text))
        return false;
    path->text[path->length++] = next;
    return true;
}

static bool append_all(struct path *path, const char *text) {
    while (*text)
        if (!append(path, *text++))
            return false;
    return true;
}

static struct hf_file_reader open_file(struct path *path, const char *name) {
    size_t end = path->length;
    path->text[end++] = '/';
    while (*name)
        path->text[end++] = *name++;
    path->text[end] = '\0';
    return hf_file_reader_open(path->text);
}

static uint32_t millis_of(unsigned long quota_us, unsigned long period_us) {
    if (quota_us == 0 || period_us == 0 || quota_us / period_us >= HF_NO_CPU_LIMIT / 1000)
        return HF_NO_CPU_LIMIT;
    return (uint32_t)(quota_us / period_us * 1000 + quota_us % period_us * 1000 / period_us);
}

// "max 100000", or "50000 100000".
static uint32_t limit_of_version_2(struct path *group) {
    struct hf_file_reader file = open_file(group, "cpu.max");
    unsigned long quota_us = hf_file_reader_number(&file);
    hf_file_reader_take(&file);
    unsigned long period_us = hf_file_reader_number(&file);
    hf_file_reader_close(&file);
    return millis_of(quota_us, period_us);
}

static unsigned long number_in(struct path *group, const char *name) {
    struct hf_file_reader file = open_file(group, name);
    unsigned long number = hf_file_reader_number(&file);
    hf_file_reader_close(&file);
    return number;
}

// A quota of -1 is none.
static uint32_t limit_of_version_1(struct path *group) {
    unsigned long quota_us = number_in(group, "cpu.cfs_quota_us");
    return quota_us == 0 ? HF_NO_CPU_LIMIT : millis_of(quota_us, number_in(group, "cpu.cfs_period_us"));
}

// Of a group and of those that it is in, up to the directory whose name is so long.
static uint32_t smallest_limit(struct path *group, size_t top_length, bool is_version_2) {
    uint32_t smallest = HF_NO_CPU_LIMIT;
    for (;;) {
        uint32_t limit = is_version_2 ? limit_of_version_2(group) : limit_of_version_1(group);
        if (limit < smallest)
            smallest = limit;
        if (group->length <= top_length)
            return smallest;
        while (group->length > top_length && group->text[--group->length] != '/')
            ;
    }
}

struct controllers {
    bool are_none; // hence a group of version 2
    bool have_cpu;
};

// "cpu,cpuacct:", and what stands before it: "5:".
static struct controllers next_controllers(struct hf_file_reader *groups) {
    static const char name[] = "cpu";
    while (hf_file_reader_is_at_digit(groups))
        hf_file_reader_take(groups);
    hf_file_reader_take(groups);
    struct controllers found = {.are_none = hf_file_reader_look(groups) == ':'};
    size_t alike = 0; // characters of this controller's name
    bool is_alike = true;
    for (char next = ','; next != ':' && next != '\n' && next != '\0';) {
        next = hf_file_reader_take(groups);
        if (next == ',' || next == ':') {
            found.have_cpu |= is_alike && alike == sizeof(name) - 1;
            alike = 0;
            is_alike = true;
        } else {
            is_alike = is_alike && alike < sizeof(name) - 1 && next == name[alike];
            alike++;
        }
    }
    return found;
}

// The rest of the line. False where it is too long.
static bool append_line(struct path *path, struct hf_file_reader *groups) {
    bool fits = true;
    for (char next; (next = hf_file_reader_take(groups)) != '\n' && next != '\0';)
        fits = fits && append(path, next);
    while (fits && path->length > 0 && path->text[path->length - 1] == '/')
        path->length--;
    return fits;
}

uint32_t hf_cpu_limit_read(const char *groups_path, const char *mounted_at) {
    struct hf_file_reader groups = hf_file_reader_open(groups_path);
    uint32_t smallest = HF_NO_CPU_LIMIT;
    while (hf_file_reader_look(&groups) != '\0') {
        struct controllers controllers = next_controllers(&groups);
        struct path group = {0};
        bool fits = append_all(&group, mounted_at) && (controllers.are_none || append_all(&group, "/cpu"));
        size_t top_length = group.length;
        fits = append_line(&group, &groups) && fits;
        if (!fits || (!controllers.are_none && !controllers.have_cpu))
            continue;
        uint32_t limit = smallest_limit(&group, top_length, controllers.are_none);
        if (limit < smallest)
            smallest = limit;
    }
    hf_file_reader_close(&groups);
    return smallest;
}

__attribute__((constructor)) static void read_at_start(void) {
    uint32_t limit = hf_cpu_limit_read("/proc/self/cgroup", "/sys/fs/cgroup");
    if (limit < 1000 * hf_cpus_usable())
        hf_cpu_limit_millis = limit;
}
