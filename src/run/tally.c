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
    const char *verdict = fb_text(record->verdict);
    bool refused = !strcmp(verdict, "refused");
    if (refused)
        tally->refused++;
    else if (!strcmp(verdict, "pass"))
        tally->pass++;
    else if (!strcmp(verdict, "fail"))
        tally->fail++;
    else if (!strcmp(verdict, "not-checkable"))
        tally->not_checkable++;
    else if (!strcmp(verdict, "crashed"))
        tally->crashed++;
    else
        tally->unjudged++;
    for (size_t i = 0; i < tally->named_count; i++)
        tally->named_ran[i] |= !refused && !strcmp(tally->named[i], fb_text(record->variant));
}

void fb_tally_print(const struct fb_tally *tally, char *text, size_t size)
{
    const struct {
        size_t count;
        const char *word;
    } rest[] = {{tally->crashed, "crashed"},
                {tally->not_checkable, "not checkable"},
                {tally->refused, "refused"},
                {tally->unjudged, "unjudged"}};
    int used = snprintf(text, size, "%zu passed, %zu failed", tally->pass, tally->fail);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (rest[i].count && used >= 0 && (size_t)used < size)
            used +=
                snprintf(text + used, size - (size_t)used, ", %zu %s", rest[i].count, rest[i].word);
}

int fb_tally_exit(const struct fb_tally *tally)
{
    size_t ran =
        tally->pass + tally->fail + tally->not_checkable + tally->crashed + tally->unjudged;
    const bool nothing = !ran && tally->refused; /* a shard may hold no case at all */
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
    if (tally->fail || tally->crashed || *tally->ended)
        return 1;
    if (nothing && !silent_name)
        fb_log_warn("nothing ran; cases refused: %zu", tally->refused);
    return nothing || silent_name ? 3 : 0;
}

void fb_tally_free(struct fb_tally *tally)
{
    free(tally->named_ran);
    memset(tally, 0, sizeof *tally);
}
