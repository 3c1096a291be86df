#!/usr/bin/env python3
"""Writes models for onnxruntime.js: onnx_models.py --out DIR LIST...

Each has one product of a shape in the lists, files as in bench/shapes/, in a loop
whose number of rounds is an input: so that a call from JavaScript, tens of
microseconds, does not count. ONNX Runtime does not move the product out of the
loop. Rows of ours are columns there: activations (columns x depth) times weights
(depth x rows), which are constant, so that the runtime packs them beforehand.

  f32    MatMul
  s8     QLinearMatMul of int8 activations and int8 weights with a scale per row of
         ours; into int8
  s8u8   the same of uint8 activations, into uint8

  Of these two, "<name>_7bits.onnx" has weights of 7 bits: where a processor lacks
  VNNI, the runtime adds up pairs of products in 16 bits, which saturate with weights
  of 8.

  s4g32, s4g128, s8g32, s2g64
         MatMulNBits of float activations and weights of 4, 8 or 2 bits with a scale
         for each group, accuracy level 4: the runtime quantizes activations to int8

Weights come from fill(), which onnxruntime.js has, too, and checks results by.
Needs Debian's python3-onnx.
"""

import argparse
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def fill(count):
  """Pseudo-random bytes as int8."""
  index = np.arange(count, dtype=np.uint32)
  mixed = (index + np.uint32(1)) * np.uint32(2654435761)
  mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(2246822519)
  return (mixed >> np.uint32(24)).astype(np.uint8).view(np.int8)


def group_product(bits, group, rows, depth):
  """Weights of a few bits: the low bits of fill(), row by row of ours."""
  levels = fill(depth * rows).reshape(depth, rows).T.view(np.uint8)
  levels = levels & np.uint8((1 << bits) - 1)
  padded = -(-depth // group) * group
  # Levels that are not there are the middle ones, which stand for 0.
  levels = np.pad(levels, ((0, 0), (0, padded - depth)),
                  constant_values=1 << (bits - 1))
  levels = levels.reshape(rows, padded // group, group)
  step = 8 // bits
  packed = np.zeros((rows, padded // group, group // step), np.uint8)
  for i in range(step):
    packed |= levels[..., i::step] << (i * bits)
  scales = np.repeat(1 + np.arange(rows) % 8, padded // group)
  node = helper.make_node(
      "MatMulNBits", ["x", "w", "scales"], ["y"], domain="com.microsoft",
      K=depth, N=rows, bits=bits, block_size=group, accuracy_level=4)
  scale = np.float32(1 << (bits + 2))
  return (node, {"w": packed, "scales": scales.astype(np.float32) / scale},
          TensorProto.FLOAT)


def product(types, rows, depth, seven_bits):
  """The node and its constants."""
  if "g" in types:
    bits, group = types[1:].split("g")
    return group_product(int(bits), int(group), rows, depth)
  weights = fill(depth * rows).reshape(depth, rows)
  if types == "f32":
    weights = weights.astype(np.float32) / np.float32(128)
    return (helper.make_node("MatMul", ["x", "w"], ["y"]),
            {"w": weights}, TensorProto.FLOAT)
  if seven_bits:
    weights = weights >> 1
  unsigned = types == "s8u8"
  zero = np.array(128 if unsigned else 0, np.uint8 if unsigned else np.int8)
  scales = (1 + np.arange(rows) % 8).astype(np.float32) / np.float32(1024)
  constants = {
      "x_scale": np.array(1, np.float32), "x_zero": zero,
      "w": weights, "w_scale": scales, "w_zero": np.zeros(rows, np.int8),
      # Brings sums of random bytes to a quarter of the range or so.
      "y_scale": np.array(np.sqrt(depth), np.float32), "y_zero": zero,
  }
  inputs = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale",
            "y_zero"]
  return (helper.make_node("QLinearMatMul", inputs, ["y"]), constants,
          TensorProto.UINT8 if unsigned else TensorProto.INT8)


def model(types, rows, depth, cols, seven_bits=False):
  node, constants, element = product(types, rows, depth, seven_bits)
  scalar = lambda name, kind: helper.make_tensor_value_info(name, kind, [])
  value = lambda name, shape: helper.make_tensor_value_info(name, element, shape)
  body = helper.make_graph(
      [node, helper.make_node("Identity", ["go_on"], ["go_on_still"])], "body",
      [scalar("i", TensorProto.INT64), scalar("go_on", TensorProto.BOOL),
       value("before", [cols, rows])],
      [scalar("go_on_still", TensorProto.BOOL), value("y", [cols, rows])],
      [numpy_helper.from_array(a, n) for n, a in constants.items()])
  graph = helper.make_graph(
      [helper.make_node("Loop", ["rounds", "", "first"], ["dst"], body=body)],
      "loop",
      [scalar("rounds", TensorProto.INT64), value("x", [cols, depth]),
       value("first", [cols, rows])], [value("dst", [cols, rows])])
  made = helper.make_model(graph, opset_imports=[
      helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)])
  made.ir_version = 8
  onnx.checker.check_model(made)
  return made


def read_shapes(names):
  for name in names:
    with open(name, encoding="utf-8") as file:
      for line in file:
        words = line.partition("#")[0].split()
        if words:
          yield tuple(map(int, words[:3]))


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--out", required=True, help="directory of the models")
  parser.add_argument("--types", default="s8,s8u8,f32")
  parser.add_argument("lists", nargs="+", metavar="LIST")
  args = parser.parse_args()
  os.makedirs(args.out, exist_ok=True)
  models = []
  # The first is what the loop itself takes.
  for shape in dict.fromkeys([(1, 1, 1), *read_shapes(args.lists)]):
    for types in args.types.split(","):
      name = f"{types}_{'x'.join(map(str, shape))}"
      entry = {"file": name + ".onnx", "types": types, "rows": shape[0],
               "depth": shape[1], "cols": shape[2]}
      onnx.save(model(types, *shape), os.path.join(args.out, entry["file"]))
      if types in ("s8", "s8u8"):
        entry["file_7bits"] = name + "_7bits.onnx"
        onnx.save(model(types, *shape, seven_bits=True),
                  os.path.join(args.out, entry["file_7bits"]))
      models.append(entry)
  with open(os.path.join(args.out, "models.json"), "w",
            encoding="utf-8") as file:
    json.dump(models, file, indent=1)


if __name__ == "__main__":
  main()
