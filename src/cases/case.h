/* SPDX-License-Identifier: BSD-3-Clause
 *
 * case.h: one case, variant x problem x numerics x recipe (x threads), and its key.
 */
#ifndef FB_CASES_CASE_H
#define FB_CASES_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "cases/source.h"
#include "flashback.h"

/* What the texts of a case say. They are read once a case and process. */
struct fb_terms {
    struct fb_problem problem;
    struct fb_numerics numerics;
    struct fb_source source;
};

struct fb_case {
    char *variant;  /* a name the registry or a plug-in knows */
    char *problem;  /* canonical */
    char *numerics; /* canonical */
    char *recipe;   /* canonical */
    int threads;    /* 0: all processors */
    char *key;      /* "variant|problem|numerics|recipe[|threads=N]": resume, merge, figures */
    struct fb_terms terms;
};

/* Reads the texts. FB_USAGE names the faulty one. On failure *terms holds nothing. */
enum fb_status fb_terms_read(struct fb_terms *terms, const char *problem, const char *numerics,
                             const char *recipe);
void fb_terms_free(struct fb_terms *terms);

/* A case of its own copy of the terms. */
enum fb_status fb_case_make(struct fb_case *out, const char *variant, const struct fb_terms *terms,
                            int threads);

/* From texts: reads them, and looks into a file of inputs whether it has what is needed. */
enum fb_status fb_case_parse(struct fb_case *out, const char *variant, const char *problem,
                             const char *numerics, const char *recipe, int threads);
void fb_case_free(struct fb_case *one);
void fb_cases_free(struct fb_case *cases, size_t count);

/* Cases in the order they were added, each key once. All zero is an empty set. */
struct fb_case_set {
    struct fb_case *cases;
    size_t count, room;
    void *keys; /* search tree over the keys */
};

/* Takes the case over, or frees it where its key is there already. */
enum fb_status fb_case_set_add(struct fb_case_set *set, struct fb_case *one);
/* Hands the cases over to whoever frees them with fb_cases_free; the set is empty then. */
struct fb_case *fb_case_set_release(struct fb_case_set *set, size_t *count);

/* Cases that share inputs and reference, and whose variants are timed in turn. */
int fb_case_same_group(const struct fb_case *a, const struct fb_case *b);

/* A hash of the key, its end included, carried on from the one before; the first starts it. */
#define FB_CASE_HASH 14695981039346656037u
uint64_t fb_case_hash(uint64_t hash, const struct fb_case *one);

/* The shard of a case, 0 to shards - 1: a hash of what its group has in common, so that variants
 * are timed in turn and by one machine, and long sequences spread. */
int fb_case_shard(const struct fb_case *one, int shards);

#endif
