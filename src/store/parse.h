/* SPDX-License-Identifier: BSD-3-Clause
 *
 * parse.h: the JSON forms of records and runs, as far as they need jansson. Private to src/store.
 */
#ifndef FB_STORE_PARSE_H
#define FB_STORE_PARSE_H

#include <jansson.h>

#include "flashback.h"

struct fb_json;
struct fb_record;
struct fb_run;

enum fb_status fb_record_parse(struct fb_record *record, const json_t *object);
enum fb_status fb_run_parse(struct fb_run *run, const json_t *object);
void fb_run_write_json(const struct fb_run *run, struct fb_json *json);

#endif
