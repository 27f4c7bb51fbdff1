/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cmd_info.c: `flashback info`, build, machine and libraries.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "core/backends.h"
#include "core/host/blas.h"
#include "core/host/paths.h"
#include "measure/machine.h"
#include "store/hdf5/read.h"

static const char usage[] = "Usage: flashback info\n"
                            "The build, the machine and the libraries, one fact a line.\n";

enum fb_status fb_cmd_info(int argc, char **argv, int *exit_status)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    const struct fb_backend *backend;
    struct fb_machine_facts facts;
    char library[32];
    int option;
    (void)exit_status;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option != 'h')
            return fb_cli_bad_option(option, argv);
        fputs(usage, stdout);
        return FB_OK;
    }
    if (optind < argc)
        return fb_fail(FB_USAGE, "info: unexpected argument '%s'", argv[optind]);
    fb_blas_choose_core(); /* the workers', which is what is measured */
    fb_machine_facts(&facts);
    fb_hdf5_library_version(library);
    for (size_t i = 0; i < facts.count; i++)
        printf("%-20s %s\n", facts.fact[i].key, facts.fact[i].value);
    for (int i = 0; (backend = fb_backend_at(i)); i++)
        if (fb_backend_library(backend))
            printf("%-20s %s\n", backend->name, fb_backend_library(backend));
    printf("%-20s %s\n%-20s %s\n", "hdf5_version", library, "datadir", fb_datadir());
    return FB_OK;
}
