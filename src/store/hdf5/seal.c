/* SPDX-License-Identifier: BSD-3-Clause
 *
 * seal.c: the checksum behind the end of an HDF5 file.
 */
#include "store/hdf5/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "store/crc.h"
#include "store/files.h"

#define MARK "\nflashback-crc32 "
#define SEAL_LENGTH (sizeof MARK - 1 + 8 + 1) /* eight digits and a line feed */

static void make_seal(char seal[SEAL_LENGTH + 1], const char *bytes, size_t length)
{
    snprintf(seal, SEAL_LENGTH + 1, MARK "%08x\n", fb_crc32(bytes, length));
}

enum fb_status fb_seal_append(char **bytes, size_t *length)
{
    char seal[SEAL_LENGTH + 1];
    char *longer = realloc(*bytes, *length + SEAL_LENGTH);
    if (!longer)
        return fb_fail(FB_NO_MEMORY, "out of memory for the results file");
    *bytes = longer;
    make_seal(seal, longer, *length);
    memcpy(longer + *length, seal, SEAL_LENGTH);
    *length += SEAL_LENGTH;
    return FB_OK;
}

enum fb_status fb_seal_check(const char *path, bool *sealed)
{
    char *bytes, seal[SEAL_LENGTH + 1];
    size_t length;
    FB_TRY(fb_file_read(path, &bytes, &length));
    enum fb_status status = FB_OK;
    size_t inner = length > SEAL_LENGTH ? length - SEAL_LENGTH : 0;
    *sealed = inner && !memcmp(bytes + inner, MARK, sizeof MARK - 1);
    if (*sealed) {
        make_seal(seal, bytes, inner);
        if (memcmp(bytes + inner, seal, SEAL_LENGTH) != 0)
            status = fb_fail(FB_CORRUPT, "%s is damaged: its checksum does not hold", path);
    }
    free(bytes);
    return status;
}
