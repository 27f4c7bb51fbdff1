/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/progress.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cases/protocol.h"
#include "core/numerics.h"
#include "store/columns.h"

enum { BAR = 24 };

void fb_progress_start(struct fb_progress *progress, size_t total, bool quiet)
{
    *progress = (struct fb_progress){.total = total,
                                     .quiet = quiet,
                                     .terminal = isatty(STDERR_FILENO) != 0,
                                     .started = fb_clock_ns()};
}

static void draw_bar(const struct fb_progress *progress, const struct fb_record *record)
{
    double seconds = (double)(fb_clock_ns() - progress->started) * 1e-9;
    double left = seconds / (double)progress->done * (double)(progress->total - progress->done);
    int filled = (int)(BAR * progress->done / progress->total);
    fprintf(stderr, "\r\033[K[%.*s%*s] %zu/%zu  %.0f s, about %.0f s left  %s", filled,
            "########################", BAR - filled, "", progress->done, progress->total, seconds,
            left, record->variant);
}

static bool is_standard(const struct fb_record *record)
{
    char standard[FB_NUMERICS_TEXT];
    fb_numerics_print(&fb_numerics_standard, standard);
    return !strcmp(fb_text(record->numerics), standard);
}

static void print_line(const struct fb_progress *progress, const struct fb_record *record)
{
    fprintf(stderr, "[%zu/%zu] %s %s", progress->done, progress->total, record->variant,
            record->problem);
    if (!is_standard(record))
        fprintf(stderr, " %s", fb_text(record->numerics));
    if (strcmp(fb_text(record->recipe), "randn@1") != 0)
        fprintf(stderr, " %s", fb_text(record->recipe));
    fprintf(stderr, " %s", fb_value_name(fb_values_outcome, record->outcome));
    if (isfinite(record->bwd.ms))
        fprintf(stderr, " %.4g ms", record->bwd.ms);
    if (record->reason && record->reason[0])
        fprintf(stderr, ": %s", record->reason);
    fputc('\n', stderr);
}

void fb_progress_step(struct fb_progress *progress, const struct fb_record *record)
{
    progress->done++;
    if (progress->quiet)
        return;
    if (progress->terminal)
        draw_bar(progress, record);
    else
        print_line(progress, record);
}

void fb_progress_end(struct fb_progress *progress)
{
    if (!progress->quiet && progress->terminal && progress->done)
        fputs("\r\033[K", stderr);
}
