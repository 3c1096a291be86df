#!/usr/bin/env python3
"""Draws what peak, mul_bench and compare wrote as JSON, and prints a table.

plot.py --out DIR peak.json mul_bench.json compare.json ...

The kind of each file is seen from its contents; several of a kind are taken
together. Writes, for each combination of types that was measured,

  shapes_TYPES.png    GOP/s and share of the peak by shape
  threads_TYPES.png   GOP/s and speed-up by thread count, if there are several
  roofline_TYPES.png  GOP/s over operations per byte, under peaks and bandwidths
  compare_...png      ratios to other libraries, one picture a compare.json and
                      types
  table.md            all of mul_bench's figures
"""

import argparse
import collections
import itertools
import json
import os
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

# Worst path first.
with open(
    os.path.join(os.path.dirname(__file__), "../ruy_like/registry/paths.inc"),
    encoding="utf-8") as paths:
  PATHS = re.findall(r"^RUY_LIKE_PATH\(\w+, (\w+),", paths.read(), re.MULTILINE)
# In turn; the first ones are told apart in grey, too.
PATH_COLORS = dict(
    zip(PATHS, itertools.cycle(["#7f7f7f", "#1b6ca8", "#17a2a2", "#e08214",
                                "#b2182b", "#6a3d9a"])))
PEER_COLORS = ["#b2182b", "#1b6ca8", "#e08214", "#2a7f3f", "#6a3d9a", "#7f7f7f"]

Case = collections.namedtuple(
    "Case", "types path threads cached shape gops gbps peak share read "
    "read_share kernel")


def read_mul_bench(data):
  """One Case for each benchmark; the median where it was repeated."""
  cases = {}
  for entry in data["benchmarks"]:
    if entry.get("error_occurred"):
      continue
    aggregate = entry.get("aggregate_name")
    if aggregate not in (None, "median"):
      continue
    types, path, threads, cached, _, shape = entry["run_name"].split("/")[:6]
    case = Case(types, path, int(threads.replace("threads", "")),
                cached == "cached", shape, entry["GOP/s"], entry["GB/s"],
                entry.get("peak_GOP/s"), entry.get("share"),
                entry.get("read_GB/s"), entry.get("read_share"),
                entry.get("label", ""))
    key = case[:5]
    if aggregate == "median" or key not in cases:
      cases[key] = case
  return list(cases.values())


def read_files(names):
  peak, cases, comparisons = None, [], []
  for name in names:
    with open(name, encoding="utf-8") as file:
      data = json.load(file)
    if "benchmarks" in data:
      cases += read_mul_bench(data)
    elif "geometric_means" in data:
      comparisons.append(data)
    elif "peaks" in data:
      peak = data
    else:
      sys.exit(f"{name}: not of peak, mul_bench or compare")
  return peak, cases, comparisons


def in_order(values):
  return list(dict.fromkeys(values))


def paths_of(cases):
  return [p for p in PATHS if any(c.path == p for c in cases)]


def plain_number(value, _=None):
  return f"{value:g}" if value < 1e5 else f"{value:.0e}"


def log_axis(axis):
  """Labels 1, 2, 5, 10 ... instead of powers."""
  axis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
  axis.set_major_formatter(FuncFormatter(plain_number))
  axis.set_minor_formatter(NullFormatter())


def style_handles(both):
  if not both:
    return []
  return [
      Line2D([], [], marker="o", color="#333333", linestyle="",
             label="weights cached"),
      Line2D([], [], marker="o", color="#333333", linestyle="",
             markerfacecolor="white", label="not cached")
  ]


