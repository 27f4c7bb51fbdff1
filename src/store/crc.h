/* SPDX-License-Identifier: BSD-3-Clause
 *
 * crc.h: the checksum in front of each line of a journal (CRC-32 of IEEE 802.3, as in zip).
 */
#ifndef FB_STORE_CRC_H
#define FB_STORE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t fb_crc32(const void *data, size_t length);

#endif
