/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Linked worktrees deep in the project, where no repository is looked for. */
#include "harness.h"

static void on_host(const struct site *s, const char *script, struct outcome *o) {
        _cleanup_free_ char *text = text_of(
                "set -e; cd /; git config --global user.name J; git config --global user.email j@example.org\n"
                "git config --global protocol.file.allow always; cd '%s'\n%s",
                s->project, script);

        run_outside(s, o, text);
        expect_status(o, 0);
}

/* One that lies in the project is the command's to remove, in a later run too; what it makes of the pointers
 * that lead git to it is told. */
TEST(a_linked_worktree_in_the_project_can_be_removed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *aside = text_of(
                "nsrun: note: a commondir that the command made in a git dir, which git would have obeyed, is "
                "moved aside: %s/.git/worktrees/b/commondir.aside-0\n",
                s->project);
        _cleanup_free_ char *led = text_of(
                "nsrun: note: the command made this lead to another git dir than the linked worktree's, and git obeys "
                "that: git worktree repair mends it: %s/.trees/c/.git\n",
                s->project);
        _cleanup_free_ char *moved = text_of(
                "nsrun: note: a linked worktree's configuration that names a program or a work tree, which the "
                "command made, is moved aside: %s/.git/worktrees/e/config.worktree.aside-0\n",
                s->project);

        on_host(s, "git init -q -b main .; git commit -q --allow-empty -m one; git worktree add -q .trees/a",
                &o);
        RUN(s, &o, "--", "sh", "-c",
            "git worktree remove .trees/a && git branch -qD a && git worktree add -q .trees/b");
        expect_status(&o, 0);
        RUN(s, &o, "--", "sh", "-c",
            "git -C .trees/b commit -q --allow-empty -m two && git worktree move .trees/b .trees/c && git worktree list | wc -l");
        expect_out(&o, "2\n");
        RUN(s, &o, "--", "sh", "-c",
            "git worktree repair; echo ../../../evil >.git/worktrees/b/commondir; echo 'gitdir: evil' >.trees/c/.git");
        expect_in(o.err, aside);
        expect_in(o.err, led);
        /* A new one's own configuration stays where it names nothing that git would start. */
        on_host(s, "git config extensions.worktreeConfig true", &o);
        RUN(s, &o, "--", "sh", "-c",
            "for n in d e; do git worktree add -q .trees/$n; done; git -C .trees/d config --worktree core.sparseCheckout true\n"
            "git -C .trees/e config --worktree core.fsmonitor evil");
        assert_string_equal(o.err, moved);
        on_host(s, "ls .git/worktrees/?/config.worktree*", &o);
        expect_out(&o, ".git/worktrees/d/config.worktree\n.git/worktrees/e/config.worktree.aside-0\n");
}

int main(void) {
        return run_all_tests();
}
