/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random command lines, sensible and senseless, under nsrun-bwrap and under Debian's bubblewrap 0.8.0: what
 * bwrap-run.c reports is the same but for what is excused below.  A line that differs is made shorter before
 * it is shown.
 *
 * BWRAP_LINES: how many; NSRUN_TEST_SEED: another beginning than the one of CI.  All lines stay in a tree of
 * their own: root runs them as well. */
#include "../seed.h"
#include "bwrap-differ.h"

#include <sched.h>

#define SEED       20261122U
#define LINES      600
#define MOST_PARTS 12
#define LOOK       "/x /x/file /x/sub /y /y/own /l /n1 /n1/t /n2 /n2/t /n2/t/u /p /d"

static struct excuse excuses[] = {
        {BY_ANYBODY, "*", "[-+]path /[nxy]* mode 407?? *", "parents of what has no mode of its own are 0755",
         false, false},
        {BY_ANYBODY, "*/n[12]/t*", "[-+]tree /* mode 40*", "as above, on the host", true, false},
        {BY_ANYBODY, "*", "+mount /*sys ro,nosuid,nodev,*relatime proc root /sys rw",
         "/proc/sys is never writable", true, false},
        {BY_ANYBODY, "*", "[-+]open /proc/sys/kernel/domainname: *", "/proc/sys is never writable", true,
         false},
        {BY_ANYBODY, "*", "-mount /p*/[bsi]* ro,*", "what nobody inside may write to is not covered", true,
         false},
        {BY_ANYBODY, "*", "-mount /* rw,relatime *", "a mount that another one hides gets its flags as well",
         true, false},
        {BY_ANYBODY, "*--dev *", "+mount /*/* r[ow],nosuid,*",
         "a mount that another one hides gets its flags as well", true, false},
        {BY_A_USER, "*--dev *", "[-+]/proc/self/?id_map: *",
         "devpts is mounted without a second user namespace around it", true, false},
        {BY_ANYBODY, "*--userns %userns*",
         "-fd 2? -> user:", "the command gets no descriptor of a namespace", false, false},
        {BY_ANYBODY, "*--cap-*", "[-+]Cap*", "what is dropped stays dropped", true, false},
        {BY_ANYBODY, "*--cap-*", "[-+]bounding set lacks *", "what is dropped stays dropped", true, false},
        {BY_ANYBODY, "*-fd %w*", "[-+]written to 2?: *",
         "sources and descriptors are looked at before anything is started", true, false},
        {BY_ANYBODY, "*--block-fd 77*", "*", "who wants the command to wait doesn't get one that runs",
         false, false},
        {BY_ANYBODY, "*--lock-file *", "*", "a lock that can't be had ends the sandbox", false, false},
        {BY_ANYBODY, "*--symlink * --symlink *", "*",
         "as since 0.9 an existing link with the same text is what was asked for", true, false},
        {BY_ANYBODY, "* ''*", "*", "no path is empty, as since 0.13", false, false},
        {BY_ANYBODY, "*--sync-fd *--sync-fd *", "-fd 2? -> *", "each is held, and the command gets none",
         true, false},
        {BY_ANYBODY, "*--symlink * *y --* *y*", "*",
         "what a dangling link names is made, and so are its parents", true, false},
        {BY_ANYBODY, "*--symlink * *x --* *x*", "*", "as above", true, false},
        {BY_ANYBODY, "*--symlink * /x/* --* /x/*", "*", "as above", true, false},
        {BY_ANYBODY, "*--symlink * /y*own --* /y*own*", "*", "as above", true, false},
        {BY_ANYBODY, "*--symlink * /[ln]* --* /[ln]*", "*", "as above", true, false},
        {BY_ANYBODY, "*--remount-ro /x/../y*", "*",
         "what is made read-only is there already, its parents too", true, false},
        {BY_ROOT, "*--dev *", "[-+]/proc/self/?id_map: *",
         "devpts is mounted without a second user namespace around it", true, false},
        {BY_ANYBODY, "*--remount-ro *//*", "*", "a mount is found however its DEST is spelled", true, false},
        {BY_ANYBODY, "*%bpf:short*", "[-+]tree *",
         "sources and descriptors are looked at before anything is started", true, false},
        {BY_ANYBODY, "*bind-fd %r*", "[-+]tree *",
         "sources and descriptors are looked at before anything is started", true, false},
        {BY_ANYBODY, "* 77 *", "[-+]tree *",
         "sources and descriptors are looked at before anything is started", true, false},
        {BY_ANYBODY, "* 77", "[-+]tree *", "as above", true, false},
        {BY_ANYBODY, "*--perms *--chdir *", "*",
         "the working directory is entered with the rights of who makes the sandbox", true, false},
        {BY_ANYBODY, "*--chmod *--chdir *", "*", "as above", true, false},
        {BY_ANYBODY, "*--chdir *--perms *", "*", "as above", true, false},
        {BY_ANYBODY, "*bind-data %r*--remount-ro *", "*", "what shows data is made read-only as any mount",
         true, false},
};

