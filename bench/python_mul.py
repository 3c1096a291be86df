#!/usr/bin/env python3
"""ruy_like.mul beside NumPy, one thread: prints a table and draws doc's figure.

  PYTHONPATH=build/release/python python3 bench/python_mul.py [<figure.png>]

NumPy multiplies integers by plain loops and floats by the BLAS that it finds, so
run it with OPENBLAS_NUM_THREADS=1. What it takes too long for is timed once, at a
smaller size.
"""

import sys
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


def main():
    size = 2048
    names, rates = [], []
    print(f"{size}^3, path {rl.info()['paths'].split(',')[-1]}\n"
          "| | GOP/s |\n|---|---:|")
    for name, function, actual_size, rounds in cases(size):
        names.append(name)
        rates.append(2e-9 * actual_size**3 / seconds(function, rounds))
        print(f"| {name} | {rates[-1]:.0f} |", flush=True)
    if len(sys.argv) == 2:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        figure, axes = plt.subplots(figsize=(7, 2.6))
        bars = axes.barh(names[::-1], rates[::-1],
                         color=["#999999" if name.startswith("numpy") else "#1f77b4"
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
