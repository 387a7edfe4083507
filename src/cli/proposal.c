/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proposal.h"

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "changes/digest.h"
#include "confirm.h"
#include "host/project.h"
#include "host/user.h"
#include "policy/config.h"
#include "policy/config_section.h"
#include "rules/home_secrets.h"

#define MOST_BYTES  ((size_t)64 << 10)
#define REFUSED_KEY "// refused proposal"

struct proposal {
        char *project; /* canonical */
        char *file;
        char *text;
        char digest[SHA256_SIZE * 2 + 1];
        struct nsrun_policy *policy; /* what it says, and nothing else */
};

static void proposal_clear(struct proposal *p) {
        free(p->project);
        free(p->file);
        free(p->text);
        (void)nsrun_policy_free(p->policy);
}
#define _cleanup_proposal_ _cleanup_(proposal_clear)

/* The file is read once: what is shown is what is taken over.  1: there is one; 0: there is none. */
static int proposal_read(const char *project, struct proposal *ret, struct nsrun_error *err) {
        unsigned char digest[SHA256_SIZE];
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        ret->project = strdup(project);
        ret->file = path_join(project, PROPOSAL_FILE);
        if (!ret->project || !ret->file)
                return error_oom(err);
        fd = sys_openat2(AT_FDCWD, ret->file, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_NO_SYMLINKS);
        if (fd == -ENOENT)
                return 0;
        r = fd < 0 ? fd : sys_fstat(fd, &st);
        if (r >= 0 && !S_ISREG(st.st_mode))
                r = -EINVAL;
        if (r >= 0)
                r = read_small_fd(fd, MOST_BYTES, &ret->text);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_USAGE, r, ret->file, "the proposal can't be read",
                                 "it is a plain file of at most 64 KiB, and no symlink");
        digest_text(ret->text, strlen(ret->text), digest);
        str_hex(digest, SHA256_SIZE, ret->digest);
        return 1;
}

/* ------------------------------------------------------------- what was taken over */

/* Which proposal of the project was taken over (CONFIG_SECTION_PROPOSAL), or refused (REFUSED_KEY), by the
 * configuration: its digest, for the caller to free; or NULL. */
static char *decided_digest(const char *config, const char *project, const char *key) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *home_path = config_section_name(project);
        const char *digest;

        if (!config || config_section_open(config, NULL, &d, NULL) < 0)
                return NULL;
        digest = json_text(json_get(config_section_find(&d, project, home_path), key));
        return digest ? strdup(digest) : NULL;
}

void proposal_note(const struct nsrun_policy *policy, const char *project) {
        _cleanup_proposal_ struct proposal p = {.project = NULL};
        _cleanup_free_ char *had = NULL, *refused = NULL;

        if (!project || proposal_read(project, &p, NULL) <= 0)
                return;
        had = decided_digest(policy->config, project, CONFIG_SECTION_PROPOSAL);
        refused = decided_digest(policy->config, project, REFUSED_KEY);
        if (!had || !streq(had, p.digest))
                (void)fprintf(stderr,
                              "nsrun: note: the project proposes a configuration (" PROPOSAL_FILE
                              "), which %s: 'nsrun config proposal' shows it\n",
                              refused && streq(refused, p.digest) ? "you have refused"
                              : had                               ? "has changed since you took it over"
                                                                  : "isn't in force");
}

/* -------------------------------------------------------------------- the diff */

static bool is_said(const struct policy_said *said, size_t n, const struct policy_said *what) {
        for (size_t i = 0; i < n; i++)
                if (streq(said[i].key, what->key) && streq(said[i].value, what->value))
                        return true;
        return false;
}

/* A project may ask for a folder by a name that nobody looks at twice. */
static const char *warning_of_folder(const char *folder) {
        const char *home = getenv("HOME"), *below = home ? path_below(folder, home) : NULL;

        if (home && folder[0] == '/' && path_below(home, folder))
                return "   <- all of your home, with your keys and passwords";
        return below && secrets_hold(below) ? "   <- your keys and passwords are kept there" : "";
}

