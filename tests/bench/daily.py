#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures where people live: a large git project, builds and tools inside beside the same outside, many
sandboxes at once, sessions, a large configuration.  Prints medians, the spread, ratios and bars.  Started
by scripts/bench after measure.py, whose contenders it uses."""

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

import measure
from measure import NSRUN, PROJECT, TRUE, Bars, bwrap_argv, nsrun, output

SOURCES = os.path.join(measure.HERE, "sources")  # nsrun's own src and seccomp


def timed(argv, cwd, **options):
    """Wall time in seconds of a command that must succeed, and its processor time."""
    before, start = os.times(), time.monotonic()
    done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False, **options)
    wall, after = time.monotonic() - start, os.times()
    if done.returncode != 0:
        sys.exit(f"bench: {shlex.join(argv)[:300]}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def beside(commands, rounds, cwd):
    """{name: (argv, what runs first)} -> {name: (median of CPU s, median, least, greatest of wall s)}, in turns."""
    walls, cpus = {name: [] for name in commands}, {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, (argv, prepare) in commands.items():
            if prepare:
                prepare()
            wall, cpu = timed(argv, cwd)
            if turn > 0 or rounds == 1:  # the first fills caches
                walls[name].append(wall)
                cpus[name].append(cpu)
    return {name: (statistics.median(cpus[name]), statistics.median(times), min(times), max(times))
            for name, times in walls.items()}


# ------------------------------------------------------------------ projects


def fill_project(folder, n_files):
    """A git project of so many files, 100 in a folder, and two repositories in it."""
    for i in range(n_files):
        if i % 100 == 0:
            below = os.path.join(folder, f"part-{i // 10000}", f"folder-{i // 100}")
            os.makedirs(below)
        with open(os.path.join(below, f"file-{i}.txt"), "w") as f:
            f.write(f"line one of {i}\nneedle {i % 977}\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "gc.auto=0"]
    for nested in ("vendor/one", "vendor/two", "."):
        path = os.path.join(folder, nested)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "README"), "w") as f:
            f.write("text\n")
        with open(os.path.join(folder, ".gitignore"), "w") as f:
            f.write("/vendor\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            subprocess.run([*git, *words], cwd=path, check=True, stdout=subprocess.DEVNULL)


MAKEFILE = """objects = $(patsubst %.c,%.o,$(wildcard src/base/*.c src/disk/*.c src/changes/*.c))
defined = -D_GNU_SOURCE -DPACKAGE_VERSION='"0"' $(patsubst %,-DNSRUN_%_PATH='"/"',INIT NET HTTP KEYS MONITOR BWRAP)
all: $(objects)
%.o: %.c
\tgcc -std=gnu11 -O1 $(defined) -Isrc -I. -c -o $@ $<
clean:
\trm -f $(objects)
"""


def fill_c_project(folder):
    shutil.copytree(SOURCES, folder)
    with open(os.path.join(folder, "Makefile"), "w") as f:
        f.write(MAKEFILE)


# ---------------------------------------------------------------------- rows


def large_project(bars, folder, n_files, is_smoke):
    """A cold run in it beside one in an empty project, and what people do in it."""
    project = os.path.join(folder, "large")
    empty = os.path.join(folder, "empty")
    os.makedirs(project)
    os.makedirs(empty)
    began = time.monotonic()
    fill_project(project, n_files)
    subprocess.run(["git", "init", "-q"], cwd=empty, check=True)
    print(f"\na git project of {n_files} files, made in {time.monotonic() - began:.0f} s")
    turns, each = (3, 10) if is_smoke else (15, 20)
    loop = repeated(nsrun(), each)
    walls = {project: [], empty: []}
    for _ in range(turns):
        for where, times in walls.items():
            times.append(timed(loop, where)[0] / each * 1000)
    medians = {where: statistics.median(times) for where, times in walls.items()}
    for name, where in (("in the large project", project), ("in an empty one", empty)):
        print(f"cold run {name:<24} {medians[where]:8.2f} ms ({min(walls[where]):.2f} to {max(walls[where]):.2f})")
    bars.line("cold run in a large git project, vs an empty one", medians[project] / medians[empty], 1.05)
    rows = {"git status": ["git", "status", "--porcelain"]}
    if shutil.which("rg"):
        rows["rg"] = ["rg", "-c", "-j2", "needle 5", "."]
    for name, argv in rows.items():
        inside_outside(bars, f"{name} of {n_files} files", repeated(argv, 20 if is_smoke else 4), project, 3 if is_smoke else 15)


def repeated(argv, n):
    """The sandbox's own start is in another row."""
    return ["sh", "-c", f'i=0; while [ $i -lt {n} ]; do "$@" >/dev/null || exit; i=$((i + 1)); done', "sh", *argv]


def inside_outside(bars, what, argv, cwd, rounds, prepare=None):
    measured = beside({"outside": (argv, prepare), "inside": (nsrun(command=argv), prepare)}, rounds, cwd)
    print()
    for name, (cpu, wall, least, most) in measured.items():
        print(f"{what + ', ' + name:<48} {wall * 1000:9.1f} ms ({least * 1000:.1f} to {most * 1000:.1f}), CPU {cpu * 1000:.1f}")
    bars.line(f"{what}, inside vs outside", measured["inside"][1] / measured["outside"][1], 1.02)


def builds(bars, folder, is_smoke):
    project = os.path.join(folder, "c")
    fill_c_project(project)

    def clean():
        subprocess.run(["make", "-s", "clean"], cwd=project, check=True)

    inside_outside(bars, "make -j2", ["make", "-s", "-j2"], project, 1 if is_smoke else 7, clean)
    for name, code in (("python3", "-c pass"), ("node", "-e 0")):
        program = shutil.which(name)
        if program:
            n = 10 if is_smoke else 40
            inside_outside(bars, f"{n} starts of {name}", repeated([name, *code.split()], n), project, 2 if is_smoke else 9)


def explained(bars, folder, is_smoke):
    """A build of some 10,000 opens and more, that succeeds and that fails: the sandbox alone, an agent's command, whose
    failure is explained, and --explain, which watches."""
    project = os.path.join(folder, "explained")
    fill_c_project(project)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    with open(os.path.join(project, "Makefile"), "a") as f:
        f.write("bad: $(objects)\n\tfalse\n")
    one = " objects='$(patsubst %.c,%.o,$(wildcard src/base/*.c))'" if is_smoke else ""

    def clean():
        subprocess.run(["make", "-s", "clean"], cwd=project, check=True)

    for what, goal, status in (("succeeds", "all", ""), ("fails", "bad", "; [ $? = 2 ]")):
        line = f"make -s -j2 {goal}{one}"
        commands = {
            "the sandbox alone": nsrun(command=["bash", "-c", line]),
            "an agent's": [NSRUN, "bash", line],
            "--explain": nsrun("--explain", command=["bash", "-c", line]),
        }
        commands = {name: (["sh", "-c", f'"$@" 2>/dev/null{status}', "sh", *argv], clean) for name, argv in commands.items()}
        measured = beside(commands, 1 if is_smoke else 9, project)
        print()
        for name, (cpu, wall, least, most) in measured.items():
            print(f"{'a build that ' + what + ', ' + name:<48} {wall * 1000:9.1f} ms ({least * 1000:.1f} to {most * 1000:.1f}), CPU {cpu * 1000:.1f}")
        for name, bar in (("an agent's", 1.02), ("--explain", 1.3)):
            bars.line(f"a build that {what}, {name} vs the sandbox alone", measured[name][1] / measured["the sandbox alone"][1], bar)


def npm_installs(bars, folder, is_smoke):
    project = os.path.join(folder, "npm")
    os.makedirs(project)
    with open(os.path.join(project, "package.json"), "w") as f:
        json.dump({"name": "x", "version": "1.0.0", "dependencies": {"tar": "7.4.3", "express": "4.21.2"}}, f)
    options = ["--no-audit", "--no-fund", "--ignore-scripts"]
    if not shutil.which("npm") or subprocess.run(["npm", "install", "--silent", *options], cwd=project, check=False, timeout=120,
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        print("\nnpm install: left out, npm or its registry isn't there")
        return

    def clean():
        shutil.rmtree(os.path.join(project, "node_modules"), ignore_errors=True)

    inside_outside(bars, "npm ci with a warm cache", ["npm", "ci", "--offline", "--silent", *options], project,
                   1 if is_smoke else 9, clean)


def many_at_once(bars, folder, is_smoke):
    """Sandboxes a second with 64 in flight."""
    n = 128 if is_smoke else 1280
    commands = {"nsrun": nsrun(), "floor": measure.floor_words(measure.plan_of(), [TRUE])}
    if measure.newest_bwrap():
        commands["bwrap"] = bwrap_argv(folder, "--seccomp=none")
    rates = {name: [] for name in commands}
    numbers = "".join(f"{i}\n" for i in range(n))
    for _ in range(1 if is_smoke else 7):
        for name, argv in commands.items():
            start = time.monotonic()
            subprocess.run(["xargs", "-P64", "-I{}", *argv], input=numbers, text=True, check=True, cwd=PROJECT)
            rates[name].append(n / (time.monotonic() - start))
    print()
    for name, values in rates.items():
        print(f"64 in flight, {name:<10} {statistics.median(values):8.0f} a second ({min(values):.0f} to {max(values):.0f})")
    if "bwrap" in rates:
        bars.line("64 in flight, bwrap's rate vs nsrun's",
                  statistics.median(rates["bwrap"]) / statistics.median(rates["nsrun"]), 0.5)


def sessions(bars, is_smoke):
    """Start, a bash command in it, and stop, beside a cold run."""
    times = {"start": [], "bash in it": [], "join": [], "stop": [], "cold run": []}
    for _ in range(5 if is_smoke else 60):
        start = time.monotonic()
        name = output([NSRUN, "session", "start"]).strip()
        times["start"].append(time.monotonic() - start)
        for what, argv in (("bash in it", [NSRUN, "bash", f"--session={name}", "true"]), ("join", nsrun(f"--session={name}")),
                           ("stop", [NSRUN, "session", "stop", name]), ("cold run", nsrun())):
            times[what].append(timed(argv, PROJECT)[0])
    medians = {what: statistics.median(values) * 1000 for what, values in times.items()}
    print()
    for what, values in times.items():
        print(f"session: {what:<14} {medians[what]:8.2f} ms ({min(values) * 1000:.2f} to {max(values) * 1000:.2f})")
    bars.line("session start, vs a cold run", medians["start"] / medians["cold run"], 2.5)
    bars.line("session stop, vs a cold run", medians["stop"] / medians["cold run"], 2.5)


def large_configuration(bars, folder):
    """Processor time of a plan with 40,000 and with 4,000 keys, variables, globs and names."""
    seconds = {}
    for n in (4000, 40000):
        path = os.path.join(folder, f"config-{n}.json")
        with open(path, "w") as f:
            json.dump({"env": {f"BENCH_{i}": "value" for i in range(n)}, "hide": [f"*.bench-{i}" for i in range(n // 100)]}, f)
        seconds[n] = min(timed([NSRUN, "plan", f"--config={path}", "--", TRUE], PROJECT)[1] for _ in range(3))
    print(f"\na configuration of 4,000 keys {seconds[4000]:.3f} s of CPU, of 40,000 {seconds[40000]:.3f} s")
    bars.line("40,000 keys vs 4,000", seconds[40000] / max(seconds[4000], 0.01), 20)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--assert", dest="asserts", action="store_true")
    parser.add_argument("--rounds", type=int)  # of measure.py
    args = parser.parse_args()
    bars = Bars(args.smoke)

    with tempfile.TemporaryDirectory(dir=os.environ["HOME"]) as folder:
        os.environ["NSRUN_INIT"] = os.path.join(measure.HERE, "nsrun-init")
        os.environ["NSRUN_MONITOR"] = os.path.join(measure.HERE, "nsrun-monitor")
        large_project(bars, folder, 5000 if args.smoke else 100000, args.smoke)
        builds(bars, folder, args.smoke)
        explained(bars, folder, args.smoke)
        npm_installs(bars, folder, args.smoke)
        many_at_once(bars, folder, args.smoke)
        sessions(bars, args.smoke)
        large_configuration(bars, folder)
    return 1 if args.asserts and bars.has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
