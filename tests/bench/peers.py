# SPDX-License-Identifier: LGPL-2.1-or-later
"""nsrun beside other sandboxes, for src/site/compare.html: what a command can do in each as its own documentation has
it started for a project, and how long `true` takes.  By hand, as an ordinary user whose home is for that alone, and says so
by a file .peers: what is made there is overwritten.

    python3 tests/bench/peers.py [--rounds N] NAME='COMMAND LINE'...

A command line is given to a shell in the project, with the command behind it; it has HOME and PROJECT.  The home has a
key, a file, a socket and a git project; beside it there are a process, a server on loopback and one on an abstract
socket.  Each attempt is first made without a sandbox, where it has to succeed.
"""

import os
import pwd
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time

PERL = "perl -MSocket -e "
UNIX = "socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_un(%s)) or exit 1; print \"yes\""

# what is attempted | by a shell, which prints "yes" | or what the host has then
ATTEMPTS = [
    ("reads a key in the home", "grep -qs SECRET $HOME/.ssh/id && echo yes", None),
    ("reads another file in the home", "grep -qs SECRET $HOME/notes && echo yes", None),
    ("writes a start file in the home", "echo bad >>$HOME/.profile", ".profile"),
    ("writes a git hook of the project", "echo bad >.git/hooks/post-commit", "project/.git/hooks/post-commit"),
    ("makes an editor's task file", "mkdir -p .vscode && echo bad >.vscode/tasks.json", "project/.vscode/tasks.json"),
    ("writes git's configuration", "printf '[core]\\nfsmonitor = bad\\n' >>.git/config", "project/.git/config"),
    ("sees a process of the host's", "for p in /proc/[0-9]*; do grep -qs PEERS_MARK $p/environ && echo yes && break; done", None),
    ("finds a secret in its environment", "[ -z \"$PEERS_API_TOKEN\" ] || echo yes", None),
    ("reaches a server on the host's loopback",
     PERL + "'socket(S, AF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(%(port)d, INADDR_LOOPBACK)) and print \"yes\"'", None),
    ("reaches an abstract socket", PERL + "'" + UNIX % "\"\\0%(abstract)s\"" + "'", None),
    ("reaches a socket in the home", PERL + "'" + UNIX % "\"$ENV{HOME}/s\"" + "'", None),
    ("makes a user namespace", "unshare -Ur true 2>/dev/null && echo yes", None),
    ("asks the kernel for a keyring", "perl -e 'print \"yes\" if syscall(250, 0, -3, 1) > 0'", None),
    ("asks for an io_uring", "perl -e '$p = \"\\0\" x 128; print \"yes\" if syscall(425, 4, $p) >= 0'", None),
    ("leaves a process behind", "(setsid sleep 98765 >/dev/null 2>&1 &) ; sleep 0.2; echo done >left", None),
]


def shell(line, command, home, **more):
    environment = {"HOME": home, "PROJECT": f"{home}/project", "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                   "USER": os.environ.get("USER", ""), "PEERS_API_TOKEN": "SECRET", "XDG_RUNTIME_DIR": f"{home}/run"}
    return subprocess.run(["sh", "-c", f'exec {line} "$@"', "sh", *command], cwd=f"{home}/project", env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=40, **more)


def sleepers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read() == b"sleep\0" b"98765\0":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def lay_out(home):
    for name in (".ssh", "project"):
        shutil.rmtree(f"{home}/{name}", ignore_errors=True)
    os.makedirs(f"{home}/.ssh", 0o700)
    os.makedirs(f"{home}/run", 0o700, exist_ok=True)
    if os.path.exists(f"{home}/s"):
        os.unlink(f"{home}/s")
    for name in (".ssh/id", "notes"):
        with open(f"{home}/{name}", "w") as f:
            f.write("SECRET\n")
    with open(f"{home}/.profile", "w") as f:
        f.write("# mine\n")
    subprocess.run(["git", "init", "-q", f"{home}/project"], check=True)


def does(line, attempt, home, names):
    """Whether the attempt has come to something."""
    what, command, left = attempt
    for pid in sleepers():
        os.kill(pid, 9)
    listening = socket.socket(socket.AF_UNIX)
    lay_out(home)
    listening.bind(f"{home}/s")
    listening.listen()
    try:
        done = shell(line, ["sh", "-c", command.replace("%(port)d", str(names["port"])).replace("%(abstract)s", names["abstract"])], home)
    except subprocess.TimeoutExpired:  # it waits for what was left
        return False
    finally:
        listening.close()
    if what == "leaves a process behind":
        time.sleep(0.5)
        return bool(sleepers())
    if left:
        try:
            with open(f"{home}/{left}") as f:
                return "bad" in f.read()
        except OSError:
            return False
    return "yes" in done.stdout


def main():
    rounds = 31
    arguments = sys.argv[1:]
    if arguments[:1] == ["--rounds"]:
        rounds = int(arguments[1])
        arguments = arguments[2:]
    peers = [("none", "env")] + [tuple(argument.split("=", 1)) for argument in arguments]
    home = pwd.getpwuid(os.geteuid()).pw_dir
    if not os.path.exists(f"{home}/.peers"):
        sys.exit(f"peers: {home} has no .peers: only a home that is for this alone is written to")
    port = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    names = {"port": port.getsockname()[1], "abstract": f"peers-{os.getpid()}"}
    abstract.bind("\0" + names["abstract"])
    abstract.listen()
    threading.Thread(target=lambda: [port.accept() for _ in iter(int, 1)], daemon=True).start()
    threading.Thread(target=lambda: [abstract.accept() for _ in iter(int, 1)], daemon=True).start()
    beside = subprocess.Popen(["sleep", "9999"], env={"PEERS_MARK": "1"})
    try:
        for name, line in list(peers):
            lay_out(home)
            done = shell(line, ["sh", "-c", "echo $((40 + 2))"], home)
            if done.stdout.strip() != "42":
                print(f"{name}: doesn't start: {done.stdout} {done.stderr[-600:]}")
                peers.remove((name, line))
        print("\t".join(["attempt", *(name for name, _ in peers)]))
        for attempt in ATTEMPTS:
            told = [does(line, attempt, home, names) for _, line in peers]
            print("\t".join([attempt[0], *("yes" if one else "no" for one in told)]), flush=True)
            if not told[0]:
                print("  which shows nothing here: it fails without a sandbox, too")
        lay_out(home)
        times = {name: [] for name, _ in peers}
        for _ in range(rounds):
            for name, line in peers:
                began = time.monotonic()
                shell(line, ["true"], home)
                times[name].append((time.monotonic() - began) * 1000)
        for what, of in (("quickest", min), ("median", statistics.median)):
            print("\t".join([f"start of true, ms, {what}", *(f"{of(times[name]):.1f}" for name, _ in peers)]))
    finally:
        beside.kill()
        for pid in sleepers():
            os.kill(pid, 9)


main()
