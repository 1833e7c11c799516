// SPDX-License-Identifier: MIT OR Apache-2.0
// A small file of the kernel's, read character by character, with none of libc's buffers: threads with the smallest of
// stacks come here.
#ifndef HF_BASE_FILE_READER_H
#define HF_BASE_FILE_READER_H

#include <fcntl.h>
#include <stdbool.h>

#include "base/system_call.h"

struct hf_file_reader {
    int fd; // negative: there is none
    int used, bytes;
    char piece[128];
};

static inline struct hf_file_reader hf_file_reader_open(const char *path) {
    return (struct hf_file_reader){.fd = hf_sys_open(path, O_RDONLY | O_CLOEXEC)};
}

static inline void hf_file_reader_close(const struct hf_file_reader *reader) {
    if (reader->fd >= 0)
        hf_sys_close(reader->fd);
}

// The next character, or '\0' at the end.
static inline char hf_file_reader_look(struct hf_file_reader *reader) {
    if (reader->fd >= 0 && reader->used == reader->bytes) {
        long bytes = hf_sys_read(reader->fd, reader->piece, sizeof(reader->piece));
        reader->bytes = bytes > 0 ? (int)bytes : 0;
        reader->used = 0;
    }
    return reader->used < reader->bytes ? reader->piece[reader->used] : '\0';
}

static inline char hf_file_reader_take(struct hf_file_reader *reader) {
    char next = hf_file_reader_look(reader);
    reader->used += next != '\0';
    return next;
}

static inline bool hf_file_reader_is_at_digit(struct hf_file_reader *reader) {
    return hf_file_reader_look(reader) >= '0' && hf_file_reader_look(reader) <= '9';
}

// 0 where there is none.
static inline unsigned long hf_file_reader_number(struct hf_file_reader *reader) {
    unsigned long number = 0;
    while (hf_file_reader_is_at_digit(reader))
        number = number * 10 + (unsigned long)(hf_file_reader_take(reader) - '0');
    return number;
}

#endif
