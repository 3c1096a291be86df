"""Reads what peak, mul_bench and compare wrote as JSON, for plot.py, tables.py and
condense.py. Needs Python alone."""

import collections
import hashlib
import json
import math
import os
import re
import sys

# Worst path first.
with open(
    os.path.join(os.path.dirname(__file__), "../ruy_like/registry/paths.inc"),
    encoding="utf-8") as _paths:
  PATHS = re.findall(r"^RUY_LIKE_PATH\(\w+, (\w+),", _paths.read(),
                     re.MULTILINE)

# When versions of the peers were released: the dates of upstream's change logs, for
# oneDNN that of Debian's package, for what npm ships that of the package.
RELEASED = {
    ("onednn", "2.6.3"): "Dec 2022",
    ("openblas", "0.3.21"): "Aug 2022",
    ("blis", "0.9.0"): "Apr 2022",
    ("eigen", "3.4.0"): "Aug 2021",
    ("onnxruntime", "1.30.0"): "Sep 2026",
    ("ggml", "0.25.1"): "Sep 2026",
}

PEER_NAMES = {
    "blis": "BLIS", "eigen": "Eigen", "onednn": "oneDNN",
    "onnxruntime": "ONNX Runtime", "openblas": "OpenBLAS"
}
# In the order of tables.
TYPE_NAMES = {
    "s8": "int8", "s8u8": "int8 x uint8", "u8": "uint8",
    "s8s16": "int8 x int16", "f32": "f32", "f32plain": "f32, no bias",
    "bf16": "bf16", "bf16f32": "bf16 x f32", "f16f32": "f16 x f32",
    "s4g32": "4 bits, G = 32", "s4g128": "4 bits, G = 128",
    "s8g32": "8 bits, G = 32", "s2g64": "ternary, G = 64",
    "s2g256": "ternary, G = 256", "iq4nl": "IQ4_NL", "mxfp4": "MXFP4",
    "nvfp4": "NVFP4"
}

Case = collections.namedtuple(
    "Case", "types path threads cached shape gops gbps peak share read "
    "read_share kernel")
Mean = collections.namedtuple("Mean", "list types cached peer ratio worst shape")

LOWEST_RATIO, HIGHEST_RATIO = 0.5, 3.0


def _mul_bench_cases(data):
  """One Case for each benchmark; the median where it was repeated."""
  cases = {}
  for entry in data["benchmarks"]:
    if entry.get("error_occurred"):
      continue
    aggregate = entry.get("aggregate_name")
    if aggregate not in (None, "median"):
      continue
    types, path, threads, cached, _, shape = entry["run_name"].split("/")[:6]
    # "<kernel> DISTURBED: a share of 18.9": the peak was not what it says.
    kernel, _, mark = entry.get("label", "").partition(" ")
    if mark:
      print(f"{entry['run_name']}: {mark}", file=sys.stderr)
    case = Case(types, path, int(threads.replace("threads", "")),
                cached == "cached", shape, entry["GOP/s"], entry["GB/s"],
                entry.get("peak_GOP/s") or None,
                None if mark else entry.get("share") or None,
                entry.get("read_GB/s") or None, entry.get("read_share") or None,
                kernel)
    key = case[:5]
    if aggregate == "median" or key not in cases:
      cases[key] = case
  return list(cases.values())


class Results:
  """The results in some files.

  about        what condense.py noted of machine, commit and date, or {}
  peak         peak's JSON, or None
  cases        of mul_bench
  comparisons  compare's JSON, with the file's name as "file"
  digests      the SHA-256 of each file, by name
  """

  def __init__(self, names):
    self.about, self.peak = {}, None
    self.cases, self.comparisons, self.digests = [], [], {}
    for name in names:
      with open(name, "rb") as file:
        content = file.read()
      self.digests[os.path.basename(name)] = hashlib.sha256(content).hexdigest()
      data = json.loads(content)
      if "benchmarks" in data:
        self.cases += _mul_bench_cases(data)
      elif "results" in data:
        data["file"] = os.path.basename(name)
        self.comparisons.append(data)
      elif "peaks" in data:
        self.peak = data
      elif "commit" in data:
        self.about = data
      else:
        sys.exit(f"{name}: not of peak, mul_bench, compare or condense.py")
    order = list(TYPE_NAMES)
    self.cases.sort(key=lambda c: order.index(c.types))
    for comparison in self.comparisons:
      comparison["results"].sort(
          key=lambda r: (order.index(r["types"]), not r["cached"]))

  def cpu(self):
    if self.about:
      return self.about["cpu"]
    source = self.peak or (self.comparisons[0] if self.comparisons else {})
    return source.get("cpu", "")


def in_order(values):
  return list(dict.fromkeys(values))


def paths_of(cases):
  return [p for p in PATHS if any(c.path == p for c in cases)]


def peers_of(comparison, types):
  """The names of the peers that have products of these types."""
  found = in_order(b["peer"] for r in comparison["results"]
                   if r["types"] == types for b in r["beside"])
  return [p["name"] for p in comparison["peers"] if p["name"] in found]


def results_by_shape(comparison, types):
  """Results of these types; of a shape in several lists, the first list's."""
  found = {}
  for result in comparison["results"]:
    if result["types"] == types:
      found.setdefault((result["shape"], result["cached"]), result)
  return list(found.values())


def peer_label(comparison, name):
  """Name, version and date of a peer, as far as they are known."""
  description = next(
      p["description"] for p in comparison["peers"] if p["name"] == name)
  version = re.search(r"\d+(\.\d+)+", description)
  shown = PEER_NAMES.get(name, name)
  if version is None:
    return shown
  released = RELEASED.get((name, version[0]))
  return f"{shown} {version[0]}" + (f" ({released})" if released else "")


def means_of(comparison):
  """Geometric means of the ratios over each list of shapes."""
  groups = {}
  for result in comparison["results"]:
    for beside in result["beside"]:
      key = (result["list"], result["types"], result["cached"], beside["peer"])
      groups.setdefault(key, {})[result["shape"]] = beside["ratio"]
  means = []
  for key, ratios in groups.items():
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = min(ratios, key=ratios.get)
    means.append(Mean(*key, mean, ratios[worst], worst))
  return means


def ratio_limits(ratios):
  """(lowest, highest) that a picture of these shows. Ratios beyond are drawn at the
  edge with their number, unless they are more than a tenth of all."""
  ratios = sorted(ratios)
  tenth = len(ratios) // 10
  lowest, highest = min(0.8, 0.95 * ratios[0]), max(1.25, 1.05 * ratios[-1])
  if ratios[tenth] >= LOWEST_RATIO:
    lowest = max(lowest, LOWEST_RATIO)
  if ratios[-1 - tenth] <= HIGHEST_RATIO:
    highest = min(highest, HIGHEST_RATIO)
  return lowest, highest


def disturbed(cases):
  """Those beside which the peak's loop was more than 5% slower than at its best: the
  machine had something else to do, or a lower clock."""
  best = collections.defaultdict(float)
  for case in cases:
    key = case.types, case.path, case.threads
    best[key] = max(best[key], case.peak or 0)
  return [c for c in cases
          if c.peak and c.peak < 0.95 * best[c.types, c.path, c.threads]]


def plural(threads):
  return f"{threads} thread" + ("" if threads == 1 else "s")
