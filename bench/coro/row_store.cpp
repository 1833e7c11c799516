// SPDX-License-Identifier: MIT OR Apache-2.0
#include "coro/row_store.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <stdexcept>

#include "programs/program.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t value_bytes = 100;
constexpr std::uint64_t batch_rows = 1000;

void check(const leveldb::Status &status, const char *what) {
    if (!status.ok())
        throw std::runtime_error(fmt::format("{}: {}", what, status.ToString()));
}

leveldb::Slice slice(std::string_view text) {
    return {text.data(), text.size()};
}

void fill(leveldb::DB &database) {
    random_numbers random(1);
    for (std::uint64_t first = 0; first < row_store::rows; first += batch_rows) {
        leveldb::WriteBatch batch;
        for (std::uint64_t row = first; row < first + batch_rows; row++) {
            std::string key = row_store::key_of(row), value = key;
            while (value.size() < value_bytes)
                value += static_cast<char>(' ' + random.next() % 95);
            batch.Put(key, value);
        }
        check(database.Write({}, &batch), "can't write");
    }
    database.CompactRange(nullptr, nullptr);
}

} // namespace

row_store::row_store() : directory_(std::filesystem::temp_directory_path()) {
    leveldb::Options settings;
    settings.create_if_missing = true;
    leveldb::DB *opened = nullptr;
    check(leveldb::DB::Open(settings, (directory_.path() / "db").string(), &opened), "can't open a database");
    database_.reset(opened);
    fill(*database_);
}

row_store::~row_store() = default;

std::string row_store::key_of(std::uint64_t row) {
    return fmt::format("{:016}", row);
}

bool row_store::get(std::string_view key, std::string &value) const {
    return database_->Get({}, slice(key), &value).ok() && value.starts_with(key);
}

} // namespace holdfast::bench
