"""A Conan 2 recipe: builds the sources that it lies in."""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class RuyLikeConan(ConanFile):
    name = "ruy_like"
    version = "0.2.0"
    license = "Apache-2.0"
    description = "Matrix multiplication for neural-network inference"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "quantize": [True, False]}
    default_options = {"shared": False, "quantize": True}

    def _top(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
                        "cmake/*", "doc/*", "dropin/*", "example/*", "ruy_like/*",
                        "third_party/*"):
            copy(self, pattern, self._top(), self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 17)

    def requirements(self):
        self.requires("abseil/[>=20230802.0 <20250000]", transitive_headers=True,
                      transitive_libs=True)
        self.requires("cpuinfo/cci.20231129")
        if self.options.quantize:
            self.requires("highway/1.0.3")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCHMARKS", "EXAMPLES", "TOOLS"):
            toolchain.cache_variables[f"RUY_LIKE_BUILD_{part}"] = False
        toolchain.cache_variables["RUY_LIKE_QUANTIZE"] = bool(self.options.quantize)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder,
             os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.components["ruy_like"].libs = ["ruy_like"]
        self.cpp_info.components["ruy_like"].requires = [
            "abseil::absl_span", "abseil::absl_status", "abseil::absl_statusor",
            "abseil::absl_strings",
            "abseil::absl_fixed_array", "abseil::absl_hash", "cpuinfo::cpuinfo"]
        self.cpp_info.components["ruy_like"].system_libs = ["pthread"]
        if self.options.quantize:
            quantize = self.cpp_info.components["quantize"]
            quantize.libs = ["ruy_like_quantize"]
            quantize.requires = ["ruy_like", "abseil::absl_span", "highway::hwy"]
