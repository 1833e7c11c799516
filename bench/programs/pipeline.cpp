// SPDX-License-Identifier: MIT OR Apache-2.0
// A pipeline with bounded queues, in the manner of PARSEC's dedup: one thread cuts files into chunks where their
// content says so, others hash them and mark those that were not there before, others compress these, one collects.
// The files go through again and again.
#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <malloc.h>
#include <optional>
#include <pthread.h>
#include <string>
#include <unordered_map>
#include <vector>
#include <zlib.h>

#include "programs/program.hpp"

namespace {

using namespace holdfast::bench;
namespace fs = std::filesystem;

struct chunk {
    std::uint64_t pass; // through the files
    std::string data;
    std::uint32_t crc = 0;
    bool is_new = false; // in this pass
    std::string compressed;
};

template <class Item>
class bounded_queue {
public:
    void put(Item item) {
        pthread_mutex_lock(&mutex_);
        while (items_.size() >= items_max)
            pthread_cond_wait(&not_full_, &mutex_);
        items_.push_back(std::move(item));
        pthread_cond_signal(&not_empty_);
        pthread_mutex_unlock(&mutex_);
    }

    // Empty: it is closed, and nothing is left.
    std::optional<Item> take() {
        std::optional<Item> taken;
        pthread_mutex_lock(&mutex_);
        while (items_.empty() && !closed_)
            pthread_cond_wait(&not_empty_, &mutex_);
        if (!items_.empty()) {
            taken = std::move(items_.front());
            pthread_cond_signal(&not_full_);
            items_.pop_front();
        }
        pthread_mutex_unlock(&mutex_);
        return taken;
    }

