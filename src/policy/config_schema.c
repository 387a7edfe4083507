/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The JSON schema of configurations, made of the table of keys: what editors complete and check by. */
#include "config_keys.h"
#include "options.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

static const struct option_spec *option_for(const char *key) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%s", streq(key, "temp") ? "tmp" : key);
        for (char *at = name; *at; at++)
                if (*at == '_')
                        *at = '-';
        for (size_t i = 0; i < n_policy_options; i++)
                if (streq(policy_options[i].name, name))
                        return &policy_options[i];
        return NULL;
}

static struct json_value *add_type(struct json_document *d, struct json_value *to, const char *type) {
        json_add_string(d, to, "type", type);
        return to;
}

static struct json_value *add_items(struct json_document *d, struct json_value *to) {
        return json_add_object(d, add_type(d, to, "array"), "items");
}

/* The choices of an option; a word in capitals stands for any text. */
static void schema_add_choices(struct json_document *d, struct json_value *to, const char *choices) {
        struct json_value *array = NULL;
        bool is_closed = true;

        for (const char *at = choices; *at; at += strcspn(at, "|"), at += *at == '|')
                is_closed &= *at < 'A' || *at > 'Z';
        if (!is_closed)
                return;
        array = json_add_array(d, to, "enum");
        for (const char *at = choices; *at; at += strcspn(at, "|"), at += *at == '|')
                json_add_bytes(d, array, NULL, at, strcspn(at, "|"));
}

static void add_types(struct json_document *d, struct json_value *to, const char *first, const char *second,
                      const char *third) {
        struct json_value *types = json_add_array(d, to, "type");

        json_add_string(d, types, NULL, first);
        json_add_string(d, types, NULL, second);
        if (third)
                json_add_string(d, types, NULL, third);
}

/* Keys that begin with two slashes are comments, wherever they stand. */
static void schema_add_comments(struct json_document *d, struct json_value *to) {
        struct json_value *pattern = json_add_object(d, to, "patternProperties");

        json_add_string(d, json_add_object(d, pattern, "^//"), "$ref", "#/$defs/comment");
}

/* An object that has these members and no other; each is of the type behind its name. */
static void schema_add_object(struct json_document *d, struct json_value *to, const char *const members[][2],
                              size_t n, const char *required) {
        struct json_value *properties = json_add_object(d, add_type(d, to, "object"), "properties");

        for (size_t i = 0; i < n; i++)
                (void)add_type(d, json_add_object(d, properties, members[i][0]), members[i][1]);
        if (required)
                json_add_string(d, json_add_array(d, to, "required"), NULL, required);
        schema_add_comments(d, to);
        json_add_bool(d, to, "additionalProperties", false);
}

static void schema_add_exposed(struct json_document *d, struct json_value *to) {
        static const char *const members[][2] = {{"path", "string"}, {"optional", "boolean"}};
        struct json_value *forms = json_add_array(d, add_items(d, to), "anyOf");

        (void)add_type(d, json_add_object(d, forms, NULL), "string");
        schema_add_object(d, json_add_object(d, forms, NULL), members, ARRAY_SIZE(members), "path");
}

static void add_protect(struct json_document *d, struct json_value *to) {
        struct json_value *forms = json_add_array(d, to, "anyOf");

        (void)add_type(d, add_items(d, json_add_object(d, forms, NULL)), "string");
        json_add_string(d, json_add_object(d, forms, NULL), "const", "strict");
}

static void schema_add_names(struct json_document *d, struct json_value *to) {
        struct json_value *forms = json_add_array(d, to, "anyOf");

        (void)add_type(d, json_add_object(d, forms, NULL), "string");
        (void)add_type(d, add_items(d, json_add_object(d, forms, NULL)), "string");
}

static void add_agents(struct json_document *d, struct json_value *to) {
        static const char *const lists[] = {"writable", "overlay", "readable", "protect", "keys", "hosts"};
        struct json_value *agent = json_add_object(d, add_type(d, to, "object"), "additionalProperties"),
                          *properties = json_add_object(d, add_type(d, agent, "object"), "properties");

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                (void)add_type(d, add_items(d, json_add_object(d, properties, lists[i])), "string");
        (void)add_type(d, json_add_object(d, properties, "nested"), "boolean");
        schema_add_comments(d, agent);
        json_add_bool(d, agent, "additionalProperties", false);
}

/* Sections by name: each an object of $defs. */
static void add_sections(struct json_document *d, struct json_value *to, const char *definition) {
        struct json_value *each = json_add_object(d, add_type(d, to, "object"), "additionalProperties");

        json_add_string(d, each, "$ref", definition);
        schema_add_comments(d, to);
}

