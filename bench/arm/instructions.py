#!/usr/bin/env python3
"""Instructions that whole products execute on Arm or RISC-V, counted under an emulator.

  bench/arm/instructions.py [--ruy <directory>] [<build directory>]
  bench/arm/instructions.py --all [--paths <path>,...] [--ruy <directory>]
  bench/arm/instructions.py --symbols <path> <case>...
  bench/arm/instructions.py --arm32 ...
  bench/arm/instructions.py --riscv

Runs mul_calls of a build for Arm (by default build/arm64, configured with
benchmarks, target mul_calls) with the counting plugin, with each of Arm's paths, and prints the
instructions of a call, packing and everything around it included. They are exact
and the same each time, up to the addresses that the heap gives; not a time.

With --ruy, the sources of the library ruy (the directory that contains ruy/),
it builds the same program with these, optimised and without assertions as its
users do, and counts it too: on neoni8mm ruy's dot products, which are the best
that it has.

Without --all: a few shapes of int8 and float, as multiply-adds per instruction.
With --all: every shape of CASES with every type, order and cached operand, and at
the end the cases that take over 3% more instructions than ruy.

With --arm32: the same for 32-bit Arm, by default of build/armhf.

With --riscv: a few shapes on RISC-V, by default of build/riscv64, beside the portable
path.

With --symbols: in which functions the calls of a case are spent. A case is
<type>:<orders>:<cached>:<rows>x<depth>x<cols>, in mul_calls.cc's words.

Needs qemu-user, whose emulator is the one that loads plugins.
"""
import argparse
import collections
import math
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from inner_loops import arm_paths  # in this folder

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# The processor has all that paths ask for; one is chosen for each run.
Machine = collections.namedtuple(
    'Machine', 'arch debian emulator processor triplet options others')
ARM64 = Machine('arm', 'arm64', 'qemu-aarch64', 'max,sve=off',
                'aarch64-linux-gnu', [], 'arm32')
ARM32 = Machine('arm32', 'armhf', 'qemu-arm', 'cortex-a15',
                'arm-linux-gnueabihf', ['-mfpu=neon'], 'arm64')
RISCV = Machine('riscv', 'riscv64', 'qemu-riscv64', 'rv64,v=true,vlen=128',
                'riscv64-linux-gnu', [], None)


def sysroot(machine):
  return os.path.join(ROOT, f'build/sysroot-{machine.debian}/usr')


def libraries(machine):
  return os.path.join(sysroot(machine), 'lib', machine.triplet)

TOLERANCE = 1.03

FEW_SHAPES = ((256, 256, 256), (64, 256, 1), (16, 32, 16), (64, 64, 64),
              (128, 768, 768), (1000, 1024, 1), (1000, 1024, 4),
              (64, 32, 3136))
FEW_CASES = [(scalar, 'rcc', cached, shape) for scalar in ('s8', 'f32')
             for shape in FEW_SHAPES
             for cached in ('none', 'lhs')[:1 + (shape[2] == 1)]]

# Weights with group scales, which ruy has not.
GROUP_CASES = [(scalar, 'rcc', 'none', (1024, 1024, cols))
               for scalar in ('s4g32', 's4g128', 's8g32', 's8g128')
               for cols in (1, 2, 3, 4, 8, 16, 64)]

SHAPES = (
    # Squares, whole tiles and not.
    (8, 8, 8), (5, 7, 9), (24, 24, 24), (96, 96, 96), (256, 256, 256),
    (33, 77, 129),
    # A column, a row.
    (64, 256, 1), (64, 576, 1), (10, 1280, 1), (1000, 1024, 1), (1, 256, 256),
    # A few of either.
    (1000, 1024, 4), (64, 64, 12), (256, 256, 12), (256, 256, 16),
    (16, 256, 256), (256, 256, 32), (16, 32, 16), (32, 32, 12), (7, 2048, 8),
    # Convolutions.
    (32, 27, 1000), (64, 32, 784))
# Type, orders, cached operand.
KINDS = (('s8', 'rcc', 'none'), ('s8', 'rcr', 'none'), ('s8', 'ccc', 'none'),
         ('s8', 'rcc', 'lhs'), ('s8', 'rrr', 'lhs'), ('s8pc', 'rcc', 'none'),
         ('u8', 'rcc', 'none'), ('u8', 'rcc', 'lhs'), ('u8pc', 'rrr', 'none'),
         ('s32', 'rcc', 'none'), ('s32', 'rcr', 'none'), ('s32', 'rcc', 'lhs'),
         ('f32', 'rcc', 'none'), ('f32', 'rcr', 'none'), ('f32', 'ccc', 'none'),
         ('f32', 'rcc', 'lhs'))
