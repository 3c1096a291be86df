"""ruy_like's Python package against NumPy in int64 and float64."""

import ctypes
import math
import pathlib
import re
import threading

import numpy as np
import pytest

import ruy_like as rl

rng = np.random.default_rng(1)


def integers(dtype, shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def exact(a, b):
    return a.astype(np.int64) @ b.astype(np.int64)


def wrapped(values):
    return values.astype(np.int64).astype(np.uint32).astype(np.int32)


def requantize(acc, fixedpoint, exponent):
    """The formula of mul_params.h, in Python's integers."""
    shift = 31 - np.asarray(exponent, object)
    acc = acc.astype(object) * np.asarray(fixedpoint, object) + 2 ** (shift - 1)
    return acc // 2**shift


@pytest.mark.parametrize("a_type,b_type", [
    (np.int8, np.int8), (np.uint8, np.int8), (np.int8, np.uint8),
    (np.uint8, np.uint8), (np.int8, np.int16), (np.int16, np.int8)])
def test_integers(a_type, b_type):
    a, b = integers(a_type, (7, 33)), integers(b_type, (33, 9))
    for left in (a, np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b)):
            result = rl.mul(left, right)
            assert result.dtype == np.int32 and result.shape == (7, 9)
            np.testing.assert_array_equal(result, exact(a, b))


@pytest.mark.parametrize("a_type,b_type,result_type", [
    (np.float32, np.float32, np.float32), (np.float64, np.float64, np.float64),
    (np.float32, np.float64, np.float64), (np.float16, np.float16, np.float32),
    (np.float16, np.float32, np.float32)])
def test_floats(a_type, b_type, result_type):
    a = rng.standard_normal((5, 40)).astype(a_type)
    b = rng.standard_normal((40, 6)).astype(b_type)
    result = rl.mul(a, b)
    assert result.dtype == result_type
    right = a.astype(np.float64) @ b.astype(np.float64)
    bound = 45 * np.finfo(result_type).eps * (
        abs(a.astype(np.float64)) @ abs(b.astype(np.float64)))
    assert (abs(result - right) <= bound).all()


def test_float16_result():
    a = rng.standard_normal((3, 4)).astype(np.float16)
    b = rng.standard_normal((4, 2)).astype(np.float16)
    result = rl.mul(a, b, dtype=np.float16)
    assert result.dtype == np.float16
    np.testing.assert_allclose(
        result.astype(float), a.astype(float) @ b.astype(float), atol=1e-2)


def test_zero_points_bias_and_clamp():
    a, b = integers(np.uint8, (4, 10)), integers(np.int8, (10, 5))
    right = (a.astype(np.int64) - 100) @ (b.astype(np.int64) + 7)
    for channels, bias in (("cols", integers(np.int16, 5)),
                           ("rows", integers(np.int16, 4))):
        bias = bias.astype(np.int32)
        term = bias if channels == "cols" else bias[:, None]
        result = rl.mul(a, b, lhs_zero_point=100, rhs_zero_point=-7, bias=bias,
                        channels=channels, clamp=(-500, 1000))
        np.testing.assert_array_equal(result, np.clip(right + term, -500, 1000))


def test_requantized():
    a, b = integers(np.int8, (6, 50)), integers(np.int8, (50, 8))
    one = rl.quantize.multiplier(0.003)
    result = rl.mul(a, b, dtype="int8", multiplier=one, out_zero_point=3)
    right = np.clip(requantize(exact(a, b), *one) + 3, -128, 127)
    assert result.dtype == np.int8
    np.testing.assert_array_equal(result, right.astype(int))
    each = rl.quantize.multiplier(np.linspace(0.001, 0.9, 8))
    result = rl.mul(a, b, dtype=np.int16, multiplier=each)
    right = np.clip(requantize(exact(a, b), *each), -2**15, 2**15 - 1)
    np.testing.assert_array_equal(result, right.astype(int))


