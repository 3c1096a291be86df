#!/usr/bin/env python3
"""Instructions that whole products execute on Arm, counted under an emulator.

  bench/arm/instructions.py [<build directory>]
  bench/arm/instructions.py --symbols s8|f32 <path> <rows>x<depth>x<cols> [...]

Runs mul_calls of a build for Arm (by default build/arm64, configured with
benchmarks) with the counting plugin, with each of Arm's paths, and prints
multiply-adds per instruction of a call, packing and everything around it
included. Exact and the
same each time, up to the addresses that the heap gives; not a time.

The second form prints in which functions one call spends them.

Needs qemu-user, whose emulator is the one that loads plugins.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from inner_loops import arm_paths  # in this folder

HERE = os.path.dirname(os.path.abspath(__file__))
# Has all that paths ask for; RUY_LIKE_PATHS chooses one.
PROCESSOR = 'max,sve=off'
SHAPES = ((256, 256, 256), (64, 256, 1), (16, 32, 16), (64, 64, 64),
          (128, 768, 768), (1000, 1024, 1), (1000, 1024, 4), (64, 32, 3136))
# Those of ruy at 2022's end, counted the same way: rows x depth x cols.
RUY = {('s8', 'neon'): (3.62, 1.87, 1.32), ('s8', 'neondot'): (9.83, 2.20, 2.49),
       ('f32', 'neon'): (2.89, 0.34, 1.63)}


def run(emulator, program, arguments, calls):
  """Standard error and the kernel's name."""
  out = subprocess.run(emulator + [program] + arguments + [str(calls)],
                       capture_output=True, text=True, check=True)
  return out.stderr, out.stdout.strip()


def count(emulator, program, arguments):
  """Instructions of a call, and the kernel's name."""
  totals = []
  for calls in (2, 12):
    text, kernel = run(emulator, program, arguments, calls)
    totals.append(int(re.search(r'instructions (\d+)', text).group(1)))
  return (totals[1] - totals[0]) / 10, kernel


def print_symbols(emulator, program, arguments):
  """Instructions of a call by function."""
  change = collections.Counter()
  for calls, sign in ((2, -1), (12, 1)):
    text, kernel = run(emulator, program, arguments, calls)
    for number, name in re.findall(r'^symbol (\d+) (.*)$', text, re.M):
      change[name] += sign * int(number)
  spent = [(name, number) for name, number in change.most_common() if number]
  names = subprocess.run(['c++filt'], input='\n'.join(n for n, _ in spent),
                         capture_output=True, text=True, check=True).stdout
  print(f'{sum(number for _, number in spent) / 10:8.0f}  {kernel}')
  for name, (_, number) in zip(names.splitlines(), spent):
    print(f'{number / 10:8.0f}  {name[:150]}')


def print_table(emulator_of, program):
  print(f'{"":4} {"path":9} {"shape":>14} {"instructions":>13}'
        f' {"macs/instr":>10} {"ruy":>6}  kernel')
  for scalar in ('s8', 'f32'):
    for path in arm_paths():
      if scalar == 'f32' and path != 'neon':
        continue
      for i, shape in enumerate(SHAPES):
        arguments = [scalar] + [str(size) for size in shape]
        instructions, kernel = count(emulator_of(path), program, arguments)
        macs = shape[0] * shape[1] * shape[2]
        ruy = RUY.get((scalar, path), ())[i:i + 1]
        print(f'{scalar:4} {path:9} {"x".join(map(str, shape)):>14}'
              f' {instructions:13.0f} {macs / instructions:10.2f}'
              f' {ruy[0] if ruy else "":>6}  {kernel}')


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--symbols', nargs=3, metavar=('SCALAR', 'PATH', 'SHAPE'))
  root = os.path.dirname(os.path.dirname(HERE))
  parser.add_argument('build', nargs='?',
                      default=os.path.join(root, 'build/arm64'))
  args = parser.parse_args()
  program = os.path.join(args.build, 'bench/mul_calls')
  libraries = os.path.join(root,
                           'build/sysroot-arm64/usr/lib/aarch64-linux-gnu')
  with tempfile.TemporaryDirectory() as folder:
    plugin = os.path.join(folder, 'libcount.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-O2', '-o', plugin,
                    os.path.join(HERE, 'count_plugin.c')], check=True)

    def emulator_of(path):
      option = ',symbols=on' if args.symbols else ''
      return ['qemu-aarch64', '-cpu', PROCESSOR, '-plugin', plugin + option,
              '-L', '/usr/aarch64-linux-gnu', '-E', f'RUY_LIKE_PATHS={path}',
              '-E', f'LD_LIBRARY_PATH={libraries}']

    if args.symbols:
      scalar, path, shape = args.symbols
      print_symbols(emulator_of(path), program, [scalar] + shape.split('x'))
    else:
      print_table(emulator_of, program)


if __name__ == '__main__':
  main()