CASES = [kind + (shape,) for kind in KINDS for shape in SHAPES]


class Counter:
  """Runs programs in the emulator."""

  def __init__(self, machine, folder):
    self.machine = machine
    self.plugin = os.path.join(folder, 'libcount.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-O2', '-o', self.plugin,
                    os.path.join(HERE, 'count_plugin.c')], check=True)

  def run(self, program, path, cases, symbols=False):
    """Standard error, and by case the number of calls and the kernel."""
    lines = ''.join(f'{scalar} {orders} {cached} {" ".join(map(str, shape))}\n'
                    for scalar, orders, cached, shape in cases)
    out = subprocess.run(
        [self.machine.emulator, '-cpu', self.machine.processor, '-plugin',
         self.plugin + (',symbols=on' if symbols else ''),
         '-L', f'/usr/{self.machine.triplet}',
         '-E', f'LD_LIBRARY_PATH={libraries(self.machine)}', program, path],
        input=lines, capture_output=True, text=True, check=False)
    if out.returncode != 0:
      sys.exit(f'{program} {path}: {out.stderr[-500:]}')
    results = [line.split(' ', 1) for line in out.stdout.splitlines()]
    return out.stderr, [(int(calls), kernel) for calls, kernel in results]

  def count(self, program, path, cases):
    """By case the instructions of a call, and the kernel's name."""
    text, results = self.run(program, path, cases)
    totals = [int(n) for n in re.findall(r'^instructions (\d+)$', text, re.M)]
    return [((totals[2 * i + 1] - totals[2 * i]) / calls, kernel)
            for i, (calls, kernel) in enumerate(results)]


def build_ruy(machine, sources, program):
  """mul_calls for ruy, whose compiled files stay next to the program."""
  folder = program + '.release'
  os.makedirs(folder, exist_ok=True)
  compiler = [f'{machine.triplet}-g++', '-O3', '-DNDEBUG', '-std=c++17', '-w',
              '-I', sources,
              '-isystem', os.path.join(sysroot(machine), 'include'),
              *machine.options]
  unused = re.compile(rf'test|benchmark|x86|avx|{machine.others}')
  names = [name for name in sorted(os.listdir(os.path.join(sources, 'ruy')))
           if name.endswith('.cc') and not unused.search(name)]
  objects = []
  for name in names:
    objects.append(os.path.join(folder, name + '.o'))
    if not os.path.exists(objects[-1]):
      subprocess.run(compiler + ['-c', os.path.join(sources, 'ruy', name), '-o',
                                 objects[-1]], check=True)
  subprocess.run(
      compiler + ['-DMUL_CALLS_OF_RUY', os.path.join(ROOT, 'bench/mul_calls.cc')] +
      objects + [os.path.join(libraries(machine), 'libcpuinfo.so'), '-lpthread',
                 f'-Wl,-rpath-link,{libraries(machine)}', '-o', program],
      check=True)


def print_symbols(counter, program, path, words):
  """Instructions of a call by function."""
  scalar, orders, cached, shape = words.split(':')
  case = (scalar, orders, cached, tuple(map(int, shape.split('x'))))
  text, [(calls, kernel)] = counter.run(program, path, [case], symbols=True)
  change = collections.Counter()
  reports = re.split(r'^instructions \d+$', text, flags=re.M)
  for report, sign in zip(reports, (-1, 1)):
    for number, name in re.findall(r'^symbol (\d+) (.*)$', report, re.M):
      change[name] += sign * int(number)
  spent = [(name, number) for name, number in change.most_common() if number]
  names = subprocess.run(['c++filt'], input='\n'.join(n for n, _ in spent),
                         capture_output=True, text=True, check=True).stdout
  print(f'{sum(number for _, number in spent) / calls:8.0f}  {kernel}')
  for name, (_, number) in zip(names.splitlines(), spent):
    print(f'{number / calls:8.0f}  {name[:150]}')


def serves(path, case):
  """Whether the path has something of its own for it."""
  return path in ('neon', 'neon32', 'rvv128') or case[0] != 'f32'


