#!/usr/bin/env python3
"""Instructions that whole products execute on Arm, counted under an emulator.

  bench/arm/instructions.py [<build directory>]

Runs mul_calls of a build for Arm (by default build/arm64, configured with
benchmarks) with the counting plugin, as processors with NEON alone, with dot
products and with 8-bit matrix multiplication, and prints multiply-adds per
instruction of a call, packing and everything around it included. Exact and the
same each time, up to the addresses that the heap gives; not a time.

Needs qemu-user, whose emulator is the one that loads plugins.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROCESSORS = (('neon', 'cortex-a53'), ('neondot', 'cortex-a76'),
              ('neoni8mm', 'max,sve=off'))
SHAPES = ((256, 256, 256), (64, 256, 1), (16, 32, 16), (64, 64, 64),
          (128, 768, 768), (1000, 1024, 1), (1000, 1024, 4), (64, 32, 3136))
# Those of ruy at 2022's end, counted the same way: rows x depth x cols.
RUY = {('s8', 'neon'): (3.62, 1.87, 1.32), ('s8', 'neondot'): (9.83, 2.20, 2.49),
       ('f32', 'neon'): (2.89, 0.34, 1.63)}


def count(emulator, program, arguments, calls):
  out = subprocess.run(emulator + [program] + arguments + [str(calls)],
                       capture_output=True, text=True, check=True)
  return (int(re.search(r'instructions (\d+)', out.stderr).group(1)),
          out.stdout.strip())


def main():
  root = os.path.dirname(os.path.dirname(HERE))
  build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root,
                                                             'build/arm64')
  program = os.path.join(build, 'bench/mul_calls')
  libraries = os.path.join(root,
                           'build/sysroot-arm64/usr/lib/aarch64-linux-gnu')
  with tempfile.TemporaryDirectory() as folder:
    plugin = os.path.join(folder, 'libcount.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-O2', '-o', plugin,
                    os.path.join(HERE, 'count_plugin.c')], check=True)
    print(f'{"":4} {"path":9} {"shape":>14} {"instructions":>13}'
          f' {"macs/instr":>10} {"ruy":>6}  kernel')
    for scalar in ('s8', 'f32'):
      for path, processor in PROCESSORS:
        if scalar == 'f32' and path != 'neon':
          continue
        emulator = ['qemu-aarch64', '-cpu', processor, '-plugin', plugin,
                    '-L', '/usr/aarch64-linux-gnu',
                    '-E', f'LD_LIBRARY_PATH={libraries}']
        for i, shape in enumerate(SHAPES):
          arguments = [scalar] + [str(size) for size in shape]
          few, _ = count(emulator, program, arguments, 2)
          many, kernel = count(emulator, program, arguments, 12)
          instructions = (many - few) / 10
          macs = shape[0] * shape[1] * shape[2]
          ruy = RUY.get((scalar, path), ())[i:i + 1]
          print(f'{scalar:4} {path:9} {"x".join(map(str, shape)):>14}'
                f' {instructions:13.0f} {macs / instructions:10.2f}'
                f' {ruy[0] if ruy else "":>6}  {kernel}')


if __name__ == '__main__':
  main()
