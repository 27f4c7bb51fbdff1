/* SPDX-License-Identifier: BSD-3-Clause
 *
 * crc.c: CRC-32, reflected polynomial 0xedb88320, half a byte at a time.
 */
#include "store/crc.h"

static const uint32_t remainders[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

uint32_t fb_crc32(const void *data, size_t length)
{
    const unsigned char *at = data;
    uint32_t crc = 0xffffffff;
    while (length--) {
        crc ^= *at++;
        crc = (crc >> 4) ^ remainders[crc & 15];
        crc = (crc >> 4) ^ remainders[crc & 15];
    }
    return ~crc;
}