struct line {
        char *parts[MOST_PARTS];
        size_t n;
};

static unsigned state_of_dice;

static unsigned dice(unsigned sides) {
        state_of_dice = state_of_dice * 1664525U + 1013904223U;
        return (state_of_dice >> 8) % sides;
}

#define ONE_OF(...)                                 \
        (((const char *const[]){__VA_ARGS__})[dice( \
                (unsigned)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))])

/* What stands in an option's form: S a source, D a target, O a mode, R a descriptor with text, W one to
 * write to, and so on.  Others stand for themselves. */
static const char *word_of(char kind) {
        switch (kind) {
        case 'S':
                return ONE_OF("@/a", "@/b", "@/file", "@/other", "@/a/sub", "@/private", "@/link-a",
                              "@/link-file", "@/dangling", "@/missing", "@/a/", "@/root/etc", "@/sticky");
        case 'D':
                return ONE_OF("/x", "/y", "/x", "/y", "/x/sub", "/x/file", "/n1/t", "/n2/t/u", "x",
                              "/y//own", "//y", "/x/../y", "/l", "/y/own");
        case 'O':
                return ONE_OF("0700", "0755", "0711", "0000", "1777", "0640", "644", "7", "9", "010000");
        case 'R':
                return ONE_OF("%r:text", "%r:", "%r:more~words", "77");
        case 'F':
                return ONE_OF("%o:@/a", "%f:@/a", "%o:@/file", "%r:text", "77", "x");
        case 'B':
                return ONE_OF("%bpf:getsid", "%bpf:getppid", "%bpf:short", "77");
        case 'C':
                return ONE_OF("CAP_KILL", "cap_chown", "ALL", "5", "CAP_NOTHING", "CAP_NET_ADMIN");
        case 'I':
                return ONE_OF("0", "5", "1000", "-1", "x", "65534");
        case 'H':
                return ONE_OF("host", "a.b", "''");
        case 'V':
                return ONE_OF("A", "HOME", "PATH", "KEPT", "PWD", "A=B");
        case 'T':
                return ONE_OF("target", "/x", "x/sub", "../y", "/no/where");
        case 'Z':
                return ONE_OF("4096", "65536", "1", "0", "x", "1M");
        case 'P':
                return ONE_OF("/p", "/p", "/proc", "/n1/t");
        case 'W':
                return "%w";
        default:
                return NULL;
        }
}

/* Options of which most lines are made come more than once. */
static const char *const forms[] = {
        "--bind S D",
        "--bind S D",
        "--ro-bind S D",
        "--ro-bind S D",
        "--bind-try S D",
        "--ro-bind-try S D",
        "--dev-bind S D",
        "--bind-fd F D",
        "--ro-bind-fd F D",
        "--dir D",
        "--dir D",
        "--tmpfs D",
        "--tmpfs D",
        "--file R D",
        "--bind-data R D",
        "--ro-bind-data R D",
        "--symlink T D",
        "--chmod O D",
        "--remount-ro D",
        "--remount-ro /",
        "--proc P",
        "--dev /d",
        "--mqueue D",
        "--perms O --dir D",
        "--perms O --tmpfs D",
        "--perms O --file R D",
        "--perms O --bind-data R D",
        "--size Z --tmpfs D",
        "--perms O --bind S D",
        "--unshare-user",
        "--unshare-user-try",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup",
        "--unshare-cgroup-try",
        "--unshare-all",
        "--share-net",
        "--uid I",
        "--gid I",
        "--unshare-uts --hostname H",
        "--hostname H",
        "--chdir D",
        "--chdir /",
        "--clearenv",
        "--setenv V T",
        "--unsetenv V",
        "--bind S /x --lock-file /x/file",
        "--sync-fd R",
        "--seccomp B",
        "--add-seccomp-fd B",
        "--block-fd R",
        "--info-fd W",
        "--json-status-fd W",
        "--new-session",
        "--die-with-parent",
        "--as-pid-1",
        "--cap-add C",
        "--cap-drop C",
        "--args %r:--dir,/y",
        "--args %r:--bind,@/a,/x",
        "--userns %userns",
        "--unshare-user --disable-userns",
        "--assert-userns-disabled",
        "--chdir ''",
        "--dir ''",
        "--nonsense",
        "--bind S",
        "--uid",
        "--level D",
};

