/* SPDX-License-Identifier: BSD-3-Clause
 *
 * source.h: where the inputs of a case come from: its recipe, read.
 *
 *     DIST[:key=value]...@SEED          drawn, see core/recipe/recipe.h
 *     file:PATH[#GROUP][@LAYOUT]        a file of the user's, see cases/input_file.h
 *     golden:FILE#GROUP                 a group of a golden file, see cases/golden.h
 *
 * A further source is a row of the table in source.c, and one of that in work/fill.c.
 */
#ifndef FB_CASES_SOURCE_H
#define FB_CASES_SOURCE_H

#include "cases/input_file.h"
#include "core/recipe/recipe.h"
#include "flashback.h"

enum fb_source_kind { FB_SOURCE_FILE, FB_SOURCE_GOLDEN, FB_SOURCE_DRAWN, FB_SOURCES };

struct fb_source {
    enum fb_source_kind kind;
    char *text;              /* canonical */
    struct fb_recipe recipe; /* of what is drawn */
    struct fb_file_place file;
};

/* FB_USAGE names what is wrong in the text. A file is not looked into. On failure *source holds
 * nothing. */
enum fb_status fb_source_parse(struct fb_source *source, const char *text);
enum fb_status fb_source_copy(struct fb_source *to, const struct fb_source *from);
void fb_source_free(struct fb_source *source);

/* Is there what the problem needs? Of a file shapes alone are read. */
enum fb_status fb_source_check(const struct fb_source *source, const struct fb_problem *problem);

/* The kind that a recipe's first letters name. */
enum fb_source_kind fb_source_kind_of(const char *text);

#endif
