/* SPDX-License-Identifier: BSD-3-Clause
 *
 * check_determinism.c: do R runs give the same bits? Level D1 is the same call at rest, D2 the same
 * under a second load, D4 with another number of threads (D3, another batch, is check_replay.c's).
 * Equal bits mean something only where bits could have differed, so a variant that adds in any
 * order runs beside as a positive control.
 */
#include "work/check_determinism.h"

#include <string.h>

#include "core/mix.h"
#include "core/backends.h"
#include "core/registry.h"
#include "core/status.h"
#include "core/tensor.h"
#include "verify/determinism.h"
#include "measure/devices.h"

enum condition { AT_REST, LOADED, FEWER_THREADS, CONDITIONS };

enum { DQ, DK, DV, DBIAS, DSINK, GRADIENTS };

/* What is hashed, and the claims that make it a promise: dbias and dsink have none of their own,
 * and go with a claim of all three. */
static const struct {
    const char *name;
    enum fb_buffer buffer;
    unsigned claim;
} gradients[GRADIENTS] = {{"dq", FB_BUFFER_DQ, FB_DET_DQ},
                          {"dk", FB_BUFFER_DK, FB_DET_DK},
                          {"dv", FB_BUFFER_DV, FB_DET_DV},
                          {"dbias", FB_BUFFER_DBIAS, FB_DET_ALL},
                          {"dsink", FB_BUFFER_DSINK, FB_DET_ALL}};

/* The gradients of all runs, and in how many of each condition any of them differed. */
struct runs {
    struct fb_determinism seen[GRADIENTS];
    uint64_t first[GRADIENTS]; /* hashes of the first run's blocks */
    uint64_t last;             /* of all blocks of the last run together */
    int count[CONDITIONS], differing[CONDITIONS];
    bool varied[GRADIENTS]; /* at rest or under load */
    bool strays;            /* the last run is further from the first than any before it */
};

/* ---- Runs ---------------------------------------------------------------------------------------
 */

/* A quarter each under load and with fewer threads, where there are four runs or more. */
static enum condition condition_of(const struct fb_bench *bench, int run, int runs)
{
    int quarter = runs / 4;
    if (run < runs - 2 * quarter)
        return AT_REST;
    if (run < runs - quarter || bench->shared->threads < 2 ||
        !fb_backend_is_host(bench->variant->backend))
        return LOADED;
    return FEWER_THREADS;
}

/* dbias and dsink are there only where the problem has bias or sink. */
static bool is_asked(const struct fb_bench *bench, int gradient)
{
    return gradient == DBIAS   ? bench->shared->problem.bias != FB_BIAS_NONE
           : gradient == DSINK ? bench->shared->problem.sink != 0
                               : true;
}

/* Hashes each gradient where it lies, 0 for one that is not asked for; *all is of them together. */
static enum fb_status hash_gradients(const struct fb_bench *bench, uint64_t hash[GRADIENTS],
                                     uint64_t *all)
{
    *all = 0;
    for (int i = 0; i < GRADIENTS; i++) {
        hash[i] = 0;
        if (is_asked(bench, i))
            FB_TRY(fb_buffer_hash(&bench->buffers, gradients[i].buffer, &hash[i]));
        *all = fb_mix(*all, hash[i]);
    }
    return FB_OK;
}

enum fb_status fb_check_hash(const struct fb_bench *bench, uint64_t *hash)
{
    uint64_t each[GRADIENTS];
    return hash_gradients(bench, each, hash);
}

/* One run's gradients: only fetched when bits are new, and those alone are compared. */
static enum fb_status look(struct fb_bench *bench, struct runs *runs)
{
    const bool first = runs->seen[DQ].runs == 0;
    uint64_t hash[GRADIENTS];
    struct fb_args args;
    const struct fb_tensor *const tensors[] = {&args.dq, &args.dk, &args.dv, &args.dbias,
                                               &args.dsink};
    FB_TRY(hash_gradients(bench, hash, &runs->last));
    if (first)
        memcpy(runs->first, hash, sizeof hash);
    if (first || memcmp(runs->first, hash, sizeof hash))
        FB_TRY(fb_bench_fetch(bench, FB_PASS_BACKWARD, &args));
    for (int i = 0; i < GRADIENTS; i++) {
        if (!is_asked(bench, i))
            continue;
        if (!first && hash[i] == runs->first[i])
            fb_determinism_add_same(&runs->seen[i]);
        else
            FB_TRY(fb_determinism_add(&runs->seen[i], tensors[i]));
    }
    return FB_OK;
}

