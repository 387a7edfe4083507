#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs nsrun, floor, nsrun-bwrap, bwrap, unshare and crun side by side with hyperfine and
prints medians, ratios and the bars that main() sets.  Started by scripts/bench,
which builds and chooses the user; nsrun and its programs, floor, join, loop and resolve lie beside this file."""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import callers

HERE = os.path.dirname(os.path.abspath(__file__))
NSRUN = os.path.join(HERE, "nsrun")
NSRUN_BWRAP = os.path.join(HERE, "nsrun-bwrap")
FLOOR = os.path.join(HERE, "floor")
STATIC = os.path.join(HERE, "static", "nsrun")  # of scripts/static, where it was asked for
JOIN = os.path.join(HERE, "join")
RESOLVE = os.path.join(HERE, "resolve")
LOOP = os.path.join(HERE, "loop")
PROJECT = os.path.join(os.environ["HOME"], "project")
TRUE = shutil.which("true") or "/bin/true"
# Of a developer's home.  The first four are what the code profile overlays most often.
CACHES = (".npm", ".cargo/registry", ".m2/repository", ".gradle/caches",
          ".cache/pip", ".cache/uv", ".cache/yarn", ".cache/ccache")
TOOLCHAINS = (".cargo/bin", ".rustup", ".nvm")
OVERLAYS = 1 << 30  # bytes for what floor's overlays take in memory; nothing is written to them


def output(argv, **options):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT, **options)
    if done.returncode != 0:
        sys.exit(f"bench: {shlex.join(argv)[:300]}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def nsrun(*options, command=(TRUE,)):
    return [NSRUN, "run", *options, "--", *command]


def nsrun_static(*options):
    """{name: argv} of a cold run by what scripts/static built; empty where that wasn't asked for."""
    return {"nsrun, static": [STATIC, *nsrun(*options)[1:]]} if os.path.exists(STATIC) else {}


def plan_of(*options):
    return json.loads(output([NSRUN, "plan", "--format=json", *options, "--", TRUE]))


# ------------------------------------------------------------ the contenders


def floor_words(plan, command):
    """The plan as floor's words; the same operations in the same order."""
    words = [FLOOR, f"mode=0755,size={plan['root_size']}", plan["hostname"] or "", plan["directory"],
             "scoped" if plan["landlock"]["scoped"] else "", plan["seccomp"]["policy"]]
    for op in plan["operations"]:
        words += floor_operation(op)
    return words + ["--", *command]


def floor_operation(op):
    kind, target = op["op"], op["target"]
    made = "made" if op.get("makes_target") else "there"
    if kind == "dir":
        return ["dir", target, op["mode"]]
    if kind == "file":
        return ["file", target, op["mode"], op["text"]]
    if kind == "symlink":
        return ["link", op["text"], target]
    if kind == "bind":
        access = "dev" if op["device"] else "ro" if op["read_only"] else "rw"
        place = "there" if made == "there" else "folder" if op["directory"] else "file"
        return ["bind", access, place, op["source"], target]
    if kind == "tmpfs":
        return ["mount", "tmpfs", str(2 | 4), f"mode={op['mode']},size={op['size']},nr_inodes={op['size'] // 4096}", target, made]
    if kind == "devpts":
        return ["mount", "devpts", str(2 | 8), "newinstance,ptmxmode=0666,mode=0620", target, made]
    if kind == "proc" and op["proc"] == "new":
        return ["mount", "proc", str(2 | 4 | 8), "", target, made]
    if kind == "cover":
        return ["cover", target]
    if kind == "overlay" and made == "made":
        return ["overlay", f"mode=0700,size={OVERLAYS}", op["layer"], op["source"], target]
    sys.exit(f"bench: floor can't do {kind}: this user's default plan is not the bare one")


