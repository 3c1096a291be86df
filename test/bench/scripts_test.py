#!/usr/bin/env python3
"""Tests of the scripts of bench/.

scripts_test.py SOURCE_DIR WORK_DIR

That the pages' tables and pictures are those of the committed JSON, and that a page,
JSON or picture that differs is noticed; that npm_peers.sh is skipped without npm.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from types import SimpleNamespace

SOURCE_DIR, WORK_DIR = map(os.path.abspath, sys.argv[1:3])
BENCH = os.path.join(SOURCE_DIR, "bench")
PAGES = ["README.md", "bench/RESULTS.md"]


def run(script, *args):
  """Exit code and output."""
  done = subprocess.run(
      [sys.executable, "-B", os.path.join(BENCH, script), *args],
      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
  return done.returncode, done.stdout


class Tables(unittest.TestCase):

  def setUp(self):
    shutil.rmtree(WORK_DIR, ignore_errors=True)
    shutil.copytree(os.path.join(BENCH, "results"),
                    os.path.join(WORK_DIR, "bench/results"))
    for page in PAGES:
      shutil.copy(os.path.join(SOURCE_DIR, page), os.path.join(WORK_DIR, page))
    self.pages = [os.path.join(WORK_DIR, page) for page in PAGES]

  def change(self, name, pattern, replacement, limit=1):
    with open(name, encoding="utf-8") as file:
      text = file.read()
    changed, count = re.subn(pattern, replacement, text, count=limit)
    self.assertGreater(count, 0, f"{name} has no {pattern}")
    with open(name, "w", encoding="utf-8") as file:
      file.write(changed)

  def assert_notices(self, what):
    code, output = run("tables.py", "--check", *self.pages)
    self.assertEqual(code, 1, output)
    self.assertIn(what, output)

  def test_pages_are_of_the_json(self):
    code, output = run("tables.py", "--check",
                       *(os.path.join(SOURCE_DIR, page) for page in PAGES))
    self.assertEqual(code, 0, output)

  def test_notices_a_number_in_a_page_and_mends_it(self):
    for page in self.pages:
      self.change(page, r"(<!-- table: (?:gops|means) [^|]*\|[^\n]*\n\|[-:|]*\n"
                  r"\|[^\n]*?\d)(?=[ %])", r"\g<1>9")
      self.assert_notices(page)
      code, output = run("tables.py", *self.pages)
      self.assertEqual(code, 0, output)
      code, output = run("tables.py", "--check", *self.pages)
      self.assertEqual(code, 0, output)

  def test_notices_other_json(self):
    for folder, _, files in os.walk(os.path.join(WORK_DIR, "bench/results")):
      if "mul_bench.json" in files:
        self.change(os.path.join(folder, "mul_bench.json"),
                    r'"GOP/s": [\d.]+', '"GOP/s": 12345', limit=0)
        self.assert_notices("12345")
        self.assert_notices(".png: drawn from other JSON")
        return
    self.fail("no mul_bench.json")

  def test_notices_a_picture_of_no_json(self):
    with open(self.pages[1], encoding="utf-8") as file:
      name = re.search(r"!\[[^]]*\]\((results/[^)]*\.png)\)", file.read())[1]
    picture = os.path.join(WORK_DIR, "bench", name)
    with open(picture, "rb") as file:
      content = file.read()
    with open(picture, "wb") as file:
      file.write(content.replace(b"tEXtSource\0", b"tEXtOthers\0"))
    self.assert_notices(".png: drawn from other JSON")

  def test_refuses_an_unknown_kind(self):
    self.change(self.pages[1], "<!-- table: gops ", "<!-- table: gossip ")
    code, output = run("tables.py", "--check", *self.pages)
    self.assertNotEqual(code, 0)
    self.assertIn("no kind of table gossip", output)


class Pictures(unittest.TestCase):

  def test_show_most_ratios_and_mark_what_was_disturbed(self):
    sys.path.insert(0, BENCH)
    from read_results import Case, disturbed, ratio_limits
    self.assertEqual(ratio_limits([1.0, 1.1]), (0.8, 1.25))
    self.assertEqual(ratio_limits([1.0] * 19 + [0.2]), (0.5, 1.25))
    self.assertEqual(ratio_limits([1.0] * 19 + [9.0]), (0.8, 3.0))
    lowest, highest = ratio_limits([0.2] * 3 + [1.0] * 10 + [4.0, 5.0, 6.0])
    self.assertLess(lowest, 0.2)
    self.assertGreater(highest, 6.0)
    cases = [Case("s8", "avx2", threads, True, "8x8x8", 1.0, 1.0, peak, 0.5, None,
                  None, "") for threads, peak in ((1, 100.0), (1, 96.0), (1, 94.0),
                                                  (2, 200.0), (2, None))]
    self.assertEqual(disturbed(cases), [cases[2]])


class Disturbed(unittest.TestCase):

  def test_a_share_above_the_peak_counts_for_nothing(self):
    os.makedirs(WORK_DIR, exist_ok=True)
    entry = {"run_name": "s8/avx2/1threads/cached/cubes/8x8x8/manual_time",
             "GOP/s": 1.0, "GB/s": 1.0, "peak_GOP/s": 2.0, "share": 18.9}
    name = os.path.join(WORK_DIR, "disturbed.json")
    for label, share in (("Kernel", 18.9),
                         ("Kernel DISTURBED: a share of 18.9", None)):
      with open(name, "w", encoding="utf-8") as file:
        json.dump({"benchmarks": [dict(entry, label=label)]}, file)
      sys.path.insert(0, BENCH)
      from read_results import Results
      case = Results([name]).cases[0]
      self.assertEqual((case.kernel, case.share), ("Kernel", share))


class Ratios(unittest.TestCase):

  def test_says_where_a_peer_differs(self):
    sys.path.insert(0, BENCH)
    from tables import ratios
    beside = [{"peer": "onnxruntime", "ratio": 1.5, "differs": "saturates"}]
    comparison = {"file": "", "threads": 1,
                  "peers": [{"name": "onnxruntime", "description": "1"}],
                  "results": [{"types": "s8", "shape": "8x8x8", "cached": True,
                               "beside": beside}]}
    lines = ratios(SimpleNamespace(comparisons=[comparison]), {"types": "s8"})
    self.assertEqual(lines[-1], "| 8x8x8 | 1.50, differs: saturates |")


class Condense(unittest.TestCase):

  def test_keeps_medians_without_the_host(self):
    os.makedirs(WORK_DIR, exist_ok=True)
    entry = {"run_name": "s8/avx2/1threads/cached/cubes/8x8x8/manual_time",
             "label": "Kernel", "GB/s": 1.0, "cpu_time": 2.0}
    raw = os.path.join(WORK_DIR, "raw.json")
    with open(raw, "w", encoding="utf-8") as file:
      json.dump({"context": {"host_name": "secret"}, "benchmarks": [
          dict(entry, aggregate_name="median", **{"GOP/s": 12.345678}),
          dict(entry, aggregate_name="mean", **{"GOP/s": 99.0})]}, file)
    out = os.path.join(WORK_DIR, "condensed")
    code, output = run("condense.py", "--out", out, raw)
    self.assertEqual(code, 0, output)
    with open(os.path.join(out, "mul_bench.json"), encoding="utf-8") as file:
      text = file.read()
    self.assertNotIn("secret", text)
    kept = json.loads(text)["benchmarks"]
    self.assertEqual(len(kept), 1)
    self.assertEqual(kept[0]["GOP/s"], 12.35)

  def test_notes_the_commit_of_a_comparison(self):
    os.makedirs(WORK_DIR, exist_ok=True)
    raw = os.path.join(WORK_DIR, "raw_comparison.json")
    with open(raw, "w", encoding="utf-8") as file:
      json.dump({"cpu": "a", "compiler": "b", "isa": "", "threads": 1,
                 "peers": [], "results": []}, file)
    out = os.path.join(WORK_DIR, "condensed_comparison")
    for options, commit in ((["--compared_at", "abc1234"], "abc1234"),
                            ([], None)):
      code, output = run("condense.py", "--out", out, *options, raw)
      self.assertEqual(code, 0, output)
      name = os.path.join(out, "compare_1threads.json")
      with open(name, encoding="utf-8") as file:
        self.assertEqual(json.load(file).get("commit"), commit)


class NpmPeers(unittest.TestCase):

  def test_says_that_it_is_skipped_without_npm(self):
    tools = os.path.join(WORK_DIR, "tools")
    shutil.rmtree(tools, ignore_errors=True)
    os.makedirs(tools)
    for tool in ("bash", "dirname", "realpath", "uname"):
      os.symlink(shutil.which(tool), os.path.join(tools, tool))
    done = subprocess.run(
        ["bash", os.path.join(BENCH, "npm_peers.sh"), WORK_DIR],
        env={"PATH": tools}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    self.assertEqual(done.returncode, 77, done.stdout)
    self.assertIn("SKIPPED: bench/npm_peers.sh: ", done.stdout)

  def test_scripts_are_well_formed(self):
    folder = os.path.join(BENCH, "peers")
    name = os.path.join(folder, "onnx_models.py")
    with open(name, encoding="utf-8") as file:
      compile(file.read(), name, "exec")
    if shutil.which("node"):
      subprocess.run(
          ["node", "--check", os.path.join(folder, "onnxruntime.js")],
          check=True)


if __name__ == "__main__":
  unittest.main(argv=sys.argv[:1])
