// SPDX-License-Identifier: MIT OR Apache-2.0
// Finding symbols of the running program by name, also those that are not exported: in the symbol tables of the files
// that it has loaded.
#ifndef HF_PRELOAD_SYMBOL_SEARCH_H
#define HF_PRELOAD_SYMBOL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_found_symbol {
    uintptr_t address;
    size_t bytes; // as the table says
    bool is_function;
    bool is_global;   // one definition for all that refer to it, by the linker's rules the first one found
    bool is_writable; // as long as the program runs
};

typedef void hf_symbol_visitor(const struct hf_found_symbol *found, void *argument);

// Calls `visit` for each symbol of that name, data or function, in the program and the libraries that it has loaded by
// now. Reads their files; what is stripped there is not found.
void hf_symbols_visit(const char *name, hf_symbol_visitor *visit, void *argument);

// The same for the library of that name ("libdb.so" is libdb.so.5, too): `visit` is told where its code is.
void hf_library_visit(const char *name, hf_symbol_visitor *visit, void *argument);

#endif
