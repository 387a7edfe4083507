/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of options that have a grammar of their own: each function is the option_spec.apply of a struct
 * nsrun_policy. */
#pragma once

#include "option_spec.h"
#include "policy.h"

#define OPTION_VALUE(function)                                                        \
        int function(void *target, const struct option_spec *spec, const char *value, \
                     struct nsrun_error *err)

OPTION_VALUE(network_apply_option); /* --allow, --deny, --publish */
OPTION_VALUE(proxy_apply_option);   /* --net-via */
OPTION_VALUE(key_apply_option);     /* --key, --key-use */
OPTION_VALUE(protect_apply_option); /* --protect, --no-protect */
OPTION_VALUE(hide_apply_option);    /* --hide */
OPTION_VALUE(grant_apply_option);   /* words that show a device or a service */
OPTION_VALUE(grant_ssh_apply);      /* --ssh-agent */
OPTION_VALUE(grant_dbus_apply);     /* --dbus */
OPTION_VALUE(agent_apply_option);   /* --agent */
OPTION_VALUE(limits_apply_option);  /* --limit (limits.c) */
