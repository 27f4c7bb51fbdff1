/* SPDX-License-Identifier: BSD-3-Clause */
#include "work/check_call.h"

#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/registry.h"
#include "core/status.h"
#include "data/buffers_check.h"

void fb_findings_note(struct fb_findings *findings, const char *format, const char *text)
{
    if (*text && !findings->reason[0])
        snprintf(findings->reason, sizeof findings->reason, format, text);
}

/* ---- Calls on poisoned buffers ------------------------------------------------------------------
 */

static bool are_sums(const int64_t *sums, const int64_t *lengths, int64_t same, int64_t b)
{
    bool good = sums[0] == 0;
    for (int64_t i = 0; i < b; i++)
        good = good && sums[i + 1] - sums[i] == (lengths ? lengths[i] : same);
    return good;
}

/* What a call reads beside the tensors: the problem, and the offsets of packed sequences. Whoever
 * changes them has buffers of another problem from then on. */
static enum fb_status check_problem(struct fb_bench *bench, struct fb_finding *found)
{
    const struct fb_problem *p = &bench->shared->problem;
    const struct fb_memory *memory = bench->buffers.memory;
    const size_t bytes = 2 * ((size_t)p->b + 1) * sizeof(int64_t);
    const char *changed = fb_problem_equal(&bench->problem, p) ? NULL : "the problem";
    if (bench->buffers.cu_lens) {
        int64_t *sums = malloc(bytes);
        enum fb_status status = sums ? memory->read(memory, sums, bench->buffers.cu_lens, bytes)
                                     : fb_fail(FB_NO_MEMORY, "no memory for lengths");
        if (status == FB_OK && !(are_sums(sums, p->qlens, p->nq, p->b) &&
                                 are_sums(sums + p->b + 1, p->klens, p->nk, p->b)))
            changed = "cu_qlens or cu_klens";
        free(sums);
        FB_TRY(status);
    }
    if (changed) {
        found->kind = FB_FOUND_PROBLEM;
        snprintf(found->text, sizeof found->text, "%s was changed, which this call may not do",
                 changed);
    }
    return FB_OK;
}

/* Calls the pass between a seal and a look at guards, inputs and unwritten elements. */
static enum fb_status looked_after_call(struct fb_bench *bench, enum fb_pass pass,
                                        struct fb_findings *findings)
{
    struct fb_finding found;
    FB_TRY(fb_buffers_seal(&bench->buffers, pass));
    FB_TRY(pass == FB_PASS_FORWARD ? fb_bench_forward(bench) : fb_bench_backward(bench));
    FB_TRY(fb_bench_wait(bench));
    FB_TRY(fb_buffers_check(&bench->buffers, pass, &found));
    bench->torn |= found.kind == FB_FOUND_GUARD;
    FB_TRY(check_problem(bench, &found));
    bench->torn |= found.kind == FB_FOUND_PROBLEM;
    fb_findings_note(findings, pass == FB_PASS_FORWARD ? "forward: %s" : "backward: %s",
                     found.text);
    return FB_OK;
}

enum fb_status fb_check_fresh_call(struct fb_bench *bench, enum fb_pass pass,
                                   struct fb_findings *findings)
{
    FB_TRY(fb_buffers_poison(&bench->buffers, pass));
    return looked_after_call(bench, pass, findings);
}

/* The outputs are poisoned, so that a call that does nothing cannot live on the last one's. */
enum fb_status fb_check_call(struct fb_bench *bench, enum fb_pass pass,
                             struct fb_findings *findings)
{
    FB_TRY(fb_buffers_poison_outputs(&bench->buffers, pass));
    return looked_after_call(bench, pass, findings);
}

/* ---- Judgement ----------------------------------------------------------------------------------
 */

enum fb_status fb_check_compare(struct fb_bench *bench, const struct fb_args *outputs,
                                struct fb_judgement *judgement)
{
    const struct fb_declaration declared = {.numerics = &bench->numerics,
                                            .bm = bench->record.bm,
                                            .bn = bench->record.bn,
                                            .roundings = bench->variant->properties.roundings};
    return fb_judge_compare(bench->shared->judge, &declared, outputs, judgement);
}

enum fb_status fb_check_gradients(struct fb_bench *bench, struct fb_findings *findings,
                                  const char *format)
{
    struct fb_judgement judgement;
    struct fb_args outputs;
    FB_TRY(fb_bench_fetch(bench, FB_PASS_BACKWARD, &outputs));
    outputs.o.data = outputs.lse.data = NULL;
    FB_TRY(fb_check_compare(bench, &outputs, &judgement));
    if (judgement.verdict == FB_VERDICT_FAIL) {
        fb_findings_note(findings, format, judgement.reason);
        findings->declared = FB_VERDICT_FAIL;
    }
    if (judgement.verdict_standard == FB_VERDICT_FAIL)
        findings->standard = FB_VERDICT_FAIL;
    return FB_OK;
}
