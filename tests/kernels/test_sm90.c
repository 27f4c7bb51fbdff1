/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sm90 variants without a device: what they refuse, by name, and what they ask memory for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "core/numerics.h"
#include "core/offer.h"
#include "core/problem.h"
#include "core/registry.h"
#include "tests/tap.h"

#ifndef HAVE_CUDA

int main(void)
{
    tap_skip("sm90: built without CUDA");
    return tap_done();
}

#else

static const char *const names[] = {"sm90-atomic", "sm90-ordered", "sm90-split"};

/* Does the build have this head size? `make distcheck` has one. */
static bool is_built(int d)
{
    bool found = false;
#define SAME(size) found |= size == d;
    FB_FOR_EACH_HEAD_DIM(SAME)
#undef SAME
    return found;
}

static const struct fb_variant *variant_of(const char *name)
{
    return fb_registry_find(name);
}

static void test_refusal(const char *name, const char *text, const char *numerics_text,
                         const char *reason)
{
    struct fb_problem problem;
    struct fb_numerics numerics = fb_numerics_standard;
    const char *why = NULL;
    bool parsed = fb_problem_parse(&problem, text) == FB_OK;

    if (parsed && numerics_text)
        parsed = fb_numerics_parse(&numerics, numerics_text) == FB_OK;
    if (parsed)
        why = fb_offer_why_not(variant_of(name), &problem, &numerics);
    tap_ok(parsed && why && !strncmp(why, reason, strlen(reason)), "%s, %s %s: %s", name, text,
           numerics_text ? numerics_text : "", why ? why : "taken");
    if (parsed)
        fb_problem_free(&problem);
}

