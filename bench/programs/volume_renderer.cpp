// SPDX-License-Identifier: MIT OR Apache-2.0
// Rays through a volume, in the manner of SPLASH-2's volrend: a thread takes tiles of the picture from its own queue,
// then from others', under mutexes; and at a frame's end spins, on a counter of its own, until all tiles are done: each
// picture has some of the one before in it.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned frames = 4, volume_side = 32;
constexpr std::size_t tile_pixels = 64;

struct tile_queue {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::size_t next = 0, end = 0; // guarded by the mutex
};

class volume_renderer : public computation {
public:
    volume_renderer(std::size_t tiles, unsigned threads)
        : threads_(threads), tiles_(tiles), volume_(std::size_t{volume_side} * volume_side * volume_side),
          picture_(frames * tiles * tile_pixels), queues_(std::size_t{frames} * threads) {
        random_numbers random(1);
        for (unsigned &one : volume_)
            one = static_cast<unsigned>(random.next() % 256);
    }

    void begin() override {
        picture_.assign(picture_.size(), 0);
        done_ = 0;
        for (std::size_t i = 0; i < queues_.size(); i++) {
            part dealt = part_of(tiles_, static_cast<unsigned>(i % threads_), threads_);
            queues_[i].next = dealt.begin;
            queues_[i].end = dealt.end;
        }
    }

    void work(unsigned thread) override {
        for (unsigned frame = 0; frame < frames; frame++) {
            for (unsigned i = 0; i < threads_; i++) {
                tile_queue &from = queues_[std::size_t{frame} * threads_ + (thread + i) % threads_];
                for (std::size_t tile = take(from); tile < tiles_; tile = take(from)) {
                    draw(frame, tile);
                    done_.fetch_add(1, std::memory_order_release);
                }
            }
            while (done_.load(std::memory_order_acquire) < (frame + 1) * tiles_)
                ;
        }
    }

    // A tile that was drawn twice is brighter than it should be.
    std::uint64_t digest() const override { return digest_of(picture_) + done_; }

private:
    // tiles_: none is left.
    std::size_t take(tile_queue &from) const {
        pthread_mutex_lock(&from.mutex);
        std::size_t tile = from.next < from.end ? from.next++ : tiles_;
        pthread_mutex_unlock(&from.mutex);
        return tile;
    }

    void draw(unsigned frame, std::size_t tile) {
        std::size_t pixels = tiles_ * tile_pixels;
        for (std::size_t pixel = tile * tile_pixels; pixel < (tile + 1) * tile_pixels; pixel++) {
            std::size_t at = pixel % volume_.size(), step = volume_side * volume_side + frame * volume_side + frame + 1;
            std::uint64_t afterglow = frame > 0 ? picture_[frame * pixels - 1 - pixel] : 0; // of another tile
            std::uint64_t light = 1 << 20, brightness = 0;
            for (unsigned depth = 0; depth < volume_side; depth++, at = (at + step) % volume_.size()) {
                brightness += light * volume_[at];
                light = light * (1024 - volume_[at]) / 1024;
            }
            picture_[frame * pixels + pixel] += brightness + afterglow / 4;
        }
    }

    unsigned threads_;
    std::size_t tiles_; // of a frame
    std::vector<unsigned> volume_;
    std::vector<std::uint64_t> picture_; // of all frames
    std::vector<tile_queue> queues_;     // of each frame, one a thread
    std::atomic<std::size_t> done_ = 0;  // tiles, of all frames
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<volume_renderer>(argc, argv, "volume-renderer",
                                             "Draws pictures of a volume; threads spin until a frame is done.",
                                             {"--tiles", 1024, 1, 1'000'000, "Of 64 pixels each, in a frame"});
}
