/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems as text: every item, every refusal, the round trip, and the pairs against brute force.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/problem.h"
#include "core/status.h"
#include "tests/tap.h"

static void check_canonical(const char *text, const char *expected)
{
    struct fb_problem problem;
    fb_status_clear();
    enum fb_status status = fb_problem_parse(&problem, text);
    char *printed = status == FB_OK ? fb_problem_print(&problem) : NULL;
    if (!tap_ok(printed && !strcmp(printed, expected), "'%s' reads as it should", text))
        tap_note("got '%s' %s", printed ? printed : "", fb_status_message());
    free(printed);
    fb_problem_free(&problem);
}

static void check_refused(const char *text, const char *part)
{
    struct fb_problem problem;
    fb_status_clear();
    enum fb_status status = fb_problem_parse(&problem, text);
    const char *message = fb_status_message();
    if (!tap_ok(status == FB_USAGE && strstr(message, part) && !strchr(message, '\n'),
                "'%s' is refused with '%s'", text, part))
        tap_note("got %d '%s'", (int)status, message);
    fb_problem_free(&problem);
    fb_status_clear();
}

#define SMALL "b=1,h=1,hk=1,nq=4,nk=4,d=8,dv=8,dtype=fp32,mask=full"

static void test_items(void)
{
    check_canonical("n=4,d=8", SMALL);
    check_canonical("d=8,n=4", SMALL);
    check_canonical("b=2,h=8,n=1024,d=64,causal,dtype=bf16",
                    "b=2,h=8,hk=8,nq=1024,nk=1024,d=64,dv=64,dtype=bf16,mask=causal");
    check_canonical("h=6,hk=2,nq=3,nk=5,d=8,dv=16,dtype=fp16,mask=causal-topleft",
                    "b=1,h=6,hk=2,nq=3,nk=5,d=8,dv=16,dtype=fp16,mask=causal-topleft");
    check_canonical("b=0,n=0,d=256", "b=0,h=1,hk=1,nq=0,nk=0,d=256,dv=256,dtype=fp32,mask=full");
    check_canonical("n=4,d=8,window=-1:-1", SMALL);
    check_canonical("n=4,d=8,window=256:0", SMALL ",window=256:0");
    check_canonical("n=4,d=64,scale=0.125",
                    "b=1,h=1,hk=1,nq=4,nk=4,d=64,dv=64,dtype=fp32,mask=full");
    check_canonical("n=4,d=8,scale=0", SMALL ",scale=0");
    check_canonical("n=4,d=8,scale=-0.1", SMALL ",scale=-0.10000000000000001");
    check_canonical("n=4,d=8,softcap=50", SMALL ",softcap=50");
    check_canonical("n=4,d=8,alibi=auto", SMALL ",alibi=auto");
    check_canonical("alibi=0.5:0.25,h=2,n=4,d=8",
                    "b=1,h=2,hk=2,nq=4,nk=4,d=8,dv=8,dtype=fp32,mask=full,alibi=0.5:0.25");
    check_canonical("n=4,d=8,bias=head", SMALL ",bias=head");
    check_canonical("n=4,d=8,dropout=0.25@18446744073709551615:7",
                    SMALL ",dropout=0.25@18446744073709551615:7");
    check_canonical("n=4,d=8,dropout=0@5:7", SMALL);
    check_canonical("n=4,d=8,sink,dlse", SMALL ",sink,dlse");
    check_canonical("qlens=0+1+0+1,klens=0+3+0+5,h=9,hk=3,d=64",
                    "b=4,h=9,hk=3,nq=1,nk=5,d=64,dv=64,dtype=fp32,mask=full,"
                    "qlens=0+1+0+1,klens=0+3+0+5");
    check_canonical("qlens=3+0+5,d=8", "b=3,h=1,hk=1,nq=5,nk=5,d=8,dv=8,dtype=fp32,mask=full,"
                                       "qlens=3+0+5,klens=3+0+5");
    check_canonical("qlens=3+0+5,nk=6,d=8,b=3",
                    "b=3,h=1,hk=1,nq=5,nk=6,d=8,dv=8,dtype=fp32,mask=full,qlens=3+0+5");
    check_canonical("n=4,d=8,layout=packed-qkv", SMALL ",layout=packed-qkv");
    check_canonical("n=1073741823,d=8",
                    "b=1,h=1,hk=1,nq=1073741823,nk=1073741823,d=8,dv=8,dtype=fp32,mask=full");
}

