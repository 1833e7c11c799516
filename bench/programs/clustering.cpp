// SPDX-License-Identifier: MIT OR Apache-2.0
// Clustering with a barrier after every short phase, in the manner of PARSEC's streamcluster: each thread finds the
// nearest centre for its share of the points and adds them up; one moves the centres; again. Whole numbers only, so
// that every number of threads has to find the same centres.
#include <array>
#include <cstdlib>
#include <vector>

#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned dimensions = 8;
constexpr unsigned center_count = 10;
constexpr unsigned steps = 20; // of one clustering; two barriers each

using point = std::array<std::int64_t, dimensions>;
using centers = std::array<point, center_count>;

struct sums {
    centers total{};
    std::array<std::int64_t, center_count> count{};
    std::uint64_t of_step = 0; // since the beginning

    void add(const sums &other) {
        for (unsigned c = 0; c < center_count; c++) {
            count[c] += other.count[c];
            for (unsigned d = 0; d < dimensions; d++)
                total[c][d] += other.total[c][d];
        }
    }
};

std::vector<point> make_points(std::uint64_t count) {
    std::vector<point> points(count);
    random_numbers random(1);
    for (point &one : points) {
        for (std::int64_t &coordinate : one)
            coordinate = static_cast<std::int64_t>(random.next() % 1'000'000);
    }
    return points;
}

unsigned nearest(const centers &around, const point &one) {
    unsigned best = 0;
    std::int64_t best_distance = INT64_MAX;
    for (unsigned c = 0; c < center_count; c++) {
        std::int64_t distance = 0;
        for (unsigned d = 0; d < dimensions; d++)
            distance += std::abs(around[c][d] - one[d]);
        if (distance < best_distance) {
            best_distance = distance;
            best = c;
        }
    }
    return best;
}

sums add_up(const std::vector<point> &points, std::size_t from, std::size_t to, const centers &around) {
    sums found;
    for (std::size_t i = from; i < to; i++) {
        unsigned c = nearest(around, points[i]);
        found.count[c]++;
        for (unsigned d = 0; d < dimensions; d++)
            found.total[c][d] += points[i][d];
    }
    return found;
}

void move(centers &around, const sums &found) {
    for (unsigned c = 0; c < center_count; c++) {
        for (unsigned d = 0; found.count[c] && d < dimensions; d++)
            around[c][d] = found.total[c][d] / found.count[c];
    }
}

centers first_centers(const std::vector<point> &points) {
    centers around;
    for (unsigned c = 0; c < center_count; c++)
        around[c] = points[c * points.size() / center_count];
    return around;
}

centers cluster_alone(const std::vector<point> &points) {
    centers around = first_centers(points);
    for (unsigned step = 0; step < steps; step++)
        move(around, add_up(points, 0, points.size(), around));
    return around;
}

// Many threads at the same, again and again.
class clustering {
public:
    clustering(const std::vector<point> &points, unsigned threads)
        : points_(points), threads_(threads), found_(threads), expected_(cluster_alone(points)),
          around_(first_centers(points)), barrier_(threads) {}

    // One thread's part. Thread 0 counts the steps and sees the stop, for all of them to end after the same one.
    std::uint64_t work(unsigned thread, const stop_sign &stop) {
        std::size_t from = points_.size() * thread / threads_, to = points_.size() * (thread + 1) / threads_;
        for (std::uint64_t step = 1;; step++) {
            found_[thread] = add_up(points_, from, to, around_);
            found_[thread].of_step = step;
            barrier_.wait();
            if (thread == 0) {
                finish(step);
                over_ = stop.is_set();
            }
            barrier_.wait();
            if (over_)
                return thread == 0 ? step : 0;
        }
    }

    bool was_wrong() const { return wrong_; }

private:
    void finish(std::uint64_t step) {
        sums all;
        for (const sums &one : found_) {
            wrong_ |= one.of_step != step;
            all.add(one);
        }
        move(around_, all);
        if (step % steps != 0)
            return;
        wrong_ |= around_ != expected_;
        around_ = first_centers(points_);
    }

    const std::vector<point> &points_;
    unsigned threads_;
    std::vector<sums> found_;
    centers expected_;
    centers around_;
    step_barrier barrier_;
    std::atomic<bool> over_ = false;
    bool wrong_ = false;
};

std::vector<figure> run(const program_options &options, std::uint64_t count) {
    std::vector<point> points = make_points(count);
    clustering all(points, options.threads);
    timed_run done =
        run_until_stopped(options, [&all](unsigned thread, const stop_sign &stop) { return all.work(thread, stop); });
    expect(!all.was_wrong(), "a thread was a step ahead, or the centres are not those that one thread finds");
    return {{"clustering", done.operations_a_second(), "steps/s"}};
}

} // namespace

int main(int argc, char **argv) {
    std::uint64_t count = 2000;
    program what{.name = "clustering",
                 .summary = "Finds clusters of points, with a barrier after every short phase.",
                 .options = {{"--points", count, center_count, std::uint64_t{1} << 31, "Number of points"}},
                 .run = [&count](const program_options &options) { return run(options, count); }};
    return program_main(argc, argv, what);
}