/* The last CONFIG_OR_VARIABLE in a toolchain's value: its path may have one, too, a variable's name not. */
static const char *find_variable(const char *value) {
        const char *found = NULL;

        for (const char *at = value; (at = strstr(at, CONFIG_OR_VARIABLE)); at++)
                found = at;
        return found;
}

/* A bind has the place inside behind its folder, a toolchain a variable that may name another folder. */
static const char *warning_of(const struct policy_said *said) {
        const char *variable = streq(said->key, "toolchains") ? find_variable(said->value) : NULL;
        size_t n = variable                   ? (size_t)(variable - said->value)
                   : streq(said->key, "bind") ? strcspn(said->value, ":")
                                              : strlen(said->value);
        _cleanup_free_ char *folder = strndup(said->value, n);
        const char *warning = folder ? warning_of_folder(folder) : "",
                   *other = variable ? getenv(variable + strlen(CONFIG_OR_VARIABLE)) : NULL;

        return *warning || !other ? warning : warning_of_folder(other);
}

static int proposal_print_line(char sign, const struct policy_said *said, struct nsrun_error *err) {
        _cleanup_free_ char *value = str_visible(said->value);

        if (!value)
                return error_oom(err);
        (void)printf("%c %s%s%s%s\n", sign, said->key, *value ? " " : "", value,
                     sign == '+' ? warning_of(said) : "");
        return 0;
}

/* What the proposal says and isn't in force; before it what of one value it would replace. */
static int print_difference(const struct nsrun_policy *policy, const struct proposal *p, size_t *ret_n,
                            struct nsrun_error *err) {
        _cleanup_free_ struct policy_said *now = NULL, *then = NULL;
        size_t n_now = 0, n_then = 0, n = 0;
        int r = 0;

        if (config_list_shown(policy, &now, &n_now) < 0 || config_list_shown(p->policy, &then, &n_then) < 0)
                return error_oom(err);
        for (size_t i = 0; i < n_then && r >= 0; i++) {
                if (streq(then[i].from, "default") || is_said(now, n_now, &then[i]))
                        continue;
                for (size_t k = 0; k < n_now && r >= 0; k++)
                        if (streq(now[k].key, then[i].key) && config_has_one_value(now[k].key))
                                r = proposal_print_line('-', &now[k], err);
                if (r >= 0)
                        r = proposal_print_line('+', &then[i], err);
                n++;
        }
        if (r >= 0 && n == 0)
                (void)printf("(nothing that isn't in force already)\n");
        *ret_n = n;
        return r;
}

/* -------------------------------------------------------------------- taking over */

/* Whether nobody has written the section but this program. */
static bool is_own_section(const struct json_value *section) {
        static const char *const refused[] = {REFUSED_KEY};

        return !section || json_has(section, CONFIG_SECTION_PROPOSAL) ||
               !json_unknown_key(section, refused, 1);
}

static int write_section(const struct proposal *p, const char *config, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0}, section = {0};
        _cleanup_close_ int lock = -EBADF;
        _cleanup_free_ char *key = config_section_name(p->project), *text = NULL;
        struct json_value *projects, *had;
        int r;

        if (!key)
                return error_oom(err);
        r = config_section_open(config, &lock, &d, err);
        if (r < 0)
                return r;
        had = config_section_find(&d, p->project, key);
        if (!is_own_section(had))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EEXIST), config,
                                 "the configuration has a section of yours for this project",
                                 "take over by 'nsrun config edit' what you want of the proposal");
        if (json_parse(&section, p->text, strlen(p->text), NULL, NULL) < 0)
                return error_oom(err); /* it was read before */
        json_add_string(&section, section.root, CONFIG_SECTION_PROPOSAL, p->digest);
        if (json_finish(&section, false, &text, err) < 0)
                return -ENOMEM;
        projects = config_section_all(&d);
        json_add_json(&d, projects, had && json_has(projects, p->project) ? p->project : key, text);
        return config_section_write(&d, config, err);
}

