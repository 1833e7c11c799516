// SPDX-License-Identifier: MIT OR Apache-2.0
// Kyoto Cabinet's CacheDB as it comes: a hash table in memory, 16 slots with a mutex each.
#include <kccachedb.h>
#include <stdexcept>

#include "program/key_value_workload.hpp"

namespace {

class kyoto_store final : public holdfast::bench::key_value_store {
public:
    kyoto_store() {
        if (!database_.open("*", kyotocabinet::CacheDB::OWRITER | kyotocabinet::CacheDB::OCREATE))
            throw std::runtime_error(std::string("can't open a database: ") + database_.error().message());
    }

    void put(std::string_view key, std::string_view value) override {
        if (!database_.set(key.data(), key.size(), value.data(), value.size()))
            throw std::runtime_error(std::string("can't write: ") + database_.error().message());
    }

    bool get(std::string_view key, std::string &value) override {
        value.resize(256); // one more than any value of ours has
        int32_t bytes = database_.get(key.data(), key.size(), value.data(), value.size());
        value.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
        return bytes >= 0;
    }

    void settle() override {} // it has nothing in the background

private:
    kyotocabinet::CacheDB database_;
};

} // namespace

int main(int argc, char **argv) {
    return holdfast::bench::key_value_main(argc, argv, "kyotocabinet",
                                           "Kyoto Cabinet: fills a cache, then reads it, at random.",
                                           [](const auto &) { return std::make_unique<kyoto_store>(); });
}
