# SPDX-License-Identifier: LGPL-2.1-or-later
"""The installed package, in a venv and an ordinary user's sandbox.  The working directory is a scratch folder; build
says in the environment where wheels and sources are."""
import asyncio
import contextlib
import os
import pathlib
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import nsrun
import nsrun._program
import nsrun.aio

SOURCE = os.environ["NSRUN_SOURCE"]
# Looks a name up; the host of the tests may have no network.
CONNECT = "exec 3<>/dev/tcp/example.org/80"
# What a patch has; without git it is a list.
PATCHED = "+x\n" if shutil.which("git") else "A  f\n"
HERE = os.path.join(SOURCE, "scripts/packages/python")


@contextlib.contextmanager
def held():
    """A pipe's writing end, for pass_fd.  At the end of the block it is read until all who had it are dead."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as end, os.fdopen(writing, "w") as given:
        yield given
        given.close()
        end.read()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        shutil.rmtree("project", ignore_errors=True)
        os.mkdir("project")

    def is_refused(self, result):
        return any(note.startswith("network: example.org isn't allowed; ") for note in result.notes)

    def refused(self, message, function, *words, **options):
        with self.assertRaises(nsrun.Error) as caught:
            function(*words, **options)
        self.assertEqual(str(caught.exception), message)
        return caught.exception


class Options(Case):
    def test_a_keyword_becomes_an_option_by_one_rule(self):
        for options, argv in (
            ({"net": "none"}, ["--net=none"]),
            ({"kill_leftovers": True, "for_": True}, ["--kill-leftovers", "--for"]),
            ({"pty": False, "timeout": None}, []),
            ({"timeout": 3, "uid": 0}, ["--timeout=3", "--uid=0"]),
            ({"ro": ["a", "b"], "rw": ()}, ["--ro=a", "--ro=b"]),
            ({"env": {"A": "1", "B": None}}, ["--env=A=1", "--env=B"]),
        ):
            self.assertEqual(nsrun._program.call(["run"], options).argv, ["run", *argv])

    def test_what_is_no_option_or_no_value_is_never_made_one(self):
        for options, argv in (
            ({"ro": [b"/\xff", pathlib.Path("a")]}, ["--ro=/\udcff", "--ro=a"]),
            ({"env": {"A": True}, "net": "--rw=/"}, ["--env=A", "--net=--rw=/"]),
        ):
            self.assertEqual(nsrun._program.call(["run"], options).argv, ["run", *argv])
        for message, options in (
            ("the option hide takes no set", {"hide": {"*.pem"}}),
            ("the option hide takes no generator", {"hide": (name for name in ["*.pem"])}),
            ("the option hide takes no dict_keys", {"hide": {"*.pem": 1}.keys()}),
            ("the option ro takes no list", {"ro": [["a"]]}),
            ("the option env takes no bool", {"env": {"A": False}}),
            ("the option env takes no list", {"env": {"A": ["x"]}}),
            ("the option env: 'A=B' is no name", {"env": {"A=B": "C"}}),
            ("'hostname=x' is no option's name", {"hostname=x": True}),
            ("'_' is no option's name", {"_": True}),
            ("the option version is not for this", {"version": True}),
        ):
            for function, word in ((nsrun.bash, "true"), (nsrun.run, ["true"]), (nsrun.plan, ["true"])):
                with self.assertRaises(TypeError) as caught:
                    function(word, **options)
                self.assertEqual(str(caught.exception), message)
        for function in (nsrun.run, nsrun.plan):
            with self.assertRaises(TypeError) as caught:
                function("ls -l")
            self.assertEqual(str(caught.exception), "the command is a list of words, and no string")
        long = "a command's word has at most 131071 bytes: write a longer text to a file"
        self.refused(long, nsrun.bash, ":".ljust(131072))
        self.assertEqual(nsrun.bash(":".ljust(131071)).status, 0)
        # What needs a value takes no other option for it.
        message = "this option needs a value, behind '=' where it begins with '--': --hide; see 'nsrun {} --help'"
        self.refused(message.format("bash"), nsrun.bash, "--no-sandbox", hide=True)
        self.refused(message.format("run"), nsrun.run, ["true"], hide=True, net="none")

    def test_a_file_is_passed_and_its_number_is_the_value(self):
        with open(os.devnull, "wb") as file:
            call = nsrun._program.call(["run"], {"pass_fd": file})
            self.assertEqual((call.argv, call.fds), (["run", f"--pass-fd={file.fileno()}"], (file.fileno(),)))

    def test_what_the_program_refuses_is_an_error_with_its_message(self):
        for function, words in ((nsrun.bash, "bash"), (nsrun.bash_text, "bash"), (nsrun.describe, "bash")):
            message = f"unknown option: --no-such-option; see 'nsrun {words} --help'"
            rest = () if function is nsrun.describe else ("true",)
            self.assertEqual(self.refused(message, function, *rest, no_such_option=True).status, 125)
        self.refused("unknown option: --bogus; see 'nsrun plan --help'", nsrun.plan, bogus=True)
        self.refused("unknown option: --bogus; see 'nsrun doctor --help'", nsrun.probe, bogus=True)
        self.refused("unknown option: --bogus; see 'nsrun session --help'", nsrun.Session, bogus=True)
        choice = "--net: no such choice: foo; choose one of host|none|allow|ask; see 'nsrun run --help'"
        self.assertEqual(self.refused(choice, nsrun.run, ["true"], net="foo").stage, "usage")
        self.refused("timeout must be >= 1, got 0", nsrun.bash, "true", timeout=0)
        self.refused("timeout must be >= 1, got 0", lambda: list(nsrun.stream("true", timeout=0)))
        self.assertEqual(nsrun.bash("true", net="none", timeout=60).status, 0)


class Commands(Case):
    def test_bash_has_the_programs_result(self):
        result = nsrun.bash("echo out; echo err >&2; exit 3", project="project")
        self.assertEqual((result.status, result.signal, result.output), (3, None, "out\nerr\n"))
        self.assertEqual(nsrun.bash("kill -9 $$", project="project").signal, signal.SIGKILL)
        result = nsrun.bash("sleep 99", project="project", timeout=1)
        self.assertEqual((result.status, result.timed_out), (None, True))

    def test_the_command_sees_the_project_and_not_the_home(self):
        secret = os.path.join(os.environ["HOME"], "secret")
        for path in (secret, "project/file"):
            with open(path, "w") as file:
                file.write("read")
        command = f"cat file {secret}"
        self.assertEqual(subprocess.run(["cat", secret], capture_output=True).stdout, b"read")
        result = nsrun.bash(command, project="project")
        self.assertEqual(result.output, f"readcat: {secret}: No such file or directory\n")
        self.assertEqual(result.reasons, [f"{secret} is on the host and isn't exposed: --ro {secret} exposes it, --rw writable"])
        self.assertEqual(nsrun.bash(command, project="project", on_output=str).reasons, result.reasons)
        self.assertEqual(nsrun.bash(command, project="project", ro=secret).output, "readread")

    def test_a_models_text_is_the_programs(self):
        self.assertEqual(nsrun.bash_text("echo x", project="project"), "$ echo x\nx\n\n\nexit status: 0")
        self.assertEqual(nsrun.bash_text(" ", project="project"), "Error: empty bash command.")
        tool = nsrun.describe(project="project")
        self.assertEqual((tool["name"], tool["parameters"]["required"]), ("bash", ["command"]))

    def test_output_is_streamed(self):
        seen = []
        result = nsrun.bash("seq 3", project="project", on_output=seen.append)
        self.assertEqual(("".join(seen), result.status, result.output), ("1\n2\n3\n", 0, ""))
        kinds = [event["event"] for event in nsrun.stream("echo x", project="project")]
        self.assertEqual(kinds, ["start", "output", "end"])

    def test_closing_the_iterator_ends_the_command(self):
        with held() as pipe:
            with contextlib.closing(nsrun.stream("echo; sleep 999", project="project", pass_fd=pipe)) as events:
                self.assertEqual([next(events)["event"], next(events)["event"]], ["start", "output"])

    def test_what_a_callback_raises_ends_the_command(self):
        with held() as pipe, self.assertRaises(KeyError):
            nsrun.bash("echo; sleep 999", project="project", pass_fd=pipe, on_output=lambda text: {}[text])

    def test_a_person_is_asked_for_a_host(self):
        for is_allowed in (False, True):
            asked = []
            ask = lambda host, program: asked.append((host, program.split()[0])) or is_allowed
            result = nsrun.bash(CONNECT, project="project", net="ask", on_ask=ask)
            self.assertEqual((asked, self.is_refused(result)), ([("example.org", "bash")], not is_allowed))

    def test_an_answer_that_comes_too_late_is_no_error(self):
        with held() as pipe:
            reading = os.open(f"/proc/self/fd/{pipe.fileno()}", os.O_RDONLY)

            def ask(host, program):
                pipe.close()
                with os.fdopen(reading) as end:
                    end.read()

            result = nsrun.bash(CONNECT, project="project", net="ask", on_ask=ask, timeout=1, pass_fd=pipe)
        self.assertTrue(result.timed_out)

    def test_an_interrupted_run_ends_though_its_command_does_not_listen(self):
        with held() as pipe, self.assertRaises(ZeroDivisionError):
            previous = signal.signal(signal.SIGUSR1, lambda *_: 1 / 0)
            try:
                shell = "trap '' TERM; echo >fifo; sleep 999"
                os.mkfifo("project/fifo")
                killer = subprocess.Popen(["sh", "-c", f"read x <project/fifo; kill -USR1 {os.getpid()}"])
                nsrun.run(["sh", "-c", shell], project="project", pass_fd=pipe)
            finally:
                killer.wait()
                signal.signal(signal.SIGUSR1, previous)

    def test_run_has_streams_and_status(self):
        done = nsrun.run(["sh", "-c", "cat; echo err >&2; exit 3"], input="in\udcff", project="project")
        self.assertEqual((done.status, done.stdout, done.stderr), (3, "in\udcff", "err\n"))
        self.assertEqual([event["event"] for event in done.events], ["started", "exited"])
        done = nsrun.run(["sleep", "99"], project="project", timeout=1)
        self.assertEqual((done.signal, done.timed_out), (signal.SIGTERM, True))
        with tempfile.TemporaryFile() as file:
            self.assertEqual(nsrun.run(["echo", "x"], project="project", stdout=file).stdout, "")
            file.seek(0)
            self.assertEqual(file.read(), b"x\n")
        missing = "command not found in the sandbox: no-such-program: No such file or directory"
        error = self.refused(f"{missing}; it is in no folder of the sandbox's PATH: add --ro, or install it", nsrun.run, ["no-such-program"], project="project")
        self.assertEqual((error.stage, error.status), ("exec", 127))

    def test_plan_and_probe_are_the_programs_documents(self):
        plan = nsrun.plan(["true"], project="project", net="none")
        self.assertEqual((plan["command"], plan["net"], plan["project"]), (["true"], "none", os.path.abspath("project")))
        self.assertIs(nsrun.probe()["works"], True)


class Asyncio(Case):
    def test_calls_run_at_the_same_time(self):
        async def both():
            # Each waits for the other, in a folder that both can write.
            return await asyncio.gather(
                nsrun.aio.bash("mkfifo f; read x <f; echo $x", project="project"),
                nsrun.aio.bash("until [ -p f ]; do :; done; echo met >f", project="project"),
            )

        first, second = asyncio.run(both())
        self.assertEqual((first.output, second.status), ("met\n", 0))

    def test_each_does_what_its_namesake_does(self):
        async def calls():
            kinds = [event["event"] async for event in nsrun.aio.stream("echo x", project="project")]
            text = await nsrun.aio.bash_text("echo x", project="project")
            seen = []
            await nsrun.aio.bash("seq 3", project="project", on_output=seen.append)
            return kinds, text, seen, (await nsrun.aio.run(["cat"], input=b"x", project="project")).stdout

        self.assertEqual(
            asyncio.run(calls()),
            (["start", "output", "end"], "$ echo x\nx\n\n\nexit status: 0", ["1\n2\n3\n"], "x"),
        )
        message = "unknown option: --bogus; see 'nsrun bash --help'"
        self.refused(message, lambda: asyncio.run(nsrun.aio.bash("true", bogus=True)))

        async def ask(host, program):
            return False

        self.assertTrue(self.is_refused(asyncio.run(nsrun.aio.bash(CONNECT, project="project", net="ask", on_ask=ask))))

    def cancelled(self, pipe, call):
        async def cancel():
            task = asyncio.ensure_future(call)
            loop, reading = asyncio.get_running_loop(), os.open("project/fifo", os.O_RDONLY | os.O_NONBLOCK)
            started = loop.create_future()
            loop.add_reader(reading, lambda: started.done() or started.set_result(None))
            await asyncio.wait({started, task}, return_when=asyncio.FIRST_COMPLETED)
            loop.remove_reader(reading)
            os.close(reading)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())

    def test_cancelling_ends_the_command(self):
        shell = "echo >fifo; sleep 999"
        for call in (
            lambda pipe: nsrun.aio.bash(shell, project="project", pass_fd=pipe),
            lambda pipe: nsrun.aio.bash(shell, project="project", pass_fd=pipe, on_output=str),
            lambda pipe: nsrun.aio.run(["sh", "-c", shell], project="project", pass_fd=pipe),
            # One that won't be told.
            lambda pipe: nsrun.aio.run(["sh", "-c", "trap '' TERM;" + shell], project="project", pass_fd=pipe),
        ):
            self.setUp()
            os.mkfifo("project/fifo")
            with held() as pipe:
                self.cancelled(pipe, call(pipe))

    def test_a_session_is_entered_and_left(self):
        async def session():
            async with nsrun.aio.Session(project="project", overlay="project") as one:
                await one.bash("echo x >f")
                return one.id, (await one.run(["cat", "f"])).stdout, await one.call("diff")

        name, text, changed = asyncio.run(session())
        self.assertEqual((text, changed, os.listdir("project")), ("x\n", "A  f\n", []))
        self.refused(self.gone(name), nsrun.Session.join, name)

    @staticmethod
    def gone(name):
        return f"no such session: {name}: No such file or directory; 'nsrun session list' shows those there are"


class Sessions(Case):
    def test_commands_share_a_sandbox(self):
        with nsrun.Session(project="project", tmp="scratch") as session:
            session.bash("echo x >/tmp/f")
            self.assertEqual(session.run(["cat", "/tmp/f"]).stdout, "x\n")
            self.assertEqual(session.show()["owner"], os.getpid())
            detached = session.bash("echo told; exec sleep 999", detach=True, until="told").detached
            self.assertEqual((detached["name"], detached["ready"]), ("job1", True))
            self.assertEqual(len(session.processes()), 1)
            self.assertEqual(([one["name"] for one in session.logs()], session.log("job1")), (["job1"], "told\n"))
            session.kill("job1")
            self.assertEqual(session.processes(), [])
            self.assertEqual(nsrun.Session.join(session.id).bash_text("echo x"), "$ echo x\nx\n\n\nexit status: 0")
        self.refused(Asyncio.gone(session.id), session.show)

    def test_changes_are_looked_at_and_taken(self):
        with nsrun.Session(project="project", overlay="project") as session:
            session.bash("echo x >f; echo y >g")
            digest = session.changes(digest=True)["digest"]
            self.assertEqual(os.listdir("project"), [])
            session.discard("g")
            with self.assertRaises(nsrun.Error) as caught:
                session.commit(expect=digest)
            self.assertEqual((caught.exception.status, os.listdir("project")), (123, []))
            self.assertIn(PATCHED, session.diff("f", patch=True))
            self.refused(
                "nothing has changed there: --force: No such file or directory; nsrun session diff says what has",
                session.commit, "--force",
            )
            session.commit(expect=session.changes(digest=True)["digest"])
            self.assertEqual(os.listdir("project"), ["f"])
            session.bash("echo z >h; mkfifo p")
            self.assertEqual(session.commit("h", "p"), "nsrun: note: p: fifos are left out\ncommitted 1 path\n")


class Program(Case):
    def test_the_programs_are_the_program_itself(self):
        scripts = os.path.dirname(sys.executable)
        for argv, status, out in (
            ([sys.executable, "-m", "nsrun", "run", "--", "sh", "-c", "echo x; exit 3"], 3, b"x\n"),
            ([f"{scripts}/nsrun", "run", "--", "echo", "x"], 0, b"x\n"),
            ([f"{scripts}/nsrun-sh", "-c", "echo x"], 0, b"x\n"),
            ([f"{scripts}/nsrun-bwrap", "--ro-bind", "/", "/", "echo", "x"], 0, b"x\n"),
            # Python ignores this signal; the command doesn't.
            ([f"{scripts}/nsrun", "run", "--", "sh", "-c", "kill -PIPE $$"], 128 + signal.SIGPIPE, b""),
        ):
            done = subprocess.run(argv, stdout=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (status, out), argv)

    @unittest.skipUnless(shutil.which("mypy"), "no mypy")
    def test_it_is_typed_for_who_uses_it(self):
        def mypy(text):
            argv = ["mypy", "--strict", "--python-version=3.9", f"--python-executable={sys.executable}", "-c", text]
            return subprocess.run(argv, stdout=subprocess.PIPE, text=True).stdout.splitlines()

        use = "import nsrun, nsrun.aio\nx: str = nsrun.bash('true', ro=['a'], limit={'nofile': 1}, pass_fd=open('f')).output\n"
        self.assertEqual(mypy(use), ["Success: no issues found in 1 source file"])
        error = '<string>:1: error: Argument 1 to "bash" has incompatible type "int"; expected "str"  [arg-type]'
        self.assertEqual(mypy("import nsrun; nsrun.bash(1)")[0], error)
        config = f"--config-file={HERE}/pyproject.toml"
        done = subprocess.run(["mypy", config, f"{HERE}/nsrun"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "Success: no issues found in 4 source files\n")


class Examples(Case):
    def test_readmes_python_is_run(self):
        with open(f"{HERE}/README") as file:
            blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
        self.assertEqual(len(blocks), 5)
        names = {"__name__": "readme"}
        for block in blocks:
            exec(block, names)
        with open("project/made.txt") as file:
            self.assertEqual(file.read(), "made\nmore\n")

    def test_an_agent_works_on_a_layer_and_a_person_takes_it(self):
        agent = runpy.run_path(f"{SOURCE}/src/examples/agent.py")["agent"]
        for is_taken in (False, True):
            said = iter([{"command": "echo x >f"}, {"command": " "}, {"text": "done"}])
            texts, patches = [], []

            def model(messages, tool):
                texts.append((tool["name"], messages[-1]["text"]))
                return next(said)

            approve = lambda patch: patches.append(patch) or is_taken
            self.assertEqual(agent(model, "make f", "project", approve), "done")
            self.assertEqual(
                texts,
                [("bash", "make f"), ("bash", "$ echo x >f\n\n\nexit status: 0"), ("bash", "Error: empty bash command.")],
            )
            self.assertIn(PATCHED, patches[0])
            self.assertEqual(os.listdir("project"), ["f"] if is_taken else [])


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed != 0)
