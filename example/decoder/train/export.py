#!/usr/bin/env python3
"""Writes the trained decoder and what it is compared with.

    export.py FOLDER EXAMPLE

reads what corpus.py and train.py left in FOLDER and writes to EXAMPLE
model.bf16 (model_file.h has the format), held_out.txt and logits.txt: the
logits of the weights as they are in the file, rounded to bf16, computed in
float. Prints the bits per character of both held-out texts, likewise. Needs
python3-torch.
"""
import os
import shutil
import struct
import sys

import torch

import model

POSITIONS = [0, 1, 17, 127, 255]  # of the held-out text's first window


def write_model(decoder, path):
    matrices = [decoder.embedding.weight]
    for block in decoder.blocks:
        matrices += [block.qkv.weight, block.out.weight, block.gate_up.weight,
                     block.down.weight]
    matrices.append(decoder.logits.weight)
    with open(path, "wb") as file:
        file.write(b"RLDC" + struct.pack(
            "<7I", 1, model.VOCABULARY, model.DIM, model.LAYERS, model.HEADS,
            model.HIDDEN, model.CONTEXT))
        for matrix in matrices:
            words = matrix.detach().bfloat16().view(torch.int16)
            file.write(words.numpy().astype("<i2").tobytes())


def write_logits(decoder, text, path):
    source = torch.cat([torch.tensor([10]), text[:model.CONTEXT - 1]])
    with torch.no_grad():
        logits = decoder(source[None])[0]
    with open(path, "w", encoding="ascii") as file:
        file.write(f"# Logits of model.bf16 for held_out.txt, by PyTorch "
                   f"{torch.__version__}:\n# written by train/export.py.\n")
        for position in POSITIONS:
            row = " ".join(f"{value:.6g}" for value in logits[position].tolist())
            file.write(f"{position}: {row}\n")


def main():
    folder, example = sys.argv[1:]
    torch.set_num_threads(1)
    decoder = model.Decoder()
    state = torch.load(os.path.join(folder, "checkpoint.pt"))
    decoder.load_state_dict(state["decoder"])
    with torch.no_grad():
        for weight in decoder.parameters():
            weight.copy_(weight.bfloat16().float())
    write_model(decoder, os.path.join(example, "model.bf16"))
    shutil.copy(os.path.join(folder, "licenses.txt"),
                os.path.join(example, "held_out.txt"))
    for name in "pages", "licenses":
        text = model.read_tokens(os.path.join(folder, name + ".txt"))
        print(f"held out {name}, {len(text)} characters: "
              f"{model.bits_per_character(decoder, text):.4f} bits per character")
    write_logits(decoder, text, os.path.join(example, "logits.txt"))


if __name__ == "__main__":
    main()
