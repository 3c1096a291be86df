#!/usr/bin/env python3
"""Draws what peak, mul_bench and compare wrote as JSON.

plot.py --out DIR about.json peak.json mul_bench.json compare.json ...

The kind of each file is seen from its contents; several of a kind are taken
together. Writes, for each combination of types that was measured,

  shapes_TYPES.png    GOP/s and share of the peak by shape
  roofline_TYPES.png  GOP/s over operations per byte, under peaks and bandwidths
  compare_...png      ratios to other libraries, one picture a compare.json and
                      types

A picture's entry "Source" has the SHA-256 of each file that it was drawn from, by
which tables.py sees whether they are still the same.
"""

import argparse
import itertools
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from read_results import (PATHS, TYPE_NAMES, Results, disturbed, in_order,
                          means_of, paths_of, peer_label, peers_of, plural,
                          ratio_limits, results_by_shape)

# Okabe and Ito's colours, which colour-blind people can tell apart; each goes with
# a shape of its own.
STYLES = [("#0072B2", "o"), ("#E69F00", "s"), ("#009E73", "^"),
          ("#CC79A7", "D"), ("#D55E00", "v"), ("#56B4E9", "P"),
          ("#000000", "X")]
PATH_STYLES = dict(zip(PATHS, itertools.cycle(STYLES)))
RATIO_TICKS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 4,
               5, 6, 8, 10, 15, 20, 30]


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


def dots(axes, row, value, style, cached, offset, crossed=False):
  color, marker = style
  axes.plot(value, row + offset, marker=marker, markersize=5, color=color,
            markerfacecolor=color if cached else "white", linestyle="",
            zorder=3)
  if crossed:
    axes.plot(value, row + offset, marker="x", markersize=8, color="#333333",
              markeredgewidth=0.8, linestyle="", zorder=4)


def path_handles(paths):
  return [
      Line2D([], [], marker=PATH_STYLES[p][1], color=PATH_STYLES[p][0],
             linestyle="", label=p) for p in paths
  ]


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


def save(figure, out, name, sources):
  path = os.path.join(out, name)
  figure.savefig(path, dpi=120, metadata={"Source": " ".join(sources)})
  plt.close(figure)
  print(path)


def draw_shapes(results, cases, types, out):
  threads = min(c.threads for c in cases)
  cases = [c for c in cases if c.threads == threads]
  shapes = in_order(c.shape for c in cases)
  paths = paths_of(cases)
  figure, (left, right) = plt.subplots(
      1, 2, sharey=True, figsize=(11, 1.9 + 0.27 * len(shapes)))
  slowed = disturbed(cases)
  for case in cases:
    row = shapes.index(case.shape)
    offset = spread(paths.index(case.path), len(paths))
    style = PATH_STYLES[case.path]
    crossed = case in slowed
    dots(left, row, case.gops, style, case.cached, offset, crossed)
    if case.share is not None:
      dots(right, row, 100 * case.share, style, case.cached, offset, crossed)
  shape_rows(left, shapes)
  shape_rows(right, shapes)
  left.set_xscale("log")
  log_axis(left.xaxis)
  left.set_xlabel("GOP/s")
  left.set_ylabel("rows x depth x columns")
  right.set_xlim(0, max(105, 102 * max(c.share or 0 for c in cases)))
  right.set_xlabel("% of the peak of the path's inner step")
  figure.suptitle(f"{TYPE_NAMES[types]}, {plural(threads)}\n{origin(results)}",
                  fontsize=11)
  handles = path_handles(paths) + style_handles(
      len({c.cached for c in cases}) == 2)
  if slowed:
    handles.append(Line2D([], [], marker="x", color="#333333", linestyle="",
                          label="machine slowed down, peak too"))
  bottom = legend_below(figure, handles)
  figure.tight_layout(rect=(0, bottom, 1, 1))
  save(figure, out, f"shapes_{types}.png",
       sources(results, "about.json", "mul_bench.json"))


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


