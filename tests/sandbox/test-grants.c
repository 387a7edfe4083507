/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --kvm, --fuse, --gpu and --sound: what each shows, and nothing beside it; what it says that it gives away;
 * and one line for what the host doesn't have.  Hosts with other devices than this one's are staged: a
 * device node is another one's, bound. */
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "host.h"
#include "session.h"

/* A /dev with `nodes` (each is /dev/null) beside the usual ones, and a /sys with two GPUs' entry. */
struct desk {
        struct host host; /* first: run_on() hands a pointer to it */
        const char *const *nodes;
        const char *node; /* what the nodes are instead of /dev/null; or NULL */
        const char *sys;  /* a folder that becomes /sys; or NULL */
};

static void add_node(const char *folder, const char *name, const char *source) {
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
        for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
                *slash = '\0';
                (void)mkdir(path, 0755);
        }
        stage_make_file(path, "");
        stage_bind(source, path);
}

static void stage_desk(void *data) {
        static const char *const usual[] = {"null", "zero", "full", "random", "urandom", "tty", NULL};
        const struct desk *d = data;
        const char *folder = d->host.folder;

        stage_enter();
        stage_tmpfs(folder, 0);
        for (const char *const *name = usual; *name; name++) {
                char source[64];

                (void)snprintf(source, sizeof(source), "/dev/%s", *name);
                add_node(folder, *name, source);
        }
        for (const char *const *name = d->nodes; *name; name++)
                add_node(folder, *name, d->node ? d->node : "/dev/null");
        if (mount(folder, "/dev", NULL, MS_MOVE, NULL) < 0)
                stage_fail("/dev");
        if (d->sys)
                stage_bind(d->sys, "/sys");
}

static void run_desk(const struct site *s, struct desk *d, const char *const *options, const char *script,
                     struct outcome *ret) {
        _cleanup_free_ char *folder = path_of(s->outside, "dev");

        assert_true(mkdir(folder, 0755) == 0 || errno == EEXIST);
        d->host.folder = folder;
        run_on(s, stage_desk, &d->host, NULL, options, script, ret);
}

#define NODES(...) OPTIONS(__VA_ARGS__)
#define NO_NODES   ((const char *const[]){NULL})
#define NO_KVM                                                                                               \
        "nsrun: --kvm: the host has no such device: /dev/kvm; as root: modprobe kvm_intel (or kvm_amd); in " \
        "a container: pass it the device"
#define NO_GPU                                                                                                   \
        "nsrun: --gpu: the host has no render node (/dev/dri/renderD*, /dev/nvidia*, /dev/kfd); its driver may " \
        "not be loaded; in a container: pass it the devices"
#define NO_SOUND                                                                                                \
        "nsrun: --sound: the host has no sound server's socket ($XDG_RUNTIME_DIR/pipewire-0 and pulse/native, " \
        "PULSE_SERVER) and no /dev/snd; start one, or set XDG_RUNTIME_DIR as in the desktop's session"

