#!/usr/bin/env python3
"""cmake/slowest.py <build folder>: where its wall time went.

Prints the ten files that took longest to compile and the ten tests that came nearest
to their limits, by the records of Ninja and of `ctest --output-junit
Testing/results.xml`. What a compiler cache gave counts as what fetching it took.
"""
import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

DEFAULT_LIMIT = 1500  # CTest's


def compilations(folder):
    """(seconds, file), slowest first; the last record of a file counts."""
    seconds = {}
    with open(os.path.join(folder, ".ninja_log")) as log:
        for line in log:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5 and fields[3].endswith((".o", ".gch")):
                name = re.sub(r"CMakeFiles/(\S+)\.dir/", r"[\1] ", fields[3])
                seconds[name] = (int(fields[1]) - int(fields[0])) / 1000
    return sorted(((s, name) for name, s in seconds.items()), reverse=True)


def tests(folder):
    """(share of the limit, seconds, test), nearest to its limit first."""
    listed = subprocess.run(["ctest", "--show-only=json-v1", "-C", "Nightly"], cwd=folder,
                            check=True, capture_output=True)
    limits = {}
    for test in json.loads(listed.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        limits[test["name"]] = properties.get("TIMEOUT", DEFAULT_LIMIT)
    results = ElementTree.parse(os.path.join(folder, "Testing", "results.xml"))
    rows = []
    for case in results.getroot().iter("testcase"):
        name, seconds = case.get("name"), float(case.get("time"))
        rows.append((seconds / limits.get(name, DEFAULT_LIMIT), seconds, name))
    return sorted(rows, reverse=True)


def main():
    folder = sys.argv[1]
    print("Slowest files, seconds:")
    for seconds, name in compilations(folder)[:10]:
        print(f"{seconds:8.1f}  {name}")
    if os.path.exists(os.path.join(folder, "Testing", "results.xml")):
        print("Tests nearest to their limits, seconds:")
        for share, seconds, name in tests(folder)[:10]:
            print(f"{seconds:8.1f} {share:4.0%}  {name}")


main()
