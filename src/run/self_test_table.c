/* SPDX-License-Identifier: BSD-3-Clause
 *
 * self_test_table.c: for each trap the cases that must fail it and those that must not. The second
 * kind is what makes the first worth something: a judge that fails everything would pass a table of
 * the first kind alone. Tiles of the traps have 32 rows.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "run/self_test_table.h"

/* Problems and data by what they bring out. */
#define ONE_TILE "n=32,d=32,dtype=fp32"
#define FEW_TILES "h=2,n=128,d=32,dtype=fp32"
#define MANY_TILES "h=2,n=512,d=32,dtype=fp32"
#define CAUSAL "h=2,n=128,d=32,causal,dtype=fp32"
#define MORE_KEYS "h=2,nq=64,nk=160,d=32,causal,dtype=bf16"
#define MORE_QUERIES "h=2,nq=160,nk=64,d=32,causal,dtype=bf16"
#define GROUPS "h=6,hk=2,n=96,d=32,dtype=fp16"
#define ONE_KEY_HEAD "h=4,hk=1,n=96,d=32,dtype=fp16"
#define RAGGED "nq=64,nk=97,d=64,dtype=fp32"
#define DYADIC "h=2,n=256,d=64,scale=0.125,dtype=bf16"
#define NORMAL "randn@1"
#define MEAN "mean@1"
#define DEEP "deep-negative@1"
#define EXACT "dyadic@1"
#define ZERO "zeros@1"

#define BOUND "times the bound"
#define TWICE "second call"
#define BITS "not exact on dyadic data"

