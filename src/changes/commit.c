/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* changes_prepare(), changes_finish() and changes_discard(): what surrounds the three steps of apply.h. The
 * lock, the refusal of conflicts, the stage and what a killed run left of it, the record. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/random.h>

#include "base/str.h"
#include "digest.h"
#include "disk/remove_tree.h"
#include "index.h"

#define STAGE_COMMIT  ".nsrun-commit-"
#define STAGE_DISCARD ".nsrun-discard-"

/* A folder in which this commit moves something, and whether the session knew all its entries before. */
struct place {
        const char *path;
        size_t length;
        bool is_known, is_vouched;
};

int changes_moment(struct timespec begin, struct timespec *ret) {
        struct timespec now;

        /* Inodes are stamped with the coarse clock, which lags behind, or since 6.13 at times with the
         * fine one.  Once the coarse one has passed what the fine one said, no earlier
         * stamp is as late and no later one is as early. */
        for (;;) {
                const struct timespec moment = {.tv_nsec = 200000};

                if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
                        return -errno;
                if (now.tv_sec > begin.tv_sec || (now.tv_sec == begin.tv_sec && now.tv_nsec > begin.tv_nsec))
                        break;
                /* The clock was set back meanwhile. */
                if (now.tv_sec + 1 < begin.tv_sec)
                        begin = now;
                (void)nanosleep(&moment, NULL);
        }
        *ret = now;
        return 0;
}

/* One commit or discard of a session at a time. */
static int lock(int record_fd, const struct apply *a) {
        _cleanup_close_ int fd = openat(record_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const struct timespec moment = {.tv_nsec = 20000000};
        int r = fd < 0 ? -errno : 0;

        /* flock(2) without LOCK_NB could wait for ever: whoever has the lock may be stopped, and the signals
         * that would end this wait may be blocked. */
        while (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR) {
                        r = -errno;
                        break;
                }
                r = apply_heed(a);
                if (r < 0)
                        return r;
                (void)nanosleep(&moment, NULL);
        }
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, NULL,
                                 "the session's record can't be locked", NULL);
        return TAKE_FD(fd);
}

static int save(const struct changes_layer *layer, struct host *host, struct nsrun_error *err) {
        int r;

        host_settle(host);
        r = host_save(layer->record_fd, host);
        return r < 0 ? error_set(err, NSRUN_STAGE_WORKSPACE, r, NULL,
                                 "the session's record of commits can't be written", NULL)
                     : 0;
}

static int open_stage(struct apply *a, const struct changes_layer *layer) {
        uint64_t number;
        int r;

        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
                return -errno;
        (void)snprintf(a->stage, sizeof(a->stage), "%s%016" PRIx64,
                       a->is_commit ? STAGE_COMMIT : STAGE_DISCARD, number);
        /* The stage's name goes into the record before the stage is made: after a kill the next commit knows
         * what to remove. */
        a->host->stage = strdup(a->stage);
        if (!a->host->stage)
                return error_oom(a->err);
        r = save(layer, a->host, a->err);
        if (r < 0)
                return r;
        r = mkdirat(a->target.root, a->stage, 0700) < 0 ? -errno : 0;
        if (r == -EACCES && apply_grant(a, "", a->target.root) >= 0)
                r = mkdirat(a->target.root, a->stage, 0700) < 0 ? -errno : 0;
        if (r >= 0)
                r = a->stage_fd = tree_open(a->target.root, a->stage, O_RDONLY | O_DIRECTORY);
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, a->stage,
                                 "the folder for making things ready can't be made", NULL);
        a->staged.root = a->links.root = a->stage_fd;
        return 0;
}

static int remove_stage(const struct changes_layer *layer, struct host *host, struct nsrun_error *err) {
        int r;

        if (!host->stage)
                return 0;
        r = remove_tree(startswith(host->stage, STAGE_COMMIT) ? layer->base_fd : layer->merged_fd,
                        host->stage);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, host->stage,
                                 "a commit's own folder can't be removed", NULL);
        free(host->stage);
        host->stage = NULL;
        return 0;
}

