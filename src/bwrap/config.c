/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a struct bwrap_config.  What it holds is for options.c to say. */
#include "config.h"

extern char **environ;

int bwrap_config_init(struct bwrap_config *config) {
        struct bwrap_config c = {
                .parent = getppid(),
                .caller_uid = getuid(),
                .caller_gid = getgid(),
                .userns_fd = -1,
                .userns2_fd = -1,
                .pidns_fd = -1,
                .netns_fd = -1,
                .block_fd = -1,
                .userns_block_fd = -1,
                .info_fd = -1,
                .json_status_fd = -1,
                .report_fd = -1,
                .caps_kept = UINT64_MAX,
        };
        int r = strv_copy(environ, &c.env);

        if (r < 0)
                return r;
        *config = c;
        return 0;
}

void bwrap_config_clear(struct bwrap_config *config) {
        for (size_t i = 0; i < config->n_ops; i++) {
                struct bwrap_op *op = &config->ops[i];

                free(op->source);
                free(op->target);
                free(op->work);
                strv_free(op->lowers);
                strv_free(op->overlay_options);
        }
        free(config->ops);
        free(config->hostname);
        free(config->chdir);
        strv_free(config->env);
        strv_free(config->argv);
        free(config->argv0);
        strv_free(config->lock_files);
        strv_free(config->protect);
        strv_free(config->hide);
        free(config->seccomp_fds);
        free(config->seccomp_policy);
        free(config->sync_fds);
        free(config->exec_label);
        free(config->file_label);
        strv_free(config->warnings);
        *config = (struct bwrap_config){0};
}
