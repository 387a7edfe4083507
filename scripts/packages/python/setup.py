# SPDX-License-Identifier: LGPL-2.1-or-later
"""What pyproject.toml has no words for: the version is the tree's, and the wheel has a static program of one machine."""
import os
import platform

import setuptools
from wheel.bdist_wheel import bdist_wheel

# Of the machine that the program in bin/ is for.
MACHINE = os.environ.get("NSRUN_MACHINE") or platform.machine()


class Distribution(setuptools.Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    """The program needs no libc, so that it runs wherever pip knows the oldest of these tags."""

    def get_tag(self):
        tags = f"manylinux_2_17_{MACHINE}", f"manylinux2014_{MACHINE}", f"musllinux_1_1_{MACHINE}"
        return "py3", "none", ".".join(tags)


setuptools.setup(version=os.environ["NSRUN_VERSION"], cmdclass={"bdist_wheel": Wheel}, distclass=Distribution)
