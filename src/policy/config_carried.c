/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What options and a configuration said, as a configuration that says it again. */
#include "config_keys.h"
#include "withheld.h"

/* The key that says what an option, or a key, said; NULL: none does. */
static const struct config_key *key_of(const char *said) {
        static const char *const names[][2] = {{"ro", "readable"},  {"rw", "writable"},
                                               {"limit", "limits"}, {"tmp", "temp"},
                                               {"unsetenv", "env"}, {"no-new-session", ""}};
        char name[64];

        (void)snprintf(name, sizeof(name), "%s", said);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (streq(names[i][0], said))
                        (void)snprintf(name, sizeof(name), "%s", names[i][1]);
        for (char *at = name; *at; at++)
                if (*at == '-')
                        *at = '_';
        for (size_t i = 0; i < n_config_keys; i++)
                if (streq(config_keys[i].name, name))
                        return &config_keys[i];
        return NULL;
}

static struct json_value *object_at(struct json_document *d, const char *key) {
        struct json_value *found = json_get(d->root, key);

        return found ? found : json_add_object(d, d->root, key);
}

static struct json_value *array_at(struct json_document *d, const char *key) {
        struct json_value *found = json_get(d->root, key);

        return found ? found : json_add_array(d, d->root, key);
}

/* "NAME=VALUE", or "NAME": of a variable whose value looks like a secret the name alone. */
static void carry_variable(struct json_document *d, const struct policy_said *said) {
        size_t n = strcspn(said->value, "=");
        _cleanup_free_ char *name = strndup(said->value, n);
        struct json_value *env = object_at(d, "env");

        if (!name)
                d->has_failed = true;
        else if (streq(said->key, "unsetenv"))
                json_add_string(d, env, name, NULL);
        else if (said->value[n] == '=' && !policy_env_withheld(name))
                json_add_string(d, env, name, said->value + n + 1);
        else
                json_add_bool(d, env, name, true);
}

static void carry_limit(struct json_document *d, const struct policy_said *said) {
        size_t n = strcspn(said->value, "=");
        _cleanup_free_ char *name = strndup(said->value, n);

        if (!name)
                d->has_failed = true;
        else if (said->value[n] == '=')
                json_add_string(d, object_at(d, "limits"), name, said->value + n + 1);
}

void config_carry(const struct policy_said *said, struct json_document *d) {
        const struct config_key *key = key_of(said->key);

        if (!key || streq(key->name, "profile") || streq(key->name, "version"))
                return;
        switch (key->shape) {
        case CONFIG_TEXT:
        case CONFIG_NUMBER:
                json_add_string(d, d->root, key->name, said->value);
                break;
        case CONFIG_SWITCH:
                json_add_bool(d, d->root, key->name, true);
                break;
        case CONFIG_TEXTS:
        case CONFIG_PROTECT:
        case CONFIG_EXPOSED:
                json_add_string(d, array_at(d, key->name), NULL, said->value);
                break;
        case CONFIG_ENV:
                carry_variable(d, said);
                break;
        case CONFIG_LIMITS:
                carry_limit(d, said);
                break;
        default:
                break;
        }
}