# Stands in for bwrap: keeps the words, and what the descriptors hold as files.
KEEP_WORDS = """
bwrap() {
  local i data
  for ((i = 1; i < $#; i++)); do
    if [ "${!i}" = --ro-bind-data ]; then
      data=$((i + 1))
      cat <&"${!data}" >"$FOLDER/data-${!data}"
    fi
  done
  printf '%s\\0' "$@" >"$FOLDER/words"
}
"""


def newest_bwrap():
    """What starts the newest bwrap of this machine: one of a newer Debian that scripts/bench has unpacked, or
    the installed one.  Empty: there is none."""
    newer = os.environ.get("BENCH_BWRAP")
    return newer.splitlines() if newer else [path] if (path := shutil.which("bwrap")) else []


def bwrap_argv(folder, *options, command=(TRUE,), disk=None):
    """The argv of `nsrun plan --format=bwrap`, which is a line for bash.  What it
    hands over in descriptors becomes files, since hyperfine runs no shell.  With a folder `disk` the
    overlays' layers are on disk there, their folders at hand."""
    line = output([NSRUN, "plan", "--format=bwrap", *options, "--", *command])
    kept = tempfile.mkdtemp(dir=folder)
    subprocess.run(["bash"], input=KEEP_WORDS + line, text=True, env={**os.environ, "FOLDER": kept}, check=True)
    with open(os.path.join(kept, "words")) as f:
        words = iter(f.read().split("\0")[:-1])
    argv = newest_bwrap()
    for word in words:
        if word == "--tmp-overlay" and disk:
            layers = [tempfile.mkdtemp(dir=disk) for _ in range(2)]
            argv += ["--overlay", *layers]
        elif word == "--ro-bind-data":
            if argv[-2] == "--perms":
                del argv[-2:]
            argv += ["--ro-bind", os.path.join(kept, f"data-{next(words)}")]
        else:
            argv.append(word)
    return argv


def unshare_argv():
    return ["unshare", "-Urmpf", "--mount-proc", TRUE]


def crun_argv(plan, folder, command=(TRUE,)):
    """A rootless bundle with the plan's binds.  crun makes its own /dev and /proc."""
    bundle = os.path.join(folder, "bundle")
    os.makedirs(os.path.join(bundle, "rootfs"), exist_ok=True)
    subprocess.run(["crun", "spec", "--rootless"], cwd=bundle, check=True, stdout=subprocess.DEVNULL)
    path = os.path.join(bundle, "config.json")
    with open(path) as f:
        spec = json.load(f)
    spec["process"].update(terminal=False, args=list(command), cwd=plan["directory"])
    spec["process"]["noNewPrivileges"] = True
    for name in spec["process"].get("capabilities", {}):
        spec["process"]["capabilities"][name] = []
    spec["root"] = {"path": "rootfs", "readonly": True}
    spec["linux"].pop("resources", None)
    spec["linux"]["namespaces"] = [n for n in spec["linux"]["namespaces"] if n["type"] not in ("network", "cgroup")]
    spec["linux"].pop("seccomp", None)
    # The plan has no /sys, and crun refuses some hosts' cgroups when it is asked for one.
    spec["mounts"] = [m for m in spec["mounts"] if not m["destination"].startswith("/sys")]
    for op in plan["operations"]:
        if op["op"] == "bind" and not op["device"]:
            spec["mounts"].append({"type": "bind", "source": op["source"], "destination": op["target"],
                                   "options": ["rbind", "ro" if op["read_only"] else "rw", "nosuid", "nodev"]})
        elif op["op"] == "symlink" and op["target"].count("/") == 1:
            link = os.path.join(bundle, "rootfs", op["target"][1:])
            if not os.path.lexists(link):
                os.symlink(op["text"], link)
    with open(path, "w") as f:
        json.dump(spec, f)
    return ["crun", "--cgroup-manager=disabled", "--root", os.path.join(folder, "crun"), "run", "--bundle", bundle, "x"]


# -------------------------------------------------------------- what is equal


