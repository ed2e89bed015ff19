// SPDX-License-Identifier: BSD-3-Clause
// Readers and writers of files, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/files.hpp>
