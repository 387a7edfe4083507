/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What functions that read an option's value share. */
#include "option_spec.h"

int option_refuse(const struct option_spec *spec, const char *value, const char *what, const char *hint,
                  struct nsrun_error *err) {
        /* The error is filled without an errno: its text, "Invalid argument", would add nothing to
         * the message. */
        return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), value, hint, "--%s: %s", spec->name,
                          what);
}

int option_choice(const struct option_spec *spec, const char *value, struct nsrun_error *err) {
        char hint[128];
        size_t length = strlen(value);
        const char *choice = spec->argument;

        for (int i = 0; *choice; i++) {
                size_t n = strcspn(choice, "|");

                if (n == length && memcmp(choice, value, n) == 0)
                        return i;
                choice += n + (choice[n] == '|');
        }
        (void)snprintf(hint, sizeof(hint), "choose one of %s", spec->argument);
        return option_refuse(spec, value, "no such choice", hint, err);
}

int option_refuse_braces(const struct option_spec *spec, const char *value, struct nsrun_error *err) {
        const char *open = strchr(value, '{'), *comma = open ? strchr(open, ',') : NULL;

        return comma && strchr(comma, '}') ? option_refuse(spec, value, "braces are no wildcards here",
                                                           "give the option once for each name", err)
                                           : 0;
}
