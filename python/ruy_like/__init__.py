"""Matrix multiplication for neural-network inference, on NumPy arrays.

mul(lhs, rhs) multiplies int8, uint8, int16, float and 16-bit float matrices;
PackedMatrix and pack_groups pack constant operands; quantize makes integers of
floats. https://numpy.org arrays go in and out; so does what has __dlpack__.
"""

from ruy_like import quantize
from ruy_like._core import (Context, GroupWeights, PackedMatrix, __version__,
                            info, mul, pack_groups)

__all__ = ["Context", "GroupWeights", "PackedMatrix", "info", "mul",
           "pack_groups", "quantize"]