def annotate_sparsely(figure, axes, points, dots_drawn, lines):
  """Names points where the name has room: (x, y, text), most wanted first.

  Room is where no dot is, no other name, and none of the lines, which are
  horizontal and given by their y.
  """
  figure.canvas.draw()
  renderer = figure.canvas.get_renderer()
  frame = axes.get_window_extent(renderer)
  bounds = matplotlib.transforms.Bbox.from_bounds
  taken = [bounds(x - 5, y - 5, 10, 10)
           for x, y in axes.transData.transform(dots_drawn)]
  for y in lines:
    level = axes.transData.transform((axes.get_xlim()[0], y))[1]
    taken.append(bounds(frame.x0, level - 3, frame.width, 6))
  places = [((6, -10), "left"), ((6, 4), "left"), ((-6, -10), "right"),
            ((-6, 4), "right"), ((0, -17), "center"), ((0, 11), "center")]
  for x, y, text in points:
    for offset, align in places:
      label = axes.annotate(text, (x, y), xytext=offset, ha=align,
                            textcoords="offset points", fontsize=7.5,
                            bbox={"facecolor": "white", "edgecolor": "none",
                                  "pad": 0.4, "alpha": 0.85})
      box = label.get_window_extent(renderer)
      if (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
          and not any(box.overlaps(other) for other in taken)):
        taken.append(box)
        break
      label.remove()


def label_peaks(figure, axes, peaks):
  """Names the peaks, (path, GOP/s), right of the axes, each on a line of its own."""
  figure.canvas.draw()
  height = 11 * figure.dpi / 72  # of a line
  lowest = -1e9
  for path, value in sorted(peaks, key=lambda p: p[1]):
    x, y = axes.transData.transform((axes.get_xlim()[1], value))
    lowest = max(y - height / 2, lowest + height)
    place = figure.transFigure.inverted().transform((x + 8, lowest))
    figure.text(*place, f"{path} {value:.0f}", fontsize=8.5, ha="left",
                va="bottom")
    figure.add_artist(Line2D(
        *zip(figure.transFigure.inverted().transform((x, y)),
             figure.transFigure.inverted().transform((x + 6,
                                                      lowest + height / 2))),
        color=PATH_STYLES[path][0], linewidth=1))


