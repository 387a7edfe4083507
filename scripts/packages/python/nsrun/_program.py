# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls of the program: what it is asked, by words and descriptors, and what its answer means.  Starts no process: the
package does that for callers that wait, and aio for those that don't."""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from typing import IO, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

# The kernel's MAX_ARG_STRLEN, without the zero at its end.
LONGEST_WORD = 131071

# How long a command of run() has to end after a SIGTERM; of bash's the program itself sees to it.
GRACE = 5


class HasFileno(Protocol):
    def fileno(self) -> int: ...


Scalar = Union[None, bool, int, float, str, bytes, "os.PathLike[str]", HasFileno]
Option = Union[Scalar, Sequence[Scalar], Mapping[str, Scalar]]
Event = Dict[str, Any]


class Error(Exception):
    """The program refused or failed: its message.  No command ran."""

    def __init__(self, message: str, status: int = 125, event: Optional[Event] = None) -> None:
        super().__init__(message)
        self.status = status
        #: What went wrong as a word that stays the same, nsrun_error_name(3); "other" where the failure has none.
        self.id: str = (event or {}).get("id", "other")
        #: The stage of nsrun-run(1), STATUS LINES, of run() alone.
        self.stage: Optional[str] = (event or {}).get("stage")


class Result(NamedTuple):
    """What `nsrun bash --json` prints: nsrun-bash(1), OUTPUT."""

    status: Optional[int] = None
    signal: Optional[int] = None
    timed_out: bool = False
    oom_killed: bool = False
    sandbox: bool = True
    duration_ms: int = 0
    output: str = ""
    bytes_total: int = 0
    bytes_omitted: int = 0
    notes: Sequence[str] = ()
    reasons: Sequence[str] = ()
    dropped: Sequence[str] = ()
    degraded: Sequence[Event] = ()
    report: Optional[List[Event]] = None
    detached: Optional[Event] = None


class Completed(NamedTuple):
    """How a command of run() ended.  Bytes that are no UTF-8 are in the texts as os.fsdecode() has them."""

    status: Optional[int]
    signal: Optional[int]
    timed_out: bool
    oom_killed: bool
    stdout: str
    stderr: str
    #: nsrun-run(1), STATUS LINES.
    events: List[Event]


class Ended(NamedTuple):
    status: int
    out: bytes
    err: bytes


class Call(NamedTuple):
    argv: List[str]
    fds: Tuple[int, ...] = ()


def program() -> str:
    """The path of the program that this package has."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "nsrun")


def scratch() -> IO[bytes]:
    """A file for what the program prints and nobody reads meanwhile."""
    return os.fdopen(os.memfd_create("nsrun"), "w+b")


def _value(name: str, value: Any, fds: List[int]) -> str:
    if hasattr(value, "fileno"):
        fds.append(value.fileno())
        return str(fds[-1])
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"the option {name} takes no {type(value).__name__}")


def _pair(name: str, key: Any, value: Any, fds: List[int]) -> str:
    if not isinstance(key, str) or "=" in key:
        raise TypeError(f"the option {name}: {key!r} is no name")
    return key if value is None or value is True else f"{key}={_value(name, value, fds)}"


def call(verb: Sequence[str], options: Mapping[str, Option], rest: Sequence[str] = ()) -> Call:
    """The command line.  An option is its name with _ for -, and for a name that Python has taken one behind it (for_).
    True is an option without a value; None and False none at all; a list gives it again for each, a mapping for each
    name as NAME=VALUE, of None and True NAME alone.  What has a fileno() is passed, and its number is the value."""
    if isinstance(rest, (str, bytes)):
        raise TypeError("the command is a list of words, and no string")
    argv: List[str] = list(verb)
    fds: List[int] = []
    for name, given in options.items():
        if not re.fullmatch("[a-z][a-z0-9_]*", name):
            raise TypeError(f"{name!r} is no option's name")
        if name in ("help", "version", "json_stream", "format"):
            raise TypeError(f"the option {name} is not for this")
        option = "--" + name.rstrip("_").replace("_", "-")
        each: Iterable[Any] = given if isinstance(given, (list, tuple)) else (given,)
        if isinstance(given, Mapping):
            each = [_pair(name, key, value, fds) for key, value in given.items()]
        argv += [
            option if value is True else f"{option}={_value(name, value, fds)}"
            for value in each
            if value is not None and value is not False
        ]
    if any(len(os.fsencode(word)) > LONGEST_WORD for word in (*argv, *rest)):
        raise Error(f"a command's word has at most {LONGEST_WORD} bytes: write a longer text to a file")
    return Call([*argv, "--", *rest] if rest else argv, tuple(fds))


def said(err: bytes) -> str:
    """The program's own last words."""
    lines = [line for line in os.fsdecode(err).splitlines() if line.startswith("nsrun: ")]
    return lines[-1][len("nsrun: ") :] if lines else ""