static enum fb_status add_run(struct fb_bench *bench, struct runs *runs, enum condition condition)
{
    struct fb_determinism before[GRADIENTS];
    bool differs = false;
    memcpy(before, runs->seen, sizeof before);
    FB_TRY(look(bench, runs));
    runs->strays = before[DQ].runs == 0;
    for (int i = 0; i < GRADIENTS; i++) {
        bool changed = runs->seen[i].differing > before[i].differing;
        runs->strays |=
            runs->seen[i].rel_l2 > before[i].rel_l2 || runs->seen[i].max_ulp > before[i].max_ulp;
        runs->varied[i] |= changed && condition != FEWER_THREADS;
        differs |= changed;
    }
    runs->count[condition]++;
    runs->differing[condition] += differs;
    return FB_OK;
}

/* 1, 2, 4 ... threads in turn, never as many as there are. */
static int fewer_threads(int threads, int run)
{
    int choices = 0;
    while (1 << choices < threads)
        choices++;
    return choices ? 1 << run % choices : 1;
}

static enum fb_status run_one(struct fb_bench *bench, struct fb_findings *findings,
                              struct runs *runs, enum condition condition, int run)
{
    struct fb_rival *rival = NULL;
    int threads = bench->host.ctx.threads;
    if (condition == LOADED)
        FB_TRY(bench->device->rival(bench->device, &rival));
    if (condition == FEWER_THREADS)
        bench->host.ctx.threads = fewer_threads(threads, run);
    enum fb_status status = fb_check_call(bench, FB_PASS_BACKWARD, findings);
    bench->host.ctx.threads = threads;
    fb_rival_stop(rival);
    FB_TRY(status);
    return add_run(bench, runs, condition);
}

/* Judged are the first run and each that strays further than any before, by norm or in units in the
 * last place: a gross error that comes now and then is among them, and where all runs differ a
 * little they are few. What has been judged is not judged again. */
static enum fb_status run_all(struct fb_bench *bench, struct fb_findings *findings,
                              struct runs *runs, int count)
{
    for (int run = 0; run < count; run++) {
        FB_TRY(run_one(bench, findings, runs, condition_of(bench, run, count), run));
        if (runs->strays && runs->last != findings->judged)
            FB_TRY(fb_check_gradients(bench, findings, "a later run: %s"));
    }
    return FB_OK;
}

static void init_runs(struct runs *runs)
{
    *runs = (struct runs){.strays = false};
    for (int i = 0; i < GRADIENTS; i++)
        fb_determinism_init(&runs->seen[i]);
}

static void free_runs(struct runs *runs)
{
    for (int i = 0; i < GRADIENTS; i++)
        fb_determinism_free(&runs->seen[i]);
}

/* ---- The control --------------------------------------------------------------------------------
 */

/* The first built-in variant of the same backend that takes the case and claims no fixed order for
 * dq; NULL where there is none. */
static const struct fb_variant *find_control(const struct fb_bench *bench)
{
    const struct fb_variant *v;
    for (int i = 0; (v = fb_registry_at(i)); i++)
        if (!fb_variant_is_trap(v) && !fb_variant_is_plugin(v) && v->properties.gemms &&
            !(v->properties.deterministic & FB_DET_DQ) &&
            !strcmp(v->backend, bench->variant->backend) &&
            !fb_variant_why_not(v, &bench->shared->problem, &bench->numerics))
            return v;
    return NULL;
}

static int64_t key_tiles_of(const struct fb_bench *bench, const struct fb_variant *variant)
{
    struct fb_description what = {0};
    if (variant->describe)
        variant->describe(variant, &bench->shared->problem, &bench->numerics, &what);
    return what.bn > 0 ? (bench->shared->problem.nk + what.bn - 1) / what.bn : 1;
}

/* Runs the control on the inputs of the case, under the same conditions and as often, or until it
 * has varied. */
static enum fb_status run_control(struct fb_bench *bench, const struct fb_variant *variant,
                                  bool *varied)
{
    struct fb_findings ignored = {.bands_hold = true};
    struct fb_bench control = {.shared = bench->shared,
                               .index = bench->index,
                               .variant = variant,
                               .numerics = bench->numerics};
    struct runs runs;
    enum fb_status status;
    init_runs(&runs);
    fb_record_init(&control.record);
    FB_TRY_OUT(fb_bench_ask(&control));
    FB_TRY_OUT(fb_bench_open(&control));
    FB_TRY_OUT(fb_check_call(&control, FB_PASS_FORWARD, &ignored));
    const int count = bench->shared->measure->det_runs;
    for (int run = 0; run < count && !*varied; run++) {
        FB_TRY_OUT(run_one(&control, &ignored, &runs, condition_of(&control, run, count), run));
        *varied = runs.seen[DQ].differing > 0;
    }
out:
    fb_bench_close(&control);
    fb_record_free(&control.record);
    free_runs(&runs);
    return status;
}

/* What the control shows. With two key tiles its order makes no difference, so it is not run; one
 * that cannot run is none. */