static void forget_servers(void) {
        static const char *const names[] = {"PULSE_SERVER", "PULSE_COOKIE", "PIPEWIRE_REMOTE",
                                            "PIPEWIRE_RUNTIME_DIR"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_int_equal(unsetenv(names[i]), 0);
}

TEST(what_the_host_does_not_have_is_one_line) {
        static const struct {
                const char *options[3];
                const char *line;
        } cases[] = {
                {{"--kvm"}, NO_KVM},
                {{"--gpu"}, NO_GPU},
                {{"--sound"}, NO_SOUND},
                {{"--fuse", "--seccomp=nested"},
                 "nsrun: --fuse: the host has no such device: /dev/fuse; as root: modprobe fuse; in a "
                 "container: pass it the device"},
                {{"--fuse"},
                 "nsrun: --fuse: no command can mount under this seccomp policy; add --seccomp=nested: it may "
                 "then do so in namespaces of its own (unshare -Urm), and needs no fusermount, which is "
                 "setuid and gets no rights inside"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.nodes = NO_NODES};

        forget_servers();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                run_desk(s, &d, cases[i].options, "echo started", &o);
                expect_refusal(&o, 125, cases[i].line);
        }
        /* A file of that name is no device, and nodes that set modes are none that --gpu shows. */
        d.nodes = NODES("dri/card0", "nvidia-modeset", "nvidiax");
        run_desk(s, &d, OPTIONS("--gpu"), "echo started", &o);
        expect_refusal(&o, 125, NO_GPU);
}

/* A node that is there and that the user can't open: /dev/kmsg is root's to write. */
TEST_IF(geteuid() != 0, a_device_of_somebody_else_is_one_line, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.nodes = NODES("kvm", "dri/renderD128"), .node = "/dev/kmsg"};

        if (access("/dev/kmsg", F_OK) < 0 || access("/dev/kmsg", W_OK) == 0)
                skip_because("there is no /dev/kmsg, or this user may write to it");
        run_desk(s, &d, OPTIONS("--kvm"), "echo started", &o);
        expect_refusal(&o, 125,
                       "nsrun: --kvm: this user may not open the host's device: /dev/kvm; its mode (ls -l) "
                       "lets root alone do so");
        run_desk(s, &d, OPTIONS("--gpu"), "echo started", &o);
        expect_refusal(&o, 125,
                       "nsrun: --gpu: this user may not open the host's render nodes; add the user to their "
                       "group (ls -l /dev/dri names it), and log in again");
}

TEST(a_device_is_shown_by_its_word_alone) {
        static const char look[] =
                "cd /dev && for f in kvm fuse dri kfd nvidia0 nvidiactl snd; do [ -e $f ] && "
                "echo $f; done; [ -c kvm ] && echo x >kvm && echo written; :";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.nodes = NODES("kvm", "fuse", "dri/renderD128", "kfd", "nvidia0", "nvidiactl",
                                        "snd/controlC0")};

        run_desk(s, &d, NO_OPTIONS, look, &o);
        expect_status(&o, 0);
        expect_out(&o, "");
        run_desk(s, &d, OPTIONS("--kvm"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "kvm\nwritten\n");
        run_desk(s, &d, OPTIONS("--fuse", "--seccomp=nested"), look, &o);
        expect_status(&o, 0);
        expect_out(&o, "fuse\n");
        run_desk(s, &d, OPTIONS("--kvm", "-v"), "true", &o);
        expect_status(&o, 0);
        expect_in(o.err, "\ngives away  --kvm: virtual machines (/dev/kvm), and with them the kernel's code "
                         "that runs these\n");
}

/* A symlink or a file in the place of a node isn't shown. */
TEST(a_node_is_a_node) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *file = path_of(s->outside, "file");
        struct desk d = {.nodes = NODES("kvm"), .node = file};

        make_file(s->outside, "file", "");
        run_desk(s, &d, OPTIONS("--kvm"), "echo started", &o);
        expect_refusal(&o, 125, NO_KVM);
}

/* The kernel itself answers: as it would outside. */
TEST(kvm_works) {
        static const char ask[] = "import fcntl, os\n"
                                  "print(fcntl.ioctl(os.open('/dev/kvm', os.O_RDWR), 0xAE00))";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome inside = {0}, outside = {0};

        if (access("/dev/kvm", R_OK | W_OK) < 0) {
                RUN(s, &inside, "--kvm", "--", "true");
                assert_int_equal(inside.status, 125);
                assert_true(is_one_line(inside.err));
                return;
        }
        if (!has_program("python3"))
                skip_because("there is no python3");
        run(&(struct request){.argv = OPTIONS("python3", "-c", ask)}, &outside);
        expect_status(&outside, 0);
        RUN(s, &inside, "--kvm", "--", "python3", "-c", ask);
        expect_status(&inside, 0);
        expect_out(&inside, outside.out);
}

