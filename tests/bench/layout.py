#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes src/layout.ld, on standard output: the object files whose code a plain run executes, those of the child
of clone3(2) first.  In a build folder, and then as an ordinary user in a git project with caches in the home:

    make tests/bench/steps && rm -f nsrun && make nsrun LDFLAGS=-Wl,-Map=nsrun.map
    python3 SOURCES/tests/bench/layout.py BUILD >layout.ld

Which of glibc's variants for a processor run, and the order, are this machine's."""

import bisect
import os
import re
import subprocess
import sys
import tempfile

HEAD = """/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the linker puts the code and constants of a plain run: together, those of pid 1 first, so that nsrun
 * and its pid 1 map a third of the pages.  Made by tests/bench/layout.py.  A name that no file has does
 * nothing, and what is missing here stands behind. */
"""


def sections(path):
    """(address, size, name, file) of the input sections with code, by address."""
    found, name = [], None
    with open(path) as f:
        lines = f.read().split("Linker script and memory map")[1].splitlines()
    for line in lines:
        alone = re.match(r"^ (\.text\S*)\s*$", line)
        whole = re.match(r"^ (\.text\S*)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$", line)
        if whole and (whole[1] or name) and int(whole[3], 16):
            found.append((int(whole[2], 16), int(whole[3], 16), whole[1] or name, whole[4]))
        name = alone[1] if alone else None
    return sorted(found)


def executed(found, build):
    """{section: whether the child executed some of it}, the child's first."""
    starts, seen = [section[0] for section in found], {}
    with tempfile.NamedTemporaryFile() as steps:
        subprocess.run([os.path.join(build, "tests/bench/steps"), steps.name, os.path.join(build, "nsrun"), "run", "--", "/bin/true"],
                       check=True)
        for line in steps.read().decode().splitlines():
            who, offset = line.split()
            section = found[max(0, bisect.bisect(starts, int(offset, 16)) - 1)]
            if int(offset, 16) < section[0] + section[1]:
                seen[section] = seen.get(section, False) or who == "1"
    return sorted(seen, key=lambda section: not seen[section])


def pattern(section, wanted):
    member = re.search(r"([^/]+)\(([^)]+)\)$", section[3])
    if not member:
        return f"*{os.path.basename(section[3])}({wanted})"
    # libtool puts a number before the second of two objects of one name.
    return f"*{member[1]}:{re.sub('^lt[0-9]+-', '*', member[2])}({wanted})"


def block(name, patterns, before):
    print(f"SECTIONS\n{{\n  {name} :\n  {{")
    for each in dict.fromkeys(patterns):
        print(f"    {each}")
    print(f"  }}\n}}\nINSERT BEFORE {before};")


def main():
    build = sys.argv[1]
    hot = [section for section in executed(sections(os.path.join(build, "nsrun.map")), build)
           if not section[2].startswith((".text.startup", ".text.exit")) and "crt" not in os.path.basename(section[3])]
    print(HEAD, end="")
    block(".text.run", [pattern(section, section[2]) for section in hot], ".text")
    block(".rodata.run", [pattern(section, ".rodata .rodata.*") for section in hot], ".rodata")


if __name__ == "__main__":
    main()
