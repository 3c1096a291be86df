"""From floats to integers and back, for the products of ruy_like.mul.

Symmetric: zero points are 0. All of it is NumPy's arithmetic.
"""

import numpy as np

from ruy_like import _core


def _floats(matrix):
    matrix = np.asarray(matrix, np.float32)
    if matrix.ndim != 2:
        raise ValueError(f"a matrix has 2 dimensions, not {matrix.ndim}")
    return matrix


def per_channel(weights, axis=0):
    """int8 weights with a float32 scale for each row (axis 0) or column (1).

    weights: a float array of two dimensions. Returns (int8 array, scales):
    weights is about int8 * scale. The largest magnitude of a channel is 127.
    """
    weights = _floats(weights)
    if axis not in (0, 1):
        raise ValueError(f"axis is {axis}, not 0 or 1")
    scales = np.max(np.abs(weights), axis=1 - axis, initial=0) / np.float32(127)
    divisors = np.where(scales == 0, np.float32(1), scales)
    levels = np.rint(weights / np.expand_dims(divisors, 1 - axis))
    # A scale that is denormal is not exact.
    levels = np.clip(levels, -127, 127)
    return levels.astype(np.int8), scales


def rows(activations):
    """int8 activations with a float32 scale for each row: (int8, scales)."""
    return per_channel(activations, axis=0)


def groups(weights, bits=4, group_size=32):
    """Weights with a scale for each group of a row, for pack_groups.

    weights: a float array, rows x depth. group_size: a multiple of 16, or 0
    for whole rows. Returns (levels, scales): for 4 bits uint8 of two levels,
    for 8 bits int8; float32 scales, rows x groups.
    """
    weights = _floats(weights)
    if bits not in (4, 8):
        raise ValueError(f"bits is {bits}, not 4 or 8")
    count, depth = weights.shape
    size = group_size or max(depth, 1)
    number = -(-depth // size)
    padded = np.zeros((count, number * size), np.float32)
    padded[:, :depth] = weights
    padded = padded.reshape(count, number, size)
    highest = np.float32(7 if bits == 4 else 127)
    scales = np.max(np.abs(padded), axis=2, initial=0) / highest
    divisors = np.where(scales == 0, np.float32(1), scales)[:, :, np.newaxis]
    levels = np.clip(np.rint(padded / divisors), -highest, highest)
    levels = levels.reshape(count, -1)[:, :depth]
    if bits == 8:
        return levels.astype(np.int8), scales
    nibbles = np.full((count, depth + depth % 2), 8, np.uint8)
    nibbles[:, :depth] = levels + 8
    return nibbles[:, 0::2] | nibbles[:, 1::2] << 4, scales


def pack(weights, bits=4, group_size=32, context=None):
    """GroupWeights of float weights, rows x depth: groups and pack_groups."""
    levels, scales = groups(weights, bits, group_size)
    return _core.pack_groups(levels, scales, bits=bits,
                             depth=np.shape(weights)[1], group_size=group_size,
                             context=context)


def multiplier(real):
    """The multiplier of mul for a positive float, or an array of a channel each.

    Returns (fixedpoint, exponent): real is about
    fixedpoint / 2**31 * 2**exponent, with fixedpoint in [2**30, 2**31).
    """
    real = np.asarray(real, np.float64)
    if not np.all((real >= 0) & np.isfinite(real)):
        raise ValueError("a multiplier is neither finite and positive nor 0")
    mantissa, exponent = np.frexp(real)
    fixedpoint = np.rint(mantissa * 2.0**31).astype(np.int64)
    # A mantissa that is rounded up to 1.
    exponent = exponent + (fixedpoint == 2**31)
    fixedpoint = np.where(fixedpoint == 2**31, 2**30, fixedpoint)
    if fixedpoint.ndim == 0:
        return int(fixedpoint), int(exponent)
    return fixedpoint.astype(np.int32), exponent.astype(np.int32)