/* What --fuse says works: a mount in a namespace of the command's own, without fusermount. */
TEST(fuse_mounts_in_a_namespace_of_its_own) {
        static const char mount_it[] =
                "unshare -Urm sh -c 'exec 7<>/dev/fuse && mount -i -t fuse -o "
                "fd=7,rootmode=40000,user_id=0,group_id=0 mine /tmp && grep -c \"^mine /tmp fuse \" "
                "/proc/self/mounts'";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (access("/dev/fuse", R_OK | W_OK) < 0) {
                RUN(s, &o, "--fuse", "--seccomp=nested", "--", "true");
                assert_int_equal(o.status, 125);
                assert_true(is_one_line(o.err));
                return;
        }
        /* Root's id can't be mapped once more without a right over it. */
        RUN(s, &o, "--fuse", "--seccomp=nested", "--uid=1000", "--gid=1000", "--", "sh", "-c", mount_it);
        expect_status(&o, 0);
        expect_out(&o, "1\n");
}

static void lay_gpu(const char *sys) {
        static const char *const folders[] = {
                "dev",
                "dev/char",
                "devices",
                "devices/pci0",
                "devices/pci0/0000:00:02.0",
                "devices/pci0/0000:00:02.0/drm",
                "devices/pci0/0000:00:02.0/drm/card0",
                "devices/pci0/0000:00:02.0/drm/renderD128",
        };
        static const char device[] = "devices/pci0/0000:00:02.0/";
        static const char *const files[][2] = {{"vendor", "0x8086\n"},
                                               {"device", "0x46a6\n"},
                                               {"uevent", "PCI_SLOT_NAME=0000:00:02.0\n"},
                                               {"resource0", "secret"},
                                               {"drm/card0/edid", "secret"},
                                               {"drm/renderD128/dev", "1:3\n"}};

        assert_int_equal(mkdir(sys, 0755), 0);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                make_folder(sys, folders[i]);
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *name = text_of("%s%s", device, files[i][0]);

                make_file(sys, name, files[i][1]);
        }
        /* /dev/null, which stands for the node, is 1:3. */
        make_link(sys, "dev/char/1:3", "../../devices/pci0/0000:00:02.0/drm/renderD128");
        make_link(sys, "devices/pci0/0000:00:02.0/drm/renderD128/device", "../../../0000:00:02.0");
        make_link(sys, "devices/pci0/0000:00:02.0/subsystem", "../../../bus/pci");
}

TEST(of_a_gpu_what_renders_is_shown_and_what_libdrm_reads) {
        const struct site *s = *state;
        _cleanup_free_ char *sys = path_of(s->outside, "sys");
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.sys = sys,
                         .nodes = NODES("dri/renderD128", "dri/renderD129", "dri/card0", "kfd", "nvidia0",
                                        "nvidiactl", "nvidia-uvm", "nvidia-modeset",
                                        "nvidia-caps/nvidia-cap1", "dri/renderDx")};

        lay_gpu(sys);
        run_desk(s, &d, OPTIONS("--gpu"),
                 "cd /dev && ls dri; ls -d kfd nvidia*; ls nvidia-caps; cd /sys/dev/char/1:3/device && cat "
                 "vendor device uevent drm/renderD128/dev; readlink subsystem; ls . drm; echo x >>vendor",
                 &o);
        assert_int_not_equal(o.status, 0); /* the last command's: the copies can't be written to */
        expect_out(&o, "renderD128\nrenderD129\n"
                       "kfd\nnvidia-caps\nnvidia-uvm\nnvidia0\nnvidiactl\nnvidia-cap1\n"
                       "0x8086\n0x46a6\nPCI_SLOT_NAME=0000:00:02.0\n1:3\n../../../bus/pci\n"
                       ".:\ndevice\ndrm\nsubsystem\nuevent\nvendor\n\ndrm:\nrenderD128\n");
        run_desk(s, &d, OPTIONS("--gpu", "-v"), "true", &o);
        expect_status(&o, 0);
        expect_in(o.err,
                  "\ngives away  --gpu: computing and drawing on the GPU, but not on the screen "
                  "(/dev/dri/renderD128, /dev/dri/renderD129, /dev/kfd, /dev/nvidia-caps/nvidia-cap1, "
                  "/dev/nvidia-uvm, /dev/nvidia0, /dev/nvidiactl), and the driver's code in the kernel; "
                  "its memory may hold what other programs left there\n");
}

/* A socket at folder/name at which nobody answers; its folder is there. */
static int listen_in(const char *folder, const char *name) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        _cleanup_free_ char *path = path_of(folder, name);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0 && strlen(path) < sizeof(at.sun_path));
        (void)strcpy(at.sun_path, path);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 4), 0);
        return fd;
}