static void test_refusals(const char *name)
{
    static const struct {
        const char *problem, *numerics, *reason;
    } cases[] = {
        {"n=64,d=128,dtype=fp32", NULL, "dtype"},
        {"n=64,d=96,dtype=bf16", NULL, "d:"},
        {"n=64,d=128,dv=64,dtype=bf16", NULL, "dv"},
        {"n=64,d=128,dtype=bf16,window=4:4", NULL, "window"},
        {"n=64,d=128,dtype=bf16,softcap=30", NULL, "softcap"},
        {"n=64,d=128,dtype=bf16,alibi=auto", NULL, "alibi"},
        {"n=64,d=128,dtype=bf16,bias=full", NULL, "bias"},
        {"n=64,d=128,dtype=bf16,dropout=0.1@1:0", NULL, "dropout"},
        {"n=64,d=128,dtype=bf16,sink", NULL, "sink"},
        {"n=64,d=128,dtype=bf16,dlse", NULL, "dlse"},
        {"b=2,qlens=3+5,klens=3+5,d=128,dtype=bf16", NULL, "qlens"},
        {"n=64,d=128,dtype=bf16,scale=0", NULL, "scale"},
        {"n=64,d=128,dtype=bf16,scale=-1", NULL, "scale"},
        {"n=64,d=128,dtype=bf16,scale=1e-50", NULL, "scale"}, /* 0 in fp32 */
        {"n=64,d=128,dtype=bf16,layout=expanded-dout", NULL, "layout"},
        {"b=40000,n=64,d=128,dtype=bf16", NULL, "b, h"},
        {"b=1000,h=1000,n=1000000,d=128,dtype=bf16", NULL, "n:"},
        {"n=64,d=128,dtype=bf16", "dq=bf16", "dq"},
        {"n=64,d=128,dtype=bf16", "dkv=bf16-kahan", "dkv"},
        {"n=64,d=128,dtype=bf16", "ps=fp32", "ps"},
        {"n=64,d=128,dtype=bf16", "delta=recomputed", "delta"},
        {"n=64,d=128,dtype=bf16", "lse=bf16", "lse"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_refusal(name, cases[i].problem, cases[i].numerics, cases[i].reason);
}

static size_t workspace_of(const char *name, const char *text)
{
    struct fb_problem problem;
    size_t saved = 1, workspace = 0;

    if (fb_problem_parse(&problem, text) != FB_OK)
        return 0;
    const struct fb_variant *variant = variant_of(name);
    if (variant->sizes(variant, &problem, &fb_numerics_standard, &saved, &workspace) != FB_OK)
        workspace = 0;
    tap_ok(saved == 0, "%s saves nothing beside o and lse", name);
    fb_problem_free(&problem);
    return workspace;
}

/* 8 heads of 1,280 rows are whole tiles of 64, 80 and 128 rows: no padding to count. Where dQ is
 * added to, LSE and delta stand in the memory of dq. */
static void test_workspace(void)
{
    const char *plain = "b=2,h=4,n=1280,d=128,dtype=bf16";
    const char *grouped = "b=2,h=4,hk=1,n=1280,d=128,dtype=bf16,causal";
    const size_t rows = 8 * 1280, statistics = rows * 2 * 4, dq = rows * 128 * 4;
    size_t parts = (size_t)2 * 4 * 1280 * 128 * 2 * 4; /* 4 splits of a group: dK and dV in fp32 */

    tap_ok(workspace_of("sm90-split", plain) == statistics, "split: LSE and delta");
    tap_ok(workspace_of("sm90-atomic", plain) == dq, "atomic: fp32 dQ");
    tap_ok(workspace_of("sm90-ordered", plain) == dq + rows / 80 * 8,
           "ordered: and two counters a tile of 80 rows");
    tap_ok(workspace_of("sm90-split", grouped) == statistics + parts,
           "split, one key head for four, causal: and the parts of dK and dV");
    tap_ok(workspace_of("sm90-atomic", "b=2,h=4,n=1001,d=128,dtype=bf16") == 8 * 1008 * 128 * 4,
           "atomic: the last tile of 80 rows ends with the 8 that are needed");
    tap_ok(workspace_of("sm90-split", "b=2,h=4,n=1001,d=128,dtype=bf16") == 8 * 1040 * 2 * 4,
           "split: statistics in whole tiles");
    tap_ok(workspace_of("sm90-atomic", "b=2,h=4,nq=3,nk=500,d=128,dtype=bf16") == 8 * 64 * 130 * 4,
           "atomic: three rows of dq have no room for the statistics of a tile");
    tap_ok(workspace_of("sm90-atomic", "b=2,h=4,nq=4,nk=500,d=128,dtype=bf16") == 8 * 64 * 128 * 4,
           "atomic: four have");
    tap_ok(workspace_of("sm90-atomic", "b=2,h=4,n=0,d=128,dtype=bf16") == 0, "nothing for no rows");
}

static void test_tiles(const char *name, const char *text, int64_t rows, int64_t keys)
{
    struct fb_problem problem;
    const struct fb_variant *variant = variant_of(name);
    struct fb_description what = {0};

    if (fb_problem_parse(&problem, text) != FB_OK)
        return;
    variant->describe(variant, &problem, &fb_numerics_standard, &what);
    tap_ok(what.bm == rows && what.bn == keys, "%s, %s: %s", name, text, what.text);
    fb_problem_free(&problem);
}

/* Head size 256 is the split form's alone, with 64 rows a tile of either kind. */
static void test_wide(void)
{
    const size_t rows = 8 * 1024, statistics = rows * 2 * 4;
    const size_t parts = (size_t)8 * 1024 * 256 * 2 * 4; /* 8 splits of a group: dK, dV in fp32 */

    test_refusal("sm90-atomic", "n=64,d=256,dtype=bf16", NULL, "d: offers 64, 128");
    test_refusal("sm90-ordered", "n=64,d=256,dtype=bf16", NULL, "d: offers 64, 128");
    test_refusal("sm90-split", "n=64,d=192,dtype=bf16", NULL, "d: offers 64, 128, 256");
    if (!is_built(256)) {
        test_refusal("sm90-split", "n=64,d=256,dtype=bf16", NULL, "d: this program was built");
        return;
    }
    tap_ok(workspace_of("sm90-split", "b=2,h=4,n=1001,d=256,dtype=fp16") == statistics,
           "split, d=256: LSE and delta, in tiles of 64 rows");
    tap_ok(workspace_of("sm90-split", "b=1,h=8,hk=1,n=1024,d=256,dtype=bf16,causal") ==
               statistics + parts,
           "split, d=256, one key head for eight, causal: and the parts of dK and dV");
    test_tiles("sm90-split", "n=1024,d=256,dtype=bf16", 64, 64);
    test_tiles("sm90-split", "n=1024,d=256,dtype=bf16,causal", 64, 64);
}

/* Short sequences of many heads: the fp32 dQ of one head for each of 132 CTAs, and no more. */
static void test_unit_form(void)
{
    const size_t head = (size_t)512 * 64 * 4, key_major = (size_t)512 * 512 * 128 * 4;

    tap_ok(workspace_of("sm90-atomic", "b=32,h=32,n=512,d=64,dtype=bf16") == 132 * head,
           "1,024 short heads: the dQ of 132");
    tap_ok(workspace_of("sm90-ordered", "b=16,h=32,n=1024,d=64,dtype=fp16,causal") ==
               132 * 2 * head,
           "causal ones may be twice as long");
    tap_ok(workspace_of("sm90-ordered", "b=1,h=3,n=128,d=128,dtype=bf16") == 3 * 128 * 128 * 4,
           "one key tile a head: as many CTAs as heads");
    tap_ok(workspace_of("sm90-atomic", "b=32,h=16,n=512,d=128,dtype=bf16") == key_major,
           "heads too long for the L2 are key-major");
    tap_ok(workspace_of("sm90-atomic", "b=1,h=16,n=512,d=64,dtype=bf16") ==
               (size_t)16 * 512 * 64 * 4,
           "few heads are key-major");
    tap_ok(workspace_of("sm90-atomic", "b=4,h=64,hk=32,n=256,d=64,dtype=bf16") ==
               (size_t)4 * 64 * 256 * 64 * 4,
           "grouped heads are key-major");
}

/* A backward that adds into an fp32 dQ and keeps delta beside it, as the vendor's does, has 4 d + 4
 * bytes a row; on the papers' grid these have less. */
static void test_least(const char *name, int d)
{
    for (int n = 512; n <= 16384; n *= 2)
        for (int causal = 0; causal < 2; causal++) {
            char text[80];
            snprintf(text, sizeof text, "b=%d,h=%d,n=%d,d=%d,dtype=bf16%s", 16384 / n, 2048 / d, n,
                     d, causal ? ",causal" : "");
            size_t bytes = workspace_of(name, text);
            tap_ok(bytes > 0 && bytes < (size_t)16384 * (2048 / d) * (4 * d + 4),
                   "%s, %s: less than fp32 dQ and delta", name, text);
        }
}

int main(void)
{
    if (!is_built(128)) {
        tap_skip("sm90: built without head size 128");
        return tap_done();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_refusals(names[i]);
    test_workspace();
    test_least("sm90-atomic", 128);
    test_least("sm90-ordered", 128);
    if (is_built(64)) {
        test_unit_form();
        test_least("sm90-atomic", 64);
        test_least("sm90-ordered", 64);
    }
    test_tiles("sm90-atomic", "n=1024,d=128,dtype=bf16", 80, 128);
    test_tiles("sm90-atomic", "n=512,d=128,dtype=bf16", 64, 128);
    test_tiles("sm90-ordered", "n=1024,d=128,dtype=bf16,causal", 64, 128);
    test_tiles("sm90-split", "n=1024,d=128,dtype=bf16", 80, 128);
    test_wide();
    return tap_done();
}

#endif
