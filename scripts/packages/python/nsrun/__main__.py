# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program itself, in this process: `python -m nsrun`, and nsrun, nsrun-bwrap, nsrun-oci and nsrun-sh."""
import os
import signal
import sys

from ._program import program


def main() -> None:
    name = os.path.basename(sys.argv[0])
    # Python ignores these two, and a command would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execv(program(), ["nsrun" if name == "__main__.py" else name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
