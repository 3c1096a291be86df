#!/usr/bin/env python3
"""Draws what ruy_like_calibrate, ruy_like_digits and LayerReportJson wrote.

plot.py --out DIR calibration.json digits.json layers.json ...

The kind of each file is seen from its contents. Writes

  histogram.png     magnitudes of each tensor and each method's threshold; with
                    several tensors histogram_1.png, histogram_2.png, ...
  accuracy.png      accuracy and signal-to-noise ratio of the logits of each
                    quantized network by calibration method
  layers.png        of each layer: SNR, clipped share, magnitudes and the end of
                    the range
"""

import argparse
import json
import os
import sys

try:
  import matplotlib
except ImportError:
  # The system's python is the one that its package of matplotlib belongs to.
  SYSTEM = "/usr/bin/python3"
  if os.path.exists(SYSTEM) and not os.path.samefile(SYSTEM, sys.executable):
    os.execv(SYSTEM, [SYSTEM] + sys.argv)
  sys.exit("plot.py needs matplotlib: third_party/install.sh bench")

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

# Colours that are told apart in grey, too.
COLORS = ["#7f7f7f", "#1b6ca8", "#17a2a2", "#e08214", "#b2182b", "#6a3d9a",
          "#2a7f3f"]
STYLES = ["-", "--", "-.", ":"]
# Bins drawn, in place of the 2048 that are counted.
DRAWN_BINS = 256


def read_files(names):
  tensors, networks, reports = [], [], []
  for name in names:
    try:
      with open(name, encoding="utf-8") as file:
        data = json.load(file)
    except (OSError, ValueError) as error:
      sys.exit(f"{name}: {error}")
    if "tensors" in data:
      tensors += data["tensors"]
    elif "networks" in data:
      networks.append(data)
    elif "layers" in data:
      reports.append(data["layers"])
    else:
      sys.exit(f"{name}: not of ruy_like_calibrate, ruy_like_digits or "
               "LayerReportJson")
  return tensors, networks, reports


