# SPDX-License-Identifier: LGPL-2.1-or-later
"""The wheel as a file, for this machine or another: build says in the environment where the two that it has made are, and
of which machine."""
import os
import re
import struct
import sys
import unittest
import zipfile

WHEEL, AGAIN = os.environ["NSRUN_WHEELS"].split()
MACHINE = os.environ["NSRUN_MACHINE"]
# ELF's numbers of them.
NUMBER = {"x86_64": 62, "aarch64": 183}[MACHINE]
TAGS = [f"{libc}_{MACHINE}" for libc in ("manylinux_2_17", "manylinux2014", "musllinux_1_1")]
PT_INTERP = 3


class Wheel(unittest.TestCase):
    maxDiff = None

    def test_it_is_the_same_wherever_it_is_built(self):
        with open(WHEEL, "rb") as one, open(AGAIN, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_its_name_and_its_metadata_have_the_tags_of_the_machine(self):
        self.assertRegex(os.path.basename(WHEEL), rf"^nsrun-[0-9.rc]+-py3-none-{re.escape('.'.join(TAGS))}\.whl$")
        with zipfile.ZipFile(WHEEL) as found:
            (name,) = (name for name in found.namelist() if name.endswith(".dist-info/WHEEL"))
            lines = found.read(name).decode().splitlines()
        self.assertEqual(
            sorted(line for line in lines if line.startswith("Tag: ")), sorted(f"Tag: py3-none-{tag}" for tag in TAGS)
        )

    def test_it_has_these_files(self):
        with zipfile.ZipFile(WHEEL) as found:
            names = [re.sub(r"^nsrun-[^/]*", "info", name) for name in found.namelist()]
        self.assertEqual(
            sorted(names),
            ["info/METADATA", "info/RECORD", "info/WHEEL", "info/entry_points.txt", "info/musl", "info/nsrun"]
            + ["info/top_level.txt", "nsrun/__init__.py", "nsrun/__main__.py", "nsrun/_program.py", "nsrun/aio.py"]
            + ["nsrun/bin/nsrun", "nsrun/py.typed"],
        )

    def test_its_program_is_of_the_machine_and_needs_no_loader(self):
        with zipfile.ZipFile(WHEEL) as found:
            program = found.read("nsrun/bin/nsrun")
            mode = found.getinfo("nsrun/bin/nsrun").external_attr >> 16
        headers, size, count = *struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54)
        self.assertEqual((program[:6], mode & 0o7777), (b"\x7fELF\x02\x01", 0o755))
        self.assertEqual(struct.unpack_from("<HH", program, 16), (3, NUMBER))
        kinds = [struct.unpack_from("<I", program, headers + i * size)[0] for i in range(count)]
        self.assertNotIn(PT_INTERP, kinds)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed != 0)