static char *part_of(const char *form) {
        _cleanup_free_ char *copy = strdup(form);
        char *rest = copy, *text = strdup("");

        for (char *word; (word = strsep(&rest, " "));) {
                const char *meant = word[0] && !word[1] ? word_of(word[0]) : NULL;
                char *longer = text_of("%s%s%s", text, *text ? " " : "", meant ? meant : word);

                free(text);
                text = longer;
        }
        return text;
}

static void deal(struct line *to) {
        to->n = 1 + dice(MOST_PARTS - 2);
        for (size_t i = 0; i < to->n; i++)
                to->parts[i] = part_of(forms[dice(ARRAY_SIZE(forms))]);
}

static void line_clear(struct line *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->parts[i]);
        l->n = 0;
}

static char *line_text(const struct line *l) {
        char *text = strdup("");

        for (size_t i = 0; i < l->n; i++) {
                char *longer = text_of("%s%s%s", text, i > 0 ? " " : "", l->parts[i]);

                free(text);
                text = longer;
        }
        return text;
}

static bool line_differs(const struct site *s, const char *judge, const struct line *l) {
        _cleanup_free_ char *text = line_text(l);
        const struct bwrap_case c = {.args = text, .look = LOOK};

        return bwrap_differs(s, judge, &c, excuses, ARRAY_SIZE(excuses), false) > 0;
}

/* Takes parts out as long as the rest differs as well. */
static void shorten(const struct site *s, const char *judge, struct line *l) {
        for (size_t i = 0; i < l->n;) {
                struct line shorter = *l;

                memmove(&shorter.parts[i], &shorter.parts[i + 1],
                        (shorter.n - i - 1) * sizeof(shorter.parts[0]));
                shorter.n--;
                if (shorter.n > 0 && line_differs(s, judge, &shorter)) {
                        free(l->parts[i]);
                        *l = shorter;
                } else {
                        i++;
                }
        }
}

static unsigned number_of(const char *name, unsigned otherwise) {
        const char *text = getenv(name);

        return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

FULL_TEST(random_command_lines_are_as_bubblewraps, site_setup, site_teardown) {
        const struct site *s = *state;
        const char *judge = judging_bwrap();
        unsigned n = number_of("BWRAP_LINES", LINES), n_differing = 0;

        if (!judge)
                skip_because("skipped: bubblewrap 0.8.0 is not installed");
        if (!bwrap_works_here(s, judge))
                skip_because("skipped: bubblewrap runs no static program here");
        deadline_seconds = 30;
        state_of_dice = SEED + (unsigned)test_seed();
        for (unsigned i = 0; i < n; i++) {
                struct line l;

                deal(&l);
                if (line_differs(s, judge, &l)) {
                        _cleanup_free_ char *whole = line_text(&l), *text = NULL;

                        print_message("of: %s\n", whole);
                        shorten(s, judge, &l);
                        text = line_text(&l);
                        print_message("DIFFERS: %s\n", text);
                        n_differing++;
                }
                line_clear(&l);
        }
        print_message("%u command lines compared\n", n);
        assert_int_equal(n_differing, 0);
        /* CI's lines need each of these; of another beginning's some may need one less. */
        if (test_seed() == 1)
                expect_no_idle(excuses, ARRAY_SIZE(excuses));
}

int main(void) {
        /* Root's --mqueue shows the host's queues: what a command line makes or changes there would stay. */
        if (geteuid() == 0 && unshare(CLONE_NEWIPC) < 0)
                return 1;
        return run_all_tests();
}
