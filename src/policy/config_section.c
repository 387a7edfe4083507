/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config_section.h"

#include <sys/file.h>

#include "base/file.h"
#include "base/json_value.h"
#include "base/path.h"
#include "base/sys.h"
#include "config.h"

#define MOST_CONFIG_BYTES ((size_t)1 << 20)

enum {
        LOCK_MS = 10000,
        LOOK_MS = 20,
};

int config_edit_find(const struct nsrun_policy *policy, const char *file, char **ret,
                     struct nsrun_error *err) {
        _cleanup_free_ char *found = file ? strdup(file) : NULL;

        if (!file && config_find_user_file(policy, &found) < 0)
                return error_oom(err);
        if (!found)
                return file ? error_oom(err)
                            : error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOENT), NULL,
                                        "nobody knows your home folder", "set HOME");
        if (path_canonical(found, ret, NULL) >= 0)
                return 0;
        *ret = TAKE_PTR(found);
        return 0;
}

/* Locks the file's folder, since the file itself is replaced; where there are no locks nobody has one. */
static int lock_config(const char *file, int *ret, struct nsrun_error *err) {
        _cleanup_free_ char *folder = path_parent(file);
        int r = folder ? config_make_folders(file) : -ENOMEM;

        if (r >= 0)
                r = *ret = sys_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
        for (int waited = 0; r >= 0 && flock(*ret, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
             waited += LOOK_MS) {
                if (waited >= LOCK_MS)
                        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EBUSY), file,
                                         "another nsrun writes the configuration", "try again");
                (void)sys_poll(NULL, 0, LOOK_MS);
        }
        return r < 0 ? error_set(err, NSRUN_STAGE_USAGE, r, file, "the configuration can't be written", NULL)
                     : 0;
}

int config_section_open(const char *file, int *ret_lock, struct json_document *d, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = ret_lock ? lock_config(file, ret_lock, err) : 0;

        if (r < 0)
                return r;
        r = read_small_file(AT_FDCWD, file, 0, MOST_CONFIG_BYTES, &text);
        if (r == -ENOENT) {
                *d = json_begin();
                json_add_number(d, d->root, "version", 1);
                return 0;
        }
        if (r >= 0)
                r = json_parse(d, text, strlen(text), NULL, NULL);
        return r < 0 ? error_set(err, NSRUN_STAGE_USAGE, r, file, "the configuration can't be read",
                                 "'nsrun config check' says why")
                     : 0;
}

struct json_value *config_section_all(struct json_document *d) {
        struct json_value *projects = json_get(d->root, "projects");

        return projects ? projects : json_add_object(d, d->root, "projects");
}

char *config_section_name(const char *path) {
        const char *home = getenv("HOME"), *below = home ? path_below(path, home) : NULL;

        return below && *below ? str_concat("~/", below, "") : strdup(path);
}

struct json_value *config_section_find(const struct json_document *d, const char *project,
                                       const char *name) {
        struct json_value *projects = json_get(d->root, "projects"), *section = json_get(projects, project);

        return section || !name ? section : json_get(projects, name);
}

/* Takes a text out of a list that has it. */
static void config_list_drop(struct json_value *list, const char *text) {
        size_t i = 0;

        while (!json_text(json_at(list, i)) || !streq(json_text(json_at(list, i)), text))
                i++;
        json_free(list->items[i]);
        memmove(list->items + i, list->items + i + 1, (--list->n - i) * sizeof(struct json_value *));
}

int config_make_folders(const char *path) {
        _cleanup_free_ char *folder = path_parent(path);

        if (!folder)
                return -ENOMEM;
        if (streq(folder, "/") || access(folder, F_OK) == 0)
                return 0;
        if (config_make_folders(folder) < 0)
                return -errno;
        return mkdir(folder, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int config_write(const char *file, const char *text, struct nsrun_error *err) {
        _cleanup_free_ char *copy = str_concat(file, "-XXXXXX", "");
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!copy)
                return error_oom(err);
        r = config_make_folders(file);
        if (r >= 0) {
                fd = mkostemp(copy, O_CLOEXEC);
                r = fd < 0 ? -errno : write_full(fd, text, strlen(text));
        }
        if (r >= 0 && rename(copy, file) < 0)
                r = -errno;
        if (r < 0 && fd >= 0)
                (void)unlink(copy);
        return r < 0 ? error_set(err, NSRUN_STAGE_USAGE, r, file, "the configuration can't be written", NULL)
                     : 0;
}

int config_section_write(struct json_document *d, const char *config, struct nsrun_error *err) {
        _cleanup_free_ char *laid_out = NULL;
        struct nsrun_policy *checked = NULL;
        int r;

        /* The section would be another project's. */
        if (d->is_other)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EILSEQ), config,
                                 "a path has bytes that are no UTF-8, which no configuration can name",
                                 NULL);
        r = json_lay_out(d, &laid_out, err);
        if (r >= 0 && nsrun_policy_new(&checked) < 0)
                r = error_oom(err);
        if (r >= 0) {
                checked->checks_sections = true;
                r = config_apply(checked, config, laid_out, err);
        }
        (void)nsrun_policy_free(checked);
        return r < 0 ? r : config_write(config, laid_out, err);
}

static int change_section(const char *of, const char *option, const char *text, bool adds, char **ret_said,
                          struct nsrun_error *err) {
        const char *key = streq(option, "ro") ? "readable" : streq(option, "rw") ? "writable" : option;
        _cleanup_free_ char *config = NULL, *project = config_section_name(of ? of : ""),
                            *value = config_section_name(text);
        _cleanup_json_ struct json_document d = {0};
        _cleanup_close_ int lock = -EBADF;
        struct json_value *section, *list;
        struct nsrun_policy *policy = NULL;
        int r;

        if (!of)
                return !adds ? 0
                             : error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOENT), NULL,
                                         "the sandbox has no project", NULL);
        r = nsrun_policy_new(&policy) < 0 ? error_oom(err) : config_edit_find(policy, NULL, &config, err);
        (void)nsrun_policy_free(policy);
        if (r >= 0)
                r = config_section_open(config, &lock, &d, err);
        if (r < 0)
                return r;
        if (!project || !value)
                return error_oom(err);
        section = config_section_find(&d, of, project);
        if (adds && section && json_has(section, CONFIG_SECTION_PROPOSAL))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EEXIST), config,
                                 "the project's section is what it proposed itself",
                                 "add it by 'nsrun config edit'");
        list = json_get(section, key);
        if (adds == json_array_has(list, value))
                return 0;
        if (adds) {
                if (!section)
                        section = json_add_object(&d, config_section_all(&d), project);
                json_add_string(&d, list ? list : json_add_array(&d, section, key), NULL, value);
        } else {
                config_list_drop(list, value);
        }
        r = config_section_write(&d, config, err);
        if (r >= 0)
                *ret_said = str_format("%s: \"%s\" has %s%s for %s", config, key, adds ? "" : "no more ",
                                       value, project);
        return r;
}

int config_section_save(const char *of, const char *option, const char *text, bool adds, char **ret_said,
                        struct nsrun_error *err) {
        struct nsrun_error why = {0};
        int r = change_section(of, option, text, adds, ret_said, &why);

        if (r < 0 && err) {
                *err = why;
                (void)snprintf(err->what, sizeof(err->what), "it is %s, but not saved: %.450s",
                               adds ? "granted" : "revoked", why.what);
        }
        return r;
}
