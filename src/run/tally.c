/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"

enum fb_status fb_tally_init(struct fb_tally *tally, const char *const *named, size_t count)
{
    *tally = (struct fb_tally){.named = named, .named_count = count};
    tally->named_ran = calloc(count + 1, sizeof *tally->named_ran);
    return tally->named_ran ? FB_OK : fb_fail(FB_NO_MEMORY, "no memory for %zu names", count);
}

void fb_tally_add(struct fb_tally *tally, const struct fb_record *record)
{
    const bool refused = record->outcome == FB_OUTCOME_REFUSED;
    tally->count[record->outcome == FB_MISSING_ENUM ? FB_OUTCOME_UNJUDGED : record->outcome]++;
    for (size_t i = 0; i < tally->named_count; i++)
        tally->named_ran[i] |= !refused && !strcmp(tally->named[i], fb_text(record->variant));
}

void fb_tally_print(const struct fb_tally *tally, char *text, size_t size)
{
    static const struct {
        enum fb_outcome outcome;
        const char *word;
    } rest[] = {{FB_OUTCOME_CRASHED, "crashed"},
                {FB_OUTCOME_HUNG, "hung"},
                {FB_OUTCOME_NOT_CHECKABLE, "not checkable"},
                {FB_OUTCOME_REFUSED, "refused"},
                {FB_OUTCOME_UNJUDGED, "unjudged"}};
    int used = snprintf(text, size, "%zu passed, %zu failed", tally->count[FB_OUTCOME_PASS],
                        tally->count[FB_OUTCOME_FAIL]);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (tally->count[rest[i].outcome] && used >= 0 && (size_t)used < size)
            used += snprintf(text + used, size - (size_t)used, ", %zu %s",
                             tally->count[rest[i].outcome], rest[i].word);
}

int fb_tally_exit(const struct fb_tally *tally)
{
    const size_t *count = tally->count;
    size_t all = 0;
    for (int i = 0; i <= FB_OUTCOME_HUNG; i++)
        all += count[i];
    /* A shard may hold no case at all. */
    const bool nothing = all && all == count[FB_OUTCOME_REFUSED];
    bool silent_name = false;
    if (*tally->unread) {
        fb_log_warn("%s", tally->unread);
        return 4;
    }
    for (size_t i = 0; i < tally->named_count; i++) {
        if (!tally->named_ran[i]) {
            fb_log_warn("variant '%s' refused every case", tally->named[i]);
            silent_name = true;
        }
    }
    if (*tally->ended)
        fb_log_warn("%s", tally->ended);
    if (count[FB_OUTCOME_FAIL] || count[FB_OUTCOME_CRASHED] || count[FB_OUTCOME_HUNG] ||
        *tally->ended)
        return 1;
    if (nothing && !silent_name)
        fb_log_warn("nothing ran; cases refused: %zu", all);
    return nothing || silent_name ? 3 : 0;
}

void fb_tally_free(struct fb_tally *tally)
{
    free(tally->named_ran);
    memset(tally, 0, sizeof *tally);
}
