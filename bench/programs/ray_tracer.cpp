// SPDX-License-Identifier: MIT OR Apache-2.0
// A ray tracer whose threads take small tiles of a picture from one queue under one hot lock, in the manner of
// SPLASH-2's raytrace. Frame after frame; each has to be the picture that one thread makes.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <pthread.h>

#include "programs/program.hpp"

namespace {

using namespace holdfast::bench;

struct vector3 {
    double x, y, z;
};

vector3 operator-(vector3 a, vector3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
vector3 operator+(vector3 a, vector3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
vector3 operator*(vector3 a, double by) {
    return {a.x * by, a.y * by, a.z * by};
}
double dot(vector3 a, vector3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
vector3 unit(vector3 a) {
    return a * (1 / std::sqrt(dot(a, a)));
}

struct sphere {
    vector3 center;
    double radius;
};

constexpr std::array<sphere, 5> scene{
    {{{0, 0, 6}, 1.5}, {{2, 1, 7}, 1}, {{-2, 1, 5}, 0.7}, {{1, -1.5, 4}, 0.5}, {{0, -102, 6}, 100}}}; // the ground

// Distance along a ray of unit length to the sphere; empty when it misses.
std::optional<double> hit(const sphere &what, vector3 from, vector3 along) {
    vector3 to_center = what.center - from;
    double middle = dot(to_center, along);
    double below_root = middle * middle - dot(to_center, to_center) + what.radius * what.radius;
    if (below_root < 0)
        return std::nullopt;
    double distance = middle - std::sqrt(below_root);
    return distance > 1e-6 ? std::optional(distance) : std::nullopt;
}

// Brightness, with three reflections at most.
double trace(vector3 from, vector3 along) {
    const vector3 to_light = unit({1, 2, -1.5});
    double light = 0, share = 1;
    for (int reflections = 0; reflections <= 3; reflections++) {
        const sphere *nearest = nullptr;
        double distance = 1e9;
        for (const sphere &one : scene) {
            if (auto at = hit(one, from, along); at && *at < distance) {
                distance = *at;
                nearest = &one;
            }
        }
        if (!nearest)
            return light + share * 0.2;
        from = from + along * distance;
        vector3 normal = unit(from - nearest->center);
        light += share * 0.7 * std::fmax(0, dot(normal, to_light));
        share *= 0.3;
        along = along - normal * (2 * dot(along, normal));
    }
    return light;
}

std::uint64_t pixel(unsigned x, unsigned y, unsigned side) {
    double scale = 2.0 / side;
    return static_cast<std::uint64_t>(1e6 * trace({0, 0, 0}, unit({x * scale - 1, 1 - y * scale, 1.5})));
}

// Part of the picture as a number: the sum of its pixels, each weighted by its place.
std::uint64_t render(std::uint64_t first, std::uint64_t count, unsigned side) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = first; i < first + count; i++)
        sum += (i + 1) * pixel(static_cast<unsigned>(i % side), static_cast<unsigned>(i / side), side);
    return sum;
}

// Tiles to do, frame after frame. A frame begins when the one before is complete.
class tile_queue {
public:
    tile_queue(unsigned side, unsigned tile_pixels)
        : pixels_(std::uint64_t{side} * side), tile_pixels_(tile_pixels), expected_(render(0, pixels_, side)) {}

    struct tile {
        std::uint64_t first;
        std::uint64_t count;
    };

    // Empty: it is over.
    std::optional<tile> take(const stop_sign &stop) {
        pthread_mutex_lock(&mutex_);
        bool over = false;
        while (!(over = stop.is_set()) && next_ >= pixels_)
            pthread_cond_wait(&frame_begun_, &mutex_);
        std::optional<tile> taken;
        if (over) {
            pthread_cond_broadcast(&frame_begun_);
        } else {
            taken = {next_, std::min<std::uint64_t>(tile_pixels_, pixels_ - next_)};
            next_ += taken->count;
        }
        pthread_mutex_unlock(&mutex_);
        return taken;
    }

    void give_back(const tile &done, std::uint64_t sum) {
        pthread_mutex_lock(&mutex_);
        sum_ += sum;
        done_ += done.count;
        if (done_ >= pixels_) {
            wrong_ |= done_ != pixels_ || sum_ != expected_;
            sum_ = done_ = next_ = 0;
            pthread_cond_broadcast(&frame_begun_);
        }
        pthread_mutex_unlock(&mutex_);
    }

    bool was_wrong() const { return wrong_; }

private:
    std::uint64_t pixels_;
    unsigned tile_pixels_;
    std::uint64_t expected_;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t frame_begun_ = PTHREAD_COND_INITIALIZER;
    std::uint64_t next_ = 0;
    std::uint64_t done_ = 0;
    std::uint64_t sum_ = 0;
    bool wrong_ = false;
};

struct picture_options {
    unsigned side = 128;
    unsigned tile = 4;
};

std::vector<figure> run(const program_options &options, const picture_options &wanted) {
    tile_queue queue(wanted.side, wanted.tile);
    timed_run done = run_until_stopped(options, [&](unsigned, const stop_sign &stop) {
        std::uint64_t tiles = 0;
        for (; auto tile = queue.take(stop); tiles++)
            queue.give_back(*tile, render(tile->first, tile->count, wanted.side));
        return tiles;
    });
    expect(!queue.was_wrong(), "a picture is not the one that a single thread makes");
    return {{"tiles", done.operations_a_second(), "tiles/s"}};
}

} // namespace

int main(int argc, char **argv) {
    picture_options wanted;
    program what{.name = "ray-tracer",
                 .summary = "Traces rays, tile by tile from one queue under one hot lock.",
                 .options = {{"--side", wanted.side, 1, 10000, "Width and height of the picture, in pixels"},
                             {"--tile", wanted.tile, 1, 10000, "Pixels that are taken from the queue at once"}},
                 .run = [&wanted](const program_options &options) { return run(options, wanted); }};
    return program_main(argc, argv, what);
}