TEST(sound_is_the_servers_sockets_and_the_cookie) {
        static const char connect_to[] = "import os, socket\n"
                                         "r = os.environ['XDG_RUNTIME_DIR']\n"
                                         "for p in (r + '/pipewire-0', os.environ['PULSE_SERVER'][5:]):\n"
                                         "    socket.socket(socket.AF_UNIX).connect(p)\n"
                                         "print(os.path.getsize(os.environ['PULSE_COOKIE']))\n"
                                         "print(sorted(os.listdir(r)), sorted(os.listdir(r + '/pulse')))\n";
        const struct site *s = *state;
        _cleanup_close_ int pipewire = -EBADF, pulse = -EBADF, other = -EBADF;
        _cleanup_free_ char *cookie = text_of("%0256d", 7), *run_folder = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        forget_servers();
        if (!has_program("python3"))
                skip_because("there is no python3");
        make_folder(s->runtime, "pulse");
        make_file(s->home, ".config/pulse/cookie", cookie);
        pipewire = listen_in(s->runtime, "pipewire-0");
        pulse = listen_in(s->runtime, "pulse/native");
        other = listen_in(s->runtime, "bus");
        RUN(s, &o, "--sound", "--", "python3", "-c", connect_to);
        expect_status(&o, 0);
        expect_out(&o, "256\n['pipewire-0', 'pulse'] ['cookie', 'native']\n");
        run_folder = text_of("/run/user/%u\n", (unsigned)geteuid());
        RUN(s, &o, "--sound", "--", "sh", "-c", "echo $XDG_RUNTIME_DIR; stat -c %a $XDG_RUNTIME_DIR");
        expect_in(o.out, run_folder);
        expect_in(o.out, "\n700\n");
        RUN(s, &o, "--sound", "-v", "--", "true");
        expect_in(o.err,
                  "\ngives away  --sound: playing and recording by PipeWire and PulseAudio: the "
                  "microphone, and what other programs play; PulseAudio's clients can load modules of "
                  "its, which open files and sockets as you on the host\n");
        NSRUN_IN(s->root, &o, "plan", "--project", s->project, "--format=oci", "--sound", "true");
        expect_status(&o, 0);
        expect_in(o.err, "nsrun: note: not in the bundle: devices of the host's (--kvm, --gpu ...) are the "
                         "engine's to pass, and no agent, no bus and no browser is reached\n");
        /* Without the word, neither is there. */
        RUN(s, &o, "--", "sh", "-c", "echo ${XDG_RUNTIME_DIR-none} ${PULSE_SERVER-none}; ls /run/user");
        expect_in(o.out, "none none\n");
        assert_int_equal(o.status, 2);
}

/* What a command could have made is nobody's sound server. */
TEST(a_socket_of_the_commands_is_refused) {
        const struct site *s = *state;
        _cleanup_close_ int own = listen_in(s->project, "sock"), docker = listen_in(s->outside, "d.sock");
        _cleanup_free_ char *direct = text_of("unix:%s/sock", s->project),
                            *planted = text_of("unix:%s/link", s->project),
                            *engine = text_of("unix:%s/d.sock", s->outside),
                            *docker_host = text_of("unix://%s/d.sock", s->outside),
                            *line = text_of(
                                    "nsrun: what --sound would show lies in a writable folder, where a "
                                    "command could change it: %s/sock; keep it outside of what a "
                                    "command may write",
                                    s->project);
        _cleanup_outcome_ struct outcome o = {0};

        forget_servers();
        assert_true(own >= 0 && docker >= 0);
        assert_int_equal(setenv("PULSE_SERVER", direct, 1), 0);
        RUN(s, &o, "--sound", "--", "true");
        expect_refusal(&o, 125, line);
        make_link(s->project, "link", "../outside/d.sock");
        assert_int_equal(setenv("PULSE_SERVER", planted, 1), 0);
        RUN(s, &o, "--sound", "--", "true");
        assert_int_equal(o.status, 125);
        expect_in(o.err, "symlink");
        assert_int_equal(setenv("PULSE_SERVER", engine, 1), 0);
        RUN(s, &o, "--sound", "--", "true");
        expect_status(&o, 0);
        assert_int_equal(setenv("DOCKER_HOST", docker_host, 1), 0);
        RUN(s, &o, "--sound", "--", "true");
        assert_int_equal(o.status, 125);
        expect_in(o.err, "container engine's control socket");
        assert_int_equal(unsetenv("DOCKER_HOST"), 0);
        forget_servers();
}