def failure(ended: Ended, event: Optional[Event] = None) -> Error:
    told = (event or {}).get("error") or said(ended.err) or (event or {}).get("message")
    if not told:
        told = f"nsrun ended with status {ended.status}"
        if ended.status < 0:
            told = f"nsrun was ended by {signal.Signals(-ended.status).name}"
    return Error(told, ended.status, event)


def text(ended: Ended, with_notes: bool = False) -> str:
    """What it printed, of a call that must succeed."""
    if ended.status != 0:
        raise failure(ended)
    return os.fsdecode((ended.err if with_notes else b"") + ended.out)


def document(ended: Ended) -> Any:
    """The same, as JSON.  The status is 1 where doctor's answer is no."""
    if not ended.out:
        raise failure(ended)
    found = json.loads(ended.out)
    if "error" in found:
        raise failure(ended, found)
    return found


def tool_text(ended: Ended) -> str:
    if not ended.out:
        raise failure(ended)
    return ended.out.decode("utf-8", "replace")


def result(found: Event) -> Result:
    return Result(**{name: found[name] for name in Result._fields if name in found})


class Collected:
    """Events of --json-stream become a result."""

    def __init__(self) -> None:
        self.reasons: List[str] = []
        self.end: Event = {}

    def add(self, event: Event) -> Optional[str]:
        """The text of one that has output."""
        if event["event"] == "reason":
            self.reasons.append(event["text"])
        elif event["event"] == "end":
            self.end = event
        return event["text"] if event["event"] == "output" else None

    def result(self) -> Result:
        return result({**self.end, "reasons": self.reasons})


def stream_call(command: str, options: Mapping[str, Option]) -> Call:
    return call(["bash", "--json-stream"], options, [command])


def last_event(event: Event, ended: Ended) -> Event:
    """The end, or the refusal that stands in its place."""
    if event.get("event") != "end" or "error" in event:
        raise failure(ended, event)
    return event


def answer(event: Event, is_allowed: object) -> bytes:
    return f"{'allow' if is_allowed else 'deny'} {event['host']}\n".encode()


def run_call(argv: Sequence[str], options: Mapping[str, Option], lines: IO[bytes]) -> Call:
    """A call of run, whose status lines go to a file, so that nobody needs to read them meanwhile."""
    if not argv or "status_fd" in options:
        raise ValueError("run needs a command, and reads the status lines itself")
    # First, so that what is wrong with the others is told there.
    return call(["run"], {"status_fd": lines, **options}, argv)


def completed(ended: Ended, lines: IO[bytes]) -> Completed:
    lines.seek(0)
    events: List[Event] = [json.loads(line) for line in lines]
    last = events[-1] if events else {}
    if last.get("event") != "exited":
        raise failure(ended, last)
    return Completed(
        last.get("code"),
        last.get("signal"),
        last.get("timed_out", False),
        last.get("oom_kill", False),
        os.fsdecode(ended.out),
        os.fsdecode(ended.err),
        events,
    )


def end_sandbox(lines: IO[bytes]) -> bool:
    """Kills pid 1 of run()'s sandbox, after which the program does what it does after each command.  The file's position
    is the program's, too: it isn't moved."""
    for line in os.pread(lines.fileno(), 1 << 16, 0).splitlines()[:1]:
        pid = json.loads(line).get("init_pid")
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            return True
    return False


def session_call(verb: Sequence[str], name: str, words: Sequence[str], options: Mapping[str, Option]) -> Call:
    return call(["session", *verb], options, [name, *words])


PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL
