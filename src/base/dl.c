/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dlopen(3) with all its symbols checked at once.  Libraries are never unloaded:
 * their function pointers live in statics. */
#include "dl.h"

#ifdef NSRUN_STATIC

int dl_load(nsrun_unused const char *soname, nsrun_unused const struct dl_symbol *symbols,
            nsrun_unused size_t n_symbols) {
        return -EOPNOTSUPP;
}

#else

#include <dlfcn.h>

int dl_load(const char *soname, const struct dl_symbol *symbols, size_t n_symbols) {
        void *library;

        library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!library)
                return -EOPNOTSUPP;
        for (size_t i = 0; i < n_symbols; i++)
                if (!dlsym(library, symbols[i].name)) {
                        (void)dlclose(library);
                        return -EOPNOTSUPP;
                }
        /* By memcpy: ISO C has no cast from an object's address to a function's. */
        for (size_t i = 0; i < n_symbols; i++) {
                void *address = dlsym(library, symbols[i].name);

                memcpy(symbols[i].slot, &address, sizeof(address));
        }
        return 0;
}

#endif