void changes_forget(int record_fd, int base_fd) {
        _cleanup_close_ int guard = openat(record_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_host_ struct host host = {0};

        if (guard < 0 || flock(guard, LOCK_EX | LOCK_NB) < 0 || host_load(record_fd, &host.since, &host) < 0)
                return;
        if (host.stage && startswith(host.stage, STAGE_COMMIT))
                (void)remove_tree(base_fd, host.stage);
}

/* All conflicts are reported, before anything is moved. */
static int refuse_conflicts(struct apply *a) {
        const char *first = NULL, *last = NULL;

        for (size_t i = 0; i < a->n_ops; i++) {
                const struct change *c = a->ops[i].change;

                /* A rename has two operations, but is reported once. */
                if (!c->has_conflict || (c->from && a->ops[i].path != c->path))
                        continue;
                first = first ? first : c->path;
                last = c->path;
                if (apply_conflict(a, c->path) < 0)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];
                /* What has come or gone since the scan. */
                bool was_there = op->change->from ? op->path != op->change->path : op->change->old_mode != 0;

                if (op->change->has_conflict || op->is_there == was_there)
                        continue;
                first = first ? first : op->path;
                last = op->path;
                if (apply_conflict(a, op->path) < 0)
                        return -ENOMEM;
        }
        if (!first || a->is_forced)
                return 0;
        return error_set(
                a->err, NSRUN_STAGE_WORKSPACE, UNSAID(-ESTALE), first,
                first == last
                        ? "the host's side has changed since the session began, so nothing was committed"
                        : "the host's side has changed since the session began, here and elsewhere, "
                          "so nothing was committed",
                "the session has its own still: name other paths, or --force takes all, and what the host has "
                "there is lost");
}

static int compare_places(const void *a, const void *b) {
        const struct place *x = a, *y = b;
        int r = memcmp(x->path, y->path, x->length < y->length ? x->length : y->length);

        return r != 0 ? r : x->length < y->length ? -1 : x->length > y->length;
}

static int stat_place(struct apply *a, const struct place *p, struct stat *ret) {
        _cleanup_free_ char *path = strndup(p->path, p->length);

        return path ? tree_stat(&a->target, path, ret) : -ENOMEM;
}

/* The folders that hold what will be moved, the top folder for the stage, and those that are
 * themselves to be changed. */
static int list_places(struct apply *a, struct place **ret, size_t *ret_n) {
        struct place *places = calloc(a->n_ops * 2 + 1, sizeof(*places));
        size_t n = 0, kept = 0;

        if (!places)
                return error_oom(a->err);
        places[n++] = (struct place){.path = ""};
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];
                const char *slash = strrchr(op->path, '/');

                if (slash)
                        places[n++] = (struct place){.path = op->path, .length = (size_t)(slash - op->path)};
                if (op->is_there && S_ISDIR(op->seen.st_mode))
                        places[n++] = (struct place){.path = op->path, .length = strlen(op->path)};
        }
        qsort(places, n, sizeof(*places), compare_places);
        for (size_t i = 0; i < n; i++)
                if (kept == 0 || compare_places(&places[kept - 1], &places[i]) != 0)
                        places[kept++] = places[i];
        *ret = places;
        *ret_n = kept;
        return 0;
}

/* Records the present modes of folders whose ctime this commit is about to change, so that later conflicts
 * can be told. After the commit also their entries, where the session knew all of them before. */
static int vouch(struct apply *a, struct place *places, size_t n, bool is_before) {
        for (size_t i = 0; i < n; i++) {
                struct place *p = &places[i];
                struct stat st;

                if (stat_place(a, p, &st) < 0 || !S_ISDIR(st.st_mode))
                        continue;
                if (is_before) {
                        p->is_known = !host_has_new_entries(a->host, &st);
                        p->is_vouched = !host_has_changed(a->host, &st);
                }
                if (p->is_vouched && host_remember(a->host, &st, p->is_known) < 0)
                        return error_oom(a->err);
        }
        return 0;
}

/* Another name of a file that is replaced or removed is no change of the host's. */
static int vouch_links(struct apply *a) {
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];

                if (op->is_there && !S_ISDIR(op->seen.st_mode) && op->seen.st_nlink > 1 &&
                    !host_has_changed(a->host, &op->seen) && host_remember(a->host, &op->seen, false) < 0)
                        return error_oom(a->err);
        }
        return 0;
}