/* GnuPG's own agent is shown by its restricted socket alone, and of ~/.gnupg what isn't secret. */
TEST(gpg_agent_is_its_extra_socket_and_the_public_keyring) {
        static const char look[] =
                "cd ~/.gnupg && cat pubring.kbx && ls -A . $XDG_RUNTIME_DIR/gnupg && stat -c %a . "
                "$XDG_RUNTIME_DIR/gnupg && [ -S $XDG_RUNTIME_DIR/gnupg/S.gpg-agent ] && echo "
                "${GNUPGHOME-unset}; echo x >>pubring.kbx";
        const struct site *s = *state;
        _cleanup_close_ int extra = -EBADF, own = -EBADF;
        _cleanup_free_ char *none = text_of(
                                    "nsrun: --gpg-agent: no agent of GnuPG's listens for others "
                                    "(agent-extra-socket): %s/.gnupg; start it: gpgconf --launch gpg-agent",
                                    s->home),
                            *shown = text_of(
                                    "keys\n.:\npubring.kbx\n\n/run/user/%u/gnupg:\nS.gpg-agent\n700\n700\n"
                                    "unset\n",
                                    (unsigned)geteuid());
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(unsetenv("GNUPGHOME"), 0);
        make_file(s->home, ".gnupg/private-keys-v1.d/key", "secret");
        make_file(s->home, ".gnupg/pubring.kbx", "keys\n");
        make_folder(s->runtime, "gnupg");
        own = listen_in(s->runtime, "gnupg/S.gpg-agent");
        RUN(s, &o, "--gpg-agent", "--", "true");
        expect_refusal(&o, 125, none);
        extra = listen_in(s->runtime, "gnupg/S.gpg-agent.extra");
        RUN(s, &o, "--gpg-agent", "--", "sh", "-c", look);
        assert_int_not_equal(o.status, 0); /* the keyring is read-only */
        expect_out(&o, shown);
        RUN(s, &o, "--gpg-agent", "-v", "--", "true");
        expect_in(o.err,
                  "\ngives away  --gpg-agent: signing and decrypting by every secret key of GnuPG's agent, "
                  "with no question but its own pinentry's; and the public keyring\n");
        RUN(s, &o, "--gpg-agent", "--profile=instance", "--", "true");
        assert_int_equal(o.status, 125);
        /* Whose commits are signed has them signed. */
        make_file(s->home, ".gitconfig", "[commit]\ngpgSign\n[user]\nsigningKey=ABC!\n[gpg]\nprogram=x\n");
        RUN(s, &o, "--gpg-agent", "--", "cat", "/etc/gitconfig");
        expect_in(o.out, "\n[user]\n\tsigningkey = \"ABC!\"\n[commit]\n\tgpgsign = \"true\"\n");
        expect_not_in(o.out, "program =");
        assert_string_equal(o.err, "");
}

/* The keyring as a link that leads elsewhere, and one that a command has planted. */
TEST(a_planted_keyring_is_refused) {
        const struct site *s = *state;
        _cleanup_close_ int extra = -EBADF;
        _cleanup_free_ char *link = path_of(s->project, "ring"), *secret = path_of(s->outside, "secret");
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(unsetenv("GNUPGHOME"), 0);
        make_file(s->outside, "secret", "secret");
        make_link(s->home, ".gnupg/pubring.kbx", link);
        make_link(s->project, "ring", secret);
        extra = listen_in(s->home, ".gnupg/S.gpg-agent.extra");
        RUN(s, &o, "--gpg-agent", "--", "sh", "-c", "cat ~/.gnupg/pubring.kbx");
        assert_int_equal(o.status, 125);
        expect_in(o.err, "symlink");
        expect_out(&o, "");
}