def legend_below(figure, handles, columns=6):
  """Below the axes, in rows; returns the fraction of height that it takes."""
  rows = -(-len(handles) // columns)
  columns = -(-len(handles) // rows)
  figure.legend(handles=handles, loc="lower center", ncol=columns,
                frameon=False, fontsize=9)
  return (0.24 * rows + 0.15) / figure.get_figheight()


def dots(axes, row, value, color, cached, offset):
  axes.plot(value, row + offset, marker="o", markersize=5, color=color,
            markerfacecolor=color if cached else "white", linestyle="",
            zorder=3)


def shape_rows(axes, shapes):
  axes.set_yticks(range(len(shapes)))
  axes.set_yticklabels(shapes, fontsize=9)
  axes.set_ylim(len(shapes) - 0.5, -0.5)
  for row in range(0, len(shapes), 2):
    axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", zorder=0)
  axes.grid(axis="x", color="#d0d0d0", linewidth=0.6, zorder=1)
  axes.tick_params(axis="y", length=0)


def spread(index, count):
  """Offsets of several dots in one row, so that equal ones stay visible."""
  return 0 if count == 1 else (index / (count - 1) - 0.5) * 0.6


def save(figure, out, name):
  path = os.path.join(out, name)
  figure.savefig(path, dpi=120)
  plt.close(figure)
  print(path)


def draw_shapes(cases, types, cpu, out):
  threads = min(c.threads for c in cases)
  cases = [c for c in cases if c.threads == threads]
  shapes = in_order(c.shape for c in cases)
  paths = paths_of(cases)
  figure, (left, right) = plt.subplots(
      1, 2, sharey=True, figsize=(11, 1.9 + 0.27 * len(shapes)))
  for case in cases:
    row = shapes.index(case.shape)
    offset = spread(paths.index(case.path), len(paths))
    color = PATH_COLORS[case.path]
    dots(left, row, case.gops, color, case.cached, offset)
    if case.share is not None:
      dots(right, row, 100 * case.share, color, case.cached, offset)
  shape_rows(left, shapes)
  shape_rows(right, shapes)
  left.set_xscale("log")
  log_axis(left.xaxis)
  left.set_xlabel("GOP/s")
  left.set_ylabel("rows x depth x columns")
  right.set_xlim(0, 105)
  right.set_xlabel("% of the peak of the path's inner step")
  plural = "thread" if threads == 1 else "threads"
  figure.suptitle(f"{types}, {threads} {plural}, {cpu}", fontsize=12)
  handles = [
      Line2D([], [], marker="o", color=PATH_COLORS[p], linestyle="", label=p)
      for p in paths
  ] + style_handles(len({c.cached for c in cases}) == 2)
  bottom = legend_below(figure, handles)
  figure.tight_layout(rect=(0, bottom, 1, 1))
  save(figure, out, f"shapes_{types}.png")


def draw_threads(cases, types, cpu, out):
  counts = sorted({c.threads for c in cases})
  if len(counts) < 2:
    return
  path = paths_of(cases)[-1]
  cached = any(c.cached for c in cases)
  cases = [c for c in cases if c.path == path and c.cached == cached]
  shapes = in_order(c.shape for c in cases)
  step = -(-len(shapes) // 10)  # ten lines can be told apart
  shapes = shapes[::step]
  figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2))
  colors = plt.get_cmap("tab10")
  for i, shape in enumerate(shapes):
    line = {c.threads: c.gops for c in cases if c.shape == shape}
    xs = sorted(line)
    left.plot(xs, [line[x] for x in xs], marker="o", color=colors(i),
              label=shape)
    if counts[0] in line:
      right.plot(xs, [line[x] / line[counts[0]] for x in xs], marker="o",
                 color=colors(i))
  ideal = [x / counts[0] for x in counts]
  right.plot(counts, ideal, color="#333333", linestyle="--", linewidth=1)
  right.annotate("ideal", (counts[-1], ideal[-1]), xytext=(-14, 2),
                 textcoords="offset points", ha="right", fontsize=9)
  left.set_yscale("log")
  log_axis(left.yaxis)
  left.set_ylabel("GOP/s")
  right.set_ylabel(f"times as fast as with {counts[0]}")
  right.set_ylim(0, max(right.get_ylim()[1], 1.1 * ideal[-1]))
  for axes in (left, right):
    axes.set_xticks(counts)
    axes.set_xlabel("threads")
    axes.grid(color="#d0d0d0", linewidth=0.6)
  policy = "weights cached" if cached else "not cached"
  figure.suptitle(f"{types}, {path}, {policy}, {cpu}", fontsize=12)
  bottom = legend_below(figure, left.get_legend_handles_labels()[0])
  figure.tight_layout(rect=(0, bottom, 1, 1))
  save(figure, out, f"threads_{types}.png")


def bandwidth_levels(peak):
  """(label, GB/s) of working sets about as large as L1, L2, L3, memory."""
  one = [b for b in peak["read_bandwidth"] if b["threads"] == 1]
  by_size = {b["working_set_bytes"]: b["gbps"] for b in one}
  levels = []
  for size in (32 << 10, 512 << 10, 8 << 20, 256 << 20):
    if size not in by_size:
      continue
    text = f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"
    levels.append((f"read from {text}: {by_size[size]:.0f} GB/s",
                   by_size[size]))
  return levels


def annotate_sparsely(figure, axes, points, dots_drawn):
  """Names points where the name has room: (x, y, text), most wanted first."""
  figure.canvas.draw()
  renderer = figure.canvas.get_renderer()
  frame = axes.get_window_extent(renderer)
  taken = []
  for dot in axes.transData.transform(dots_drawn):
    taken.append(matplotlib.transforms.Bbox.from_bounds(
        dot[0] - 5, dot[1] - 5, 10, 10))
  places = [((6, -10), "left"), ((6, 4), "left"), ((-6, -10), "right"),
            ((-6, 4), "right"), ((0, -17), "center"), ((0, 11), "center")]
  for x, y, text in points:
    for offset, align in places:
      label = axes.annotate(text, (x, y), xytext=offset, ha=align,
                            textcoords="offset points", fontsize=7.5)
      box = label.get_window_extent(renderer)
      if (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
          and not any(box.overlaps(other) for other in taken)):
        taken.append(box)
        break
      label.remove()


def draw_roofline(cases, types, cpu, peak, out):
  cases = [c for c in cases if c.threads == 1]
  if not cases:
    return
  paths = paths_of(cases)
  figure, axes = plt.subplots(figsize=(11, 7))
  intensities = [c.gops / c.gbps for c in cases]
  low, high = min(intensities) / 2, max(intensities) * 3
  top = max([c.peak or 0 for c in cases] + [c.gops for c in cases])
  axes.set_xscale("log")
  axes.set_yscale("log")
  axes.set_xlim(low, high)
  axes.set_ylim(min(c.gops for c in cases) / 2, top * 2)
  for path in paths:
    peaks = [c.peak for c in cases if c.path == path and c.peak]
    if not peaks:
      continue
    value = sorted(peaks)[len(peaks) // 2]
    axes.axhline(value, color=PATH_COLORS[path], linewidth=1.2, zorder=1)
    # Paths with equal peaks write side by side.
    same = [p for p in paths[:paths.index(path)]
            if any(c.path == p and c.peak and abs(c.peak / value - 1) < 0.15
                   for c in cases)]
    axes.annotate(f"{path} {value:.0f}", (0.995 - 0.13 * len(same), value),
                  xycoords=("axes fraction", "data"), xytext=(0, 3),
                  textcoords="offset points", ha="right", fontsize=8.5,
                  color=PATH_COLORS[path])
  handles = [
      Line2D([], [], marker="o", color=PATH_COLORS[p], linestyle="", label=p)
      for p in paths
  ] + style_handles(len({c.cached for c in cases}) == 2)
  styles = ["-", "--", "-.", ":"]
  for (label, gbps), style in zip(bandwidth_levels(peak) if peak else [],
                                  styles):
    line, = axes.plot([low, high], [low * gbps, high * gbps], color="#666666",
                      linewidth=1.1, linestyle=style, label=label, zorder=1)
    handles.append(line)
  for case in cases:
    color = PATH_COLORS[case.path]
    axes.plot(case.gops / case.gbps, case.gops, marker="o", markersize=5,
              color=color, linestyle="", zorder=3,
              markerfacecolor=color if case.cached else "white")
  log_axis(axes.xaxis)
  log_axis(axes.yaxis)
  axes.grid(color="#e0e0e0", linewidth=0.6, zorder=0)
  axes.set_xlabel("operations per byte of lhs, rhs and dst")
  axes.set_ylabel("GOP/s")
  figure.suptitle(f"Roofline, {types}, 1 thread, {cpu}", fontsize=12)
  bottom = legend_below(figure, handles, columns=4)
  figure.tight_layout(rect=(0, bottom, 1, 1))
  best = [c for c in cases if c.path == paths[-1]]
  best = [c for c in best if c.cached == best[0].cached]
  best.sort(key=lambda c: c.share or 0)
  annotate_sparsely(figure, axes,
                    [(c.gops / c.gbps, c.gops, c.shape) for c in best],
                    [(c.gops / c.gbps, c.gops) for c in cases])
  save(figure, out, f"roofline_{types}.png")


def draw_comparison(data, types, out):
  results = [r for r in data["results"] if r["types"] == types]
  peers = in_order(b["peer"] for r in results for b in r["beside"])
  if not peers:
    return
  shapes = in_order(r["shape"] for r in results)
  figure, axes = plt.subplots(figsize=(9, 2.0 + 0.3 * len(shapes)))
  shape_rows(axes, shapes)
  for result in results:
    for beside in result["beside"]:
      index = peers.index(beside["peer"])
      dots(axes, shapes.index(result["shape"]), beside["ratio"],
           PEER_COLORS[index % len(PEER_COLORS)], result["cached"],
           spread(index, len(peers)))
  axes.axvline(1, color="#333333", linewidth=1.2, zorder=2)
  axes.set_xscale("log")
  low, high = axes.get_xlim()
  axes.set_xlim(min(low, 0.8), max(high, 1.25))
  log_axis(axes.xaxis)
  axes.set_xlabel("our speed / theirs")
  axes.set_ylabel("rows x depth x columns")
  handles = []
  for index, peer in enumerate(peers):
    means = [
        "%.2f %s" % (m["ratio"], "cached" if m["cached"] else "not")
        for m in data["geometric_means"]
        if m["types"] == types and m["peer"] == peer
    ]
    handles.append(
        Line2D([], [], marker="o", linestyle="",
               color=PEER_COLORS[index % len(PEER_COLORS)],
               label=f"{peer}: {', '.join(means)}"))
  handles += style_handles(len({r["cached"] for r in results}) == 2)
  isa = data["isa"] or "best instructions of each"
  plural = "thread" if data["threads"] == 1 else "threads"
  figure.suptitle(
      f"{types}, {data['threads']} {plural}, {isa}, {data['cpu']}\n"
      "(with each library: geometric mean)", fontsize=11)
  bottom = legend_below(figure, handles, columns=3)
  figure.tight_layout(rect=(0, bottom, 1, 1))
  isa_part = f"_{data['isa']}" if data["isa"] else ""
  save(figure, out, f"compare_{types}{isa_part}_{data['threads']}threads.png")


def cell(case):
  if case is None:
    return ""
  share = "" if case.share is None else f" ({100 * case.share:.0f}%)"
  read = ""
  if case.read_share is not None and case.read_share > (case.share or 0):
    read = f" [{100 * case.read_share:.0f}%]"
  return f"{case.gops:.4g}{share}{read}"


def write_table(cases, cpu, out):
  lines = [
      f"# {cpu}", "",
      "GOP/s (share of the peak of the path's inner step: the multiply "
      "instruction and, for VPMADDWD, the addition) [share of the read bandwidth "
      "of the larger operand, where that is the larger one].",
      ""
  ]
  groups = in_order((c.types, c.threads) for c in cases)
  for types, threads in groups:
    group = [c for c in cases if (c.types, c.threads) == (types, threads)]
    columns = [(p, cached) for p in reversed(paths_of(group))
               for cached in (True, False)
               if any((c.path, c.cached) == (p, cached) for c in group)]
    by_key = {(c.shape, c.path, c.cached): c for c in group}
    lines += [f"## {types}, {threads} thread{'s' if threads > 1 else ''}", ""]
    lines.append("| shape | " + " | ".join(
        f"{p} {'cached' if cached else 'fresh'}" for p, cached in columns)
                 + " |")
    lines.append("|---" * (len(columns) + 1) + "|")
    for shape in in_order(c.shape for c in group):
      lines.append(f"| {shape} | " + " | ".join(
          cell(by_key.get((shape, p, cached))) for p, cached in columns) + " |")
    lines.append("")
  path = os.path.join(out, "table.md")
  with open(path, "w", encoding="utf-8") as file:
    file.write("\n".join(lines))
  print(path)


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--out", default=".", help="directory of the results")
  parser.add_argument("files", nargs="+", metavar="JSON")
  args = parser.parse_args()
  os.makedirs(args.out, exist_ok=True)
  peak, cases, comparisons = read_files(args.files)
  cpu = (peak or (comparisons[0] if comparisons else {})).get("cpu", "")
  for types in in_order(c.types for c in cases):
    of_types = [c for c in cases if c.types == types]
    draw_shapes(of_types, types, cpu, args.out)
    draw_threads(of_types, types, cpu, args.out)
    draw_roofline(of_types, types, cpu, peak, args.out)
  if cases:
    write_table(cases, cpu, args.out)
  for comparison in comparisons:
    for types in in_order(r["types"] for r in comparison["results"]):
      draw_comparison(comparison, types, args.out)


if __name__ == "__main__":
  main()