static enum fb_control ask_control(struct fb_bench *bench)
{
    const struct fb_variant *variant = find_control(bench);
    const int64_t tiles = variant ? key_tiles_of(bench, variant) : 0;
    const int64_t elements = fb_tensor_elements(&bench->buffers.args.dq);
    bool varied = false;
    if (!variant)
        return FB_CONTROL_NONE;
    if (tiles < 3)
        return FB_CONTROL_TOO_SMALL;
    if (run_control(bench, variant, &varied) != FB_OK) {
        fb_status_clear();
        return FB_CONTROL_NONE;
    }
    if (varied)
        return FB_CONTROL_VARIED;
    return fb_determinism_meaningful(bench->shared->problem.dtype, elements, tiles)
               ? FB_CONTROL_STILL
               : FB_CONTROL_TOO_SMALL;
}

/* Once a group, since all its cases have the same inputs. */
static enum fb_control control_of(struct fb_bench *bench)
{
    if (!bench->shared->control_known)
        bench->shared->control = ask_control(bench);
    bench->shared->control_known = true;
    return bench->shared->control;
}

/* ---- Columns ------------------------------------------------------------------------------------
 */

static enum fb_status store_tensors(struct fb_bench *bench, const struct runs *runs, bool tested)
{
    for (int i = 0; i < GRADIENTS; i++) {
        const struct fb_determinism *d = &runs->seen[i];
        struct fb_tensor_result *to = fb_record_tensor(&bench->record, gradients[i].name);
        if (!is_asked(bench, i))
            continue;
        FB_TRY(fb_text_set(&to->hash, "%016llx", (unsigned long long)d->hash));
        if (!tested)
            continue;
        to->deterministic = !runs->varied[i];
        to->run_changed = d->elements ? (double)d->changed / (double)d->elements : 0;
        to->run_ulp = d->max_ulp;
        to->run_rel_l2 = d->rel_l2;
    }
    return FB_OK;
}

/* The levels that held, FB_LEVEL_*: each but D1 needs runs of its kind, and none holds without D1.
 */
static int level_of(const struct runs *runs)
{
    bool rest = !runs->differing[AT_REST], load = !runs->differing[LOADED];
    bool threads = runs->count[FEWER_THREADS] && !runs->differing[FEWER_THREADS];
    if (!rest)
        return 0;
    if (!load)
        return FB_LEVEL_D1;
    return FB_LEVEL_D1 | (runs->count[LOADED] ? FB_LEVEL_D2 : 0) | (threads ? FB_LEVEL_D4 : 0);
}

static void store_runs(struct fb_bench *bench, const struct runs *runs)
{
    struct fb_record *record = &bench->record;
    int differing = 0;
    for (int c = AT_REST; c < CONDITIONS; c++)
        differing += runs->differing[c];
    record->det_runs = runs->seen[DQ].runs;
    record->det_equal = runs->seen[DQ].runs - differing;
    record->det_control = (int)control_of(bench);
    record->det_level = level_of(runs);
}

static enum fb_status check_claims(struct fb_bench *bench, const struct runs *runs,
                                   struct fb_findings *findings)
{
    for (int i = 0; i < GRADIENTS; i++) {
        if (~bench->variant->properties.deterministic & gradients[i].claim)
            continue;
        if (runs->varied[i]) {
            fb_findings_note(findings, "%s is declared deterministic and changed between runs",
                             gradients[i].name);
            findings->declared = FB_VERDICT_FAIL;
        } else if (runs->seen[i].differing && !*fb_text(bench->record.remark)) {
            FB_TRY(fb_text_set(&bench->record.remark, "%s changes with the number of threads",
                               gradients[i].name));
        }
    }
    return FB_OK;
}

enum fb_status fb_check_determinism(struct fb_bench *bench, struct fb_findings *findings,
                                    bool held[3])
{
    bool tested = bench->shared->measure->what & FB_WHAT_DETERMINISM;
    struct runs runs;
    enum fb_status status;
    held[0] = held[1] = held[2] = false;
    /* The hash alone is not worth fetching the gradients of a device for. */
    if (!tested && !fb_device_is_host(bench->device))
        return FB_OK;
    init_runs(&runs);
    /* The second call may have put the reference's o and lse in their place. */
    FB_TRY_OUT(fb_check_call(bench, FB_PASS_FORWARD, findings));
    FB_TRY_OUT(run_all(bench, findings, &runs, tested ? bench->shared->measure->det_runs : 1));
    FB_TRY_OUT(store_tensors(bench, &runs, tested));
    for (int i = DQ; i <= DV; i++)
        held[i] = tested && !runs.varied[i];
    if (tested)
        store_runs(bench, &runs);
    FB_TRY_OUT(check_claims(bench, &runs, findings));
out:
    free_runs(&runs);
    return status;
}