def test_scaled():
    w = rng.standard_normal((20, 30)).astype(np.float32)
    x = rng.standard_normal((4, 30)).astype(np.float32)
    q, scales = rl.quantize.per_channel(w)
    p, row_scales = rl.quantize.rows(x)
    result = rl.mul(p, q.T, lhs_scale=row_scales, rhs_scale=scales)
    assert result.dtype == np.float32
    right = exact(p, q.T) * row_scales[:, None].astype(float) * scales
    np.testing.assert_allclose(result, right, rtol=1e-6)
    assert np.abs(result - x @ w.T).max() < 0.3
    single = rl.mul(p, q.T, lhs_scale=0.5)
    np.testing.assert_array_equal(single, exact(p, q.T) * 0.5)


def test_accumulates():
    a, b = integers(np.int8, (3, 4)), integers(np.int8, (4, 5))
    out = np.full((3, 5), 1000, np.int32)
    assert rl.mul(a, b, out, beta=2) is out
    np.testing.assert_array_equal(out, exact(a, b) + 2000)


def test_strided_out_and_views():
    a = integers(np.int8, (10, 12))[1:9, 2:9]
    b = integers(np.int8, (7, 3))
    whole = np.full((8, 5), -1, np.int32)
    rl.mul(a, b, whole[:, 1:4])
    np.testing.assert_array_equal(whole[:, 1:4], exact(a, b))
    assert (whole[:, [0, 4]] == -1).all()
    for shape in ((1, 7), (7, 1)):
        vector = integers(np.int8, (7,)).reshape(shape)
        left, right = (vector, b) if shape[0] == 1 else (b.T, vector)
        np.testing.assert_array_equal(rl.mul(left, right), exact(left, right))


@pytest.mark.parametrize("rows,depth,cols", [(0, 3, 2), (2, 3, 0), (2, 0, 3)])
def test_empty(rows, depth, cols):
    result = rl.mul(np.zeros((rows, depth), np.int8),
                    np.zeros((depth, cols), np.int8))
    assert result.shape == (rows, cols) and not result.any()


def test_packed():
    a, b = integers(np.int8, (9, 40)), integers(np.uint8, (40, 11))
    right = rl.PackedMatrix(b, zero_point=5)
    expected = a.astype(np.int64) @ (b.astype(np.int64) - 5)
    np.testing.assert_array_equal(rl.mul(a, right), expected)
    left = rl.PackedMatrix(a, side="lhs")
    np.testing.assert_array_equal(rl.mul(left, right), expected)
    again = rl.PackedMatrix.from_bytes(right.to_bytes(), np.uint8)
    assert again.shape == (40, 11)
    np.testing.assert_array_equal(rl.mul(a, again), expected)
    # The zero point is that of packing, which may be said again.
    for packed in right, again:
        np.testing.assert_array_equal(
            rl.mul(a, packed, rhs_zero_point=5), expected)
    damaged = bytearray(right.to_bytes())
    damaged[-100] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        rl.PackedMatrix.from_bytes(bytes(damaged), np.uint8)
    with pytest.raises(ValueError, match="other side"):
        rl.mul(right, b[:11])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("depth,group_size", [(96, 32), (70, 0), (41, 16)])
def test_group_weights(bits, depth, group_size):
    w = rng.standard_normal((12, depth)).astype(np.float32)
    x = rng.standard_normal((5, depth)).astype(np.float32)
    weights = rl.quantize.pack(w, bits, group_size)
    assert weights.shape == (12, depth)
    result = rl.mul(x, weights)
    assert result.shape == (5, 12)
    error = np.linalg.norm(result - x @ w.T) / np.linalg.norm(x @ w.T)
    assert error < (0.25 if bits == 4 else 0.02)
    # On the left the same bits; and from bytes.
    left = rl.mul(weights, np.asfortranarray(x.T))
    np.testing.assert_array_equal(left, result.T)
    again = rl.GroupWeights.from_bytes(weights.to_bytes())
    np.testing.assert_array_equal(rl.mul(x, again), result)


