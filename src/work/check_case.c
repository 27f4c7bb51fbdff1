/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_case.c: stage 1 of a case. One forward and one backward on poisoned, guarded buffers,
 * judged against the reference; a second backward on the reference's o and lse and on the dirty
 * workspace of the first; then what check_determinism.c and check_replay.c ask for.
 */
#include "work/check_case.h"

#include "core/registry.h"
#include "core/status.h"
#include "measure/memory.h"
#include "work/check_call.h"
#include "work/check_determinism.h"
#include "work/check_replay.h"

/* ---- Judgement ----------------------------------------------------------------------------------
 */

/* A verdict as the columns have it. */
static int outcome_of(enum fb_verdict verdict)
{
    static const int outcomes[] = {[FB_VERDICT_ABSENT] = FB_MISSING_ENUM,
                                   [FB_VERDICT_PASS] = FB_OUTCOME_PASS,
                                   [FB_VERDICT_FAIL] = FB_OUTCOME_FAIL,
                                   [FB_VERDICT_NOT_CHECKABLE] = FB_OUTCOME_NOT_CHECKABLE};
    return outcomes[verdict];
}

static enum fb_status store_tensor(struct fb_tensor_result *to, const struct fb_metrics *m,
                                   enum fb_verdict declared, enum fb_verdict standard)
{
    if (declared == FB_VERDICT_ABSENT)
        return FB_OK;
    to->max_abs = m->max_abs;
    to->rel_l2 = m->rel_l2;
    to->cosine = m->cosine;
    to->norm_ratio = m->norm_ratio;
    to->nonfinite = m->nonfinite;
    to->bound_ratio = m->bound_ratio;
    to->noise_ratio = m->noise_ratio;
    if (m->worst[0] >= 0)
        FB_TRY(fb_text_set(&to->worst, "[%lld,%lld,%lld,%lld]", (long long)m->worst[0],
                           (long long)m->worst[1], (long long)m->worst[2], (long long)m->worst[3]));
    to->verdict = outcome_of(declared);
    to->verdict_standard = outcome_of(standard);
    to->band = m->band_ratio <= 1 ? FB_OUTCOME_PASS : FB_OUTCOME_FAIL;
    return FB_OK;
}

static enum fb_status store_judgement(struct fb_bench *bench, const struct fb_judgement *j,
                                      struct fb_findings *findings)
{
    for (int i = 0; i < FB_JUDGED_COUNT; i++) {
        struct fb_tensor_result *to = fb_record_tensor(&bench->record, fb_judged_name(i));
        if (to)
            FB_TRY(store_tensor(to, &j->metrics[i], j->declared[i], j->standard[i]));
        if (j->declared[i] != FB_VERDICT_ABSENT && i != FB_JUDGED_LSE)
            findings->bands_hold &= j->metrics[i].band_ratio <= 1;
    }
    findings->declared = j->verdict;
    findings->standard = j->verdict_standard;
    fb_findings_note(findings, "%s", j->reason);
    return FB_OK;
}

static enum fb_status judge(struct fb_bench *bench, struct fb_findings *findings)
{
    struct fb_judgement judgement;
    struct fb_args outputs;
    FB_TRY(fb_bench_fetch(bench, FB_PASS_FORWARD, &outputs));
    FB_TRY(fb_bench_fetch(bench, FB_PASS_BACKWARD, &outputs));
    FB_TRY(fb_check_compare(bench, &outputs, &judgement));
    FB_TRY(store_judgement(bench, &judgement, findings));
    FB_TRY(fb_check_hash(bench, &findings->judged));
    FB_TRY(fb_text_set(&bench->record.remark, "%s", judgement.remark));
    return fb_text_set(&bench->record.checked, "%s", fb_judge_coverage(bench->shared->judge));
}

/* The reference's o and lse in the place of the variant's. */
static enum fb_status put_reference(struct fb_bench *bench)
{
    static const enum fb_buffer forward[] = {FB_BUFFER_O, FB_BUFFER_LSE};
    const struct fb_memory *memory = bench->buffers.memory;
    struct fb_buffers *from = &bench->shared->inputs;
    if (fb_device_is_host(bench->device))
        return fb_judge_forward(bench->shared->judge, &bench->buffers.args.o,
                                &bench->buffers.args.lse);
    FB_TRY(fb_judge_forward(bench->shared->judge, &from->args.o, &from->args.lse));
    for (int i = 0; i < 2; i++) {
        const struct fb_block *to = &bench->buffers.block[forward[i]];
        FB_TRY(memory->write(memory, to->data, from->block[forward[i]].data, to->bytes));
    }
    return FB_OK;
}

