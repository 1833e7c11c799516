// SPDX-License-Identifier: MIT OR Apache-2.0
// LevelDB as it comes: the program that `./dev demo` compares locks with. Every lock in it is libleveldb's own
// std::mutex.
#include <leveldb/db.h>
#include <stdexcept>

#include "programs/key_value_workload.hpp"

namespace {

void check(const leveldb::Status &status, const char *what) {
    if (!status.ok())
        throw std::runtime_error(what + (": " + status.ToString()));
}

leveldb::Slice slice(std::string_view text) {
    return {text.data(), text.size()};
}

class leveldb_store final : public holdfast::bench::key_value_store {
public:
    explicit leveldb_store(const std::filesystem::path &path) {
        leveldb::Options settings;
        settings.create_if_missing = true;
        leveldb::DB *opened = nullptr;
        check(leveldb::DB::Open(settings, path.string(), &opened), "can't open a database");
        database_.reset(opened);
    }

    void put(std::string_view key, std::string_view value) override {
        check(database_->Put({}, slice(key), slice(value)), "can't write");
    }

    bool get(std::string_view key, std::string &value) override {
        leveldb::Status status = database_->Get({}, slice(key), &value);
        if (status.IsNotFound())
            return false;
        check(status, "can't read");
        return true;
    }

    void settle() override { database_->CompactRange(nullptr, nullptr); }

private:
    std::unique_ptr<leveldb::DB> database_;
};

} // namespace

int main(int argc, char **argv) {
    return holdfast::bench::key_value_main(argc, argv, "leveldb",
                                           "LevelDB: fills a database, then reads it, at random.",
                                           [](const auto &path) { return std::make_unique<leveldb_store>(path); });
}
