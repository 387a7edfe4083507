/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of a process whose call waits for an answer. */
#pragma once

#include "base/macro.h"

/* Reads at most `size` bytes at `address`, as far as the memory can be read.  How many; 0: none. */
size_t peek(uint32_t pid, uint64_t address, void *to, size_t size);