static void test_refusals(void)
{
    check_refused("n=4,d=0", "d=0 is outside 1..256");
    check_refused("n=4,d=257", "d=257 is outside 1..256");
    check_refused("n=4,d=-1", "d=-1 is outside 1..256");
    check_refused("n=4,d=64x", "d=64x is not a whole number in 1..256");
    check_refused("n=4,d=", "d= is not a whole number in 1..256");
    check_refused("n=4,d=+8", "d=+8 is not a whole number");
    check_refused("n=4, d=8", "' d=8' is not an item");
    check_refused("n=4,d=1e2", "d=1e2 is not a whole number");
    check_refused("n=99999999999999999999,d=8", "n=99999999999999999999 is not a whole number");
    check_refused("n=2147483648,d=8", "n=2147483648 is outside 0..2147483647");
    check_refused("b=-1,n=4,d=8", "b=-1 is outside 0..");
    check_refused("h=0,n=4,d=8", "h=0 is outside 1..");
    check_refused("n=4,d=8,dv=300", "dv=300 is outside 1..256");
    check_refused("n=4,d=8,dtype=fp8", "dtype=fp8 is not one of fp32, bf16, fp16");
    check_refused("n=4,d=8,mask=upper", "mask=upper is not one of full, causal, causal-topleft");
    check_refused("n=4,d=8,bias=none", "bias=none is not one of full, head, batch, all");
    check_refused("n=4,d=8,layout=x", "layout=x is not one of bhnd, bnhd, packed-qkv");
    check_refused("h=8,hk=3,n=4,d=8", "h=8 is not a multiple of hk=3");
    check_refused("h=2,hk=4,n=4,d=8", "h=2 is not a multiple of hk=4");
    check_refused("n=4,d=8,foo=1", "'foo=1' is not an item of a problem; allowed: b= h= hk=");
    check_refused("n=4,d=8,causal=1", "'causal=1' is not an item");
    check_refused("n=4,d=8,mask", "'mask' is not an item");
    check_refused("n=4,d=8,", "'' is not an item");
    check_refused("n=4,d=8,d=8", "d is given twice");
    check_refused("n=4,nq=4,d=8", "nq is given twice");
    check_refused("n=4,d=8,causal,mask=full", "mask is given twice");
    check_refused("d=8", "nq is missing");
    check_refused("nq=4,d=8", "nk is missing");
    check_refused("n=4", "d is missing");
    check_refused("", "nq is missing");
    check_refused("n=4,d=8,window=3", "window=3 is not LEFT:RIGHT");
    check_refused("n=4,d=8,window=-1:-3", "window right=-3 is outside -1..");
    check_refused("n=4,d=8,scale=nan", "scale=nan is not a finite number");
    check_refused("n=4,d=8,scale=1e999", "scale=1e999 is not a finite number");
    check_refused("n=4,d=8,scale=0.5x", "scale=0.5x is not a finite number");
    check_refused("n=4,d=8,softcap=-1", "softcap=-1 is not 0 (off) or in 1.2e-38");
    check_refused("n=4,d=8,softcap=1e-39", "softcap=1e-39 is not 0 (off) or in 1.2e-38");
    check_refused("n=4,d=8,softcap=3.5e38", "softcap=3.5e38 is beyond fp32");
    check_refused("n=4,d=8,scale=-1e39", "scale=-1e39 is beyond fp32");
    check_refused("n=4,d=8,h=2,alibi=1:1e300", "alibi slope=1e300 is beyond fp32");
    check_refused("n=4,d=8,alibi=0.5:0.25", "alibi= gives 2 slopes for h=1");
    check_refused("h=2,n=4,d=8,alibi=0.5:x", "alibi slope=x is not a finite number");
    check_refused("n=4,d=8,dropout=0.5", "dropout=0.5 is not PROBABILITY@SEED:OFFSET");
    check_refused("n=4,d=8,dropout=1@1:0", "dropout=1 is outside 0..1");
    check_refused("n=4,d=8,dropout=0.5@-1:0", "dropout seed '-1'");
    check_refused("n=4,d=8,dropout=0.5@1:18446744073709551616", "not a whole number in 0..2^64-1");
    check_refused("b=2,qlens=3+0+5,d=8", "qlens gives 3 lengths, b is 2");
    check_refused("qlens=3+0,klens=1+2+3,d=8", "klens gives 3 lengths, b is 2");
    check_refused("qlens=3+x,d=8", "qlens=x is not a whole number");
    check_refused("qlens=3+5,nq=4,d=8", "nq=4 is not the longest of the packed lengths, 5");
    check_refused("nq=4,nk=5,d=8,layout=packed-qkv", "layout=packed-qkv needs nq = nk");
    check_refused("n=2147483647,d=8", "larger than 64-bit sizes");
    check_refused("b=2147483647,h=1048576,nq=1,nk=2147483647,d=8", "larger than 64-bit sizes");
}

