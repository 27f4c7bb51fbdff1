/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every CPU variant with everything a problem may have beside q, k and v: softcap, ALiBi, bias,
 * dropout, sink, dlse, packed lengths, layouts, scales, alone and together, judged by the reference
 * with its bound. All gradients are judged, those of bias and sink too.
 */
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "measure/devices.h"
#include "tests/cpu_case.h"
#include "tests/tap.h"
#include "tests/term_case.h"

static const char *const dtypes[] = {"fp32", "bf16", "fp16"};

/* Shapes that have rows off the tiles, groups, dv != d; then packed ones with empty and one-token
 * sequences on either side, and one that a packed qkv can hold. */
static const char *const shapes[] = {
    "b=2,h=4,hk=2,nq=65,nk=129,d=40,dv=24",
    "b=3,h=2,nq=70,nk=33,d=64",
    "h=4,hk=1,qlens=0+1+70+3+0,klens=5+0+130+1+0,d=33",
    "h=2,qlens=64+1+0+65,klens=64+1+0+65,d=16",
};

static const char *const terms[] = {
    "softcap=15",
    "softcap=0.5,causal",
    "alibi=auto,causal",
    "bias=full",
    "bias=head,causal",
    "bias=batch,window=20:5",
    "bias=all",
    "dropout=0.3@7:3",
    "dropout=0.9@18446744073709551615:4294967296,causal",
    "sink",
    "sink,causal",
    "dlse,mask=causal-topleft",
    "scale=0,sink,dlse",
    "scale=-0.3,softcap=2",
    "window=17:0,dropout=0.1@1:0",
    "window=-1:9,alibi=auto,sink",
    "layout=bnhd,bias=head,sink",
    "layout=expanded-dout,softcap=3,dlse",
    "causal,softcap=20,alibi=auto,bias=head,dropout=0.1@7:3,sink,dlse",
    "window=30:10,softcap=2,alibi=auto,bias=all,dropout=0.5@3:1,sink,dlse,layout=bnhd",
};

enum { MOST = 16 };

static int variant_count;
static const struct fb_variant *variants[MOST];

static void list_variants(void)
{
    for (int t = 0; cpu_case_tables[t]; t++)
        for (int i = 0; cpu_case_tables[t][i]; i++)
            variants[variant_count++] = cpu_case_tables[t][i];
}

/* Counts in `bad`, a place a variant. */
static void judge_problem(const char *problem, const char *numerics, const char *recipe,
                          int bad[MOST])
{
    struct term_case c;
    if (!term_case_init(&c, problem, numerics, recipe) || !term_case_judge(&c)) {
        tap_ok(false, "no case for %s", problem);
        return;
    }
    for (int v = 0; v < variant_count; v++)
        if (!fb_variant_why_not(variants[v], &c.problem, &c.numerics) &&
            !term_case_passes(&c, variants[v], 3)) {
            tap_note("%s: %s %s %s", variants[v]->name, problem, numerics, recipe);
            bad[v]++;
        }
    term_case_free(&c);
}

static void report(const int bad[MOST], const char *what)
{
    for (int v = 0; v < variant_count; v++)
        tap_ok(!bad[v], "%s: %s (%d off)", variants[v]->name, what, bad[v]);
}

/* All shapes with all terms; the dtype goes round. */
static void test_terms(void)
{
    int bad[MOST] = {0}, at = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof terms / sizeof *terms; t++, at++) {
            char problem[256];
            snprintf(problem, sizeof problem, "%s,%s,dtype=%s", shapes[s], terms[t],
                     dtypes[at % 3]);
            judge_problem(problem, "", "randn@1", bad);
        }
    report(bad, "every term on every shape");
}

/* Slices of one buffer, with and without lengths. */
static void test_packed_qkv(void)
{
    int bad[MOST] = {0};
    judge_problem("b=2,h=4,hk=2,n=100,d=40,layout=packed-qkv,causal,dtype=bf16", "", "randn@1",
                  bad);
    judge_problem("h=2,qlens=64+1+0+65,klens=64+1+0+65,d=16,layout=packed-qkv,sink", "", "randn@1",
                  bad);
    report(bad, "q, k and v as slices of one buffer");
}

/* Terms with declared numerics: what is rounded is what the second GEMM gets, delta included. */
static void test_numerics(void)
{
    static const char *const numerics[] = {"delta=recomputed", "delta=bf16",       "lse=bf16",
                                           "ps=fp32",          "dkv=bf16,dq=bf16", "round=row"};
    int bad[MOST] = {0};
    for (size_t n = 0; n < sizeof numerics / sizeof *numerics; n++) {
        judge_problem("b=2,h=2,nq=130,nk=150,d=32,causal,softcap=8,alibi=auto,bias=head,"
                      "dropout=0.2@5:5,sink,dlse,dtype=bf16",
                      numerics[n], "randn@1", bad);
        judge_problem("h=2,qlens=0+70+1,klens=3+90+1,d=32,dropout=0.2@5:5,sink,dlse", numerics[n],
                      "randn@1", bad);
    }
    report(bad, "terms with declared numerics");
}

/* Data that is harsher than randn. */
static void test_recipes(void)
{
    static const char *const recipes[] = {"sink:logit=10@1", "mean@1",      "deep-negative@1",
                                          "one-hot@1",       "repeat@1",    "heavy-tailed@1",
                                          "tiny@1",          "one-signed@1"};
    int bad[MOST] = {0};
    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++)
        judge_problem(r % 2 ? "b=2,h=2,n=90,d=32,softcap=30,bias=all,sink,dlse,dtype=fp16"
                            : "b=2,h=2,n=90,d=32,causal,alibi=auto,dropout=0.1@2:2,sink",
                      "", recipes[r], bad);
    report(bad, "terms on harsh data");
}

int main(void)
{
    list_variants();
    test_terms();
    test_packed_qkv();
    test_numerics();
    test_recipes();
    return tap_done();
}
