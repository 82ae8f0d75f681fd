# SPDX-License-Identifier: BSD-3-Clause
import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0 it is in spack.package
    pass

# the checkout that this file is in
CHECKOUT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))


class Rcx(MesonPackage):
    """Collective operations on UCX for programs that are not MPI programs: PGAS
    runtimes, ML frameworks, solvers, services."""

    homepage = "file://" + CHECKOUT
    git = "file://" + CHECKOUT

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("ucx", default=True, description="Networks by UCX; without it single processes and the simulator")
    variant("pmix", default=True, description="Start by PMIx, and rcxrun")
    variant("hwloc", default=True, description="Places of ranks in a machine by hwloc")
    variant("fortran", default=False, description="Module rcx for Fortran")
    variant("python", default=False, description="Package rcx for Python")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("pmix@4:", when="+pmix")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-cffi", type=("build", "run"), when="+python")
    extends("python", when="+python")

    def meson_args(self):
        options = {name: "+" + name in self.spec for name in ("ucx", "pmix", "hwloc", "fortran", "python")}
        for name in ("tests", "torch"):
            options[name] = False
        return ["-D{0}={1}".format(name, "enabled" if on else "disabled") for name, on in options.items()]