/* The second call, on the workspace as the first one left it. Where nothing else is saved, o and
 * lse are the reference's, so that an error of the forward cannot hide one of the backward. */
static enum fb_status judge_second_call(struct fb_bench *bench, struct fb_findings *findings)
{
    if (!bench->saved_bytes)
        FB_TRY(put_reference(bench));
    FB_TRY(fb_check_call(bench, FB_PASS_BACKWARD, findings));
    return fb_check_gradients(bench, findings,
                              bench->saved_bytes ? "second call: %s"
                                                 : "second call, on the reference's o and lse: %s");
}

/* ---- Memory -------------------------------------------------------------------------------------
 */

static void store_plan(struct fb_bench *bench)
{
    bench->record.saved_bytes = (int64_t)bench->plan.saved;
    bench->record.workspace_bytes = (int64_t)bench->plan.workspace;
    bench->record.outputs_bytes = (int64_t)bench->plan.outputs;
}

/* Memory before a case: of a device what is free, of the host what the process holds. */
struct idle {
    uint64_t device_free;
    struct fb_process_memory process;
};

static void read_idle(const struct fb_bench *bench, struct idle *idle)
{
    const struct fb_memory *memory = bench->device->memory;
    *idle = (struct idle){0};
    if (!fb_device_is_host(bench->device))
        idle->device_free = memory->available(memory);
    else if (fb_process_peak_reset(0) != FB_OK || fb_process_memory(0, &idle->process) != FB_OK)
        idle->process = (struct fb_process_memory){0, 0};
    fb_status_clear();
}

/* What has gone between then and now, library allocations included. Where /proc does not offer the
 * mark, the column stays empty. */
static void store_peak(struct fb_bench *bench, const struct idle *idle)
{
    const struct fb_memory *memory = bench->device->memory;
    uint64_t resident = idle->process.resident;
    struct fb_process_memory now;
    bench->record.state_bytes = (int64_t)bench->host.own_peak;
    uint64_t left = idle->device_free ? memory->available(memory) : 0;
    if (idle->device_free)
        bench->record.peak_bytes =
            left < idle->device_free ? (int64_t)(idle->device_free - left) : 0;
    else if (resident && fb_process_memory(0, &now) == FB_OK && now.peak >= resident)
        bench->record.peak_bytes = (int64_t)(now.peak - resident);
    fb_status_clear();
}

/* ---- Stage 1 ------------------------------------------------------------------------------------
 */

static enum fb_status store_verdicts(struct fb_bench *bench, struct fb_findings *findings)
{
    struct fb_record *record = &bench->record;
    if (findings->reason[0] && findings->declared == FB_VERDICT_PASS)
        findings->declared = FB_VERDICT_FAIL; /* a guard, an input, an unwritten element */
    record->outcome = outcome_of(findings->declared);
    record->verdict_standard = outcome_of(findings->standard);
    record->verdict_bands = findings->bands_hold ? FB_OUTCOME_PASS : FB_OUTCOME_FAIL;
    return fb_text_set(&record->reason, "%s", findings->reason);
}

static enum fb_status run_check(struct fb_bench *bench, struct fb_findings *findings)
{
    struct idle idle;
    bool held[3];
    read_idle(bench, &idle);
    FB_TRY(fb_bench_open(bench));
    FB_TRY(fb_check_fresh_call(bench, FB_PASS_FORWARD, findings));
    FB_TRY(fb_check_fresh_call(bench, FB_PASS_BACKWARD, findings));
    store_peak(bench, &idle);
    if (bench->torn) {
        findings->declared = findings->standard = FB_VERDICT_FAIL;
        findings->bands_hold = false; /* nothing is compared any more */
        return store_verdicts(bench, findings);
    }
    FB_TRY(judge(bench, findings));
    FB_TRY(judge_second_call(bench, findings));
    FB_TRY(fb_check_determinism(bench, findings, held));
    FB_TRY(fb_check_replay(bench, findings, held));
    return store_verdicts(bench, findings);
}

enum fb_status fb_bench_check(struct fb_bench *bench, bool *timeable)
{
    struct fb_findings findings = {.bands_hold = true};
    store_plan(bench);
    *timeable = true;
    bench->record.outcome = FB_OUTCOME_UNJUDGED;
    if (fb_variant_is_idle(bench->variant)) /* nothing is computed, so there is nothing to judge */
        return FB_OK;
    FB_TRY(run_check(bench, &findings));
    if (!bench->torn)
        fb_bench_close(bench);
    *timeable = !bench->torn &&
                (findings.declared != FB_VERDICT_FAIL || bench->shared->measure->time_failed);
    return FB_OK;
}