/* Records what this commit left on the host, so that the next one doesn't take it for a change of the
 * host's. */
static int commit_remember(struct apply *a) {
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];
                struct stat st = op->left;

                if (!op->is_put || op->role == ROLE_LEFT_OUT ||
                    !(op->role == ROLE_IN_TREE ? a->ops[op->top].is_done : op->is_done))
                        continue;
                if ((op->has_left || tree_stat(&a->target, op->path, &st) >= 0) &&
                    host_remember(a->host, &st, op->role != ROLE_FOLDER) < 0)
                        return error_oom(a->err);
        }
        return 0;
}

static void count(struct apply *a) {
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];
                bool is_done = op->is_done || op->role == ROLE_COVERED ||
                               (op->role == ROLE_IN_TREE && a->ops[op->top].is_done);

                /* A rename counts once. */
                if (is_done && !op->is_implied && op->role != ROLE_LEFT_OUT &&
                    (!op->change->from || op->path == op->change->path))
                        a->report->n_applied++;
        }
}

struct changes_commit {
        struct changes_layer layer; /* its descriptors are the caller's */
        struct changes changes;
        struct host host;
        struct apply apply;
        struct place *places;
        size_t n_places;
        int guard;      /* the lock */
        bool is_staged; /* something is ready to be moved */
};

/* Brings record and stage in order, after success and failure; the first error is returned. */
/* What this commit made of it is no change of the host's. */
static void index_remember_own(const struct changes_commit *k) {
        for (size_t i = 0; i < k->apply.n_ops; i++)
                if (k->apply.ops[i].is_done && streq(k->apply.ops[i].path, INDEX_PATH))
                        index_remember(k->layer.base_fd, k->layer.record_fd);
}

static int conclude(struct changes_commit *k, int r) {
        struct apply *a = &k->apply;
        int end;

        k->is_staged = false;
        tree_forget(&a->target);
        end = remove_stage(&k->layer, a->host, a->err);
        r = r < 0 ? r : end;
        if (a->is_commit) {
                index_remember_own(k);
                end = commit_remember(a);
                if (end >= 0)
                        end = vouch(a, k->places, k->n_places, false);
                r = r < 0 ? r : end;
        }
        end = save(&k->layer, a->host, a->err);
        return r < 0 ? r : end;
}

/* Makes everything ready.  Whether that succeeds or fails, conclude() is to follow. */
static int make_ready(struct changes_commit *k) {
        struct apply *a = &k->apply;
        int r = list_places(a, &k->places, &k->n_places);

        if (r >= 0 && a->is_commit)
                r = vouch(a, k->places, k->n_places, true);
        if (r >= 0 && a->is_commit)
                r = vouch_links(a);
        if (r >= 0)
                r = open_stage(a, &k->layer);
        if (r >= 0)
                r = apply_stage(a);
        if (r < 0 || !a->is_commit)
                return r;
        /* A loss of power finds each path old or new, too. */
        if (syncfs(a->stage_fd) < 0) {
                r = error_set(a->err, NSRUN_STAGE_WORKSPACE, -errno, NULL,
                              "what is to be committed can't be written to the disk", NULL);
                apply_restore(a);
                return r;
        }
        r = save(&k->layer, a->host, a->err);
        if (r < 0)
                apply_restore(a);
        return r;
}

/* Finds what is to be done, with a record that has been read or is empty. */
static int plan_ops(struct changes_commit *k, char *const *paths) {
        struct apply *a = &k->apply;
        int r = apply_choose(a, &k->changes, paths);

        return r < 0 ? r : apply_look(a);
}

static int find_ops(struct changes_commit *k, char *const *paths) {
        struct apply *a = &k->apply;
        int r;

        k->guard = lock(k->layer.record_fd, a);
        if (k->guard < 0)
                return k->guard;
        r = host_load(k->layer.record_fd, &k->layer.since, &k->host);
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, NULL,
                                 "the session's record of commits can't be read", NULL);
        r = remove_stage(&k->layer, &k->host, a->err);
        if (r >= 0)
                r = scan_with(&k->layer, &k->host, &k->changes, a->err);
        if (r >= 0)
                r = plan_ops(k, paths);
        if (r >= 0 && a->is_commit)
                r = refuse_conflicts(a);
        return r;
}

