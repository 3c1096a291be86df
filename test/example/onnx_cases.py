"""Writes the small ONNX files that onnx_test and the fuzzer read.

  python3 onnx_cases.py <folder>

Needs python3-onnx. example/onnx/reference.mjs gives what ONNX Runtime makes of
them, which onnx_expected.txt has: value i of an input is
(i * 37 % 101) / 50 - 1.
"""
import array
import math
import os
import random
import sys

from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
noise = random.Random(1)


class Graph:
    def __init__(self, shape):
        self.nodes, self.constants, self.shape = [], [], shape

    def constant(self, dims, values=None, kind=FLOAT):
        name = f"c{len(self.constants)}"
        if values is None:
            depth = max(1, math.prod(dims) // max(dims[0], 1)) if dims else 1
            values = [noise.gauss(0, 1 / math.sqrt(depth))
                      for _ in range(math.prod(dims))]
        self.constants.append(helper.make_tensor(name, kind, dims, values))
        return name

    def ints(self, *values):
        return self.constant([len(values)], values, INT64)

    def add(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def norm(self, x, channels):
        around = [1 + noise.random() for _ in range(channels)]
        return self.add("BatchNormalization", x,
                        self.constant([channels], around),
                        self.constant([channels]), self.constant([channels]),
                        self.constant([channels], around[::-1]))

    def conv(self, x, rows, depth, size, **attributes):
        return self.add("Conv", x, self.constant([rows, depth, size, size]),
                        **attributes)

    def save(self, folder, name, outputs, opset):
        def value(name, dims):
            return helper.make_tensor_value_info(name, FLOAT, dims)
        graph = helper.make_graph(
            self.nodes, name, [value("x", self.shape)],
            [value(o, None) for o in outputs], self.constants)
        model = helper.make_model(
            graph, producer_name="",
            opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 7
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{name}.onnx", "wb") as file:
            file.write(model.SerializeToString())


def tiny():
    """The smallest whole network: some hundred bytes."""
    g = Graph([1, 2, 4, 4])
    x = g.add("Relu", g.conv("x", 4, 2, 3, pads=[1, 1, 1, 1]))
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    x = g.add("Gemm", x, g.constant([3, 4]), g.constant([3]), transB=1)
    return g, [g.add("Softmax", x, axis=1)], 11


def image():
    """A block of MobileNet V3, as exporters divide it."""
    g = Graph(["n", 3, 8, 8])
    x = g.norm(g.conv("x", 4, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1]), 4)
    three, six = g.constant([], [3.0]), g.constant([], [6.0])
    y = g.add("Clip", g.add("Add", x, three), g.constant([], [0.0]), six)
    x = g.add("Div", g.add("Mul", x, y), six)
    y = g.norm(g.conv(x, 4, 1, 3, group=4, pads=[1, 1, 1, 1]), 4)
    y = g.add("Relu", y)
    z = g.add("Relu", g.conv(g.add("GlobalAveragePool", y), 2, 4, 1))
    z = g.add("HardSigmoid", g.conv(z, 4, 2, 1), alpha=0.2, beta=0.5)
    y = g.norm(g.conv(g.add("Mul", y, z), 4, 4, 1), 4)
    x = g.add("Relu", g.add("Add", x, y))
    x = g.norm(x, 4)
    x = g.conv(x, 4, 2, 2, group=2, auto_pad="SAME_UPPER")
    x = g.conv(x, 6, 4, 2, dilations=[2, 1], pads=[1, 0, 1, 1])
    x = g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.add("LeakyRelu", x, alpha=0.1)
    x = g.add("Mul", x, g.constant([1, 6, 1, 1]))
    x = g.add("Flatten", x)
    x = g.add("Gemm", x, g.constant([24, 5]), g.constant([5]), alpha=0.5)
    return g, [g.add("Softmax", x, axis=1)], 13


def pixels():
    """Images that become larger, and joined ones."""
    g = Graph([1, 2, 5, 6])
    x = g.add("HardSwish", g.conv("x", 4, 2, 3, pads=[1, 1, 1, 1]))
    up = g.add("ConvTranspose", x, g.constant([4, 3, 2, 2]), strides=[2, 2])
    up = g.add("Add", up, g.constant([1, 3, 1, 1]))
    up = g.add("Relu", g.norm(up, 3))
    y = g.add("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2],
              pads=[1, 1, 1, 1], count_include_pad=1, ceil_mode=1)
    y = g.add("Resize", y, "", g.constant([4], [1.0, 1.0, 2.0, 2.0]),
              mode="nearest", coordinate_transformation_mode="asymmetric",
              nearest_mode="floor")
    y = g.add("Slice", y, g.ints(0, 0, 0), g.ints(2**31 - 1, 5, -2),
              g.ints(1, 2, 3))
    z = g.add("DepthToSpace", g.conv(x, 12, 4, 1), blocksize=2, mode="DCR")
    both = g.add("Concat", g.add("Concat", x, y, axis=1),
                 g.add("Clip", x, g.constant([], [-0.2]),
                       g.constant([], [0.7])), axis=1)
    both = g.add("Transpose", both, perm=[0, 1, 3, 2])
    both = g.conv(both, 3, 12, 1, strides=[2, 2])
    up = g.conv(g.add("Concat", up, z, axis=-3), 1, 6, 1)
    return g, [g.add("Sigmoid", up), both], 14


def sequence():
    """A block of a transformer; what there is of single functions."""
    g = Graph([1, 4, 6])
    shape = g.add("Shape", "x")
    first = g.add("Gather", shape, g.constant([], [0], INT64), axis=0)
    first = g.add("Unsqueeze", first, g.ints(0))
    middle = g.add("ReduceMean", "x", axes=[-1])
    x = g.add("Sub", "x", middle)
    var = g.add("ReduceMean", g.add("Pow", x, g.constant([], [2.0])), axes=[-1])
    x = g.add("Div", x, g.add("Sqrt", g.add("Add", var, g.constant([], [1e-5]))))
    x = g.add("Add", g.add("Mul", x, g.constant([6])), g.constant([6]))
    q = g.add("MatMul", x, g.constant([6, 12]))
    q = g.add("Add", q, g.constant([12]))
    dims = g.add("Concat", first, g.ints(-1, 2, 2, 3), axis=0)
    q = g.add("Transpose", g.add("Reshape", q, dims), perm=[2, 0, 3, 1, 4])
    parts = [g.add("Squeeze", g.add("Slice", q, g.ints(i), g.ints(i + 1),
                                    g.ints(0)), g.ints(0)) for i in range(2)]
    k = g.add("Transpose", parts[1], perm=[0, 1, 3, 2])
    a = g.add("Softmax", g.add("MatMul", parts[0], k), axis=3)
    y = g.add("Transpose", g.add("MatMul", a, parts[1]), perm=[0, 2, 1, 3])
    y = g.add("Reshape", y, g.ints(0, 0, -1))
    y = g.add("Add", "x", g.add("MatMul", y, g.constant([6, 6])))
    h = g.add("MatMul", y, g.constant([6, 8]))
    half = g.constant([], [0.5])
    h = g.add("Mul", g.add("Mul", h, half),
              g.add("Add", g.add("Erf", h), g.constant([], [1.0])))
    h = g.add("Max", g.add("Tanh", h), g.constant([1], [-0.3]))
    h = g.add("Log", g.add("Add", g.add("Exp", g.add("Neg", h)), half))
    h = g.add("Min", g.add("Abs", h), half)
    h = g.add("Sub", g.constant([], [1.0]), h)
    return g, [g.add("MatMul", h, g.constant([8, 3])), y], 13


for case in (tiny, image, pixels, sequence):
    graph, outputs, opset = case()
    graph.save(sys.argv[1], case.__name__, outputs, opset)
    count = math.prod(d for d in graph.shape if d != "n")
    values = [(i * 37 % 101) / 50 - 1 for i in range(count)]
    if len(sys.argv) > 2:
        os.makedirs(f"{sys.argv[2]}/{case.__name__}", exist_ok=True)
        with open(f"{sys.argv[2]}/{case.__name__}/x.f32", "wb") as file:
            array.array("f", values).tofile(file)
