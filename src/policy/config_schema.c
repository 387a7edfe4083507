/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The JSON schema of configurations, made of the table of keys: what editors complete and check by. */
#include "config_keys.h"
#include "options.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

static const struct option_spec *option_for(const char *key) {
        char name[64];

        (void)config_option_name(key, name);
        for (size_t i = 0; i < n_policy_options; i++)
                if (streq(policy_options[i].name, name))
                        return &policy_options[i];
        return NULL;
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

/* Keys that begin with two slashes are comments, wherever they stand. */
#define COMMENTS "patternProperties", "{\"^//\": {\"$ref\": \"#/$defs/comment\"}}"
#define STRINGS  "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"
#define OBJECT_OF(value)                                           \
        {"type", "\"object\""}, {"additionalProperties", value}, { \
                COMMENTS                                           \
        }

/* What a key's value is, member by member of its schema; what isn't here is added by its function. */
static const struct {
        const char *member, *json;
} shapes[][3] = {
        [CONFIG_TEXT] = {{"type", "\"string\""}},
        [CONFIG_PATH] = {{"type", "\"string\""}},
        [CONFIG_VERSION] = {{"const", "1"}},
        [CONFIG_SWITCH] = {{"type", "\"boolean\""}},
        [CONFIG_NUMBER] = {{"type", "[\"integer\", \"string\"]"}},
        [CONFIG_TEXTS] = {{"type", "\"array\""}, {"items", "{\"type\": \"string\"}"}},
        [CONFIG_PROTECT] = {{"anyOf", "[" STRINGS ", {\"const\": \"strict\"}]"}},
        [CONFIG_NAMES] = {{"anyOf", "[{\"type\": \"string\"}, " STRINGS "]"}},
        [CONFIG_EXPOSED] = {{"type", "\"array\""}},
        [CONFIG_TOOLCHAINS] = {{"type", "\"array\""}},
        [CONFIG_EXPOSE_PATHS] = {{"type", "\"array\""}},
        [CONFIG_AGENTS] = {{"type", "\"object\""}},
        [CONFIG_ENV] = {OBJECT_OF("{\"type\": [\"string\", \"boolean\", \"null\"]}")},
        [CONFIG_LIMITS] = {OBJECT_OF("{\"type\": [\"string\", \"integer\"]}")},
        [CONFIG_PROFILES] = {OBJECT_OF("{\"$ref\": \"#/$defs/profile\"}")},
        [CONFIG_PROJECTS] = {OBJECT_OF("{\"$ref\": \"#/$defs/project\"}")},
        [CONFIG_NEVER] = {{NULL, NULL}},
};

static void schema_add_shape(struct json_document *d, struct json_value *to, enum config_shape shape) {
        for (size_t i = 0; i < ARRAY_SIZE(shapes[shape]) && shapes[shape][i].member; i++)
                json_add_json(d, to, shapes[shape][i].member, shapes[shape][i].json);
}

static void schema_close(struct json_document *d, struct json_value *object) {
        json_add_json(d, object, COMMENTS);
        json_add_bool(d, object, "additionalProperties", false);
}

/* An object that has these members and no other. */
static void schema_add_object(struct json_document *d, struct json_value *to,
                              const struct config_object *object, bool has_required) {
        static const enum config_shape of_kinds[] = {[CONFIG_STRING] = CONFIG_TEXT,
                                                     [CONFIG_BOOL] = CONFIG_SWITCH,
                                                     [CONFIG_STRINGS] = CONFIG_TEXTS};
        struct json_value *properties;

        json_add_string(d, to, "type", "object");
        properties = json_add_object(d, to, "properties");
        for (size_t i = 0; i < CONFIG_MEMBERS_MOST && object->members[i].name; i++)
                schema_add_shape(d, json_add_object(d, properties, object->members[i].name),
                                 of_kinds[object->members[i].kind]);
        if (has_required)
                json_add_string(d, json_add_array(d, to, "required"), NULL, object->members[0].name);
        schema_close(d, to);
}

static void add_keys(struct json_document *d, struct json_value *to, const struct config_key *keys, size_t n,
                     bool in_sections);

static void schema_add_key(struct json_document *d, struct json_value *to, const struct config_key *key) {
        const struct option_spec *option = option_for(key->name);
        struct json_value *forms;

        if (key->shape == CONFIG_ISOLATION) {
                add_keys(d, to, config_isolation_keys, n_config_isolation_keys, false);
                return;
        }
        schema_add_shape(d, to, key->shape);
        if (key->shape == CONFIG_TEXT && option && option->completes == OPTION_COMPLETES_CHOICE)
                schema_add_choices(d, to, option->argument);
        else if (key->shape == CONFIG_EXPOSED) {
                forms = json_add_array(d, json_add_object(d, to, "items"), "anyOf");
                schema_add_shape(d, json_add_object(d, forms, NULL), CONFIG_TEXT);
                schema_add_object(d, json_add_object(d, forms, NULL), &config_exposed, true);
        } else if (key->shape == CONFIG_TOOLCHAINS)
                schema_add_object(d, json_add_object(d, to, "items"), &config_toolchain, true);
        else if (key->shape == CONFIG_EXPOSE_PATHS)
                schema_add_object(d, json_add_object(d, to, "items"), &config_expose_path, true);
        else if (key->shape == CONFIG_AGENTS)
                schema_add_object(d, json_add_object(d, to, "additionalProperties"), &config_agent, false);
}

/* The object of these keys. */
static void add_keys(struct json_document *d, struct json_value *to, const struct config_key *keys, size_t n,
                     bool in_sections) {
        struct json_value *properties;

        json_add_string(d, to, "type", "object");
        properties = json_add_object(d, to, "properties");
        for (size_t i = 0; i < n; i++) {
                const struct option_spec *option = option_for(keys[i].name);
                struct json_value *property;

                if (keys[i].shape == CONFIG_NEVER || (in_sections && !keys[i].in_sections))
                        continue;
                property = json_add_object(d, properties, keys[i].name);
                json_add_string(d, property, "description", keys[i].help ? keys[i].help : option->help);
                schema_add_key(d, property, &keys[i]);
        }
        schema_close(d, to);
}

/* A profile or a project's section: the keys of sections, and one that names profiles. */
static void add_section(struct json_document *d, struct json_value *definitions, const char *name,
                        const char *names_profiles) {
        struct json_value *section = json_add_object(d, definitions, name);

        add_keys(d, section, config_keys, n_config_keys, true);
        schema_add_shape(d, json_add_object(d, json_get(section, "properties"), names_profiles),
                         CONFIG_NAMES);
}

int config_schema(char **ret, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *definitions;

        json_add_string(&d, d.root, "$schema", DIALECT);
        json_add_string(&d, d.root, "title", "nsrun's configuration");
        add_keys(&d, d.root, config_keys, n_config_keys, false);
        definitions = json_add_object(&d, d.root, "$defs");
        schema_add_shape(&d, json_add_object(&d, definitions, "comment"), CONFIG_NAMES);
        add_section(&d, definitions, "profile", "inherits");
        add_section(&d, definitions, "project", "profile");
        return json_finish(&d, true, ret, err);
}