static void test_merge(void)
{
    struct fb_problem problem;
    fb_problem_init(&problem);
    bool merged = fb_problem_merge(&problem, "b=2,h=4,n=16,d=8,alibi=auto") == FB_OK &&
                  fb_problem_merge(&problem, "nk=32,causal,alibi=1:2:3:4") == FB_OK &&
                  fb_problem_merge(&problem, "") == FB_OK && fb_problem_finish(&problem) == FB_OK;
    tap_ok(merged && problem.b == 2 && problem.nq == 16 && problem.nk == 32 &&
               problem.mask == FB_MASK_CAUSAL && problem.alibi_slopes[3] == 4,
           "a later text goes on top of an earlier one");
    tap_ok(fb_problem_merge(&problem, "h=8") == FB_USAGE,
           "h is not changed under a list of slopes");
    fb_status_clear();
    fb_problem_free(&problem);
    fb_problem_free(&problem);
    tap_ok(!problem.alibi_slopes, "freeing twice is harmless");
}

/* ---- Random problems ------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;

static int64_t random_below(int64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)bound);
}

static double random_real(void)
{
    return ldexp((double)random_below(INT64_C(1) << 53), (int)random_below(150) - 120);
}

static void random_lens(struct fb_problem *p)
{
    if (random_below(3) || !p->b)
        return;
    p->qlens = malloc((size_t)p->b * sizeof *p->qlens);
    p->klens = malloc((size_t)p->b * sizeof *p->klens);
    p->nq = p->nk = -1;
    for (int64_t s = 0; s < p->b; s++) {
        p->qlens[s] = random_below(40);
        p->klens[s] = random_below(40);
    }
    if (random_below(3) == 0) {
        free(p->klens);
        p->klens = NULL;
        p->nk = random_below(40);
    }
}

static void random_terms(struct fb_problem *p)
{
    if (random_below(2))
        p->scale = random_below(4) ? random_real() : -random_real();
    p->softcap = random_below(3) ? 0 : random_real();
    p->bias = (enum fb_bias)random_below(5);
    p->sink = (int)random_below(2);
    p->dlse = (int)random_below(2);
    if (random_below(3) == 0) {
        p->dropout = (double)random_below(1000) / 1000;
        p->dropout_seed = p->dropout > 0 ? state : 0;
        p->dropout_offset = p->dropout > 0 ? state * 31 : 0;
    }
    p->alibi = (enum fb_alibi)random_below(3);
    if (p->alibi == FB_ALIBI_LIST) {
        p->alibi_slopes = malloc((size_t)p->h * sizeof *p->alibi_slopes);
        for (int64_t i = 0; i < p->h; i++)
            p->alibi_slopes[i] = random_real();
    }
}

static void random_problem(struct fb_problem *p)
{
    fb_problem_init(p);
    p->b = random_below(6);
    p->hk = 1 + random_below(4);
    p->h = p->hk * (1 + random_below(4));
    p->nq = random_below(60);
    p->nk = random_below(60);
    p->d = 1 + random_below(256);
    p->dv = random_below(2) ? 1 + random_below(256) : 0;
    p->dtype = (enum fb_dtype)random_below(3);
    p->mask = (enum fb_mask)random_below(3);
    if (random_below(2)) {
        p->window_left = random_below(30) - 1;
        p->window_right = random_below(30) - 1;
    }
    p->layout = (enum fb_layout)(random_below(3) + (random_below(3) ? 0 : 1));
    if (p->layout == FB_LAYOUT_PACKED_QKV)
        p->layout = FB_LAYOUT_EXPANDED_DOUT;
    random_lens(p);
    random_terms(p);
}

static int round_trip(const struct fb_problem *p)
{
    struct fb_problem again, copy;
    char *text = fb_problem_print(p), *second = NULL;
    int good = fb_problem_parse(&again, text) == FB_OK && fb_problem_equal(p, &again);
    if (good) {
        second = fb_problem_print(&again);
        good = !strcmp(text, second) && fb_problem_copy(&copy, &again) == FB_OK &&
               fb_problem_equal(&copy, p);
        fb_problem_free(&copy);
    }
    if (!good)
        tap_note("'%s' came back as '%s' %s", text, second ? second : "", fb_status_message());
    free(text);
    free(second);
    fb_problem_free(&again);
    return good;
}

/* Visible pairs by asking of each pair whether the definition lets it through. */
static int64_t count_pairs(const struct fb_problem *p)
{
    int64_t pairs = 0;
    for (int64_t s = 0; s < p->b; s++) {
        int64_t nq = p->qlens ? p->qlens[s] : p->nq, nk = p->klens ? p->klens[s] : p->nk;
        for (int64_t i = 0; i < nq; i++)
            for (int64_t j = 0; j < nk; j++) {
                int64_t away = j - (i + nk - nq);
                pairs += !(p->mask == FB_MASK_CAUSAL && away > 0) &&
                         !(p->mask == FB_MASK_CAUSAL_TOPLEFT && j > i) &&
                         !(p->window_left >= 0 && -away > p->window_left) &&
                         !(p->window_right >= 0 && away > p->window_right);
            }
    }
    return pairs * p->h;
}

