# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands you don't trust, in a sandbox of Linux namespaces: an agent's bash tool, and what belongs to it.

Options are the program's, nsrun-run(1) and nsrun-bash(1), by their names with _ for -: True for one without a value, a
list for one that is given again, a mapping for NAME=VALUE.  What the program refuses is an Error with its message.
"""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
from types import TracebackType
from typing import IO, Any, Callable, Dict, Generator, List, Optional, Sequence, Type, TypeVar, Union

from . import _program
from ._program import Call, Completed, Ended, Error, Event, Option, Result, program

__all__ = ["Completed", "Error", "Event", "Option", "Result", "Session", "bash", "bash_text", "describe", "plan"]
__all__ += ["probe", "program", "run", "stream"]

Ask = Callable[[str, str], object]
_Session = TypeVar("_Session", bound="Session")


def _end(process: subprocess.Popen[bytes], lines: Optional[IO[bytes]] = None) -> None:
    """A SIGTERM, and for run()'s command, which may ignore it, more; whoever is impatient once more kills the program."""
    process.terminate()
    try:
        try:
            process.communicate(timeout=_program.GRACE if lines else None)
        except subprocess.TimeoutExpired:
            if not lines or not _program.end_sandbox(lines):
                process.kill()
            process.communicate()
    except BaseException:
        process.kill()
        raise


def _call(call: Call, stdin: Any = subprocess.DEVNULL, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE,
          given: Optional[bytes] = None, lines: Optional[IO[bytes]] = None) -> Ended:
    with subprocess.Popen(
        [program(), *call.argv], stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=call.fds
    ) as process:
        try:
            out, err = process.communicate(given)
        except BaseException:
            _end(process, lines)
            raise
    return Ended(process.returncode, out or b"", err or b"")


def run(argv: Sequence[str], *, input: Union[None, str, bytes] = None, stdin: Any = None, stdout: Any = subprocess.PIPE,
        stderr: Any = subprocess.PIPE, **options: Option) -> Completed:
    """Runs a program in a sandbox.  stdin, stdout and stderr are subprocess's: None is the caller's own."""
    given = os.fsencode(input) if isinstance(input, str) else input
    with _program.scratch() as lines:
        call = _program.run_call(argv, options, lines)
        ended = _call(call, stdin if given is None else subprocess.PIPE, stdout, stderr, given, lines)
        return _program.completed(ended, lines)


def bash(command: str, *, on_output: Optional[Callable[[str], object]] = None, on_ask: Optional[Ask] = None,
         **options: Option) -> Result:
    """Runs an agent's command, with a deadline.  With on_output, which gets its output as it comes, the result has none
    of it; on_ask is stream()'s."""
    if not on_output and not on_ask:
        return _program.result(_program.document(_call(_program.call(["bash", "--json"], options, [command]))))
    collected = _program.Collected()
    with contextlib.closing(stream(command, on_ask=on_ask, **options)) as events:
        for event in events:
            text = collected.add(event)
            if text and on_output:
                on_output(text)
    return collected.result()


def bash_text(command: str, **options: Option) -> str:
    """The same as a text for the model: the command, its output, how it ended; of a refused command why."""
    return _program.tool_text(_call(_program.call(["bash"], options, [command])))


def stream(command: str, *, on_ask: Optional[Ask] = None, **options: Option) -> Generator[Event, None, None]:
    """The events of nsrun-bash(1), --json-stream, as they come.  With net="ask" on_ask(host, program) is asked whether
    a host may be reached.  Closing the iterator ends the command."""
    call = _program.stream_call(command, options)
    event: Event = {}
    with _program.scratch() as words, subprocess.Popen(
        [program(), *call.argv], stdin=subprocess.PIPE if on_ask else subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=words, pass_fds=call.fds
    ) as process:
        try:
            assert process.stdout
            for line in process.stdout:
                event = json.loads(line)
                if "error" in event:
                    break
                yield event
                if event["event"] == "asked" and on_ask and process.stdin:
                    answer = _program.answer(event, on_ask(event["host"], event["program"]))
                    with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
                        os.write(process.stdin.fileno(), answer)
            process.wait()
        except BaseException:
            _end(process)
            raise
        words.seek(0)
        _program.last_event(event, Ended(process.returncode, b"", words.read()))


def plan(argv: Sequence[str] = (), **options: Option) -> Dict[str, Any]:
    """What run() would do: nsrun-run(1), THE PLAN AS JSON."""
    found: Dict[str, Any] = _program.document(_call(_program.call(["plan", "--format=json"], options, argv)))
    return found


def probe(**options: Option) -> Dict[str, Any]:
    """Whether it works here, and what mends it: nsrun-doctor(1), --json."""
    found: Dict[str, Any] = _program.document(_call(_program.call(["doctor", "--json"], options)))
    return found


def describe(**options: Option) -> Dict[str, Any]:
    """bash as a tool for a model: name, description and parameters, a JSON schema."""
    found: Dict[str, Any] = _program.document(_call(_program.call(["bash", "--describe", "--json"], options)))
    return found


class Session:
    """One sandbox for many commands.  It ends with `with`, stop(), or this process."""

    def __init__(self, **options: Option) -> None:
        self.id: str = _program.text(_call(_program.call(["session", "start"], {"owner": os.getpid(), **options}))).strip()

    @classmethod
    def join(cls: Type[_Session], id: str) -> _Session:
        """One that was started elsewhere; `with` ends it, too."""
        session = cls.__new__(cls)
        session.id = id
        session.show()
        return session

    def __enter__(self: _Session) -> _Session:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        return run(argv, session=self.id, **options)

    def bash(self, command: str, **options: Any) -> Result:
        return bash(command, session=self.id, **options)

    def bash_text(self, command: str, **options: Option) -> str:
        return bash_text(command, session=self.id, **options)

    def stream(self, command: str, *, on_ask: Optional[Ask] = None, **options: Option) -> Generator[Event, None, None]:
        return stream(command, on_ask=on_ask, session=self.id, **options)

    def call(self, verb: str, *words: str, **options: Option) -> str:
        """Any other subcommand of nsrun-session(1): what it prints, and of commit its notes of what stays behind."""
        return _program.text(_call(_program.session_call([verb], self.id, words, options)), verb == "commit")

    def show(self) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads(self.call("show", json=True))
        return found

    def processes(self) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = json.loads(self.call("ps", json=True))["processes"]
        return found

    def logs(self) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = json.loads(self.call("logs", json=True))["logs"]
        return found

    def log(self, name: str) -> str:
        return self.call("logs", name)

    def kill(self, target: Union[int, str], **options: Option) -> None:
        """Signals what runs inside: a pid there, a program's name, or a detached command's."""
        self.call("kill", str(target), **options)

    def publish(self, *ports: Union[int, str]) -> List[str]:
        return self.call("publish", *map(str, ports)).splitlines()

    def changes(self, *paths: str, **options: Option) -> Dict[str, Any]:
        """What overlays changed, `session diff --json`; with digest=True for commit's expect."""
        found: Dict[str, Any] = json.loads(self.call("diff", *paths, json=True, **options))
        return found

    def diff(self, *paths: str, **options: Option) -> str:
        """The same as a list, or with patch=True a patch."""
        return self.call("diff", *paths, **options)

    def commit(self, *paths: str, **options: Option) -> str:
        return self.call("commit", *paths, **options)

    def discard(self, *paths: str) -> str:
        return self.call("discard", *paths)

    def stop(self) -> None:
        self.call("stop")