/* A refusal changes nothing but this note, which is a comment to the configuration. */
static int write_refusal(const struct proposal *p, const char *config, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *key = config_section_name(p->project);
        _cleanup_close_ int lock = -EBADF;
        struct json_value *section;
        int r;

        if (!key)
                return error_oom(err);
        r = config_section_open(config, &lock, &d, err);
        if (r < 0)
                return r;
        section = config_section_find(&d, p->project, key);
        if (!section)
                section = json_add_object(&d, config_section_all(&d), key);
        json_add_string(&d, section, REFUSED_KEY, p->digest);
        return config_section_write(&d, config, err);
}

static int ask_person(const struct proposal *p, const char *config, size_t n, struct nsrun_error *err) {
        _cleanup_close_ int fd = confirm_open_terminal();
        _cleanup_free_ char *prompt = NULL, *visible = str_visible(config);
        char answer[CONFIRM_ANSWER_SIZE] = "";

        if (fd < 0)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENXIO), p->file,
                                 "there is no terminal to ask on: nothing is taken over", NULL);
        if (!visible ||
            !(prompt = str_format("Take this over (%zu setting%s) into %s for this project? [y/N] ", n,
                                  n == 1 ? "" : "s", visible)))
                return error_oom(err);
        /* The end of the input is no answer. */
        if (confirm_ask(fd, prompt, answer) <= 0)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENODATA), p->file,
                                 "nobody has answered: nothing is taken over", NULL);
        return streq(answer, "y") || streq(answer, "yes");
}

/* Reads what it says.  A mistake is told with its place. */
static int understand(struct proposal *p, struct nsrun_error *err) {
        if (nsrun_policy_new(&p->policy) < 0)
                return error_oom(err);
        p->policy->keeps_said = true;
        return config_apply_proposal(p->policy, p->file, p->text, err);
}

static int proposal_offer(const struct nsrun_policy *policy, struct proposal *p, struct nsrun_error *err) {
        _cleanup_free_ char *config = NULL, *had = NULL, *refused = NULL, *visible = str_visible(p->file);
        size_t n = 0;
        int r = understand(p, err);

        if (r < 0)
                return r;
        if (!visible)
                return error_oom(err);
        r = config_edit_find(policy, NULL, &config, err);
        if (r < 0)
                return r;
        had = decided_digest(config, p->project, CONFIG_SECTION_PROPOSAL);
        refused = decided_digest(config, p->project, REFUSED_KEY);
        if (had && streq(had, p->digest)) {
                (void)printf("%s: taken over already\n", visible);
                return 0;
        }
        (void)printf("%s%s:\n", visible,
                     refused && streq(refused, p->digest) ? ", which you have refused, proposes"
                     : had ? ", which has changed since you took it over, proposes"
                           : " proposes");
        r = print_difference(policy, p, &n, err);
        if (r < 0)
                return r;
        (void)fflush(stdout);
        r = ask_person(p, config, n, err);
        if (r > 0)
                r = write_section(p, config, err);
        else if (r == 0) {
                (void)printf("nothing is taken over, and it counts as refused until it changes\n");
                return write_refusal(p, config, err);
        }
        if (r >= 0)
                (void)printf("%s: taken over\n", config);
        return r;
}

/* The project as `nsrun run` would find it. */
static int find_proposing(const struct nsrun_policy *policy, char **ret) {
        _cleanup_free_ char *home = NULL, *cwd = getcwd(NULL, 0);

        if (policy->no_project)
                return 0;
        if (policy->project)
                return path_canonical(policy->project, ret, NULL);
        if (user_find_home(getenv("HOME"), &home) < 0)
                return -ENOMEM;
        return cwd ? project_find(cwd, home, ret) : 0;
}

int proposal_show(struct nsrun_policy *policy, struct nsrun_error *err) {
        _cleanup_proposal_ struct proposal p = {.project = NULL};
        _cleanup_free_ char *project = NULL;
        int r = nsrun_policy_find_config(policy, err);

        if (r < 0)
                return r;
        r = find_proposing(policy, &project);
        if (r == -ENOMEM)
                return error_oom(err);
        if (r < 0 || !project)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOENT), policy->project,
                                 "there is no project here", NULL);
        r = proposal_read(project, &p, err);
        if (r > 0)
                return proposal_offer(policy, &p, err);
        if (r == 0)
                (void)printf("the project proposes nothing: there is no %s\n", p.file);
        return r;
}
