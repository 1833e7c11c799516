// SPDX-License-Identifier: MIT OR Apache-2.0
// A key-value store, filled with random keys, compacted, and read with random keys, by many threads: key and value
// sizes of LevelDB's db_bench. With --writers some write while the others read. A value begins with its key, which
// readers check, and so do writers at the end, of the last one that they have written.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "programs/program.hpp"

namespace holdfast::bench {

// Used by many threads at once; locks are the store's own. Each throws std::runtime_error with a sentence.
class key_value_store {
public:
    virtual ~key_value_store() = default;
    virtual void put(std::string_view key, std::string_view value) = 0;
    // False: there is no such key.
    virtual bool get(std::string_view key, std::string &value) = 0;
    // Reads begin from the same state each time, not from wherever background work happens to be.
    virtual void settle() = 0;
};

// main() of the program of that name. `open` makes a store in a directory that is empty; `further` are options of its
// own.
int key_value_main(int argc, char **argv, const char *name, const char *summary,
                   const std::function<std::unique_ptr<key_value_store>(const std::filesystem::path &)> &open,
                   const std::vector<option> &further = {});

} // namespace holdfast::bench