class Tensor:
    """What a tensor of another library shows: __dlpack__ alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def test_dlpack():
    a = rng.standard_normal((4, 6)).astype(np.float32)
    b = np.asfortranarray(rng.standard_normal((6, 3)).astype(np.float32))
    expected = rl.mul(a, b)
    np.testing.assert_array_equal(rl.mul(Tensor(a), Tensor(b)), expected)
    out = np.zeros((4, 3), np.float32)
    tensor = Tensor(out)
    assert rl.mul(a, Tensor(b), tensor) is tensor
    np.testing.assert_array_equal(out, expected)
    # The result is one that others take without a copy.
    np.testing.assert_array_equal(np.from_dlpack(rl.mul(a, b)), expected)


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (
        1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    a = rng.standard_normal((5, 12)).astype(np.float32)
    b = rng.standard_normal((12, 6)).astype(np.float32)
    factor = rng.standard_normal((5, 6)).astype(np.float32)
    residual = rng.standard_normal(6).astype(np.float32)
    right = ACTIVATIONS[activation](a.astype(float) @ b)
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(rl.mul(a, b, activation=activation), right, **close)
    np.testing.assert_allclose(
        rl.mul(a, b, activation=activation, factor=factor, residual=residual),
        right * factor + residual, **close)
    # The other way round; the residual is what out has.
    out = factor.copy()
    rl.mul(a, b, out, activation=activation, factor=residual, residual=out)
    np.testing.assert_allclose(out, right * residual + factor, **close)


def test_slopes():
    a, b = integers(np.int8, (3, 16)), integers(np.int8, (16, 4))
    right = exact(a, b) * 0.5
    slopes = np.array([0, 0.25, -1, 2], np.float32)
    for slope in (0.125, slopes):
        result = rl.mul(a, b, lhs_scale=0.5, activation="relu", slope=slope)
        np.testing.assert_array_equal(
            result, np.where(right < 0, right * slope, right))


def test_batches():
    a, b = integers(np.int8, (4, 3, 20)), integers(np.int8, (4, 20, 5))
    right = exact(a, b)
    np.testing.assert_array_equal(rl.mul(a, b), right)
    np.testing.assert_array_equal(rl.mul(a[:, ::-1][:, ::-1], b), right)
    np.testing.assert_array_equal(rl.mul(a[::2], b[::2]), right[::2])
    # One of them for all, packed or not; two levels of one array.
    np.testing.assert_array_equal(rl.mul(a, b[1]), exact(a, b[1]))
    np.testing.assert_array_equal(rl.mul(a, rl.PackedMatrix(b[1])), exact(a, b[1]))
    np.testing.assert_array_equal(rl.mul(a[0], b), exact(a[0], b))
    heads = integers(np.int8, (3, 4, 20))
    np.testing.assert_array_equal(
        rl.mul(heads.transpose(1, 0, 2), b), exact(heads.transpose(1, 0, 2), b))
    out = np.ones((3, 4, 5), np.int32)
    rl.mul(heads.transpose(1, 0, 2), b, out.transpose(1, 0, 2), beta=2)
    np.testing.assert_array_equal(
        out.transpose(1, 0, 2), exact(heads.transpose(1, 0, 2), b) + 2)
    np.testing.assert_array_equal(rl.mul(Tensor(a), Tensor(b)), right)
    for count in (0, 1):
        np.testing.assert_array_equal(rl.mul(a[:count], b[:count]), right[:count])
    with pytest.raises(ValueError, match="negative"):
        rl.mul(a[::-1], b)
    factor = rng.standard_normal((4, 3, 5)).astype(np.float32)
    residual = rng.standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_allclose(
        rl.mul(a, b, lhs_scale=0.5, factor=factor, residual=residual),
        right * 0.5 * factor + residual, rtol=1e-5)


def test_activation_zero_points():
    w = rng.standard_normal((6, 64)).astype(np.float32)
    weights = rl.quantize.pack(w, bits=8, group_size=32)
    x, scales = integers(np.int8, (3, 64)), np.array([1, 2, 0.5], np.float32)
    zeros = np.array([3, -100, 0], np.int8)
    result = rl.mul(x, weights, lhs_scale=scales, activation_zero_points=zeros)
    right = (x.astype(float) - zeros[:, None]) * scales[:, None] @ w.T
    assert np.linalg.norm(result - right) < 0.02 * np.linalg.norm(right)
    left = rl.mul(weights, np.asfortranarray(x.T), rhs_scale=scales,
                  activation_zero_points=zeros)
    np.testing.assert_array_equal(left, result.T)


def test_settings_of_contexts():
    context = rl.Context(threads=2)
    assert context.threads == 2 and context.float_sums == "in_order"
    for name, value in (("threads", 3), ("force_threads", 1),
                        ("float_sums", "any_order"), ("tuning", "in_order"),
                        ("cache_limit_bytes", 1 << 40),
                        ("spin_microseconds", 100)):
        setattr(context, name, value)
        assert getattr(context, name) == value
    a = rng.standard_normal((64, 64)).astype(np.float32)
    rl.mul(a, a, cache="rhs", context=context)
    assert context.cache_bytes >= a.nbytes and context.last_threads >= 1
    assert context.advisories == 0
    context.clear_cache()
    assert context.cache_bytes == 0
    other = rl.Context(workers_of=context)
    assert other.threads == 1 and other.spin_microseconds == 100
    for error, name, value in ((ValueError, "threads", 0),
                               (ValueError, "tuning", "fast"),
                               (TypeError, "threads", "2"),
                               (AttributeError, "last_threads", 1)):
        with pytest.raises(error):
            setattr(context, name, value)
    with pytest.raises(AttributeError):
        del context.threads
    with pytest.raises(TypeError, match="Context"):
        rl.Context(workers_of=3)
    assert rl.info()["default_threads"] >= 1


class Float8(Tensor):
    """Bytes, as a tensor of another library's 8-bit floats."""

    def __init__(self, array, code):
        super().__init__(array)
        self.code = code

    def __dlpack__(self, stream=None):
        capsule = super().__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype = ctypes.c_void_p
        pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        # After data, device and ndim.
        ctypes.c_uint8.from_address(
            pointer(capsule, b"dltensor") + 20).value = self.code
        return capsule


