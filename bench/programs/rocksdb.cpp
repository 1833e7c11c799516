// SPDX-License-Identifier: MIT OR Apache-2.0
// RocksDB as it comes, through its C interface.
#include <cstdlib>
#include <rocksdb/c.h>
#include <stdexcept>

#include "programs/key_value_workload.hpp"

namespace {

template <auto function>
struct ended_by {
    void operator()(auto *object) const { function(object); }
};

// Throws what an error that RocksDB has allocated says.
void check(char *error, const char *what) {
    if (!error)
        return;
    std::string sentence = std::string(what) + ": " + error;
    rocksdb_free(error);
    throw std::runtime_error(sentence);
}

class rocksdb_store final : public holdfast::bench::key_value_store {
public:
    explicit rocksdb_store(const std::filesystem::path &path) {
        rocksdb_options_set_create_if_missing(options_.get(), 1);
        char *error = nullptr;
        database_.reset(rocksdb_open(options_.get(), path.c_str(), &error));
        check(error, "can't open a database");
    }

    void put(std::string_view key, std::string_view value) override {
        char *error = nullptr;
        rocksdb_put(database_.get(), writing_.get(), key.data(), key.size(), value.data(), value.size(), &error);
        check(error, "can't write");
    }

    bool get(std::string_view key, std::string &value) override {
        char *error = nullptr;
        std::size_t bytes = 0;
        char *found = rocksdb_get(database_.get(), reading_.get(), key.data(), key.size(), &bytes, &error);
        check(error, "can't read");
        if (!found)
            return false;
        value.assign(found, bytes);
        rocksdb_free(found);
        return true;
    }

    void settle() override { rocksdb_compact_range(database_.get(), nullptr, 0, nullptr, 0); }

private:
    std::unique_ptr<rocksdb_options_t, ended_by<rocksdb_options_destroy>> options_{rocksdb_options_create()};
    std::unique_ptr<rocksdb_writeoptions_t, ended_by<rocksdb_writeoptions_destroy>> writing_{
        rocksdb_writeoptions_create()};
    std::unique_ptr<rocksdb_readoptions_t, ended_by<rocksdb_readoptions_destroy>> reading_{
        rocksdb_readoptions_create()};
    std::unique_ptr<rocksdb_t, ended_by<rocksdb_close>> database_;
};

} // namespace

int main(int argc, char **argv) {
    return holdfast::bench::key_value_main(argc, argv, "rocksdb",
                                           "RocksDB: fills a database, then reads it, at random.",
                                           [](const auto &path) { return std::make_unique<rocksdb_store>(path); });
}