def draw_histogram(tensor, name):
  bins = tensor["histogram"]["bins"]
  if not any(bins):
    print(f"{tensor['file']}: nothing to draw, there are only zeros")
    return
  top = max(i for i, count in enumerate(bins) if count) + 1
  group = max(1, -(-top // DRAWN_BINS))
  width = tensor["histogram"]["range"] / len(bins)
  counts = [sum(bins[i:i + group]) for i in range(0, top, group)]
  figure, axes = plt.subplots(figsize=(8.5, 3.6))
  axes.bar([i * group * width for i in range(len(counts))], counts,
           width=group * width, align="edge", color="#c9d7e4", linewidth=0)
  axes.set_yscale("log")
  axes.set_xlim(0, top * width * 1.03)
  axes.set_xlabel("magnitude")
  axes.set_ylabel("values")
  # Several methods choose about the same: each line ends in a mark of its own height.
  for i, method in enumerate(tensor["methods"]):
    snr = method["snr_db"]
    axes.plot(
        [method["threshold"]] * 2, [0, 0.95 - 0.08 * i],
        transform=axes.get_xaxis_transform(), color=COLORS[i % len(COLORS)],
        linewidth=1.2, marker="os^DvPX"[i % 7], markevery=[1], markersize=6,
        label=f"{method['name']}  {method['threshold']:.3g}"
        + (f"  ({snr:.1f} dB)" if snr is not None else ""))
  axes.legend(fontsize=8, title=f"threshold, {tensor['bits']} bits (SNR)",
              title_fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
  axes.set_title(f"{os.path.basename(tensor['file'])}: {tensor['count']} values,"
                 f" {tensor['zeros']} zeros not drawn", fontsize=9)
  save(figure, name)


def draw_accuracy(data, name):
  rows = data["networks"]
  kinds = list(dict.fromkeys(row["network"] for row in rows))
  methods = list(dict.fromkeys(row["method"] for row in rows if row["method"]))
  figure, panes = plt.subplots(1, 2, figsize=(10.5, 3.6))
  for pane, key in zip(panes, ["accuracy", "snr_db"]):
    for i, kind in enumerate(kinds):
      style = {"color": COLORS[i % len(COLORS)]}
      of_kind = [row for row in rows if row["network"] == kind]
      if of_kind[0]["method"]:
        found = {row["method"]: row[key] for row in of_kind}
        drawn = [m for m in methods if m in found]
        # Side by side: many have the same accuracy.
        aside = (i - len(kinds) / 2 + 0.5) * 0.12
        pane.plot([methods.index(m) + aside for m in drawn],
                  [found[m] for m in drawn], linestyle="none", markersize=5,
                  marker="os^Dv"[i % 5], label=kind, **style)
      elif of_kind[0][key] is not None:
        pane.axhline(of_kind[0][key], linestyle=STYLES[i % len(STYLES)],
                     linewidth=1.2, label=kind, **style)
    pane.set_xticks(range(len(methods)))
    pane.set_xticklabels(methods, rotation=35, ha="right", fontsize=8)
    pane.grid(axis="y", alpha=0.3)
  panes[0].set_ylabel(f"accuracy on {data['images']} images")
  panes[0].yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=1))
  lowest = min(row["accuracy"] for row in rows)
  panes[0].set_ylim(min(lowest - 0.002, 0.97), 1)
  panes[1].set_ylabel("SNR of the logits, dB")
  # The left one has float's line, which has no noise.
  panes[1].legend(*panes[0].get_legend_handles_labels(), fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
  save(figure, name)


def draw_layers(layers, name):
  if not layers:
    print(f"{name}: nothing to draw, there are no layers")
    return
  figure, panes = plt.subplots(len(layers), figsize=(8.5, 1 + 1.6 * len(layers)),
                               squeeze=False)
  for axes, layer in zip(panes[:, 0], layers):
    bins, width = layer["bins"], layer["bin_width"]
    group = max(1, len(bins) // DRAWN_BINS)
    counts = [sum(bins[i:i + group]) for i in range(0, len(bins), group)]
    axes.bar([i * group * width for i in range(len(counts))], counts,
             width=group * width, align="edge", color="#c9d7e4", linewidth=0)
    if any(counts):
      axes.set_yscale("log")
    ends = [abs(layer["scale"] * (q - layer["zero_point"]))
            for q in (layer["qmin"], layer["qmax"])]
    for end, style in zip(ends, STYLES):
      axes.axvline(end, color=COLORS[4], linestyle=style, linewidth=1.4)
    snr = layer["snr_db"]
    axes.set_title(
        f"{layer['name']}: " + ("no noise, or no signal" if snr is None
                                else f"SNR {snr:.1f} dB")
        + f", {100 * layer['clipped_share']:.3g}% clipped", fontsize=9)
    axes.set_ylabel("values", fontsize=8)
  panes[-1, 0].set_xlabel("magnitude; lines: ends of the range")
  save(figure, name)


def save(figure, name):
  figure.tight_layout()
  figure.savefig(name, dpi=110)
  plt.close(figure)
  print(name)


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("files", nargs="+", metavar="FILE")
  parser.add_argument("--out", required=True, metavar="DIR")
  args = parser.parse_args()
  tensors, networks, reports = read_files(args.files)
  try:
    os.makedirs(args.out, exist_ok=True)
  except OSError as error:
    sys.exit(f"plot.py: --out={args.out}: {error.strerror}")
  for i, tensor in enumerate(tensors):
    suffix = f"_{i + 1}" if len(tensors) > 1 else ""
    draw_histogram(tensor, os.path.join(args.out, f"histogram{suffix}.png"))
  for i, data in enumerate(networks):
    suffix = f"_{i + 1}" if len(networks) > 1 else ""
    draw_accuracy(data, os.path.join(args.out, f"accuracy{suffix}.png"))
  for i, layers in enumerate(reports):
    suffix = f"_{i + 1}" if len(reports) > 1 else ""
    draw_layers(layers, os.path.join(args.out, f"layers{suffix}.png"))


if __name__ == "__main__":
  main()
