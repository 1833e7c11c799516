// SPDX-License-Identifier: MIT OR Apache-2.0
// OpenMP: each way of excluding and waiting, with more threads than CPUs. The output depends on the argument alone.
//
// usage: openmp TURNS
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef THREADS
#define THREADS 16
#endif

static unsigned long tasks_of(unsigned depth) {
    if (depth == 0)
        return 1;
    unsigned long left, right;
#pragma omp task shared(left)
    left = tasks_of(depth - 1);
#pragma omp task shared(right)
    right = tasks_of(depth - 1);
#pragma omp taskwait
    return left + right;
}

int main(int count, char **arguments) {
    (void)count;
    long turns = strtol(arguments[1], NULL, 10);
    long critical = 0, locked = 0, nested = 0, atomic = 0, reduced = 0, barriers = 0, in_order = 0;
    unsigned long tasks = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest_lock;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
    omp_set_num_threads(THREADS);

#pragma omp parallel for reduction(+ : reduced)
    for (long turn = 0; turn < THREADS * turns; turn++) {
        reduced += turn;
#pragma omp critical
        critical++;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest_lock);
        omp_set_nest_lock(&nest_lock);
        nested++;
        omp_unset_nest_lock(&nest_lock);
        omp_unset_nest_lock(&nest_lock);
#pragma omp atomic
        atomic++;
    }
#pragma omp parallel
    for (long turn = 0; turn < turns / 100; turn++) {
#pragma omp single
        barriers++;
    }
#pragma omp parallel for ordered schedule(dynamic)
    for (long turn = 0; turn < turns / 10; turn++) {
#pragma omp ordered
        in_order = in_order * 31 % 1000003 + turn;
    }
#pragma omp parallel
#pragma omp single
    tasks = tasks_of(12);

    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest_lock);
    printf("critical %ld, lock %ld, nest lock %ld, atomic %ld\n", critical, locked, nested, atomic);
    printf("reduction %ld, single %ld, ordered %ld, tasks %lu\n", reduced, barriers, in_order, tasks);
    fprintf(stderr, "openmp: done\n");
    return 7; // a status that nothing else has
}
