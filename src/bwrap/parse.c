/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bwrap_parse(): from left to right through the words, then what takes two options to see.  The
 * order of the checks is bubblewrap's, so that of two mistakes the same one is told. */
#include <limits.h>
#include <stdarg.h>

#include "options.h"

int bwrap_refuse(struct bwrap_parser *p, int r, const char *format, ...) {
        char text[sizeof(p->err->what)];
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        return error_set(p->err, NSRUN_STAGE_USAGE, r, NULL, text, NULL);
}

int bwrap_read_fd(struct bwrap_parser *p, const char *text, int *ret) {
        char *end;
        long fd;

        errno = 0;
        fd = strtol(text, &end, 10);
        if (end == text || *end || errno != 0 || fd < 0 || fd > INT_MAX)
                return bwrap_refuse(p, -EINVAL, "Invalid fd: %s", text);
        *ret = (int)fd;
        return 0;
}

int bwrap_read_octal(struct bwrap_parser *p, const struct bwrap_option *option, const char *text,
                     mode_t *ret) {
        char *end;
        long mode;

        errno = 0;
        mode = strtol(text, &end, 8);
        if (end == text || *end || errno != 0 || mode < 0 || mode > 07777)
                return bwrap_refuse(p, -EINVAL, "%s takes an octal argument <= 07777", option->name);
        *ret = (mode_t)mode;
        return 0;
}

int bwrap_warn_again(struct bwrap_parser *p, const struct bwrap_option *option) {
        return strv_consume(&p->config->warnings,
                            str_format("Only the last %s option will take effect", option->name));
}

static int parse_option(struct bwrap_parser *p, struct bwrap_args *args, const char *word) {
        static const char *const numbers[] = {"no", "an", "two", "three"};
        const struct bwrap_option *option = bwrap_option_find(word);
        const char *values[BWRAP_MOST_ARGUMENTS] = {NULL};
        size_t n;
        int r;

        if (!option)
                return bwrap_refuse(p, -EINVAL, "Unknown option %s", word);
        n = bwrap_option_n_arguments(option);
        for (size_t i = 0; i < n; i++) {
                values[i] = bwrap_args_take(args);
                if (!values[i])
                        return bwrap_refuse(p, -EINVAL, "%s takes %s argument%s", option->name,
                                            option->flags & BWRAP_SAYS_ONE ? "one" : numbers[n],
                                            n > 1 ? "s" : "");
        }
        for (size_t i = 0; i < n && (option->flags & BWRAP_WANTS_PATHS); i++)
                if (!*values[i] && (i > 0 || !(option->flags & (BWRAP_HAS_FD | BWRAP_HAS_MODE))))
                        return bwrap_refuse(p, -EINVAL, "%s does not take an empty path argument",
                                            option->name);
        r = option->read(p, option, values);
        if (r < 0 || p->is_finished)
                return r;
        return bwrap_check_waiting(p, option);
}

int bwrap_parse_options(struct bwrap_parser *p, struct bwrap_args *args) {
        const char *word;
        int r;

        while (!p->is_finished && (word = bwrap_args_peek(args)) && word[0] == '-') {
                (void)bwrap_args_take(args);
                if (streq(word, "--"))
                        return 0;
                r = parse_option(p, args, word);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What doesn't go together in a command line, with what is told of it. */
struct mistake {
        bool is_made;
        const char *what;
};

static int refuse_mistakes(struct bwrap_parser *p, const struct mistake *all, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (all[i].is_made)
                        return bwrap_refuse(p, -EINVAL, "%s", all[i].what);
        return 0;
}

/* Whether it has a command or not. */
static int check_user_namespace(struct bwrap_parser *p) {
        const struct bwrap_config *c = p->config;
        const struct mistake all[] = {
                {c->userns_block_fd >= 0 && !c->unshare_user, "--userns-block-fd requires --unshare-user"},
                {c->userns_block_fd >= 0 && c->info_fd < 0, "--userns-block-fd requires --info-fd"},
                {c->disable_userns && c->userns_block_fd >= 0,
                 "--disable-userns is not compatible with --userns-block-fd"},
                {c->userns_fd >= 0 && c->unshare_user, "--userns not compatible --unshare-user"},
                {c->userns_fd >= 0 && c->unshare_user_try, "--userns not compatible --unshare-user-try"},
                {c->disable_userns && !c->unshare_user, "--disable-userns requires --unshare-user"},
                {c->netns_fd >= 0 && c->unshare_net, "--netns not compatible --unshare-net"},
                {c->report_fd >= 0 && !c->seccomp_policy, "--report requires --seccomp-policy"},
        };

        return refuse_mistakes(p, all, ARRAY_SIZE(all));
}

static int check_command(struct bwrap_parser *p) {
        const struct bwrap_config *c = p->config;
        bool has_user_namespace =
                c->unshare_user || c->unshare_user_try || c->userns_fd >= 0 || c->caller_uid != 0;
        const struct mistake all[] = {
                {c->has_uid && c->uid != c->caller_uid && !has_user_namespace,
                 "Specifying --uid requires --unshare-user or --userns"},
                {c->has_gid && c->gid != c->caller_gid && !has_user_namespace,
                 "Specifying --gid requires --unshare-user or --userns"},
                {c->hostname && !c->unshare_uts, "Specifying --hostname requires --unshare-uts"},
                {c->as_pid_1 && !c->unshare_pid, "Specifying --as-pid-1 requires --unshare-pid"},
                {c->as_pid_1 && c->lock_files, "Specifying --as-pid-1 and --lock-file is not permitted"},
                {c->as_pid_1 && c->report_fd >= 0, "Specifying --as-pid-1 and --report is not permitted"},
        };

        return refuse_mistakes(p, all, ARRAY_SIZE(all));
}

static int parse_command_line(struct bwrap_parser *p, char *const *words) {
        struct bwrap_args args = {.words = words};
        int r = bwrap_parse_options(p, &args);

        if (r < 0 || p->is_finished)
                return r;
        r = bwrap_check_waiting(p, NULL);
        if (r == 0)
                r = check_user_namespace(p);
        if (r < 0)
                return r;
        p->config->lacks_command = !bwrap_args_peek(&args);
        if (p->config->lacks_command)
                return 0;
        r = check_command(p);
        return r < 0 ? r : strv_copy(args.words, &p->config->argv);
}

int bwrap_parse(int argc, char *const *argv, struct bwrap_config *config, struct nsrun_error *err) {
        struct bwrap_parser p = {.config = config, .err = err};
        int r = parse_command_line(&p, argv + (argc > 0));

        strv_free(p.lowers);
        strv_free(p.overlay_options);
        return r == -ENOMEM ? error_oom(err) : r;
}
