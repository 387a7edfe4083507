/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun reads of D-Bus: the addresses of a bus, and the rules of --dbus.  Pure. */
#pragma once

#include "base/macro.h"

/* The next of a bus's addresses (`*at`, which is moved on) that is a Unix socket's: *ret is its path, or "@"
 * and the name of an abstract socket.  1; 0: there is none any more; -EBADMSG: that isn't an address;
 * -ENOMEM. */
int dbus_address_next(const char **at, char **ret);
/* The address of an abstract socket of that name, escaped; NULL for want of memory. */
char *dbus_address_of_abstract(const char *name);

enum dbus_right {
        DBUS_TALK,
        DBUS_OWN,
        DBUS_SEE,
        DBUS_CALL,
        DBUS_BROADCAST,
};

struct dbus_rule {
        enum dbus_right right;
        const char *option; /* xdg-dbus-proxy's */
        const char *name;   /* in the value; what follows it there is its end, or "=" and more */
        size_t length;
};

/* Reads "NAME", "RIGHT=NAME", "call=NAME=RULE" or "broadcast=NAME=RULE".  -EINVAL; -EPERM: it is the name of
 * the bus itself. */
int dbus_rule_read(const char *value, struct dbus_rule *ret);
/* What whoever may talk to these names can do on the host besides what the names say: for the first name, or
 * folder of names, of a table that the rule covers or lies in; NULL: nothing is known of it. */
const char *dbus_rule_power(const struct dbus_rule *rule);