/* GnuPG's own programs on both sides: a signature inside, which verifies outside; and no secret key. */
FULL_TEST(gnupg_signs, site_setup, site_teardown) {
        static const char script[] =
                "cd $HOME && mkdir -m 700 .gnupg && gpg -q --batch --passphrase '' --quick-gen-key a@b.c ed25519 sign "
                "2>/dev/null && cd $ROOT/project && echo text >text && "
                "git init -q . && git config --global user.email a@b.c && git config --global user.name A && git config --global user.signingKey a@b.c && git config "
                "--global commit.gpgsign true && $NSRUN run --gpg-agent -- git commit -q --allow-empty -m x && git log "
                "-1 --format=%G? && "
                "$NSRUN run --gpg-agent -- sh -c 'gpg -q --batch --yes -o text.sig -b text && echo signed; "
                "gpg -q --batch --export-secret-keys 2>/dev/null | wc -c; ls ~/.gnupg/private-keys-v1.d 2>/dev/null | "
                "wc -l; gpg -q --batch --list-keys --with-colons | grep -c ^pub'; "
                "gpg -q --verify text.sig text 2>/dev/null && echo good; "
                "gpg -q --batch --export-secret-keys | wc -c | grep -qv '^0$' && echo outside; gpgconf --kill gpg-agent";
        const struct site *s = *state;
        _cleanup_free_ char *with_root = replaced(script, "$ROOT", s->root),
                            *whole = replaced(with_root, "$NSRUN", program());
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("gpg") || !has_program("gpgconf"))
                skip_because("there is no gpg");
        assert_int_equal(unsetenv("GNUPGHOME"), 0);
        run(&(struct request){.argv = OPTIONS("sh", "-c", whole), .cwd = s->root}, &o);
        collect_orphans();
        expect_status(&o, 0);
        expect_out(&o, "G\nsigned\n0\n0\n1\ngood\noutside\n");
}

TEST(alsa_stands_in_where_there_is_no_server) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.nodes = NODES("snd/controlC0", "snd/pcmC0D0p", "snd/timer", "snd/hwC0D0")};

        forget_servers();
        run_desk(s, &d, OPTIONS("--sound"), "ls /dev/snd", &o);
        expect_status(&o, 0);
        expect_out(&o, "controlC0\npcmC0D0p\ntimer\n");
}

/* The words are keys of a configuration, which config show names. */
TEST(a_configuration_says_the_same) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct desk d = {.nodes = NODES("kvm")};
        _cleanup_free_ char *config = path_of(s->outside, "c.json");

        make_file(s->outside, "c.json", "{\"version\": 1, \"kvm\": true, \"gpu\": false}");
        run_desk(s, &d, OPTIONS("--config", config), "ls -d /dev/kvm", &o);
        expect_status(&o, 0);
        expect_out(&o, "/dev/kvm\n");
}

/* A session has them from its start; a command in it can't ask for more. */
TEST(a_session_has_them_from_its_start) {
        const struct site *s = *state;
        _cleanup_close_ int pulse = -EBADF;
        _cleanup_outcome_ struct outcome o = {0}, late = {0};
        _cleanup_free_ char *id = NULL, *line = NULL;

        if (in_a_session() || by_the_library())
                skip_because("this is about the nsrun program itself");
        forget_servers();
        make_folder(s->runtime, "pulse");
        pulse = listen_in(s->runtime, "pulse/native");
        id = START(s, "--sound");
        JOIN_SCRIPT(s, id, &o, "[ -S ${PULSE_SERVER#unix:} ] && echo there");
        JOIN(s, id, &late, "--kvm", "--", "true");
        end_session(s, id, "stop");
        expect_status(&o, 0);
        expect_out(&o, "there\n");
        line = text_of(
                "nsrun: --kvm can't be given with --session: what a session's commands may do was decided "
                "when it was started: %s; leave it out, or start another session with it",
                id);
        expect_refusal(&late, 125, line);
}

TEST(they_are_for_a_sandbox) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--gpu", "--no-sandbox", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: --gpu can't be had with --no-sandbox: nothing is confined; leave one of the two "
                "out");
}

int main(void) {
        return run_all_tests();
}
