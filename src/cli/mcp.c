/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun mcp`: a session's commands and files for a client of the Model Context Protocol. */
#include "base/file.h"
#include "base/loop.h"
#include "mcp/listen.h"
#include "option.h"

struct mcp_options {
        struct mcp_settings settings;
        struct mcp_listening at; /* without an address standard input and output are the client's */
};

static int cli_mcp_apply_timeout(void *target, const struct option_spec *spec, const char *value,
                                 struct nsrun_error *err) {
        struct mcp_options *o = target;
        int r = option_seconds(&o->settings.timeout, spec, value, err);

        if (r >= 0 && (o->settings.timeout < 1 || o->settings.timeout > NSRUN_BASH_TIMEOUT_MOST))
                return option_refuse(spec, value, "out of bounds", "1 to 600", err);
        return r;
}

OPTION_TEXT(cli_mcp_apply_name, struct mcp_options, settings.session.name);

/* --listen and --http. */
static int apply_address(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        struct mcp_options *o = target;
        bool is_http = streq(spec->name, "http");

        if (o->at.address && o->at.is_http != is_http)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "--listen and --http can't both be", "leave one of them out");
        o->at = (struct mcp_listening){value, is_http};
        return 0;
}

OPTION_FLAG(cli_mcp_apply_ask, struct mcp_options, settings.asks_files);

static int apply_commits(void *target, const struct option_spec *spec, nsrun_unused const char *value,
                         struct nsrun_error *err) {
        struct mcp_options *o = target;
        enum mcp_commits wanted = streq(spec->name, "ask-commit") ? MCP_COMMITS_ASKED : MCP_COMMITS_ALLOWED;

        if (o->settings.commits != MCP_COMMITS_NEVER && o->settings.commits != wanted)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                                 "--ask-commit and --allow-commit can't both be", "leave one of them out");
        o->settings.commits = wanted;
        return 0;
}

const struct option_spec mcp_options[] = {
        {"ask-commit", 0, NULL, OPTION_COMPLETES_NOTHING, "Server",
         "the model may commit and discard overlays' changes, each time that the client's user says yes",
         apply_commits},
        {"ask", 0, NULL, OPTION_COMPLETES_NOTHING, "Server",
         "have the client's user, or 'nsrun session ask', asked about files that a command doesn't find: a yes shows them, read-only or as it says",
         cli_mcp_apply_ask},
        {"allow-commit", 0, NULL, OPTION_COMPLETES_NOTHING, "Server",
         "the model may commit and discard overlays' changes, and nobody is asked", apply_commits},
        {"http", 0, "ADDRESS", OPTION_COMPLETES_PATH, "Server",
         "serve HTTP at 127.0.0.1:PORT, whose token standard error is told, or at a Unix socket's path",
         apply_address},
        {"listen", 0, "SOCKET", OPTION_COMPLETES_PATH, "Server",
         "make a Unix socket, and serve each client that connects to it in a session of its own",
         apply_address},
        {"name", 0, "NAME", OPTION_COMPLETES_NOTHING, "Server",
         "what the session is called, instead of eight letters", cli_mcp_apply_name},
        {"timeout", 0, "SECONDS", OPTION_COMPLETES_NOTHING, "Server",
         "end a command after SECONDS, unless its call says otherwise; the default is 120",
         cli_mcp_apply_timeout},
};
const size_t n_mcp_options = ARRAY_SIZE(mcp_options);

static void do_nothing(nsrun_unused int signal) {
}

/* Signals that end the server wait for its loop, in all threads; a client that has gone is an error of
 * write(2).  Caught, SIGPIPE is as ever in the commands. */
static void prepare_signals(void) {
        struct sigaction caught = {.sa_handler = do_nothing};
        const sigset_t set = SIGNALS(SIGINT, SIGTERM, SIGHUP);

        (void)sigaction(SIGPIPE, &caught, NULL);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The client's stream gets messages alone: what else is printed goes to standard error. */
static int set_output_aside(struct nsrun_error *err) {
        int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

        if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                 "standard output can't be set aside", NULL);
        return fd;
}

static int serve_here(struct mcp_options *o, struct nsrun_error *err) {
        _cleanup_close_ int output = -EBADF;
        int r = 0;

        if (!o->at.address)
                r = output = set_output_aside(err);
        if (r < 0)
                return r;
        prepare_signals();
        if (o->at.address)
                return mcp_listen(&o->settings, &o->at, err);
        return mcp_serve(&o->settings, STDIN_FILENO, output, err);
}

static int check_and_serve(struct invocation *i, struct nsrun_error *err) {
        struct mcp_options *o = i->options;
        int r = command_refuse_words(i, "it takes no arguments", err);

        o->settings.policy = i->policy;
        o->settings.is_http = o->at.is_http;
        i->policy->kills_leftovers |= i->policy->session && o->settings.asks_files;
        if (r == 0 && i->policy->session && o->settings.session.name)
                r = option_usage_error(i->command, "--name", "the session that --session names has its own",
                                       err);
        if (r == 0 && o->at.address && o->settings.session.name)
                r = option_usage_error(i->command, "--name",
                                       "with --listen and --http each client has a session of its own", err);
        return r == 0 ? serve_here(o, err) : r;
}

COMMAND_MAIN(mcp,
             (&(struct mcp_options){
                     .settings = {.session = NSRUN_SESSION_OPTIONS_INIT, .timeout = NSRUN_BASH_TIMEOUT}}),
             .run = check_and_serve, .prepare = policy_set_for_agent);
