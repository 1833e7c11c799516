// SPDX-License-Identifier: MIT OR Apache-2.0
// Node's workers on shared memory, and its pool of threads. The output depends on nothing but the argument.
//
// usage: node threads.js TURNS
'use strict';

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { promisify } = require('node:util');
const crypto = require('node:crypto');
const zlib = require('node:zlib');

const WORKERS = 8;
const POOLED = 16; // pieces of work at a time, for libuv's pool

// A lock on a word of shared memory: 0 free, 1 held, 2 held with sleepers.
function lock(words, index) {
    let state = Atomics.compareExchange(words, index, 0, 1);
    while (state !== 0) {
        Atomics.wait(words, index, 2, 50);
        state = Atomics.exchange(words, index, 2);
    }
}

function unlock(words, index) {
    if (Atomics.exchange(words, index, 0) === 2)
        Atomics.notify(words, index, 1);
}

function work() {
    const words = new Int32Array(workerData.shared);
    for (let turn = 0; turn < workerData.turns; turn++) {
        lock(words, 0);
        words[1]++; // not atomic: the lock protects it
        unlock(words, 0);
    }
    parentPort.on('message', (number) => {
        if (number === null)
            parentPort.close();
        else
            parentPort.postMessage(number + 1);
    });
}

// Numbers go back and forth between the main thread and a worker.
function talk(worker, turns) {
    return new Promise((resolve, reject) => {
        let answers = 0;
        worker.on('error', reject);
        worker.on('exit', () => resolve(answers));
        worker.on('message', (number) => {
            answers++;
            worker.postMessage(number < turns ? number : null);
        });
        worker.postMessage(0);
    });
}

async function pooled(turns) {
    const pbkdf2 = promisify(crypto.pbkdf2), deflate = promisify(zlib.deflate), inflate = promisify(zlib.inflate);
    const hash = crypto.createHash('sha256');
    for (let turn = 0; turn < turns; turn++) {
        const keys = await Promise.all(Array.from({ length: POOLED }, async (_, index) => {
            const key = await pbkdf2(`${turn}`, `${index}`, 100, 1024, 'sha256');
            return inflate(await deflate(key));
        }));
        keys.forEach((key) => hash.update(key));
    }
    return hash.digest('hex');
}

async function main() {
    const turns = Number(process.argv[2]);
    const shared = new SharedArrayBuffer(8);
    const workers = Array.from({ length: WORKERS },
        () => new Worker(__filename, { workerData: { shared, turns } }));
    const answers = await Promise.all(workers.map((worker) => talk(worker, turns / 50)));
    console.log(`counter: ${new Int32Array(shared)[1]}`);
    console.log(`answers: ${answers}`);
    console.log(`pool: ${await pooled(turns / 1000)}`);
    console.error('threads.js: done');
    process.exitCode = 7; // a status that nothing else has
}

if (isMainThread)
    main();
else
    work();
