// SPDX-License-Identifier: MIT OR Apache-2.0
// What a loop that polls says of itself, at the end of a round that found nothing: the rounds that follow are like it
// until a line changes that it has read. Here that is nothing to do. The simulator, which has a header of its own in
// this one's place, leaves those rounds out (sim/seams, docs/simulator.md); without that a hundred CPUs that poll are
// all that it would be busy with.
#ifndef HF_BASE_POLL_H
#define HF_BASE_POLL_H

// However many. The round wrote nothing, read no clock, and changed no variable that the next one depends on.
#define hf_polls_alike() ((void)0)

// `most` rounds at most, each of which adds `step` to `counter` and does the same otherwise.
#define hf_polls_alike_counted(counter, step, most) ((void)0)

#endif