def print_few(counter, program, ruy_program):
  on_riscv = counter.machine is RISCV
  print(f'{"":6} {"path":8} {"cached":6} {"shape":>13} {"instructions":>12}'
        f' {"macs/instr":>10} {"portable" if on_riscv else "ruy":>8}  kernel')
  for path in arm_paths(counter.machine.arch):
    cases = [case for case in FEW_CASES if serves(path, case)]
    if on_riscv:
      cases += [(scalar, 'rcc', 'none', shape) for scalar in ('s8', 'u8', 'f32')
                for shape in ((32, 32, 32), (33, 77, 129))]
    if not ruy_program and counter.machine is ARM64:
      cases += GROUP_CASES
    ours = counter.count(program, path, cases)
    if on_riscv:
      theirs = [number for number, _ in counter.count(program, 'portable', cases)]
    else:
      theirs = count_ruy(counter, ruy_program, path, cases)
    for case, (number, kernel), ruy in zip(cases, ours, theirs):
      scalar, _, cached, shape = case
      macs = math.prod(shape)
      print(f'{scalar:6} {path:8} {cached:6} {"x".join(map(str, shape)):>13}'
            f' {number:12.0f} {macs / number:10.2f}'
            f' {f"{macs / ruy:.2f}" if ruy else "":>8}  {kernel}')


def count_ruy(counter, ruy_program, path, cases):
  if not ruy_program:
    return [None] * len(cases)
  ruy_path = 'neondot' if path in ('neoni8mm', 'neonbf16') else path
  return [number for number, _ in counter.count(ruy_program, ruy_path, cases)]


def print_all(counter, program, ruy_program, paths):
  rows = []
  for path in paths:
    cases = [case for case in CASES if serves(path, case)]
    ours = counter.count(program, path, cases)
    theirs = count_ruy(counter, ruy_program, path, cases)
    rows += [(path, case, number, ruy, kernel) for case, (number, kernel), ruy
             in zip(cases, ours, theirs)]

  def print_row(path, case, number, ruy, kernel):
    scalar, orders, cached, shape = case
    print(f'{path:8} {scalar:4} {orders} {cached:4}'
          f' {"x".join(map(str, shape)):>13} {number:10.0f}'
          + (f' {ruy:10.0f} {ruy / number:5.2f}' if ruy else '')
          + f'  {kernel}')

  print('ruy / ours is the last figure: over 1, ours takes fewer instructions')
  for row in rows:
    print_row(*row)
  if not ruy_program:
    return
  print('\ngeometric mean of ruy / ours')
  for path in paths:
    for scalar in dict.fromkeys(kind[0] for kind in KINDS):
      ratios = [ruy / number for row_path, case, number, ruy, _ in rows
                if row_path == path and case[0] == scalar]
      if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f'{path:8} {scalar:4} {mean:5.2f}')
  worse = [row for row in rows if row[2] > TOLERANCE * row[3]]
  print(f'\n{len(worse)} of {len(rows)} take over 3% more than ruy')
  for row in sorted(worse, key=lambda row: row[3] / row[2]):
    print_row(*row)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--all', action='store_true', help='every case')
  parser.add_argument('--paths', help='by default all')
  parser.add_argument('--arm32', dest='machine', action='store_const',
                      const=ARM32, default=ARM64)
  parser.add_argument('--riscv', dest='machine', action='store_const',
                      const=RISCV)
  parser.add_argument('--ruy', help="directory of ruy's sources")
  parser.add_argument('--symbols', nargs=2, metavar=('PATH', 'CASE'))
  parser.add_argument('build', nargs='?')
  args = parser.parse_args()
  machine = args.machine
  build = args.build or os.path.join(ROOT, f'build/{machine.debian}')
  program = os.path.join(build, 'bench/mul_calls')
  ruy_program = args.ruy and os.path.join(build, 'bench/ruy_mul_calls')
  if ruy_program:
    build_ruy(machine, args.ruy, ruy_program)
  with tempfile.TemporaryDirectory() as folder:
    counter = Counter(machine, folder)
    if args.symbols:
      print_symbols(counter, program, *args.symbols)
      if ruy_program:
        print_symbols(counter, ruy_program, *args.symbols)
    elif args.all:
      print_all(counter, program, ruy_program,
                args.paths.split(',') if args.paths else arm_paths(machine.arch))
    else:
      print_few(counter, program, ruy_program)


if __name__ == '__main__':
  main()