const struct fb_expectation fb_expectations[] = {
    /* A part of delta is enough where there is one tile; mean-free data hide much of the rest. */
    {"trap-tile-delta", FEW_TILES, MEAN, 0, true, BOUND},
    {"trap-tile-delta", DYADIC, EXACT, 0, true, ""},
    {"trap-tile-delta", ONE_TILE, MEAN, 0, false, ""},
    /* With one key p = 1 however it is made. */
    {"trap-no-lse", FEW_TILES, NORMAL, 0, true, BOUND},
    {"trap-no-lse", "nq=64,nk=1,d=16,dtype=fp32", NORMAL, 0, false, ""},
    /* Additions are lost where two threads share a row; with one thread there is nobody else. */
    {"trap-racy-dq", MANY_TILES, NORMAL, 4, true, ""},
    {"trap-racy-dq", DYADIC, EXACT, 4, true, ""},
    {"trap-racy-dq", MANY_TILES, NORMAL, 1, false, ""},
    {"trap-racy-dq", ONE_TILE, NORMAL, 4, false, ""},
    /* 2 roundings hide among those of bf16 tensors; 32 do not, and fp32 or dyadic data show one. */
    {"trap-bf16-sums", FEW_TILES, NORMAL, 0, true, BOUND},
    {"trap-bf16-sums", "n=1024,d=32,dtype=bf16", NORMAL, 0, true, "of the declared roundings"},
    {"trap-bf16-sums", DYADIC, EXACT, 0, true, BITS},
    {"trap-bf16-sums", "n=32,d=64,dtype=bf16", NORMAL, 0, false, ""},
    /* Without a mask there is nothing to leak. */
    {"trap-leak", CAUSAL, NORMAL, 0, true, BOUND},
    {"trap-leak", CAUSAL, "one-row:row=63@1", 0, true, BOUND},
    {"trap-leak", FEW_TILES, NORMAL, 0, false, ""},
    /* Both alignments are one for a square. */
    {"trap-alignment", MORE_KEYS, NORMAL, 0, true, ""},
    {"trap-alignment", MORE_QUERIES, NORMAL, 0, true, ""},
    {"trap-alignment", CAUSAL, NORMAL, 0, false, ""},
    {"trap-dk-unscaled", FEW_TILES, NORMAL, 0, true, "dk: "},
    {"trap-dk-unscaled", "n=64,d=32,scale=0.3,dtype=fp32", NORMAL, 0, true, "dk: "},
    {"trap-dk-unscaled", "n=64,d=32,scale=1,dtype=fp32", NORMAL, 0, false, ""},
    {"trap-dk-unscaled", "n=64,d=1,dtype=fp32", NORMAL, 0, false, ""},
    {"trap-last-head", GROUPS, NORMAL, 0, true, BOUND},
    {"trap-last-head", ONE_KEY_HEAD, NORMAL, 0, true, BOUND},
    {"trap-last-head", FEW_TILES, NORMAL, 0, false, ""},
    {"trap-head-modulo", GROUPS, NORMAL, 0, true, ""},
    {"trap-head-modulo", ONE_KEY_HEAD, NORMAL, 0, false, ""},
    {"trap-head-modulo", FEW_TILES, NORMAL, 0, false, ""},
    /* The first call is right; twice nothing is nothing. */
    {"trap-stale-workspace", FEW_TILES, NORMAL, 0, true, TWICE},
    {"trap-stale-workspace", DYADIC, EXACT, 0, true, TWICE},
    {"trap-stale-workspace", FEW_TILES, ZERO, 0, false, ""},
    /* A padded key of zero has s = 0 and weighs exp(-lse): nothing to dq, until that overflows. */
    {"trap-open-tail", RAGGED, DEEP, 0, true, "non-finite"},
    {"trap-open-tail", RAGGED, NORMAL, 0, false, ""},
    {"trap-open-tail", FEW_TILES, DEEP, 0, false, ""},
    {"trap-dropped-tile", FEW_TILES, NORMAL, 0, true, BOUND},
    {"trap-dropped-tile", "n=1024,d=32,dtype=bf16", NORMAL, 0, true, ""},
    {"trap-dropped-tile", DYADIC, EXACT, 0, true, ""},
    {"trap-dropped-tile", ONE_TILE, NORMAL, 0, false, ""},
    {"trap-nothing-ran", ONE_TILE, NORMAL, 0, true, "was not written"},
    {"trap-nothing-ran", ONE_TILE, ZERO, 0, true, "was not written"},
    {"trap-nothing-ran", "n=0,d=32,dtype=fp32", NORMAL, 0, false, ""},
    /* One or two addends commute. */
    {"trap-false-claim", MANY_TILES, NORMAL, 0, true, "declared deterministic"},
    {"trap-false-claim", ONE_TILE, NORMAL, 0, false, ""},
    /* Equivalents: every problem that fails a trap must pass the same kernel without a mistake. */
    {"trap-none", FEW_TILES, MEAN, 0, false, ""},
    {"trap-none", MANY_TILES, NORMAL, 4, false, ""},
    {"trap-none", "n=1024,d=32,dtype=bf16", NORMAL, 0, false, ""},
    {"trap-none", CAUSAL, "one-row:row=63@1", 0, false, ""},
    {"trap-none", DYADIC, EXACT, 0, false, ""},
    {"trap-none", GROUPS, NORMAL, 0, false, ""},
    {"trap-none", RAGGED, DEEP, 0, false, ""},
    {"trap-none-tiles", FEW_TILES, MEAN, 0, false, ""},
    {"trap-none-tiles", MORE_KEYS, NORMAL, 0, false, ""},
    {"trap-none-tiles", DYADIC, EXACT, 0, false, ""},
    {"trap-none-tiles", RAGGED, DEEP, 0, false, ""},
    {"trap-none-order", FEW_TILES, MEAN, 0, false, ""},
    {"trap-none-order", MORE_QUERIES, NORMAL, 0, false, ""},
    {"trap-none-order", DYADIC, EXACT, 0, false, ""},
    {"trap-none-order", "n=1024,d=32,dtype=bf16", NORMAL, 0, false, ""},
#ifdef HAVE_CUDA
    /* On a device. One key tile has nobody to race with; where nothing is to be done nothing runs.
     */
    {"trap-cuda-racy-dq", "h=2,n=1024,d=64,dtype=fp32", NORMAL, 0, true, "dq"},
    {"trap-cuda-racy-dq", ONE_TILE, NORMAL, 0, false, ""},
    {"trap-cuda-no-clear", FEW_TILES, NORMAL, 0, true, "dq"},
    {"trap-cuda-no-clear", "n=0,d=32,dtype=fp32", NORMAL, 0, false, ""},
    {"trap-cuda-stale", FEW_TILES, NORMAL, 0, true, TWICE},
    {"trap-cuda-stale", FEW_TILES, ZERO, 0, false, ""},
    {"trap-cuda-nothing-ran", ONE_TILE, ZERO, 0, true, "was not written"},
    {"trap-cuda-nothing-ran", "n=0,d=32,dtype=fp32", NORMAL, 0, false, ""},
    {"trap-cuda-launch", ONE_TILE, NORMAL, 0, true, "a launch"},
    {"trap-cuda-launch", "n=0,d=32,dtype=fp32", NORMAL, 0, false, ""},
#endif
};

const size_t fb_expectation_count = sizeof fb_expectations / sizeof *fb_expectations;
