/* SPDX-License-Identifier: BSD-3-Clause
 *
 * test_tools.c: other programs read the HDF5 file: h5dump, ncdump, h5py, xarray.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/report/make_records.h"
#include "tests/tap.h"

static char folder[] = "/tmp/flashback-tools-XXXXXX";
static char path[128];

/* ---- Other programs ---------------------------------------------------------------------------
 */

/* Runs a shell command on the file; the first line of its output in `line`. */
static bool ask(const char *command, char line[256])
{
    line[0] = '\0';
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return false;
    if (!fgets(line, 256, pipe))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    while (fgetc(pipe) != EOF)
        continue;
    return pclose(pipe) == 0;
}

static void test_tool(const char *name, const char *probe, const char *command,
                      const char *expected)
{
    char line[256], full[1024];
    snprintf(full, sizeof full, "%s >/dev/null 2>&1", probe);
    if (!ask(full, line)) {
        tap_skip("%s is not installed", name);
        return;
    }
    snprintf(full, sizeof full, "F=%s; %s", path, command);
    bool good = ask(full, line);
    tap_ok(good && !strcmp(line, expected), "%s reads it: %s", name, line);
}

static void test_tools(void)
{
    struct fb_results results;
    make_results(&results, "speed");
    fb_results_write(&results, path);
    test_tool("h5dump", "h5dump --version", "h5dump $F >/dev/null && echo whole", "whole");
    test_tool("ncdump", "command -v ncdump",
              "ncdump -h $F | grep -c 'double bwd_ms_samples(case, sample)'", "1");
    test_tool("h5py", "/usr/bin/python3 -c 'import h5py'",
              "/usr/bin/python3 -c \"import h5py; f = h5py.File('$F'); r = f['results']; "
              "print(len(r['case']), r['variant'][1].decode(), r['bwd_ms'].attrs['units'], "
              "r['bwd_ms_samples'].dims[1][0].name, f['run'].attrs['host'])\"",
              "100 cpu-atomic ms /results/sample synthetic");
    test_tool("xarray", "/usr/bin/python3 -c 'import xarray, h5netcdf'",
              "/usr/bin/python3 -c \"import xarray; "
              "d = xarray.open_dataset('$F', group='results', engine='h5netcdf'); "
              "print(dict(d.sizes))\"",
              "{'case': 100, 'sample': 21}");
    fb_results_free(&results);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(path, sizeof path, "%s/x.h5", folder);
    test_tools();
    unlink(path);
    rmdir(folder);
    return tap_done();
}
