#!/usr/bin/env python3
"""Trains the decoder example's model in slices.

    corpus.py FOLDER
    train.py --folder=FOLDER --seconds=90   as often as needed

Each slice goes on where the last one stopped and gives the same weights as one
long run: batches depend on the seed and the number of the step alone, and one
thread computes. The log has a line for every 100 steps. Needs python3-torch.
"""
import argparse
import math
import os
import time

# OpenBLAS takes all processors otherwise, whatever torch is told.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

# pylint: disable=wrong-import-position
import torch
from torch.nn import functional

import model

SEED = 20
BATCH = 1024  # characters
STEPS = 3410
DECAY_STEPS = 409
WARM_UP = 100
HIGHEST_RATE = 4e-3


def learning_rate(step):
    """Linear warm-up, constant, linear decay."""
    return HIGHEST_RATE * min(1, (step + 1) / WARM_UP,
                              (STEPS - step) / DECAY_STEPS)


def batch_of(text, step):
    """Windows of half the context at first, which is faster; then of all."""
    length = model.CONTEXT
    if step < STEPS - DECAY_STEPS:
        length //= 2
    generator = torch.Generator().manual_seed(SEED * 1000003 + step)
    starts = torch.randint(len(text) - length, (BATCH // length, 1),
                           generator=generator)
    window = text[starts + torch.arange(length + 1)]
    return window[:, :-1], window[:, 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--log", default="train.log")
    args = parser.parse_args()
    began = time.monotonic()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    decoder = model.Decoder()
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=HIGHEST_RATE,
                                  betas=(0.9, 0.98), weight_decay=0.1)
    checkpoint = os.path.join(args.folder, "checkpoint.pt")
    step, total = 0, 0.0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        decoder.load_state_dict(state["decoder"])
        optimizer.load_state_dict(state["optimizer"])
        step, total = state["step"], state["total"]
    text = model.read_tokens(os.path.join(args.folder, "train.txt"))
    with open(args.log, "a", encoding="ascii") as log:
        while step < STEPS and time.monotonic() - began < args.seconds:
            rate = learning_rate(step)
            for group in optimizer.param_groups:
                group["lr"] = rate
            source, target = batch_of(text, step)
            loss = functional.cross_entropy(
                decoder(source).transpose(1, 2), target)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
            optimizer.step()
            step += 1
            total += loss.item() / math.log(2)
            if step % 100 == 0:
                log.write(f"step {step} rate {rate:.5f} bits {total / 100:.4f}\n")
                log.flush()
                total = 0.0
        if step == STEPS:
            for name in "pages", "licenses":
                held_out = model.read_tokens(
                    os.path.join(args.folder, name + ".txt"))
                bits = model.bits_per_character(decoder, held_out)
                log.write(f"held out {name}: {bits:.4f} bits per character\n")
    torch.save({"decoder": decoder.state_dict(),
                "optimizer": optimizer.state_dict(), "step": step,
                "total": total}, checkpoint + ".new")
    os.replace(checkpoint + ".new", checkpoint)
    print(f"{step} of {STEPS} steps")


if __name__ == "__main__":
    main()
