/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a test does in a sandbox: the test program itself is shown there as /probe, and run as
 * `/probe probe NAME [ARGUMENT]`. */
#pragma once

#include "harness.h"

/* If argv asks for a probe, runs it and does not return. */
void probe_main(int argc, char **argv);

/* `nsrun run --bind SELF:/probe:ro OPTION… -- /probe probe NAME [ARGUMENT]` */
void run_probe(const struct site *s, struct outcome *ret, const char *const *options, const char *name,
               const char *argument);
/* The same probe on the host, for the positive control. */
void run_control(const struct site *s, struct outcome *ret, const char *name, const char *argument);
#define PROBE(site, outcome, name, argument) \
        run_probe(site, outcome, (const char *const[]){NULL}, name, argument)