static void commit_begin(struct changes_commit *k, const struct changes_layer *layer, bool is_commit,
                         unsigned flags, const struct changes_filter *filter, struct changes_report *report,
                         struct nsrun_error *err) {
        /* All that a commit puts somewhere lies in the upper folder, from which the kernel copies at less
         * cost than from the overlay, and can share blocks. */
        const struct tree source = {.root = is_commit ? layer->upper_fd : layer->base_fd, .fd = -EBADF};
        const struct tree target = {.root = is_commit ? layer->base_fd : layer->merged_fd, .fd = -EBADF};

        *k = (struct changes_commit){
                .layer = *layer,
                .guard = -EBADF,
                .apply = {.host = &k->host,
                          .is_commit = is_commit,
                          .is_forced = !is_commit || (flags & CHANGES_FORCE),
                          .wants_digest = (flags & CHANGES_DIGEST) != 0,
                          .filter = filter,
                          .source = source,
                          .target = target,
                          .staged = {.root = -EBADF, .fd = -EBADF},
                          .links = {.root = -EBADF, .fd = -EBADF},
                          .stage_fd = -EBADF,
                          .report = report,
                          .err = err},
        };
}

static void commit_end(struct changes_commit *k) {
        apply_clear(&k->apply);
        changes_clear(&k->changes);
        host_clear(&k->host);
        free(k->places);
        close_fdp(&k->guard);
}
#define _cleanup_commit_ _cleanup_(commit_end)

static int commit_prepare(struct changes_commit *k, char *const *paths) {
        int r = find_ops(k, paths);

        if (r < 0 || k->apply.n_ops == 0)
                return r;
        r = make_ready(k);
        if (r < 0)
                return conclude(k, r);
        k->is_staged = true;
        return 0;
}

int changes_finish(struct changes_commit *k) {
        int r;

        if (!k->is_staged)
                return 0;
        r = apply_move(&k->apply);
        count(&k->apply);
        return conclude(k, r);
}

struct changes_commit *changes_commit_free(struct changes_commit *k) {
        if (!k)
                return NULL;
        if (k->is_staged) {
                apply_restore(&k->apply);
                (void)conclude(k, 0);
        }
        commit_end(k);
        free(k);
        return NULL;
}

int changes_prepare(const struct changes_layer *layer, char *const *paths, unsigned flags,
                    const struct changes_filter *filter, struct changes_report *report,
                    struct changes_commit **ret, struct nsrun_error *err) {
        struct changes_commit *k = malloc(sizeof(*k));
        int r;

        if (!k)
                return error_oom(err);
        commit_begin(k, layer, true, flags, filter, report, err);
        r = commit_prepare(k, paths);
        if (r < 0) {
                (void)changes_commit_free(k);
                return r;
        }
        *ret = k;
        return 0;
}

void changes_add_digest(const struct changes_commit *k, struct sha256 *sum) {
        digest_add_ops(&k->apply, sum);
}

int changes_digest(const struct changes_layer *layer, struct changes *c, char *const *paths,
                   const struct changes_filter *filter, struct sha256 *sum, struct nsrun_error *err) {
        _cleanup_changes_report_ struct changes_report unsaid = {0};
        _cleanup_commit_ struct changes_commit k;
        int r;

        commit_begin(&k, layer, true, 0, filter, &unsaid, err);
        k.changes = *c;
        r = plan_ops(&k, paths);
        if (r >= 0)
                r = digest_sources(&k.apply, c);
        if (r >= 0)
                digest_add_ops(&k.apply, sum);
        k.changes = (struct changes){0}; /* the caller's */
        return r;
}

int changes_discard(const struct changes_layer *layer, char *const *paths, struct changes_report *ret,
                    struct nsrun_error *err) {
        _cleanup_commit_ struct changes_commit k;
        int r;

        commit_begin(&k, layer, false, 0, NULL, ret, err);
        r = commit_prepare(&k, paths);
        return r < 0 ? r : changes_finish(&k);
}
