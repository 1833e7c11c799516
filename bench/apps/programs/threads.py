# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python's threads, locks, conditions, queues, pools and forks. The output depends on nothing but the argument.

usage: threads.py TURNS
"""

import concurrent.futures
import hashlib
import multiprocessing
import queue
import sys
import threading

THREADS = 16


def in_threads(body):
    threads = [threading.Thread(target=body, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def locks(turns):
    lock, again, gate = threading.Lock(), threading.RLock(), threading.Semaphore(3)
    counts = {"lock": 0, "rlock": 0}

    def body(_):
        for _ in range(turns):
            with lock:
                counts["lock"] += 1
            with gate, again, again:
                counts["rlock"] += 1

    in_threads(body)
    print(counts)


def queues(turns):
    numbers, sums = queue.Queue(maxsize=4), queue.Queue()

    def body(index):
        if index % 2 == 0:
            for turn in range(turns):
                numbers.put(turn)
        else:
            sums.put(sum(numbers.get(timeout=60) for _ in range(turns)))

    in_threads(body)
    print("queue:", sum(sums.get() for _ in range(THREADS // 2)))


def barriers(turns):
    barrier, arrivals = threading.Barrier(THREADS), []

    def body(_):
        for turn in range(turns // 50):
            if barrier.wait(timeout=60) == 0:
                arrivals.append(turn)

    in_threads(body)
    print("barrier:", arrivals == list(range(turns // 50)))


def digest(number):
    return hashlib.sha256(str(number).encode() * 4096).hexdigest()  # long enough to run without the interpreter's lock


def pools(turns):
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        threads = list(pool.map(digest, range(turns)))
    with multiprocessing.get_context("fork").Pool(4) as pool:
        processes = pool.map(digest, range(turns))
        pool.close()
        pool.join()
    print("pools:", threads == processes, hashlib.sha256("".join(threads).encode()).hexdigest())


if __name__ == "__main__":
    for part in (locks, queues, barriers, pools):
        part(int(sys.argv[1]))
    print("threads.py: done", file=sys.stderr)
    sys.exit(7)  # a status that nothing else has
