/* SPDX-License-Identifier: BSD-3-Clause
 *
 * judge.h: is what a variant wrote right? Open a judge once for a problem and its inputs: the
 * fp64 reference is computed then and kept, so that many variants and numerics share it. Compare
 * as often as needed, close.
 *
 *     struct fb_judge *judge;
 *     FB_TRY(fb_judge_open(&judge, &args, NULL));             args: inputs, host, already rounded
 *     FB_TRY(fb_judge_compare(judge, &declaration, &args, &judgement));        args: outputs
 *     if (judgement.verdict != FB_VERDICT_PASS) puts(judgement.reason);
 *     fb_judge_close(judge);
 *
 * Every tensor handed over lives in host memory. Both calls read the fields of struct fb_args that
 * they name and no others. Not thread-safe on one judge; uses OpenMP inside, and the verdict does
 * not depend on the number of threads.
 */
#ifndef FB_VERIFY_JUDGE_H
#define FB_VERIFY_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "flashback.h"
#include "verify/judgement.h"
#include "verify/self_test/mutants.h"

/* What a variant says that it does. */
struct fb_declaration {
    const struct fb_numerics *numerics;
    int64_t bm, bn;     /* tile rows, 0 where it has none */
    unsigned roundings; /* FB_ROUNDS_* */
};

enum fb_judge_mode {
    FB_JUDGE_AUTO,    /* full below a cost threshold, sampled above */
    FB_JUDGE_FULL,    /* every element, whatever it costs */
    FB_JUDGE_SAMPLED, /* whole rows: first, last, tile edges, seeded random ones */
};

struct fb_judge_options {
    enum fb_judge_mode mode;
    const uint8_t *keep; /* [b, h, nq, nk] dropout mask, 1 is kept; NULL: Philox from the problem's
                            seed and offset, as documented in reference/philox.h */
    uint64_t seed;       /* of the random rows of the sampled mode */
    bool no_device;      /* never make the forward of the sampled mode on a CUDA device */
    bool exact; /* the data leave nothing to round: dq, dk and dv under standard numerics must be
                   the reference's bit for bit (exact.h), but for declared roundings. Not in the
                   sampled mode. */
    enum fb_judge_mutant mutant; /* FB_MUTANT_NONE; others are for the self-test, whole mode only */
};

struct fb_judge;

/* Reads problem, q, k, v, dout, dlse, bias, sink, alibi, cu_qlens, cu_klens of inputs. They, and
 * the problem, must outlive the judge unchanged. dout.data may be NULL: then only the forward is
 * judged. options NULL: all zero. FB_NO_MEMORY, FB_USAGE (inconsistent shapes). */
enum fb_status fb_judge_open(struct fb_judge **judge, const struct fb_args *inputs,
                             const struct fb_judge_options *options);

/* Reads o, lse, dq, dk, dv, dbias, dsink of outputs; those with data == NULL are not judged. The
 * bounds for numerics and tiles are kept, so that the next variant with the same ones is cheap.
 * FB_OK whatever the verdict. */
enum fb_status fb_judge_compare(struct fb_judge *judge, const struct fb_declaration *declared,
                                const struct fb_args *outputs, struct fb_judgement *judgement);

/* Writes the reference's o and lse, rounded to the tensors' types, into *o and *lse: what a
 * backward is judged on when it saves nothing else. Complete in the sampled mode too, where the
 * first call pays for the whole forward. */
enum fb_status fb_judge_forward(struct fb_judge *judge, const struct fb_tensor *o,
                                const struct fb_tensor *lse);

/* "all", or what was compared: "rows of o, dq: 208 of 32768; rows of dk, dv: 52 of 32768". */
const char *fb_judge_coverage(const struct fb_judge *judge);

void fb_judge_close(struct fb_judge *judge); /* NULL is fine */

#endif
