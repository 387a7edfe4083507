# SPDX-License-Identifier: LGPL-2.1-or-later
"""libnsrun from Python, by ctypes: policies, and an agent's bash tool.

    policy = nsrun.Policy(project="/home/u/src/x", net="none")
    print(policy.bash("make test", timeout=300))

As a program: nsrun.py PROJECT COMMAND
"""
import ctypes
import sys

_lib = ctypes.CDLL("libnsrun.so.0")
_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


class Error(ctypes.Structure):
    """struct nsrun_error, which never changes."""

    _fields_ = [
        ("stage", ctypes.c_int),
        ("error", ctypes.c_int),
        ("path", ctypes.c_char * 1024),
        ("what", ctypes.c_char * 512),
        ("hint", ctypes.c_char * 1020),
        ("id", ctypes.c_uint),
    ]


class BashOptions(ctypes.Structure):
    """The first members of struct nsrun_bash_options: a size says where this one ends."""

    _fields_ = [("size", ctypes.c_size_t), ("timeout", ctypes.c_int), ("description", ctypes.c_char_p)]


class BashResult(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("status", ctypes.c_int),
        ("signal", ctypes.c_int),
        ("timed_out", ctypes.c_int),
        ("oom_killed", ctypes.c_int),
        ("timeout", ctypes.c_int),
        ("duration_ms", ctypes.c_uint64),
        ("command", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
        ("output_size", ctypes.c_size_t),
        ("bytes_total", ctypes.c_uint64),
        ("bytes_omitted", ctypes.c_uint64),
        ("report", ctypes.c_void_p),
        ("notes", ctypes.c_void_p),
        ("no_sandbox", ctypes.c_int),
        ("dropped", ctypes.c_void_p),
    ]


_lib.nsrun_version.restype = ctypes.c_char_p
_lib.nsrun_stage_name.restype = ctypes.c_char_p
_lib.nsrun_error_format.restype = ctypes.c_void_p
_lib.nsrun_policy_free.restype = ctypes.c_void_p
_lib.nsrun_policy_free.argtypes = [ctypes.c_void_p]
_lib.nsrun_policy_set.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Error)]
_lib.nsrun_bash.argtypes = [
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.POINTER(BashOptions),
    ctypes.POINTER(BashResult),
    ctypes.POINTER(Error),
]
_lib.nsrun_bash_format.argtypes = [
    ctypes.POINTER(BashResult),
    ctypes.POINTER(Error),
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(Error),
]
_lib.nsrun_bash_result_clear.argtypes = [ctypes.POINTER(BashResult)]


def _take(pointer, size=None):
    """The bytes that the library allocated; frees them."""
    try:
        return ctypes.string_at(pointer) if size is None else ctypes.string_at(pointer, size)
    finally:
        _libc.free(pointer)


class Failure(Exception):
    def __init__(self, error):
        self.stage = _lib.nsrun_stage_name(error.stage).decode()
        super().__init__(_take(_lib.nsrun_error_format(ctypes.byref(error))).decode("utf-8", "replace"))


class Policy:
    """nsrun-run(1)'s options by name, '-' written as '_'; True for those that take no value."""

    def __init__(self, **options):
        pointer = ctypes.c_void_p()
        if _lib.nsrun_policy_new(ctypes.byref(pointer)) < 0:
            raise MemoryError
        self._pointer = pointer
        for name, value in options.items():
            self.set(name.replace("_", "-"), None if value is True else value)

    def __del__(self):
        if getattr(self, "_pointer", None):
            _lib.nsrun_policy_free(self._pointer)

    def set(self, option, value):
        error = Error()
        encoded = None if value is None else value.encode()
        if _lib.nsrun_policy_set(self._pointer, option.encode(), encoded, ctypes.byref(error)) < 0:
            raise Failure(error)

    def bash(self, command, timeout=120):
        """Runs it, and returns the text that goes to the model, of a refusal too."""
        options = BashOptions(ctypes.sizeof(BashOptions), timeout, None)
        result = BashResult(ctypes.sizeof(BashResult))
        error, text, size = Error(), ctypes.c_void_p(), ctypes.c_size_t()
        r = _lib.nsrun_bash(
            self._pointer, command.encode(), ctypes.byref(options), ctypes.byref(result), ctypes.byref(error)
        )
        failure = ctypes.byref(error) if r < 0 else None
        r = _lib.nsrun_bash_format(ctypes.byref(result), failure, 0, ctypes.byref(text), ctypes.byref(size), None)
        _lib.nsrun_bash_result_clear(ctypes.byref(result))
        if r < 0:
            raise MemoryError
        return _take(text, size.value).decode("utf-8", "replace")


if __name__ == "__main__":
    try:
        print(Policy(project=sys.argv[1]).bash(sys.argv[2]))
    except Failure as failure:
        sys.exit(f"nsrun.py: {failure.stage}: {failure}")