@pytest.mark.parametrize("name,code,bits,values", [
    ("float8_e4m3fn", 10, [[0x38, 0x7e, 0x01], [0x88, 0xc5, 0x80]],
     [[1, 448, 2**-9], [-2**-6, -3.25, 0]]),
    ("float8_e5m2", 12, [[0x3c, 0x7b, 0x01], [0x84, 0xc1, 0x80]],
     [[1, 57344, 2**-16], [-2**-14, -2.5, 0]])])
def test_float8(name, code, bits, values):
    bits, values = np.array(bits, np.uint8), np.array(values)
    identity = np.eye(3, dtype=np.float32)
    for order in "CF":
        a = Float8(np.array(bits, order=order), code)
        result = rl.mul(a, identity)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, values)
        np.testing.assert_array_equal(rl.mul(identity[:2, :2], a), values)
    packed = rl.PackedMatrix(Float8(bits, code), side="lhs")
    again = rl.PackedMatrix.from_bytes(packed.to_bytes(), name)
    np.testing.assert_array_equal(rl.mul(again, identity), values)
    with pytest.raises((TypeError, ValueError), match="ml_dtypes|no such product"):
        rl.mul(identity, identity, dtype=name)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float8_of_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = rng.standard_normal((4, 6)).astype(getattr(ml_dtypes, name))
    b = rng.standard_normal((6, 3)).astype(np.float32)
    np.testing.assert_allclose(rl.mul(a, b), a.astype(float) @ b, rtol=1e-5)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = rng.standard_normal((4, 6)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((6, 3)).astype(ml_dtypes.bfloat16)
    result = rl.mul(a, b, dtype=ml_dtypes.bfloat16)
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(result.astype(float),
                               a.astype(float) @ b.astype(float), atol=0.1)


A = np.ones((3, 4), np.int8)
B = np.ones((4, 5), np.int8)
F = np.ones((4, 4), np.float32)


@pytest.mark.parametrize("error,text,call", [
    (ValueError, "dimensions do not match", lambda: rl.mul(A, A)),
    (ValueError, "no such product", lambda: rl.mul(A, B.astype(np.float32))),
    (ValueError, "no such product", lambda: rl.mul(A, B, dtype="float64")),
    (ValueError, "strides", lambda: rl.mul(np.ones((6, 8), np.int8)[::2, ::2], B)),
    (ValueError, "strides", lambda: rl.mul(A[::-1], B)),
    (ValueError, "strides",
     lambda: rl.mul(np.broadcast_to(A[:1], (3, 4)), B)),
    (ValueError, "one dimension", lambda: rl.mul(A[0], B)),
    (ValueError, "4 dimensions", lambda: rl.mul(A[None, None], B)),
    (ValueError, "3 dimensions", lambda: rl.PackedMatrix(A[None])),
    (ValueError, "rhs has 3 matrices, not 2",
     lambda: rl.mul(np.ones((2, 3, 4), np.int8), np.ones((3, 4, 5), np.int8))),
    (ValueError, "out has 3 dimensions where",
     lambda: rl.mul(A, B, np.zeros((1, 3, 5), np.int32))),
    (ValueError, "out has 3 dimensions where",
     lambda: rl.mul(A[None], B, np.zeros((3, 5), np.int32))),
    (ValueError, "activation, factor and residual are for",
     lambda: rl.mul(A, B, activation="gelu")),
    (ValueError, "lhs_zero_point has 5 elements, not 3",
     lambda: rl.mul(A, B, lhs_zero_point=np.zeros(5, np.int32))),
    (ValueError, "table has 255 elements, not 256",
     lambda: rl.mul(A, B, dtype="int8", table=np.zeros(255, np.uint8))),
    (ValueError, "activation is 'swish'",
     lambda: rl.mul(F, F, activation="swish")),
    (ValueError, "slope is for activation='relu'",
     lambda: rl.mul(F, F, activation="gelu", slope=1)),
    (ValueError, "factor has 3 elements, not 4",
     lambda: rl.mul(F, F, factor=F[0, :3])),
    (ValueError, "residual .float, 3x4 .* does not have the shape",
     lambda: rl.mul(F, F, residual=F[:3])),
    (ValueError, "residual has 3 dimensions, and no operand has",
     lambda: rl.mul(F, F, residual=F[None])),
    (TypeError, "format 'l'", lambda: rl.mul(A.astype(np.int64), B)),
    (TypeError, "no array", lambda: rl.mul(A, 3)),
    (TypeError, "by position", lambda: rl.mul(A)),
    (TypeError, "no argument 'alpha'", lambda: rl.mul(A, B, alpha=2)),
    (TypeError, "dtype", lambda: rl.mul(A, B, dtype="int64")),
    (ValueError, "out is 5x3",
     lambda: rl.mul(A, B, np.zeros((5, 3), np.int32))),
    (ValueError, "shares elements", lambda: rl.mul(A, np.ones((4, 4), np.int8), A)),
    (ValueError, "bias has 4 elements, not 5",
     lambda: rl.mul(A, B, bias=np.ones(4, np.int32))),
    (ValueError, "bias must be a contiguous",
     lambda: rl.mul(A, B, bias=np.ones(5, np.int64).view(np.float64))),
    (ValueError, "lhs_scale has 5 elements, not 3",
     lambda: rl.mul(A, B, lhs_scale=np.ones(5, np.float32))),
    (ValueError, "fixedpoint has 1 elements, not 5",
     lambda: rl.mul(A, B, dtype="int8", multiplier=(
         np.ones(1, np.int32), np.ones(5, np.int32)))),
    (TypeError, "multiplier", lambda: rl.mul(A, B, dtype="int8", multiplier=0.5)),
    (ValueError, "multiplier_exponent is 31",
     lambda: rl.mul(A, B, dtype="int8", multiplier=(2**30, 31))),
    (ValueError, "zero_point = 128", lambda: rl.mul(A, B, lhs_zero_point=128)),
    (ValueError, "too large", lambda: rl.mul(A, B, lhs_zero_point=2**40)),
    (ValueError, "above clamp_max", lambda: rl.mul(A, B, clamp=(2, 1))),
    (ValueError, "channels", lambda: rl.mul(A, B, channels="depth")),
    (ValueError, "sets beta",
     lambda: rl.mul(A, B, np.zeros((3, 5), np.int8), beta=1)),
    (ValueError, "beta is the factor of what out has, and there is no out",
     lambda: rl.mul(A, B, beta=1)),
    (ValueError, "rhs_zero_point is 5, and rhs is packed with 3",
     lambda: rl.mul(A, rl.PackedMatrix(B, zero_point=3), rhs_zero_point=5)),
    (ValueError, "lhs_zero_point is -1, and lhs is packed with 0",
     lambda: rl.mul(rl.PackedMatrix(A, side="lhs"), B, lhs_zero_point=-1)),
    (ValueError, "rhs_zero_point is 1, and rhs is packed with 0",
     lambda: rl.mul(F[:, :4], rl.quantize.pack(F[:, :4]), rhs_zero_point=1)),
    (TypeError, "context", lambda: rl.mul(A, B, context=3)),
    (ValueError, "threads = 0", lambda: rl.Context(threads=0)),
    (ValueError, "avx3", lambda: rl.Context(paths="avx3")),
    (ValueError, "scales are 3x1",
     lambda: rl.pack_groups(np.ones((3, 16), np.uint8), np.ones((3, 1), np.float32),
                            group_size=16)),
    (ValueError, "levels are 3x16",
     lambda: rl.pack_groups(np.ones((3, 16), np.uint8), np.ones((3, 1), np.float32),
                            depth=100)),
    (ValueError, "levels are int8, and must be uint8",
     lambda: rl.pack_groups(np.ones((3, 16), np.int8), np.ones((3, 1), np.float32))),
    (ValueError, "levels are 3x16",
     lambda: rl.pack_groups(np.ones((3, 16), np.uint8), np.ones((3, 1), np.float32),
                            depth=2**63 - 1, group_size=2**63 - 16)),
    (ValueError, "distinct strides",
     lambda: rl.pack_groups(np.ones((3, 16), np.uint8), np.ones((3, 1), np.float32),
                            np.ones((3, 2), np.uint8)[:, :1])),
    (ValueError, "table has 16 elements, not 4",
     lambda: rl.pack_groups(np.ones((3, 16), np.uint8), np.ones((3, 1), np.float32),
                            bits=2, table=np.ones(16, np.int8))),
    (ValueError, "2",
     lambda: rl.pack_groups(np.ones((3, 16), np.uint8), np.ones((3, 1), np.float32),
                            bits=2)),
    (TypeError, "must be arrays", lambda: rl.pack_groups(None, None)),
    (TypeError, "GroupWeights", lambda: rl.GroupWeights()),
    (TypeError, "two arguments 'out'",
     lambda: rl.mul(A, B, np.zeros((3, 5), np.int32), out=None)),
    (TypeError, "out, which has a dtype",
     lambda: rl.mul(A, B, np.zeros((3, 5), np.int32), dtype="int32")),
    (TypeError, "clamp is not a tuple", lambda: rl.mul(A, B, clamp=[0, 1])),
    (TypeError, "no array", lambda: rl.mul(A, B, lhs_scale="1")),
    (TypeError, "real number", lambda: rl.mul(A, B, lhs_scale=object())),
    (ValueError, "rounding", lambda: rl.mul(A, B, rounding=2)),
    # Not aligned.
    (TypeError, "format '=f'", lambda: rl.mul(A, B, lhs_scale=np.frombuffer(
        b"0" * 13, np.float32, 3, 1))),
])
def test_errors(error, text, call):
    with pytest.raises(error, match=text):
        call()


def test_read_only_out():
    out = np.zeros((3, 5), np.int32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        rl.mul(A, B, out)


def test_errors_leave_out_as_it_was():
    out = np.full((3, 5), 7, np.int32)
    with pytest.raises(ValueError):
        rl.mul(A, B, out, clamp=(2, 1))
    assert (out == 7).all()


def test_references():
    import sys
    a, b = A.copy(), B.copy()
    before = sys.getrefcount(a), sys.getrefcount(b)
    for _ in range(100):
        rl.mul(a, b)
        rl.mul(Tensor(a), b)
        with pytest.raises(ValueError):
            rl.mul(a, b, clamp=(2, 1))
    assert (sys.getrefcount(a), sys.getrefcount(b)) == before


def test_threads():
    """The GIL is released: several threads, with a context each and with one."""
    a, b = integers(np.int8, (64, 300)), integers(np.int8, (300, 64))
    expected = exact(a, b)
    shared = rl.Context(threads=2)
    wrong = []

    def work():
        for context in (rl.Context(), shared):
            for _ in range(20):
                if not np.array_equal(rl.mul(a, b, context=context), expected):
                    wrong.append(context)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_context():
    context = rl.Context(paths="portable")
    rl.mul(A, B, context=context, cache="rhs", int7="both")
    assert context.last_path == "portable"
    assert "Portable" in context.last_kernel
    context.clear_cache()
    assert "portable" in rl.info()["paths"]


def test_numbers_of_numpy():
    a, b = integers(np.int8, (3, 16)), integers(np.int8, (16, 4))
    np.testing.assert_array_equal(
        rl.mul(a, b, lhs_scale=np.float32(0.5), rhs_scale=np.array(0.25)),
        exact(a, b) * 0.125)
    np.testing.assert_array_equal(
        rl.mul(a, b, dtype="int16", multiplier=(np.int64(2**30), np.int32(-3))),
        np.clip(requantize(exact(a, b), 2**30, -3), -2**15, 2**15 - 1))


def test_rounding():
    a = np.array([[-6, -5, -3, -2, -1, 1, 2, 3, 5, 6]], np.int8).T
    one = np.ones((1, 1), np.int8)
    scale = (2**30, -1)  # a quarter: halves are rounded again
    once = rl.mul(a, one, dtype="int8", multiplier=scale)
    twice = rl.mul(a, one, dtype="int8", multiplier=scale, rounding="twice")
    np.testing.assert_array_equal(once, requantize(exact(a, one), *scale))
    assert np.abs(once - twice).max() == 1


def test_float_requantized():
    a, b = integers(np.int8, (6, 40)), integers(np.int8, (40, 8))
    scales = np.linspace(0.001, 0.02, 8).astype(np.float32)
    result = rl.mul(a, b, dtype="int8", rounding="float", lhs_scale=0.25,
                    rhs_scale=scales, out_zero_point=-3)
    right = np.rint(exact(a, b).astype(np.float32) * np.float32(0.25) * scales)
    np.testing.assert_array_equal(result, np.clip(right - 3, -128, 127))
    with pytest.raises(ValueError, match="sets multiplier_fixedpoint"):
        rl.mul(a, b, dtype="int8", rounding="float", multiplier=(2**30, 0))


def test_zero_points_of_rows_and_columns_and_a_table():
    a, b = integers(np.int8, (5, 40)), integers(np.uint8, (40, 6))
    rows = np.array([0, 5, -128, 127, 1], np.int32)
    cols = np.array([0, 255, 3, 128, 7, 9], np.int32)
    right = (a - rows[:, None].astype(np.int64)) @ (b - cols.astype(np.int64))
    np.testing.assert_array_equal(
        rl.mul(a, b, lhs_zero_point=rows, rhs_zero_point=cols), right)
    table = rng.permutation(256).astype(np.uint8)
    one = rl.quantize.multiplier(0.0005)
    result = rl.mul(a, b, dtype="uint8", multiplier=one, out_zero_point=100,
                    lhs_zero_point=rows, rhs_zero_point=cols, table=table)
    index = np.clip(requantize(right, *one) + 100, 0, 255).astype(int)
    np.testing.assert_array_equal(result, table[index])


def test_tables():
    table = np.array([-1, 0, 1, 2], np.int8)
    codes = rng.integers(0, 4, (5, 64)).astype(np.uint8)
    packed = np.zeros((5, 16), np.uint8)
    for i in range(4):
        packed |= codes[:, i::4] << 2 * i
    weights = rl.pack_groups(packed, np.ones((5, 1), np.float32), bits=2, table=table)
    assert weights.shape == (5, 64)
    x = rng.integers(-127, 128, (3, 64)).astype(np.int8)
    np.testing.assert_array_equal(rl.mul(x, weights), exact(x, table[codes].T))


def test_depth_order():
    weights = rng.integers(-127, 128, (5, 64)).astype(np.int8)
    order = rng.permutation(64).astype(np.int32)
    packed = rl.pack_groups(np.ascontiguousarray(weights[:, order]),
                            np.ones((5, 1), np.float32), bits=8, depth_order=order)
    x = rng.integers(-127, 128, (3, 64)).astype(np.int8)
    np.testing.assert_array_equal(rl.mul(x, packed), exact(x, weights.T))


def test_tiny_weights():
    weights = np.array([[9e-43, -9e-43, 3e-43], [0, 0, 0]], np.float32)
    levels, scales = rl.quantize.per_channel(weights)
    assert levels.min() == -127 and (levels[0] * scales[0] * weights[0] >= 0).all()
    levels, _ = rl.quantize.groups(np.pad(weights, ((0, 0), (0, 13))), 8, 16)
    assert levels.min() == -127


def test_multiplier():
    assert rl.quantize.multiplier(1.0) == (2**30, 1)
    assert rl.quantize.multiplier(1 - 2**-40) == (2**30, 1)
    fixedpoint, exponent = rl.quantize.multiplier(np.array([0.25, 3.0]))
    assert fixedpoint.dtype == np.int32
    np.testing.assert_allclose(fixedpoint / 2.0**31 * 2.0**exponent, [0.25, 3])


@pytest.mark.parametrize("text,call", [
    ("positive", lambda: rl.quantize.multiplier(-0.5)),
    ("positive", lambda: rl.quantize.multiplier(np.nan)),
    ("positive", lambda: rl.quantize.multiplier(np.array([1, np.inf]))),
    ("bits is 2, not 4 or 8", lambda: rl.quantize.groups(F, bits=2)),
    ("bits is 3, not 4 or 8", lambda: rl.quantize.pack(F, bits=3)),
    ("axis is 2, not 0 or 1", lambda: rl.quantize.per_channel(F, axis=2)),
    ("axis is -1, not 0 or 1", lambda: rl.quantize.per_channel(F, axis=-1)),
    ("2 dimensions", lambda: rl.quantize.per_channel(F[0])),
    ("2 dimensions", lambda: rl.quantize.rows(F[None])),
    ("2 dimensions", lambda: rl.quantize.groups(F[0])),
])
def test_errors_of_quantize(text, call):
    with pytest.raises(ValueError, match=text):
        call()


def test_page():
    """Every block of doc/python.md, one after the other."""
    page = pathlib.Path(__file__).parents[2] / "doc" / "python.md"
    blocks = re.findall("```python\n(.*?)```", page.read_text(), re.S)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(block, names)
