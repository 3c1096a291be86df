"""The decoder in PyTorch; example/decoder/README.md draws its block."""
import math

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 128  # ASCII
DIM = 128
LAYERS = 4
HEADS = 4
HIDDEN = 384
CONTEXT = 256


def normalize(x):
    """RMSNorm without gains: the matrices that follow can hold them."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)


def rotate(x, cos, sin):
    """Rotary position embedding: element i turns with element i + half."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos],
                     -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = nn.Linear(DIM, DIM, bias=False)
        self.gate_up = nn.Linear(DIM, 2 * HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x, cos, sin, mask):
        batch, length, _ = x.shape
        heads = self.qkv(normalize(x)).view(batch, length, 3, HEADS, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        scores = q @ k.transpose(-1, -2) / math.sqrt(DIM // HEADS)
        heads = (scores + mask).softmax(-1) @ v
        x = x + self.out(heads.transpose(1, 2).reshape(batch, length, DIM))
        gate, up = self.gate_up(normalize(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.logits = nn.Linear(DIM, VOCABULARY, bias=False)
        for name, weight in self.named_parameters():
            scale = 1 / math.sqrt(weight.shape[1])
            if name.endswith(("out.weight", "down.weight")):
                scale /= math.sqrt(2 * LAYERS)
            nn.init.normal_(weight, std=scale)
        half = DIM // HEADS // 2
        speed = 10000.0 ** (-torch.arange(half) / half)
        angle = torch.arange(CONTEXT)[:, None] * speed
        self.cos, self.sin = angle.cos(), angle.sin()
        self.mask = torch.full((CONTEXT, CONTEXT), -math.inf).triu(1)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cos[:length], self.sin[:length],
                      self.mask[:length, :length])
        return self.logits(normalize(x))


def bits_per_character(model, text, batch=16):
    """Each character's bits, in windows of CONTEXT that begin anew.

    A window's first character is predicted from a newline.
    """
    newline = torch.tensor([10])
    losses = []
    with torch.no_grad():
        for piece in text.split(CONTEXT * batch):
            windows = list(piece.split(CONTEXT))
            full = [w for w in windows if len(w) == CONTEXT]
            for target in [torch.stack(full)] * bool(full) + [
                    w[None] for w in windows if len(w) < CONTEXT]:
                first = newline.expand(len(target), 1)
                source = torch.cat([first, target[:, :-1]], 1)
                losses.append(functional.cross_entropy(
                    model(source).transpose(1, 2), target, reduction="sum"))
    return sum(losses).item() / len(text) / math.log(2)


def read_tokens(path):
    with open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()
