#!/usr/bin/env python3
"""Quantizes a language model's layers from Python, and looks at what that costs.

  bash example/notebook/run.sh [<picture.png>]

The model is example/decoder's: 0.9 million weights, a character a token. It runs
here in NumPy, on windows of 256 characters of a held-out text, with its matrices
multiplied in one of these ways:

  numpy      float32, by NumPy and the BLAS that it finds
  float32    by ruy_like
  int8       weights with a scale per row, activations with a scale per token
  4 bits     weights with a scale for 32 of a row; ruy_like quantizes activations

Bits per character are the mean of -log2 of the probability that the model gave
to the character that came: less is better. The time is that of one layer
(gate_up, 768 x 128) for a window, on one thread, activations' quantization included.
"""

import pathlib
import sys
import time

import numpy as np

import ruy_like as rl

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "decoder"
WINDOW = 256


def read_model():
    """Shape and float32 matrices of the file that decoder/model_file.h draws."""
    data = (FOLDER / "model.bf16").read_bytes()
    assert data[:4] == b"RLDC"
    _, vocabulary, dim, layers, heads, hidden, _ = np.frombuffer(
        data, "<u4", 7, 4).tolist()
    bits = np.frombuffer(data, "<u2", offset=32).astype(np.uint32) << 16
    values = bits.view(np.float32)
    at = 0

    def matrix(rows, depth):
        nonlocal at
        at += rows * depth
        return values[at - rows * depth:at].reshape(rows, depth)

    embedding = matrix(vocabulary, dim)
    blocks = [{"qkv": matrix(3 * dim, dim), "out": matrix(dim, dim),
               "gate_up": matrix(2 * hidden, dim), "down": matrix(dim, hidden)}
              for _ in range(layers)]
    return heads, embedding, blocks, matrix(vocabulary, dim)


# The ways to a layer: from weights, rows x depth, to a function of activations,
# tokens x depth.

def by_numpy(weights):
    return lambda x: x @ weights.T


def by_float32(weights):
    packed = rl.PackedMatrix(weights.T)
    return lambda x: rl.mul(x, packed)


def by_int8(weights):
    levels, scales = rl.quantize.per_channel(weights)
    packed = rl.PackedMatrix(levels.T)

    def layer(x):
        quantized, token_scales = rl.quantize.rows(x)
        return rl.mul(quantized, packed, lhs_scale=token_scales, rhs_scale=scales)
    return layer


def by_4_bits(weights):
    packed = rl.quantize.pack(weights, bits=4, group_size=32)
    return lambda x: rl.mul(x, packed)


WAYS = {"numpy": by_numpy, "float32": by_float32, "int8": by_int8,
        "4 bits": by_4_bits}


def normalize(x):
    mean = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean + np.float32(1e-5))


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


class Decoder:
    """decoder/train/model.py in NumPy, for one window."""

    def __init__(self, way):
        self.heads, self.embedding, blocks, logits = read_model()
        self.blocks = [{name: way(weights) for name, weights in block.items()}
                       for block in blocks]
        self.logits = way(logits)
        half = self.embedding.shape[1] // self.heads // 2
        angle = np.arange(WINDOW)[:, None] * 10000.0 ** (-np.arange(half) / half)
        self.cos = np.cos(angle).astype(np.float32)
        self.sin = np.sin(angle).astype(np.float32)

    def rotate(self, x):
        first, second = np.split(x, 2, axis=-1)
        cos, sin = self.cos[:x.shape[1]], self.sin[:x.shape[1]]
        return np.concatenate([first * cos - second * sin,
                               first * sin + second * cos], axis=-1)

    def run(self, tokens):
        x = self.embedding[tokens]
        length, dim = x.shape
        head_dim = dim // self.heads
        mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)
        for block in self.blocks:
            qkv = block["qkv"](normalize(x)).reshape(length, 3, self.heads, head_dim)
            q, k, v = qkv.transpose(1, 2, 0, 3)
            scores = self.rotate(q) @ self.rotate(k).transpose(0, 2, 1)
            heads = softmax(scores / np.float32(head_dim**0.5) + mask) @ v
            x = x + block["out"](heads.transpose(1, 0, 2).reshape(length, dim))
            gate, up = np.split(block["gate_up"](normalize(x)), 2, axis=-1)
            x = x + block["down"](gate / (1 + np.exp(-gate)) * up)
        return self.logits(normalize(x))


def bits_per_character(decoder, text):
    """A window's first character is predicted from a newline."""
    bits = 0.0
    for begin in range(0, len(text), WINDOW):
        target = text[begin:begin + WINDOW]
        source = np.concatenate([[ord("\n")], target[:-1]])
        probabilities = softmax(decoder.run(source).astype(np.float64))
        bits -= np.log2(probabilities[np.arange(len(target)), target]).sum()
    return bits / len(text)


def microseconds(layer, x):
    best = float("inf")
    for _ in range(200):
        start = time.perf_counter()
        layer(x)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best


def draw(rows, file_name):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(6, 3.2))
    for name, bits, time_us in rows:
        axes.plot(time_us, bits, "o", color="#999999" if name == "numpy" else "#1f77b4")
        axes.annotate(name, (time_us, bits), xytext=(6, 4), textcoords="offset points")
    axes.set_xlabel("time of gate_up for 256 tokens, us")
    axes.set_ylabel("bits per character")
    axes.set_xlim(0, 1.25 * max(row[2] for row in rows))
    axes.margins(y=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(file_name, dpi=120)
    print(f"wrote {file_name}")


def main():
    text = np.frombuffer((FOLDER / "held_out.txt").read_bytes(), np.uint8)
    weights = read_model()[2][0]["gate_up"]
    x = normalize(read_model()[1][text[:WINDOW]])
    right = x.astype(np.float64) @ weights.T.astype(np.float64)
    print("| Way | Bits per character | gate_up: error | time, us |\n|---|---|---|---|")
    rows = []
    for name, way in WAYS.items():
        bits = bits_per_character(Decoder(way), text)
        layer = way(weights)
        error = np.linalg.norm(layer(x) - right) / np.linalg.norm(right)
        rows.append((name, bits, microseconds(layer, x)))
        print(f"| {name} | {bits:.4f} | {100 * error:.3f}% | {rows[-1][2]:.0f} |",
              flush=True)
    if len(sys.argv) == 2:
        draw(rows, sys.argv[1])
    # Quantization must not have cost more than this.
    worst = max(bits - rows[0][1] for _, bits, _ in rows)
    sys.exit(f"{worst:.3f} bits more than NumPy" if worst > 0.02 else 0)


if __name__ == "__main__":
    main()
