from typing import Any, Literal, Optional, Tuple, Union

import numpy as np

from ruy_like import quantize as quantize

__version__: str
# A NumPy array, another buffer, or an object with __dlpack__.
_Array = Any
_Operand = Union[_Array, PackedMatrix, GroupWeights]
_Which = Literal["none", "lhs", "rhs", "both"]

class Context:
    threads: int
    force_threads: int
    float_sums: Literal["in_order", "any_order"]
    tuning: Literal["auto", "in_order", "out_of_order"]
    cache_limit_bytes: int
    spin_microseconds: int
    @property
    def cache_bytes(self) -> int: ...
    @property
    def last_threads(self) -> int: ...
    @property
    def advisories(self) -> int: ...
    @property
    def last_path(self) -> str: ...
    @property
    def last_kernel(self) -> str: ...
    def __new__(
        cls,
        threads: int = 1,
        paths: Optional[str] = None,
        workers_of: Optional[Context] = None,
    ) -> Context: ...
    def clear_cache(self) -> None: ...

class PackedMatrix:
    shape: Tuple[int, int]
    def __new__(
        cls,
        matrix: _Array,
        side: Literal["lhs", "rhs"] = "rhs",
        order: Literal["row", "col"] = "row",
        pack_for: Literal["default", "int16", "double", "int7", "bfloat16"] = "default",
        zero_point: int = 0,
        int7: bool = False,
        context: Optional[Context] = None,
    ) -> PackedMatrix: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: bytes, dtype: Any, /) -> PackedMatrix: ...

class GroupWeights:
    shape: Tuple[int, int]
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: bytes, /) -> GroupWeights: ...

def mul(
    lhs: _Operand,
    rhs: _Operand,
    out: Optional[_Array] = None,
    *,
    dtype: Any = None,
    bias: Optional[_Array] = None,
    channels: Literal["rows", "cols"] = "cols",
    multiplier: Optional[Tuple[Any, Any]] = None,
    rounding: Literal["once", "twice", "float"] = "once",
    clamp: Optional[Tuple[float, float]] = None,
    beta: Optional[float] = None,
    lhs_scale: Union[None, float, _Array] = None,
    rhs_scale: Union[None, float, _Array] = None,
    lhs_zero_point: Union[int, _Array] = 0,
    rhs_zero_point: Union[int, _Array] = 0,
    out_zero_point: int = 0,
    cache: _Which = "none",
    int7: _Which = "none",
    float_sums: Optional[Literal["in_order", "any_order"]] = None,
    activation_scales: Literal["per_column", "per_group"] = "per_column",
    activation_zero_points: Optional[_Array] = None,
    activation: Literal[
        "none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "hard_swish"
    ] = "none",
    slope: Union[None, float, _Array] = None,
    factor: Optional[_Array] = None,
    residual: Optional[_Array] = None,
    table: Optional[_Array] = None,
    threads: int = 0,
    context: Optional[Context] = None,
) -> np.ndarray: ...
def pack_groups(
    levels: _Array,
    scales: _Array,
    zero_points: Optional[_Array] = None,
    bits: int = 4,
    depth: int = -1,
    group_size: int = 0,
    table: Optional[_Array] = None,
    context: Optional[Context] = None,
    depth_order: Optional[_Array] = None,
) -> GroupWeights: ...
def info() -> dict: ...