def draw_roofline(results, cases, types, out):
  cases = [c for c in cases if c.threads == 1]
  if not cases:
    return
  paths = paths_of(cases)
  figure, axes = plt.subplots(figsize=(11, 7))
  intensities = [c.gops / c.gbps for c in cases]
  low, high = min(intensities) / 2, max(intensities) * 2
  top = max([c.peak or 0 for c in cases] + [c.gops for c in cases])
  axes.set_xscale("log")
  axes.set_yscale("log")
  axes.set_xlim(low, high)
  axes.set_ylim(min(c.gops for c in cases) / 2, top * 2)
  peaks = []
  for path in paths:
    of_path = sorted(c.peak for c in cases if c.path == path and c.peak)
    if of_path:
      peaks.append((path, of_path[len(of_path) // 2]))
      axes.axhline(peaks[-1][1], color=PATH_STYLES[path][0], linewidth=1.2,
                   zorder=1)
  handles = path_handles(paths) + style_handles(
      len({c.cached for c in cases}) == 2)
  styles = ["-", "--", "-.", ":"]
  levels = bandwidth_levels(results.peak) if results.peak else []
  for (label, gbps), style in zip(levels, styles):
    line, = axes.plot([low, high], [low * gbps, high * gbps], color="#666666",
                      linewidth=1.1, linestyle=style, label=label, zorder=1)
    handles.append(line)
  for case in cases:
    color, marker = PATH_STYLES[case.path]
    axes.plot(case.gops / case.gbps, case.gops, marker=marker, markersize=5,
              color=color, linestyle="", zorder=3,
              markerfacecolor=color if case.cached else "white")
  log_axis(axes.xaxis)
  log_axis(axes.yaxis)
  axes.grid(color="#e0e0e0", linewidth=0.6, zorder=0)
  axes.set_axisbelow(True)
  axes.set_xlabel("operations per byte of lhs, rhs and dst")
  axes.set_ylabel("GOP/s")
  figure.suptitle(f"Roofline, {TYPE_NAMES[types]}, 1 thread\n{origin(results)}",
                  fontsize=11)
  bottom = legend_below(figure, handles, columns=4)
  figure.tight_layout(rect=(0, bottom, 0.88, 1))
  label_peaks(figure, axes, peaks)
  best = [c for c in cases if c.path == paths[-1]]
  best = [c for c in best if c.cached == best[0].cached]
  best.sort(key=lambda c: c.share or 0)
  annotate_sparsely(figure, axes,
                    [(c.gops / c.gbps, c.gops, c.shape) for c in best],
                    [(c.gops / c.gbps, c.gops) for c in cases],
                    [value for _, value in peaks])
  save(figure, out, f"roofline_{types}.png",
       sources(results, "about.json", "mul_bench.json", "peak.json"))


def draw_ratios(axes, row, ratios, style, limits):
  """Dots of one peer in a row, given (ratio, whether cached); what is beyond the
  limits at the edge, an arrow with the numbers."""
  lowest, highest = limits
  beyond = {}
  for ratio, cached in ratios:
    if lowest <= ratio <= highest:
      dots(axes, row, ratio, style, cached, 0)
    else:
      beyond.setdefault(ratio > highest, []).append((ratio, cached))
  for high, found in beyond.items():
    edge = highest if high else lowest
    cached = any(c for _, c in found)
    axes.plot(edge, row, marker=">" if high else "<", markersize=6,
              color=style[0], markerfacecolor=style[0] if cached else "white",
              linestyle="", zorder=3, clip_on=False)
    digits = 1 if high else 2
    text = ", ".join(f"{r:.{0 if r >= 10 else digits}f}" for r, _ in found)
    axes.annotate(text, (edge, row),
                  xytext=(6, 0), textcoords="offset points", ha="left",
                  va="center", fontsize=6.5, annotation_clip=False)


def draw_comparison(results, data, types, out):
  rows = results_by_shape(data, types)
  peers = peers_of(data, types)
  if not peers:
    return
  shapes = in_order(r["shape"] for r in rows)
  figure, axes = plt.subplots(figsize=(9.5, 2.6 + 0.3 * len(shapes)))
  shape_rows(axes, shapes)
  axes.set_xscale("log")
  limits = ratio_limits([b["ratio"] for r in rows for b in r["beside"]])
  axes.set_xlim(limits)
  for index, peer in enumerate(peers):
    for shape in shapes:
      draw_ratios(axes, shapes.index(shape) + spread(index, len(peers)),
                  [(b["ratio"], r["cached"]) for r in rows for b in r["beside"]
                   if (r["shape"], b["peer"]) == (shape, peer)],
                  STYLES[index % len(STYLES)], limits)
  axes.axvline(1, color="#333333", linewidth=1.2, zorder=2)
  log_axis(axes.xaxis)
  axes.xaxis.set_major_locator(matplotlib.ticker.FixedLocator(RATIO_TICKS))
  axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
  axes.set_xlabel("our speed / theirs: right of 1 we are faster")
  axes.set_ylabel("rows x depth x columns")
  handles = []
  for index, peer in enumerate(peers):
    means = ", ".join(
        f"{m.ratio:.2f} {'cached' if m.cached else 'not cached'}"
        for m in means_of(data)
        if (m.list, m.types, m.peer) == (rows[0]["list"], types, peer))
    color, marker = STYLES[index % len(STYLES)]
    handles.append(
        Line2D([], [], marker=marker, linestyle="", color=color,
               label=f"{peer_label(data, peer)}: {means}"))
  handles += style_handles(len({r["cached"] for r in rows}) == 2)
  isa = data["isa"] or "best instructions of each"
  figure.suptitle(
      f"{TYPE_NAMES[types]}, {plural(data['threads'])}, {isa}\n{origin(results, data)}\n"
      f"(with each library: geometric mean over {rows[0]['list']}; beyond the "
      "edges: the number, cached first)", fontsize=10)
  bottom = legend_below(figure, handles, columns=2)
  figure.tight_layout(rect=(0, bottom, 1, 1))
  name = data["file"].removeprefix("compare").removesuffix(".json")
  save(figure, out, f"compare_{types}{name}.png",
       sources(results, "about.json", data["file"]))


def origin(results, comparison=None):
  """Machine, commit and date; a comparison may have a commit of its own."""
  about = {**results.about, **(comparison or {})}
  if "commit" not in about:
    return results.cpu()
  return f"{results.cpu()}; commit {about['commit']}, {about['date']}"


def sources(results, *names):
  return [results.digests[name] for name in names if name in results.digests]


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--out", default=".", help="directory of the pictures")
  parser.add_argument("files", nargs="+", metavar="JSON")
  args = parser.parse_args()
  os.makedirs(args.out, exist_ok=True)
  results = Results(args.files)
  for types in in_order(c.types for c in results.cases):
    cases = [c for c in results.cases if c.types == types]
    draw_shapes(results, cases, types, args.out)
    draw_roofline(results, cases, types, args.out)
  for data in results.comparisons:
    for types in in_order(r["types"] for r in data["results"]):
      draw_comparison(results, data, types, args.out)


if __name__ == "__main__":
  main()
