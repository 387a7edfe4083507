/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Real work in the sandbox: git, Python, npm, and nsrun's own build.  What it needs
 * of the host is there by default, and the host's caches stay as they were. */
#include "harness.h"

TEST(a_repository_is_made_and_committed_to) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("git"))
                skip_because("skipped: git is not installed");
        run_inside(
                s, &o,
                "git init -q . && echo text >file && git add file && "
                "git -c user.name=N -c user.email=n@example.org commit -q -m 'the subject' && git status --short");
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        expect_out(&o, "");
        run_outside(s, &o, "git log --format='%an %s' && git fsck --strict");
        expect_status(&o, 0);
        expect_out(&o, "N the subject\n");
}

TEST(a_python_environment_is_made_and_works) {
        const struct site *s = *state;
        _cleanup_free_ char *expected = text_of("%s/venv\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "python3 -c 'import venv, ensurepip'");
        if (o.status != 0)
                skip_because("skipped: Python's venv is not installed");
        run_inside(s, &o,
                   "python3 -m venv venv && venv/bin/python -c 'import sys; print(sys.prefix)' && "
                   "venv/bin/python -m pip --version >/dev/null && "
                   "venv/bin/python -c 'import multiprocessing as m; m.Lock(); m.Queue()'");
        expect_status(&o, 0);
        expect_out(&o, expected);
}

/* A package whose installation fills the cache, without a registry. */
static void make_package(const struct site *s) {
        make_file(s->project, "package/package.json",
                  "{\"name\": \"small\", \"version\": \"1.0.0\", \"main\": \"index.js\"}\n");
        make_file(s->project, "package/index.js", "module.exports = 'installed';\n");
        make_file(s->project, "package.json",
                  "{\"name\": \"user\", \"version\": \"1.0.0\", \"private\": true}\n");
}

TEST(npm_installs_and_leaves_the_hosts_cache_alone) {
        static const char warm[] =
                "npm pack --silent ./package >/dev/null && npm cache add ./small-1.0.0.tgz && ls ~/.npm/_cacache >/dev/null";
        static const char install[] =
                "npm install --silent ./small-1.0.0.tgz && node -p 'require(\"small\")' && "
                "echo mine >~/.npm/_cacache/mine";
        const struct site *s = *state;
        _cleanup_free_ char *cache = path_of(s->home, ".npm");
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        if (!has_program("npm"))
                skip_because("skipped: npm is not installed");
        make_package(s);
        run_outside(s, &o, warm);
        expect_status(&o, 0);
        before = snapshot(cache);
        RUN(s, &o, "--overlay", cache, "--", "sh", "-c", install);
        expect_status(&o, 0);
        expect_out(&o, "installed\n");
        expect_unchanged(cache, before);
        /* On the host the same changes it. */
        before = snapshot(cache);
        run_outside(s, &o, install);
        expect_status(&o, 0);
        free(before);
        run_outside(s, &o, "ls ~/.npm/_cacache/mine");
        expect_status(&o, 0);
}

/* The same with what other people publish, over the network. */
TEST(npm_installs_from_its_registry) {
        const struct site *s = *state;
        _cleanup_free_ char *cache = path_of(s->home, ".npm");
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        if (!has_program("npm"))
                skip_because("skipped: npm is not installed");
        make_package(s);
        run_outside(s, &o, "npm view left-pad@1.3.0 version");
        if (o.status != 0)
                skip_because("skipped: npm's registry can't be reached");
        before = snapshot(cache);
        RUN(s, &o, "--overlay", cache, "--", "sh", "-c",
            "npm install --silent left-pad@1.3.0 && node -p 'require(\"left-pad\")(7, 3, 0)'");
        expect_status(&o, 0);
        expect_out(&o, "007\n");
        expect_unchanged(cache, before);
}

TEST_IF(!takes_samples(), nsrun_builds_and_tests_itself, site_setup, site_teardown) {
        static const char build[] =
                /* The make that runs this test hands down its own command line. */
                "unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL TESTS\n"
                /* ccache would want the cache folder of the tests, which no sandbox has. */
                "[ -z \"$CC\" ] || export CC=\"${CC#ccache }\"\n"
                "step() { \"$@\" >log 2>&1 || { tail -n 30 log; exit 1; }; }\n"
                "[ -x configure ] || step sh scripts/autogen\n"
                "mkdir build && cd build || exit 1\n"
                /* A build like any other, and done three times as soon as one that is optimised. */
                "step ../configure --disable-static CFLAGS='-g -O0'\n"
                "step make -s -j2\n"
                /* Not "check": that builds everybody's tests first. */
                "make -s -j2 check-TESTS TESTS='$(unit_tests)' >log 2>&1 || "
                "{ grep -h -A2 ERROR tests/unit/*.log; exit 1; }\n"
                "./nsrun --version; ls tests/unit/*.log | wc -w\n";
        const struct site *s = *state;
        const char *source = getenv("NSRUN_SOURCE");
        _cleanup_free_ char *copy = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        assert_non_null(source);
        copy = text_of(
                "cd '%s' && tar -cf - --exclude=.git --exclude='./_*' --exclude='*.o' --exclude='*.lo' configure.ac "
                "Makefile.am COPYING README* src seccomp tests scripts .build-aux configure Makefile.in aclocal.m4 "
                ".ci .clang-format .editorconfig .gitignore 2>/dev/null | tar -xf - -C '%s' && chmod -R u+w '%s'",
                source, s->project, s->project);
        run_outside(s, &o, copy);
        expect_status(&o, 0);
        deadline_seconds = 840;
        run_inside(s, &o, build);
        if (o.status != 0)
                (void)printf("%s%s", o.out, o.err); /* more than cmocka prints at once */
        expect_status(&o, 0);
        expect_in(o.out, "nsrun ");
        assert_true(strtol(strchr(o.out, '\n'), NULL, 10) > 5);
}

int main(void) {
        return run_all_tests();
}
