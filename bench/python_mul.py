#!/usr/bin/env python3
"""ruy_like.mul beside NumPy, one thread: prints a table and draws doc's figure.

  PYTHONPATH=build/release/python python3 bench/python_mul.py [<figure.png>]

NumPy multiplies integers by plain loops and floats by the BLAS that it finds, so
run it with OPENBLAS_NUM_THREADS=1. What it takes too long for is timed once, at a
smaller size. ONNX Runtime is there if `third_party/install.sh npm_peers` was run:
it multiplies constant int8 weights, by a slow way if the activations are int8, too,
and its results are of the activations' type.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import ruy_like as rl


def seconds(function, rounds):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def cases(size):
    rng = np.random.default_rng(1)
    a = rng.integers(-128, 128, (size, size), dtype=np.int8)
    b = np.asfortranarray(rng.integers(-128, 128, (size, size), dtype=np.int8))
    f, g = a.astype(np.float32), np.asfortranarray(b.astype(np.float32))
    out, result = np.empty((size, size), np.int32), np.empty_like(f)
    packed, packed_g = rl.PackedMatrix(b), rl.PackedMatrix(g)
    yield "rl.mul int8, packed", lambda: rl.mul(a, packed, out), size, 7
    yield "rl.mul int8", lambda: rl.mul(a, b, out), size, 7
    yield "rl.mul float32, packed", lambda: rl.mul(f, packed_g, result), size, 5
    yield "rl.mul float32", lambda: rl.mul(f, g, result), size, 5
    yield "numpy float32", lambda: np.matmul(f, g, out=result), size, 5
    few = 512
    c, d = a[:few, :few].astype(np.int32), b[:few, :few].astype(np.int32)
    yield f"numpy int32, {few}^3", lambda: c @ d, few, 1


def onnxruntime_rates(size):
    """GOP/s of ONNX Runtime from npm, by type; empty where it is not installed."""
    top = pathlib.Path(__file__).resolve().parents[1]
    modules = top / "build/npm_peers/node_modules"
    if not (modules / "onnxruntime-node").is_dir():
        print("SKIPPED: no ONNX Runtime (bash third_party/install.sh npm_peers)")
        return {}
    rates = {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "shapes.txt").write_text(f"{size} {size} {size}\n")
        for types in ("s8u8", "s8", "f32"):
            subprocess.run([sys.executable, top / "bench/peers/onnx_models.py", "--out",
                            work / types, "--types", types, work / "shapes.txt"],
                           check=True)
            ours = {"types": types, "shape": f"{size}x{size}x{size}", "cached": True,
                    "gops": 1, "beside": []}
            compared = {"threads": 1, "results": [ours], "peers": []}
            (work / "in.json").write_text(json.dumps(compared))
            subprocess.run(["node", top / "bench/peers/onnxruntime.js", modules,
                            work / types, work / "in.json", work / "out.json"],
                           check=True, stdout=subprocess.DEVNULL)
            result = json.loads((work / "out.json").read_text())["results"][0]
            rates[types] = result["beside"][0]["gops"]
    return rates


def main():
    size = 2048
    names, rates = [], []
    print(f"{size}^3, path {rl.info()['paths'].split(',')[-1]}\n"
          "| | GOP/s |\n|---|---:|")
    for name, function, actual_size, rounds in cases(size):
        names.append(name)
        rates.append(2e-9 * actual_size**3 / seconds(function, rounds))
        print(f"| {name} | {rates[-1]:.0f} |", flush=True)
    for types, rate in onnxruntime_rates(size).items():
        names.append({"s8u8": "onnxruntime uint8, packed",
                      "s8": "onnxruntime int8, packed",
                      "f32": "onnxruntime float32, packed"}[types])
        rates.append(rate)
        print(f"| {names[-1]} | {rate:.0f} |")
    if len(sys.argv) == 2:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        figure, axes = plt.subplots(figsize=(7, 2.6))
        bars = axes.barh(names[::-1], rates[::-1],
                         color=["#1f77b4" if name.startswith("rl.mul") else "#999999"
                                for name in names[::-1]])
        axes.bar_label(bars, [f"{rate:.0f}" for rate in rates[::-1]], padding=3)
        axes.set_xlabel(f"GOP/s, {size}x{size}x{size}, one thread")
        axes.margins(x=0.1)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        figure.tight_layout()
        figure.savefig(sys.argv[1], dpi=120)


if __name__ == "__main__":
    main()
