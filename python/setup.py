"""Makes the wheel of ruy_like: python3 setup.py bdist_wheel

Builds the extension by CMake with all paths, or takes the package from the folder
that RUY_LIKE_PYTHON_PACKAGE names: build/release/python/ruy_like for instance.
RUY_LIKE_CMAKE_ARGS are further options for CMake.
"""

import os
import re
import shlex
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
NAME = "_core.abi3.so"


class BuildByCMake(build_ext):
    def get_ext_filename(self, name):
        return os.path.join(*name.split(".")[:-1], NAME)

    def build_extension(self, extension):
        package = os.environ.get("RUY_LIKE_PYTHON_PACKAGE")
        if not package:
            build = os.path.abspath(os.path.join(self.build_temp, "cmake"))
            subprocess.check_call(
                ["cmake", "-S", TOP, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                 "-DRUY_LIKE_BUILD_TESTS=OFF", "-DRUY_LIKE_BUILD_BENCHMARKS=OFF",
                 "-DRUY_LIKE_BUILD_EXAMPLES=OFF", "-DRUY_LIKE_BUILD_TOOLS=OFF",
                 "-DRUY_LIKE_QUANTIZE=OFF", "-DRUY_LIKE_BUILD_PYTHON=ON"]
                + shlex.split(os.environ.get("RUY_LIKE_CMAKE_ARGS", "")))
            subprocess.check_call(["cmake", "--build", build, "--parallel",
                                   "--target", "ruy_like_python"])
            package = os.path.join(build, "python", "ruy_like")
        target = os.path.join(self.build_lib, "ruy_like", NAME)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(package, NAME), target)
        subprocess.check_call(["strip", "--strip-unneeded", target])


with open(os.path.join(TOP, "CMakeLists.txt")) as file:
    VERSION = re.search(r"^project\(ruy_like VERSION (\S+)", file.read(), re.M)[1]

setup(
    name="ruy_like",
    version=VERSION,
    description="Matrix multiplication for neural-network inference",
    license="Apache-2.0",
    python_requires=">=3.11",
    install_requires=["numpy"],
    packages=["ruy_like"],
    package_data={"ruy_like": ["*.pyi", "py.typed"]},
    ext_modules=[Extension("ruy_like._core", [], py_limited_api=True)],
    cmdclass={"build_ext": BuildByCMake},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