def mounts_inside(argv):
    """Mount point, root, file system and options of every mount, in order."""
    seen = []
    for line in output(argv).splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        seen.append((fields[4], fields[3], after.split()[0], fields[5]))
    return seen


def verify_same_mounts(plan, plain):
    cat = (shutil.which("cat"), "/proc/self/mountinfo")
    ours = mounts_inside(nsrun(command=cat))
    # The floor binds what nsrun copies.
    copied = {op["target"] for op in plan["operations"] if op.get("copied")}
    theirs = [m for m in mounts_inside(floor_words(plan, cat)) if m in ours or m[0] not in copied]
    if ours != theirs:
        only = [f"  nsrun: {m}" for m in ours if m not in theirs] + [f"  floor: {m}" for m in theirs if m not in ours]
        sys.exit("bench: nsrun and floor made different mounts:\n" + "\n".join(only or ["  in another order"]))
    verify_same_hardening(plan)
    print(f"nsrun and floor make the same {len(ours)} mounts and install the same filter; ", end="")
    if plain:
        verify_same_bwrap(plain[:-1] + list(cat))
    else:
        print("no bwrap here")


def verify_same_bwrap(argv):
    theirs = mounts_inside(argv)
    ours = mounts_inside([NSRUN_BWRAP, *argv[len(newest_bwrap()):]])
    if ours != theirs:
        only = [f"  nsrun-bwrap: {m}" for m in ours if m not in theirs] + [f"  bwrap: {m}" for m in theirs if m not in ours]
        sys.exit("bench: nsrun-bwrap and bwrap made different mounts:\n" + "\n".join(only or ["  in another order"]))
    print(f"bwrap makes {len(theirs)} for the same plan, and nsrun-bwrap the same")


def verify_same_hardening(plan):
    grep = (shutil.which("grep"), "-E", "^(Cap|NoNewPrivs|Seccomp)", "/proc/self/status")
    ours, theirs = output(nsrun(command=grep)), output(floor_words(plan, grep))
    if ours != theirs:
        sys.exit(f"bench: nsrun and floor drop different things:\n  nsrun:\n{ours}  floor:\n{theirs}")


# ---------------------------------------------------------------- measuring


def measure(commands, rounds, runs, warmup):
    """{name: argv} -> {name: (median, minimum, CPU time) in ms}.  hyperfine takes the commands one
    after the other; many short rounds spread a machine's moods over all of them.  CPU time tells most
    where others use the machine too; it is that of the processes which were waited for, so bwrap,
    which leaves its sandbox's end to the kernel, has too little."""
    times, cpu = {name: [] for name in commands}, {name: [] for name in commands}
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        for _ in range(rounds):
            argv = ["hyperfine", "-N", "-w", str(warmup), "-r", str(runs), "--export-json", report.name]
            for command in commands.values():
                argv.append(shlex.join(command))
            output(argv)
            with open(report.name) as f:
                results = json.load(f)["results"]
            for name, result in zip(commands, results):
                times[name] += result["times"]
                cpu[name].append(result["user"] + result["system"])
    return {name: (statistics.median(values) * 1000, min(values) * 1000, statistics.median(cpu[name]) * 1000)
            for name, values in times.items()}


def works(name, argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT)
    if done.returncode != 0:
        print(f"{name}: left out, it does not run here: exit {done.returncode}: {done.stdout.strip()[:200]}")
    return done.returncode == 0