static void add_keys(struct json_document *d, struct json_value *to, const struct config_key *keys, size_t n,
                     bool in_sections);

static void add_shape(struct json_document *d, struct json_value *to, const struct config_key *key) {
        static const char *const toolchain[][2] = {
                {"path", "string"}, {"cache", "boolean"}, {"variable", "string"}};
        static const char *const exposed[][2] = {
                {"source", "string"}, {"target", "string"}, {"mode", "string"}};
        const struct option_spec *option = option_for(key->name);

        switch (key->shape) {
        case CONFIG_TEXT:
        case CONFIG_PATH:
                (void)add_type(d, to, "string");
                if (option && option->completes == OPTION_COMPLETES_CHOICE)
                        schema_add_choices(d, to, option->argument);
                break;
        case CONFIG_VERSION:
                json_add_number(d, to, "const", 1);
                break;
        case CONFIG_SWITCH:
                (void)add_type(d, to, "boolean");
                break;
        case CONFIG_NUMBER:
                add_types(d, to, "integer", "string", NULL);
                break;
        case CONFIG_TEXTS:
                (void)add_type(d, add_items(d, to), "string");
                break;
        case CONFIG_PROTECT:
                add_protect(d, to);
                break;
        case CONFIG_EXPOSED:
                schema_add_exposed(d, to);
                break;
        case CONFIG_NAMES:
                schema_add_names(d, to);
                break;
        case CONFIG_ENV:
                add_types(d, json_add_object(d, add_type(d, to, "object"), "additionalProperties"), "string",
                          "boolean", "null");
                schema_add_comments(d, to);
                break;
        case CONFIG_LIMITS:
                add_types(d, json_add_object(d, add_type(d, to, "object"), "additionalProperties"), "string",
                          "integer", NULL);
                schema_add_comments(d, to);
                break;
        case CONFIG_TOOLCHAINS:
                schema_add_object(d, add_items(d, to), toolchain, ARRAY_SIZE(toolchain), "path");
                break;
        case CONFIG_AGENTS:
                add_agents(d, to);
                break;
        case CONFIG_EXPOSE_PATHS:
                schema_add_object(d, add_items(d, to), exposed, ARRAY_SIZE(exposed), "source");
                break;
        case CONFIG_ISOLATION:
                add_keys(d, to, config_isolation_keys, n_config_isolation_keys, false);
                break;
        case CONFIG_PROFILES:
                add_sections(d, to, "#/$defs/profile");
                break;
        case CONFIG_PROJECTS:
                add_sections(d, to, "#/$defs/project");
                break;
        case CONFIG_NEVER:
                break;
        }
}

/* The object of these keys. */
static void add_keys(struct json_document *d, struct json_value *to, const struct config_key *keys, size_t n,
                     bool in_sections) {
        struct json_value *properties = json_add_object(d, add_type(d, to, "object"), "properties");

        for (size_t i = 0; i < n; i++) {
                const struct option_spec *option = option_for(keys[i].name);
                struct json_value *property;

                if (keys[i].shape == CONFIG_NEVER || (in_sections && !keys[i].in_sections))
                        continue;
                property = json_add_object(d, properties, keys[i].name);
                json_add_string(d, property, "description", keys[i].help ? keys[i].help : option->help);
                add_shape(d, property, &keys[i]);
        }
        schema_add_comments(d, to);
        json_add_bool(d, to, "additionalProperties", false);
}

/* A profile or a project's section: the keys of sections, and one that names profiles. */
static void add_section(struct json_document *d, struct json_value *definitions, const char *name,
                        const char *names_profiles) {
        struct json_value *section = json_add_object(d, definitions, name);

        add_keys(d, section, config_keys, n_config_keys, true);
        schema_add_names(d, json_add_object(d, json_get(section, "properties"), names_profiles));
}

int config_schema(char **ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        struct json_value *definitions;
        int r;

        r = json_open(&d, err);
        if (r < 0)
                return r;
        json_add_string(&d, d.root, "$schema", DIALECT);
        json_add_string(&d, d.root, "title", "nsrun's configuration");
        add_keys(&d, d.root, config_keys, n_config_keys, false);
        definitions = json_add_object(&d, d.root, "$defs");
        schema_add_names(&d, json_add_object(&d, definitions, "comment"));
        add_section(&d, definitions, "profile", "inherits");
        add_section(&d, definitions, "project", "profile");
        return json_finish(&d, true, ret, err);
}
