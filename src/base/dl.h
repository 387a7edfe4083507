/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Optional libraries, loaded where they are needed and not before: linking them
 * would cost every run their dependencies.  Nothing else calls dlopen(3). */
#pragma once

#include "macro.h"

struct dl_symbol {
        const char *name;
        void *slot; /* the address of the function pointer to fill */
};

/* Loads `soname` for the life of the process and fills every slot, or none.
 * -EOPNOTSUPP: no such library, or it lacks one of the symbols (or this is a
 * static program, where a second libc would come along). */
int dl_load(const char *soname, const struct dl_symbol *symbols, size_t n_symbols);

/* What a package builder reads to learn of the dependency: an ELF note of owner
 * "FDO" and type 0x407c0c0a whose text is JSON.  Once per library, at file level. */
#define DL_NOTE(variable, feature, description, priority, soname)                             \
        DL_NOTE_JSON(variable, "[{\"feature\":\"" feature "\",\"description\":\"" description \
                               "\",\"priority\":\"" priority "\",\"soname\":[\"" soname "\"]}]")

#define DL_NOTE_JSON(variable, json)                                                                 \
        __attribute__((__used__, __section__(".note.dlopen"), __aligned__(4))) static const struct { \
                uint32_t name_size, text_size, type;                                                 \
                char name[4];                                                                        \
                char text[(sizeof(json) + 3U) & ~3U];                                                \
        } variable = {4, sizeof(json), 0x407c0c0aU, "FDO", json}
