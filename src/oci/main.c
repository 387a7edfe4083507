/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-oci, a runtime of the OCI specification: the command line for container engines. */
#include "base/file.h"
#include "base/stream.h"
#include "base/sys.h"
#include "command.h"
#include "container.h"

#define EXIT_OCI 1

static char *spell_json(const char *message) {
        _cleanup_json_ struct json_document d = json_begin();
        time_t now = time(NULL);
        char day[32] = "";
        struct tm parts;

        if (gmtime_r(&now, &parts))
                (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%SZ", &parts);
        json_add_string(&d, d.root, "level", "error");
        json_add_string(&d, d.root, "msg", message);
        json_add_string(&d, d.root, "time", day);
        return json_line(&d);
}

static void log_error(const struct oci_options *options, const char *message) {
        bool is_json = options->log_format && streq(options->log_format, "json");
        _cleanup_free_ char *text = is_json ? spell_json(message) : strdup(message);
        _cleanup_close_ int fd = -EBADF;

        if (options->log)
                fd = sys_open(AT_FDCWD, options->log, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY, 0600);
        if (fd >= 0 && text) {
                (void)write_full(fd, text, strlen(text));
                (void)write_full(fd, "\n", 1);
        }
}

static int oci_fail(const struct oci_options *options, const struct nsrun_error *err) {
        _cleanup_free_ char *message = nsrun_error_format(err);
        const char *said = message ? message : "out of memory";

        (void)fflush(stdout);
        (void)fprintf(stderr, "nsrun-oci: %s\n", said);
        log_error(options, said);
        return EXIT_OCI;
}

/* What the caller has open besides is none of the container's. */
static int oci_shed_descriptors(const char *preserved, struct nsrun_error *err) {
        uint64_t n = 0;
        int r;

        if (preserved && (str_parse_number(preserved, false, &n) < 0 || n > 1024))
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), preserved,
                                 "--preserve-fds is a number", NULL);
        for (int fd = 3; fd < 3 + (int)n; fd++)
                if (fcntl(fd, F_SETFD, 0) < 0)
                        return error_setf(err, NSRUN_STAGE_USAGE, -EBADF, NULL, NULL,
                                          "--preserve-fds: descriptor %d", fd);
        r = sys_close_range(3 + (unsigned)n, ~0U);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "descriptors can't be closed", NULL)
                     : 0;
}

/* A standard stream that is closed stays so for the command, and isn't given to a file of ours. */
static int keep_standard_open(struct nsrun_error *err) {
        for (int fd = 0; fd <= 2; fd++)
                if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
                        return null_fail(-errno, err);
        return 0;
}

static int oci_main(int argc, char **argv, struct oci_options *options, int *ret_status,
                    struct nsrun_error *err) {
        const struct oci_command *command = NULL;
        int r = keep_standard_open(err);

        if (r == 0)
                r = sealed_become(argv, err);
        if (r == 0)
                r = oci_parse(argc, argv, &command, options, err);
        if (r == 0)
                r = oci_shed_descriptors(options->preserve_fds, err);
        if (r == 0 && command->run != oci_features)
                r = container_open_root(options->root, &options->root_fd, err);
        return r == 0 ? command->run(options, ret_status, err) : r;
}

int main(int argc, char **argv) {
        struct oci_options options = {.root_fd = -EBADF};
        struct nsrun_error err = {0};
        int status = 0, r;

        r = oci_main(argc, argv, &options, &status, &err);
        strv_free(options.env);
        close_fdp(&options.root_fd);
        if (r < 0)
                return oci_fail(&options, &err);
        return fflush(stdout) == 0 ? status : EXIT_OCI;
}
