# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same for asyncio.  Cancelling a call ends its command, and returns when nothing of it is left."""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import subprocess
from types import TracebackType
from typing import IO, Any, AsyncGenerator, Callable, Optional, Sequence, Type, TypeVar, Union

from . import _program
from ._program import Call, Completed, Ended, Event, Option, Result, program

__all__ = ["Session", "bash", "bash_text", "run", "stream"]

Ask = Callable[[str, str], Any]
_LONGEST_LINE = 1 << 24
_Session = TypeVar("_Session", bound="Session")


async def _end(process: asyncio.subprocess.Process, output: asyncio.Future[Any], lines: Optional[IO[bytes]] = None) -> None:
    """nsrun._end(); `output` is done when that has ended."""
    end = asyncio.ensure_future(asyncio.wait({output, asyncio.ensure_future(process.wait())}))
    try:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait({end}, timeout=_program.GRACE if lines else None)
        if not end.done() and not (lines and _program.end_sandbox(lines)):
            process.kill()
        await asyncio.wait({end})
    except BaseException:
        if process.returncode is None:
            process.kill()
        await asyncio.wait({end})
        raise


async def _call(call: Call, stdin: Any = subprocess.DEVNULL, stdout: Any = subprocess.PIPE,
                stderr: Any = subprocess.PIPE, given: Optional[bytes] = None,
                lines: Optional[IO[bytes]] = None) -> Ended:
    process = await asyncio.create_subprocess_exec(
        program(), *call.argv, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=call.fds
    )
    talk = asyncio.ensure_future(process.communicate(given))
    try:
        out, err = await asyncio.shield(talk)
    except asyncio.CancelledError:
        await _end(process, talk, lines)
        raise
    assert process.returncode is not None
    return Ended(process.returncode, out or b"", err or b"")


async def run(argv: Sequence[str], *, input: Union[None, str, bytes] = None, stdin: Any = None,
              stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE, **options: Option) -> Completed:
    given = os.fsencode(input) if isinstance(input, str) else input
    with _program.scratch() as lines:
        call = _program.run_call(argv, options, lines)
        ended = await _call(call, stdin if given is None else subprocess.PIPE, stdout, stderr, given, lines)
        return _program.completed(ended, lines)


async def bash(command: str, *, on_output: Optional[Callable[[str], object]] = None, on_ask: Optional[Ask] = None,
               **options: Option) -> Result:
    if not on_output and not on_ask:
        return _program.result(_program.document(await _call(_program.call(["bash", "--json"], options, [command]))))
    collected = _program.Collected()
    events = stream(command, on_ask=on_ask, **options)
    try:
        async for event in events:
            text = collected.add(event)
            if text and on_output:
                on_output(text)
    finally:
        await events.aclose()
    return collected.result()


async def bash_text(command: str, **options: Option) -> str:
    return _program.tool_text(await _call(_program.call(["bash"], options, [command])))


async def stream(command: str, *, on_ask: Optional[Ask] = None, **options: Option) -> AsyncGenerator[Event, None]:
    """on_ask may be a coroutine function.  Who leaves the loop early closes it, by aclose()."""
    call = _program.stream_call(command, options)
    event: Event = {}
    with _program.scratch() as words:
        process = await asyncio.create_subprocess_exec(
            program(), *call.argv, stdin=subprocess.PIPE if on_ask else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=words, pass_fds=call.fds, limit=_LONGEST_LINE
        )
        assert process.stdout
        try:
            async for line in process.stdout:
                event = json.loads(line)
                if "error" in event:
                    break
                yield event
                if event["event"] == "asked" and on_ask and process.stdin:
                    allowed = on_ask(event["host"], event["program"])
                    allowed = await allowed if inspect.isawaitable(allowed) else allowed
                    with contextlib.suppress(ConnectionError):  # nobody waits for it any more
                        process.stdin.write(_program.answer(event, allowed))
                        await process.stdin.drain()
            await process.wait()
        except BaseException:
            await _end(process, asyncio.ensure_future(process.stdout.read()))
            raise
        assert process.returncode is not None
        words.seek(0)
        _program.last_event(event, Ended(process.returncode, b"", words.read()))


class Session:
    """`async with`: one sandbox for many commands.  call() has what nsrun.Session has methods for."""

    def __init__(self, **options: Option) -> None:
        self._options = options
        self.id = ""

    async def _start(self) -> None:
        call = _program.call(["session", "start"], {"owner": os.getpid(), **self._options})
        self.id = _program.text(await _call(call)).strip()

    async def __aenter__(self: _Session) -> _Session:
        start = asyncio.ensure_future(self._start())
        try:
            await asyncio.shield(start)
        except asyncio.CancelledError:
            await start
            await self.call("kill")
            raise
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.call("stop")

    async def run(self, argv: Sequence[str], **options: Any) -> Completed:
        return await run(argv, session=self.id, **options)

    async def bash(self, command: str, **options: Any) -> Result:
        return await bash(command, session=self.id, **options)

    async def bash_text(self, command: str, **options: Option) -> str:
        return await bash_text(command, session=self.id, **options)

    def stream(self, command: str, *, on_ask: Optional[Ask] = None, **options: Option) -> AsyncGenerator[Event, None]:
        return stream(command, on_ask=on_ask, session=self.id, **options)

    async def call(self, verb: str, *words: str, **options: Option) -> str:
        return _program.text(await _call(_program.session_call([verb], self.id, words, options)), verb == "commit")
