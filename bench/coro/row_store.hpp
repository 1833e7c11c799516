// SPDX-License-Identifier: MIT OR Apache-2.0
// A database of LevelDB, as Debian ships it, with rows of the sizes of its db_bench. Each value begins with its key,
// which readers check.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "programs/scratch_directory.hpp"

namespace leveldb {
class DB;
}

namespace holdfast::bench {

class row_store {
public:
    static constexpr std::uint64_t rows = 100'000;

    // Filled and compacted, in a directory of its own, which goes with it. Throws std::runtime_error with a sentence.
    row_store();
    ~row_store();

    static std::string key_of(std::uint64_t row);

    // For many threads at once. False when it can't be read, or is not that key's.
    [[nodiscard]] bool get(std::string_view key, std::string &value) const;

private:
    scratch_directory directory_;
    std::unique_ptr<leveldb::DB> database_;
};

} // namespace holdfast::bench