def descendants(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as f:
            for child in f.read().split():
                found += [int(child), *descendants(int(child))]
    return found


def peak_memory(argv):
    """KiB: the sum of VmHWM of the launcher and everything it started but the
    command, read while the command sleeps."""
    process = subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            total, has_command = 0, False
            for pid in [process.pid, *descendants(process.pid)]:
                with open(f"/proc/{pid}/status") as f:
                    status = dict(line.split(":\t", 1) for line in f if ":\t" in line)
                if status["Name"].strip() == "sleep":
                    has_command = True
                else:
                    total += int(status["VmHWM"].split()[0])
            if has_command:
                return total
        sys.exit(f"bench: {argv[0]}: its command never started")
    finally:
        process.kill()
        process.wait()


# ----------------------------------------------------------------- the report


class Bars:
    """Bars are judged as they are printed.  A smoke run is too short for that: it notices what takes twice as
    long as its bar allows."""

    def __init__(self, is_smoke):
        self.leeway, self.has_failed = 2 if is_smoke else 1, False

    def line(self, what, value, bar, unit="x"):
        verdict = "PASS" if value <= bar else "FAIL" if value > bar * self.leeway else "over, within twice"
        self.has_failed = self.has_failed or verdict == "FAIL"
        print(f"{what:<52} {value:8.2f} {unit:<3} bar {bar:.2f} {unit}: {verdict}")


UNFILTERED, FROM_FILE, BASH, IN_BASH = "nsrun, no filter", "nsrun, FILE", "nsrun bash --json", "nsrun run bash"


def policy_file(folder):
    """A policy that isn't nsrun's own, where the machine has one; compiled by each run."""
    path = os.path.join(folder, "policy.json")
    for theirs in ("/usr/share/containers/seccomp.json", "/etc/docker/seccomp.json"):
        if os.path.exists(theirs):
            shutil.copyfile(theirs, path)
            break
    else:
        theirs = "nsrun seccomp show default"
        with open(path, "w") as f:
            f.write(output([NSRUN, "seccomp", "show", "default"]))
    print(f"FILE is {theirs}, {plan_of(f'--seccomp={path}')['seccomp']['instructions']} instructions")
    return path


def cold(plan, folder, sizes):
    commands = {"nsrun": nsrun(), BASH: [NSRUN, "bash", "--json", "true"],
                IN_BASH: [NSRUN, "run", "--", "bash", "-c", "true"], UNFILTERED: nsrun("--seccomp=none"),
                FROM_FILE: nsrun(f"--seccomp={policy_file(folder)}"), **nsrun_static(),
                "floor": floor_words(plan, [TRUE]), "nothing": [FLOOR, "nothing"]}
    if newest_bwrap():
        # Without a filter: what bubblewrap leaves to its callers nsrun does in the time that it wins.
        argv = bwrap_argv(folder, "--seccomp=none")
        if works("bwrap", argv):
            commands["bwrap"] = argv
            commands["nsrun-bwrap"] = [NSRUN_BWRAP, *argv[len(newest_bwrap()):]]
    else:
        print("bwrap: not installed")
    verify_same_mounts(plan, commands.get("bwrap"))
    if works("unshare", unshare_argv()):
        commands["unshare"] = unshare_argv()
    if not shutil.which("crun"):
        print("crun: not installed")
    else:
        argv = crun_argv(plan, folder)
        if works("crun", argv):
            commands["crun"] = argv
    measured = measure(commands, *sizes)
    result = {name: median for name, (median, _, _) in measured.items()}
    print(f"\n{'cold run of true':<20} {'median ms':>10} {'min ms':>10} {'CPU ms':>10} {'x bwrap':>9} {'x floor':>9}")
    for name, (median, least, cpu) in measured.items():
        against = f"{median / result['bwrap']:9.2f}" if "bwrap" in result else f"{'-':>9}"
        print(f"{name:<20} {median:10.3f} {least:10.3f} {cpu:10.3f} {against} {median / result['floor']:9.2f}")
    return result


class Home:
    """A home folder with so many caches, and three toolchains, for as long as a `with` lasts."""

    def __init__(self, folder, n_caches):
        self.path, self.before = os.path.join(folder, f"home-{n_caches}"), os.environ["HOME"]
        for name in (*CACHES[:n_caches], *TOOLCHAINS):
            os.makedirs(os.path.join(self.path, name))

    def __enter__(self):
        os.environ["HOME"] = self.path

    def __exit__(self, *_):
        os.environ["HOME"] = self.before


def developer_homes(folder, sizes):
    """{caches: {name: ms}}: cold runs where caches are overlaid."""
    result = {}
    for n_caches in (4, 8):
        with Home(folder, n_caches):
            plan = plan_of()
            assert sum(op["op"] == "overlay" for op in plan["operations"]) == n_caches, "the table of toolchains has changed"
            commands = {"nsrun": nsrun(), "nsrun, on disk": nsrun("--overlay-backing=disk"), **nsrun_static(),
                        "floor": floor_words(plan, [TRUE])}
            if newest_bwrap():
                argv = bwrap_argv(folder, "--seccomp=none")
                if works("bwrap with overlays", argv):
                    commands["bwrap"] = argv
                    commands["bwrap, on disk"] = bwrap_argv(folder, "--seccomp=none", disk=folder)
            verify_same_hardening(plan)
            result[n_caches] = {name: median for name, (median, _, _) in measure(commands, *sizes).items()}
        print(f"\n{f'a home with {n_caches} caches':<20} {'median ms':>10} {'x floor':>9}")
        for name, median in result[n_caches].items():
            print(f"{name:<20} {median:10.3f} {median / result[n_caches]['floor']:9.2f}")
    return result


class Session:
    """A session of the default plan, for as long as a `with` lasts."""

    def __enter__(self):
        os.environ["NSRUN_INIT"] = os.path.join(HERE, "nsrun-init")
        os.environ["NSRUN_MONITOR"] = os.path.join(HERE, "nsrun-monitor")
        self.id = output([NSRUN, "session", "start"]).strip()
        self.init = json.loads(output([NSRUN, "session", "show", "--json", self.id]))["init"]
        return self

    def __exit__(self, *_):
        output([NSRUN, "session", "stop", self.id])


def joins(folder, sizes):
    """A command in a session that runs already, filter on, beside the floors under that, and bwrap's cold run."""
    with Session() as session:
        commands = {"join": nsrun(f"--session={session.id}"), **nsrun_static(f"--session={session.id}"), "floor": [JOIN, str(session.init), "", TRUE],
                    "confined": [JOIN, str(session.init), "default", TRUE]}
        if newest_bwrap():
            argv = bwrap_argv(folder, "--seccomp=none")
            if works("bwrap", argv):
                commands["bwrap"] = argv
        measured = measure(commands, *sizes)
    result = {name: median for name, (median, _, _) in measured.items()}
    print(f"\n{'true in a session':<20} {'median ms':>10} {'min ms':>10} {'CPU ms':>10} {'x floor':>9}")
    for name, (median, least, cpu) in measured.items():
        print(f"{name:<20} {median:10.3f} {least:10.3f} {cpu:10.3f} {median / result['floor']:9.2f}")
    return result


def callers_lines(folder, sizes):
    """{caller: nsrun-bwrap's time by bwrap's} for the command lines of bubblewrap's callers."""
    commands = {}
    for name, words in callers.lines(folder, [TRUE]).items():
        argv = [*newest_bwrap(), *words]
        if works(f"bwrap as {name} calls it", argv):
            commands[f"{name}, bwrap"] = argv
            commands[f"{name}, nsrun-bwrap"] = [NSRUN_BWRAP, *words]
    measured = measure(commands, *sizes)
    print(f"\n{'as its callers call it':<32} {'median ms':>10} {'min ms':>10} {'CPU ms':>10}")
    for name, (median, least, cpu) in measured.items():
        print(f"{name:<32} {median:10.3f} {least:10.3f} {cpu:10.3f}")
    return {name: measured[f"{name}, nsrun-bwrap"][0] / measured[f"{name}, bwrap"][0]
            for name in callers.LINES if f"{name}, bwrap" in measured}


def binds(folder, sizes):
    # A short name: hyperfine takes a command as one argument of at most 128 KiB.
    source = "/usr/lib"
    commands = {}
    for n in (200, 2000):
        options = [f"--bind={source}:/m/{i}:ro" for i in range(n)]
        commands[f"nsrun {n}"] = nsrun(*options)
        commands[f"floor {n}"] = floor_words(plan_of(*options), [TRUE])
        if newest_bwrap():
            commands[f"bwrap {n}"] = bwrap_argv(folder, "--seccomp=none", *options)
            commands[f"nsrun-bwrap {n}"] = [NSRUN_BWRAP, *commands[f"bwrap {n}"][len(newest_bwrap()):]]
    result = {name: median for name, (median, _, _) in measure(commands, *sizes).items()}
    print(f"\n{'binds':<20} {'200, ms':>10} {'2,000, ms':>10} {'ratio':>9}")
    ratios = {}
    for name in ("nsrun", "floor", "nsrun-bwrap", "bwrap"):
        if f"{name} 200" in result:
            few, many = result[f"{name} 200"], result[f"{name} 2000"]
            ratios[name] = many / few
            print(f"{name:<20} {few:10.2f} {many:10.2f} {many / few:9.2f}")
    return ratios


def resolves(folder, batches):
    """One resolve of a path eight deep, in process, and realpath(3) of it: microseconds."""
    top = os.path.join(folder, "resolve")
    os.mkdir(top)
    print(f"\n{'resolve at depth 8':<20} {'us':>10} {'realpath':>10} {'ratio':>9}")
    slowest = 0.0
    for line in output([RESOLVE, top, str(batches)]).splitlines():
        name, ours, theirs = line.split()
        print(f"{name:<20} {ours:>10} {theirs:>10} {float(ours) / float(theirs):9.2f}")
        slowest = max(slowest, float(ours))
    return slowest


def loops(folder, is_smoke):
    """{call: (ratio to no filter, ratio to one that allows everything)} for the default filter.  In
    turns, and the best turn counts: what disturbs a loop only ever makes it slower.  The second ratio
    says what of the first is the kernel's own price of having any filter."""
    rounds, turns = (5, 3) if is_smoke else (200, 9)
    open_to_all = os.path.join(folder, "allow.json")
    with open(open_to_all, "w") as f:
        f.write('{"defaultAction": "SCMP_ACT_ALLOW"}')
    policies = {"default": "default", "allow": open_to_all, "none": "none"}
    times = {name: {} for name in policies}
    for _ in range(turns):
        for name, policy in policies.items():
            argv = nsrun(f"--seccomp={policy}", f"--ro={LOOP}", command=(LOOP, str(rounds)))
            for line in output(argv).splitlines():
                call, ns = line.split()
                times[name].setdefault(call, []).append(float(ns))
    print(f"\n{'one call, ns':<20} {'default':>10} {'allow all':>10} {'none':>10} {'x none':>9} {'x allow':>9}")
    ratios = {}
    for call in times["none"]:
        ours, trivial, none = (min(times[name][call]) for name in policies)
        ratios[call] = (ours / none, ours / trivial)
        print(f"{call:<20} {ours:10.1f} {trivial:10.1f} {none:10.1f} {ours / none:9.3f} {ours / trivial:9.3f}")
    return ratios


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--assert", dest="asserts", action="store_true")
    parser.add_argument("--rounds", type=int, default=24)
    args = parser.parse_args()
    bars = Bars(args.smoke)
    sizes = (3, 5, 1) if args.smoke else (args.rounds, 50, 5)
    bind_sizes = (1, 2, 1) if args.smoke else (3, 3, 1)

    print(f"user {os.getuid()}, Linux {os.uname().release}, {os.cpu_count()} CPUs, "
          f"{sizes[0]} rounds of {sizes[1]} runs each")
    if newest_bwrap():
        print(f"bwrap is {output([*newest_bwrap(), '--version']).strip()}")
    plan = plan_of()
    sleep = (shutil.which("sleep"), "60")
    with tempfile.TemporaryDirectory(dir=os.environ["HOME"]) as folder:
        print("nothing is a static program that returns at once: what the start of its C library costs, nsrun's too")
        result = cold(plan, folder, sizes)
        homes = developer_homes(folder, sizes)
        joined = joins(folder, sizes)
        called = callers_lines(folder, sizes) if newest_bwrap() else {}
        bind_ratios = binds(folder, bind_sizes)
        slowest = resolves(folder, 5 if args.smoke else 500)
        ratios = loops(folder, args.smoke)
        memory = {"nsrun": peak_memory(nsrun(command=sleep))}
        if "bwrap" in result:
            memory["bwrap"] = peak_memory(bwrap_argv(folder, "--seccomp=none", command=sleep))
    print("\npeak memory (sum of VmHWM of the launcher's processes while the command sleeps): "
          + ", ".join(f"{name} {kib} KiB" for name, kib in memory.items()) + "\n")
    if "bwrap" in result:
        bars.line("cold run of true, vs bwrap without a filter", result["nsrun"] / result["bwrap"], 0.45)
        bars.line("nsrun-bwrap vs bwrap, the same command line", result["nsrun-bwrap"] / result["bwrap"], 0.55)
    for name, ratio in called.items():
        bars.line(f"nsrun-bwrap vs bwrap, called by {name}", ratio, 0.5)
    bars.line("cold run of true, vs floor", result["nsrun"] / result["floor"], 1.15)
    for n_caches, measured in homes.items():
        bars.line(f"cold run with {n_caches} caches, vs floor", measured["nsrun"] / measured["floor"], 1.20)
        if "bwrap" in measured:
            bars.line("the same, vs bwrap without a filter", measured["nsrun"] / measured["bwrap"], 0.55)
            bars.line("the same with layers on disk, vs bwrap's on disk", measured["nsrun, on disk"] / measured["bwrap, on disk"], 0.85)
    bars.line("a command in a session, vs setns, fork and exec", joined["join"] / joined["floor"], 1.25)
    bars.line("the same, vs those and a reaper, Landlock and the filter", joined["join"] / joined["confined"], 1.25)
    if "bwrap" in joined:
        # A smoke run on a machine on which a bare setns, fork and exec are over that by themselves tells nothing by
        # it: there it is what is allowed beside those.
        bars.line("a command in a session, vs bwrap's cold run", joined["join"] / joined["bwrap"],
                  max(0.25, 1.25 * joined["floor"] / joined["bwrap"] if args.smoke else 0))
    bars.line("the default filter, vs no filter", result["nsrun"] / result[UNFILTERED], 1.10)
    # The same program: bash itself takes longer to start than true.
    bars.line("nsrun bash --json true, vs nsrun run bash -c true", result[BASH] / result[IN_BASH], 1.15)
    bars.line("a filter from a FILE, compiled, vs no filter", result[FROM_FILE] / result[UNFILTERED], 1.35)
    for call, (to_none, to_trivial) in ratios.items():
        bars.line(f"{call} under the default filter, vs no filter", to_none, 1.05)
        bars.line(f"{call} under it, vs a filter that allows all", to_trivial, 1.05)
    bars.line("2,000 binds vs 200 binds", bind_ratios["nsrun"], 12)
    if "nsrun-bwrap" in bind_ratios:
        bars.line("nsrun-bwrap with 2,000 --ro-binds vs 200", bind_ratios["nsrun-bwrap"], 12)
    bars.line("one resolve at depth 8, the slowest kind", slowest, 20, "us")
    if "bwrap" in memory:
        bars.line("peak memory vs bwrap's", memory["nsrun"] / memory["bwrap"], 0.65)
    return 1 if args.asserts and bars.has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