    void close() {
        pthread_mutex_lock(&mutex_);
        closed_ = true;
        pthread_cond_broadcast(&not_empty_);
        pthread_mutex_unlock(&mutex_);
    }

private:
    static constexpr std::size_t items_max = 32;

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t not_full_ = PTHREAD_COND_INITIALIZER;
    pthread_cond_t not_empty_ = PTHREAD_COND_INITIALIZER;
    std::deque<Item> items_;
    bool closed_ = false;
};

// Which chunks have been seen, and in which pass last.
class known_chunks {
public:
    // Is it the first one of its kind in this pass?
    bool add(const chunk &one) {
        std::uint64_t hash = std::hash<std::string>()(one.data);
        part &own = parts_[hash % parts_.size()];
        pthread_mutex_lock(&own.mutex);
        auto [known, is_first] = own.last_pass.try_emplace(hash, one.pass);
        bool is_new = is_first || known->second != one.pass;
        known->second = one.pass;
        pthread_mutex_unlock(&own.mutex);
        return is_new;
    }

private:
    struct part {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        std::unordered_map<std::uint64_t, std::uint64_t> last_pass;
    };
    std::array<part, 64> parts_;
};

std::vector<std::string> read_files(const std::string &directory) {
    std::vector<std::string> files;
    for (const auto &entry :
         fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied)) {
        if (!entry.is_regular_file())
            continue;
        std::ifstream file(entry.path(), std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::erase_if(files, [](const std::string &one) { return one.empty(); });
    if (files.empty())
        throw std::runtime_error("there is nothing to read in " + directory + ": choose another --directory");
    return files;
}

// Where the chunk that begins there ends: where a sum of the last 32 bytes has a pattern.
std::size_t end_of_chunk(const std::string &data, std::size_t begin) {
    constexpr std::size_t bytes_min = 512, bytes_max = 8192;
    std::uint32_t recent = 0;
    std::size_t limit = std::min(data.size(), begin + bytes_max);
    for (std::size_t at = begin; at < limit; at++) {
        recent = recent * 2 + static_cast<unsigned char>(data[at]) * 2654435769u;
        if (at - begin >= bytes_min && recent >> 21 == 0)
            return at + 1;
    }
    return limit;
}

const Bytef *bytes_of(const std::string &text) {
    return reinterpret_cast<const Bytef *>(text.data());
}

std::uint32_t checksum(const std::string &data) {
    return static_cast<std::uint32_t>(crc32(0, bytes_of(data), static_cast<uInt>(data.size())));
}

std::string packed(const std::string &data) {
    uLongf size = compressBound(data.size());
    std::string made(size, '\0');
    compress2(reinterpret_cast<Bytef *>(made.data()), &size, bytes_of(data), data.size(), Z_BEST_SPEED);
    made.resize(size);
    return made;
}

bool can_be_unpacked(const chunk &one) {
    std::string data(one.data.size(), '\0');
    uLongf size = data.size();
    int status = uncompress(reinterpret_cast<Bytef *>(data.data()), &size, bytes_of(one.compressed),
                            static_cast<uLong>(one.compressed.size()));
    return status == Z_OK && size == one.data.size() && checksum(data) == one.crc;
}

// What went in, and what came out.
struct tally {
    std::uint64_t bytes = 0;
    std::uint64_t chunks = 0;
    std::uint64_t crcs = 0; // their sum

    void add(const chunk &one) {
        bytes += one.data.size();
        chunks++;
        crcs += one.crc;
    }
    bool operator==(const tally &) const = default;
};

class pipeline {
public:
    // `threads` of them hash or compress, rounded up to an even number.
    pipeline(const std::string &directory, unsigned threads) : files_(read_files(directory)) {
        workers_left_[hashing] = workers_left_[compressing] = (threads + 1) / 2;
    }

    unsigned thread_count() const { return 2 + workers_left_[hashing] + workers_left_[compressing]; }

    void work(unsigned thread, const stop_sign &stop) {
        if (thread == 0)
            cut(stop);
        else if (thread == 1)
            collect();
        else if (thread % 2 == 0)
            pass_on(hashing, [this](chunk &one) { one.is_new = known_.add(one); });
        else
            pass_on(compressing, [](chunk &one) {
                if (one.is_new)
                    one.compressed = packed(one.data);
            });
    }

    void check() const {
        expect(collected_ == cut_, "chunks were lost, or came twice");
        expect(!damaged_, "a chunk is not what it was");
    }
    std::uint64_t chunks() const { return collected_.chunks; }

private:
    enum stage { hashing, compressing, collecting, stages };

    void cut(const stop_sign &stop) {
        for (std::uint64_t pass = 1; !stop.is_set(); pass++) {
            for (const std::string &file : files_) {
                for (std::size_t begin = 0; begin < file.size() && !stop.is_set();) {
                    std::size_t end = end_of_chunk(file, begin);
                    chunk one{.pass = pass, .data = file.substr(begin, end - begin), .compressed = ""};
                    one.crc = checksum(one.data);
                    cut_.add(one);
                    queues_[hashing].put(std::move(one));
                    begin = end;
                }
            }
        }
        queues_[hashing].close();
    }

    template <class Step>
    void pass_on(stage at, const Step &step) {
        while (std::optional<chunk> one = queues_[at].take()) {
            step(*one);
            queues_[at + 1].put(std::move(*one));
        }
        if (--workers_left_[at] == 0)
            queues_[at + 1].close();
    }

    void collect() {
        while (std::optional<chunk> one = queues_[collecting].take()) {
            damaged_ |= checksum(one->data) != one->crc;
            if (one->is_new && collected_.chunks % 16 == 0)
                damaged_ |= !can_be_unpacked(*one);
            collected_.add(*one);
        }
    }

    std::vector<std::string> files_;
    std::array<bounded_queue<chunk>, stages> queues_;
    std::array<std::atomic<unsigned>, stages> workers_left_;
    known_chunks known_;
    tally cut_;
    tally collected_;
    bool damaged_ = false;
};

std::vector<figure> run(const program_options &options, const std::string &directory) {
    pipeline all(directory, options.threads);
    program_options with_ends = options;
    with_ends.threads = all.thread_count();
    timed_run done = run_until_stopped(with_ends, [&all](unsigned thread, const stop_sign &stop) {
        all.work(thread, stop);
        return 0;
    });
    all.check();
    return {{"chunks", static_cast<double>(all.chunks()) / done.elapsed_s, "chunks/s"}};
}

// One thread makes chunks and another frees them. By default malloc then gives pages back and takes them again, ten to
// fifteen for each chunk: over half of the time, and by luck, whatever the locks do.
void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 32 << 20); // the most that it may be
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

} // namespace

int main(int argc, char **argv) {
    keep_freed_memory();
    std::string directory = "/usr/share/common-licenses";
    program what{.name = "pipeline",
                 .summary = "Cuts files into chunks, hashes and compresses them, with bounded queues.",
                 .options = {{"--directory", directory, {}, "Where the files are; they are kept in memory"}},
                 .run = [&directory](const program_options &options) { return run(options, directory); }};
    return program_main(argc, argv, what);
}
