// SPDX-License-Identifier: MIT OR Apache-2.0
// Kyoto Cabinet as it comes, through its C interface. Its CacheDB is a hash table in memory, 16 slots with a mutex
// each; its prototype databases are a hash table and a tree under one reader-writer lock, which starves writers if the
// platform's does (SCL, section 5.5).
#include <kclangc.h>
#include <memory>
#include <stdexcept>
#include <string>

#include "programs/key_value_workload.hpp"

namespace {

class kyoto_store final : public holdfast::bench::key_value_store {
public:
    explicit kyoto_store(const std::string &kind) {
        const char *name = kind == "hash" ? "-" : kind == "tree" ? "+" : "*"; // names that stand for kinds
        if (!kcdbopen(database_.get(), name, KCOWRITER | KCOCREATE))
            fail("can't open a database");
    }

    void put(std::string_view key, std::string_view value) override {
        if (!kcdbset(database_.get(), key.data(), key.size(), value.data(), value.size()))
            fail("can't write");
    }

    bool get(std::string_view key, std::string &value) override {
        value.resize(256); // more than any value of ours has
        int32_t bytes = kcdbgetbuf(database_.get(), key.data(), key.size(), value.data(), value.size());
        value.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
        return bytes >= 0;
    }

    void settle() override {} // it has nothing in the background

private:
    struct deleted {
        void operator()(KCDB *database) const { kcdbdel(database); }
    };

    [[noreturn]] void fail(const char *what) const {
        throw std::runtime_error(std::string(what) + ": " + kcdbemsg(database_.get()));
    }

    std::unique_ptr<KCDB, deleted> database_{kcdbnew()};
};

} // namespace

int main(int argc, char **argv) {
    std::string kind = "cache";
    return holdfast::bench::key_value_main(argc, argv, "kyotocabinet",
                                           "Kyoto Cabinet: fills a store in memory, then reads it, at random.",
                                           [&kind](const auto &) { return std::make_unique<kyoto_store>(kind); },
                                           {{"--store",
                                             kind,
                                             {"cache", "hash", "tree"},
                                             "cache: 16 mutexes; hash, tree: one reader-writer lock for all"}});
}
