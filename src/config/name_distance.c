// SPDX-License-Identifier: MIT OR Apache-2.0
#include "config/name_distance.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH_MAX = 64 }; // no name is longer, and the work grows with it
enum { BEGINNING_MIN = 3 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static bool differ(char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) != (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
}

// Damerau's and Levenshtein's distance, of neighbours that change places; letters are the same in either case.
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned char rows[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = (unsigned char)(i + j);
                continue;
            }
            size_t far = least(rows[i - 1][j], rows[i][j - 1]) + 1;
            far = least(far, rows[i - 1][j - 1] + (size_t)differ(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                far = least(far, rows[i - 2][j - 2] + 1u);
            rows[i][j] = (unsigned char)far;
        }
    }
    return rows[a_length][b_length];
}

struct hf_nearest_name hf_nearest_name_to(const char *word, size_t length) {
    size_t most = length / 3;
    return (struct hf_nearest_name){.word = word, .length = length, .distance = (most > 1 ? most : 1) + 1};
}

void hf_nearest_name_try(struct hf_nearest_name *nearest, const char *name) {
    size_t length = strlen(name);
    if (nearest->length == 0 || nearest->length > LENGTH_MAX || length > LENGTH_MAX)
        return;
    size_t far = distance(nearest->word, nearest->length, name, length);
    if (nearest->length >= BEGINNING_MIN && strncmp(name, nearest->word, nearest->length) == 0)
        far = least(far, 1);
    if (far < nearest->distance) {
        nearest->distance = far;
        nearest->name = name;
    }
}

void hf_nearest_name_tell(const struct hf_nearest_name *nearest, char *text, size_t bytes) {
    if (nearest->name)
        snprintf(text, bytes, "did you mean '%s'? ", nearest->name);
    else
        *text = '\0';
}