static int64_t count_rows(const int64_t *lens, int64_t b, int64_t n)
{
    int64_t rows = 0;
    for (int64_t s = 0; s < b; s++)
        rows += lens ? lens[s] : n;
    return rows;
}

static void test_random(void)
{
    enum { PROBLEMS = 5000 };
    int round = 0, pairs = 0, rows = 0, different = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        struct fb_problem p, other;
        random_problem(&p);
        if (fb_problem_finish(&p) != FB_OK) {
            tap_note("%s", fb_status_message());
            fb_status_clear();
            fb_problem_free(&p);
            continue;
        }
        round += round_trip(&p);
        pairs += fb_problem_pairs(&p) == count_pairs(&p);
        rows += fb_problem_rows_q(&p) == count_rows(p.qlens, p.b, p.nq) &&
                fb_problem_rows_k(&p) == count_rows(p.klens, p.b, p.nk);
        fb_problem_copy(&other, &p);
        other.scale = nextafter(other.scale, INFINITY);
        different += !fb_problem_equal(&p, &other);
        fb_problem_free(&other);
        fb_problem_free(&p);
    }
    tap_ok(round == PROBLEMS, "parse(print(p)) == p for %d of %d random problems", round, PROBLEMS);
    tap_ok(pairs == PROBLEMS, "pairs agree with brute force for %d of %d", pairs, PROBLEMS);
    tap_ok(rows == PROBLEMS, "rows agree with a plain sum for %d of %d", rows, PROBLEMS);
    tap_ok(different == PROBLEMS, "a scale off by one ulp is another problem");
}

static void check_pairs(const char *text, int64_t expected)
{
    struct fb_problem p;
    bool parsed = fb_problem_parse(&p, text) == FB_OK;
    int64_t pairs = parsed ? fb_problem_pairs(&p) : -1;
    tap_ok(pairs == expected, "%s has %" PRId64 " pairs", text, expected);
    fb_problem_free(&p);
}

static void test_known_pairs(void)
{
    check_pairs("b=2,h=3,n=128,d=8", INT64_C(6) * 128 * 128);
    check_pairs("b=2,h=3,n=128,d=8,causal", INT64_C(6) * 128 * 129 / 2);
    check_pairs("nq=256,nk=3,d=8,causal", 1 + 2 + 3);
    check_pairs("nq=2,nk=5,d=8,causal", 4 + 5);
    check_pairs("nq=2,nk=5,d=8,mask=causal-topleft", 1 + 2);
    check_pairs("n=0,d=8", 0);
    check_pairs("b=1,h=1000,n=131072,d=8,causal", INT64_C(1000) * 131072 * 131073 / 2);
}

static void test_locale(void)
{
    struct fb_problem p;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "de_DE")) {
        tap_skip("no locale with a decimal comma here");
        return;
    }
    char *text = fb_problem_parse(&p, "n=4,d=8,scale=0.25") == FB_OK ? fb_problem_print(&p) : NULL;
    tap_ok(text && !strcmp(text, SMALL ",scale=0.25"), "a decimal comma locale changes nothing");
    free(text);
    fb_problem_free(&p);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    test_items();
    test_refusals();
    test_merge();
    test_random();
    test_known_pairs();
    test_locale();
    return tap_done();
}
