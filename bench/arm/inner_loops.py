#!/usr/bin/env python3
"""Inner loops of the Arm kernels under llvm-mca's models of the cores.

  bench/arm/inner_loops.py [--all] [--check] [<build directory>]

Takes the object files of kernels/neon*.cc out of a build for Arm (by default
build/arm64), finds every innermost loop that multiplies, and prints for each:
multiply-adds a turn, instructions a turn, accesses to the stack (spills), and
what the models of Neoverse N1, N2 and V1 say it reaches, in multiply-adds a
cycle and as a share of the peak of its multiplication. Without --all: of each
kind of multiplication the loops that come closest to the peak, which are the
wide tiles'. Of floats and dot products also the best ones by the rules of
Cortex-A53 and A55 (in_order.py).

With --check it fails if a loop accesses the stack, or if no loop of a kind
reaches its target: 98% of the peak, for int8 without dot products ruy's
figures, and on in-order cores what the routines made for them reach.

A model knows neither caches nor, where loads are concerned, how a real core
replays and renames: a bound, not a measurement. Needs llvm-mca of LLVM 17 or
later, whose tables have these cores, and binutils for Arm.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import in_order  # in this folder

CORES = ('neoverse-n1', 'neoverse-n2', 'neoverse-v1')
ATTRIBUTES = '+dotprod,+i8mm,+bf16,+fullfp16'

# Multiply-adds of an instruction by its name and the shape of its result.
MACS = {('sdot', '4s'): 16, ('udot', '4s'): 16, ('smmla', '4s'): 32,
        ('bfmmla', '4s'): 16, ('fmla', '4s'): 4}
for name in ('smull', 'smull2', 'smlal', 'smlal2', 'smlsl', 'smlsl2', 'umull', 'umull2'):
  MACS[name, '8h'] = 8
  MACS[name, '4s'] = 4

# By kind of multiplication, a core's peak in multiply-adds a cycle; None: the
# core does not have it. SMLAL by lane adds up in one pipe of two.
KINDS = {
    'smmla': dict(zip(CORES, (None, 64, 128))),
    'bfmmla': dict(zip(CORES, (None, 32, 64))),
    'dot': dict(zip(CORES, (32, 32, 64))),
    'fmla': dict(zip(CORES, (8, 8, 16))),
    'bytes': dict(zip(CORES, (8, 16, 16))),
    'words': dict(zip(CORES, (4, 4, 8))),
}
# What the best loop of a kind must reach.
TARGETS = {kind: {core: peak and 0.98 * peak for core, peak in peaks.items()}
           for kind, peaks in KINDS.items()}
TARGETS['bytes'] = dict(zip(CORES, (7.9, 10.1, 15.6)))
# The same of the in-order cores, by rules instead of models; both multiply 128
# bits a cycle, 4 floats or 16 bytes.
IN_ORDER_TARGETS = {
    ('neon', 'fmla'): {'cortex-a53': 2.8, 'cortex-a55': 3.95},
    ('neondot', 'dot'): {'cortex-a55': 15.8},
}


def kind_of(name, shape):
  if name in ('smmla', 'bfmmla', 'fmla'):
    return name
  if name in ('sdot', 'udot'):
    return 'dot'
  return 'bytes' if shape == '8h' else 'words'


class Loop:
  """Instructions of an innermost loop, as (address, name, operands)."""

  def __init__(self, function, body):
    self.function = function
    self.body = body
    self.macs = 0
    self.kind = None
    self.spills = sum('sp' in re.findall(r'[a-z0-9]+', operands)
                      for _, _, operands in body)
    for _, name, operands in body:
      shape = re.match(r'v\d+\.(\w+)', operands)
      macs = MACS.get((name, shape.group(1)), 0) if shape else 0
      if macs:
        self.macs += macs
        self.kind = kind_of(name, shape.group(1))

  def label(self):
    """The function's template arguments, shortened."""
    text = self.function
    for noise in ('ruy_like::kernels::', '(anonymous namespace)::',
                  ', false>', 'void '):
      text = text.replace(noise, '')
    return re.sub(r'\(ruy_like.*|\(TileArgs.*|\(KernelArgs.*|\(DotArgs.*', '',
                  text)

  def cycles(self, mca, core):
    """Cycles of a turn, out of 200."""
    turns = 200
    lines = ['.Ltop:']
    for _, name, operands in self.body:
      operands = re.sub(r'[0-9a-f]+ <.*', '.Ltop', operands)
      lines.append(f'{name} {operands}')
    out = subprocess.run(
        [mca, '-march=aarch64', f'-mcpu={core}', f'-mattr={ATTRIBUTES}',
         f'-iterations={turns}', '-resource-pressure=false',
         '-instruction-info=false'],
        input='\n'.join(lines) + '\n', capture_output=True, text=True,
        check=True).stdout
    return int(re.search(r'Total Cycles:\s+(\d+)', out).group(1)) / turns


def disassemble(objdump, path):
  """Yields (function, instructions)."""
  out = subprocess.run([objdump, '-dC', '--no-show-raw-insn', path],
                       capture_output=True, text=True, check=True).stdout
  function, instructions = None, []
  for line in out.splitlines():
    start = re.match(r'^[0-9a-f]+ <(.*)>:$', line)
    if start:
      if function:
        yield function, instructions
      function, instructions = start.group(1), []
      continue
    found = re.match(r'^\s+([0-9a-f]+):\s+(\S+)\s*(.*)$', line)
    if found:
      operands = found.group(3).split('//')[0].strip()
      instructions.append((int(found.group(1), 16), found.group(2), operands))
  if function:
    yield function, instructions


def loops_of(function, instructions):
  """Yields the innermost loops that multiply: a backward branch to code that
  runs straight down to it."""
  place = {address: i for i, (address, _, _) in enumerate(instructions)}

  def is_branch(name):
    return name.startswith('b.') or name in ('b', 'bl', 'blr', 'br', 'ret',
                                             'cbz', 'cbnz', 'tbz', 'tbnz')

  for i, (address, name, operands) in enumerate(instructions):
    target = re.search(r'([0-9a-f]+) <', operands)
    if not is_branch(name) or not target:
      continue
    top = place.get(int(target.group(1), 16))
    if top is None or top > i:
      continue
    body = instructions[top:i + 1]
    if any(is_branch(other) for _, other, _ in body[:-1]):
      continue
    loop = Loop(function, body)
    if loop.macs:
      yield loop


def find_tool(*names):
  for name in names:
    if shutil.which(name):
      return name
  sys.exit(f'none of {", ".join(names)} is installed')


def arm_paths(arch='arm'):
  """Names of the paths of 64-bit Arm, or of arch arm32, worst first."""
  here = os.path.dirname(os.path.abspath(__file__))
  with open(os.path.join(here, '../../ruy_like/registry/paths.inc')) as lines:
    return re.findall(rf'^RUY_LIKE_PATH\(\w+, (\w+), {arch},', lines.read(),
                      re.M)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--all', action='store_true', help='every loop')
  parser.add_argument('--check', action='store_true', help='fail below targets')
  parser.add_argument('build', nargs='?', default='build/arm64')
  args = parser.parse_args()
  mca = find_tool('llvm-mca-19', 'llvm-mca-18', 'llvm-mca-17', 'llvm-mca')
  objdump = find_tool('aarch64-linux-gnu-objdump', 'llvm-objdump')
  folder = os.path.join(args.build, 'CMakeFiles/ruy_like.dir/ruy_like/kernels')
  failures = []
  for path_name in arm_paths():
    loops = []
    for function, instructions in disassemble(
        objdump, os.path.join(folder, path_name + '.cc.o')):
      loops += loops_of(function, instructions)
    spilling = [loop for loop in loops if loop.spills]
    failures += [f'{path_name}: {loop.label()} accesses the stack'
                 for loop in spilling]
    print(f'\n{path_name}: {len(loops)} inner loops that multiply,'
          f' {len(spilling)} of them with accesses to the stack')
    for kind, peaks in KINDS.items():
      mine = [loop for loop in loops if loop.kind == kind]
      if not mine:
        continue
      rows = []
      for loop in mine:
        rates = [peaks[core] and loop.macs / loop.cycles(mca, core)
                 for core in CORES]
        rows.append((sum((rate or 0) / (peaks[core] or 1)
                         for rate, core in zip(rates, CORES)), loop, rates))
      rows.sort(key=lambda row: -row[0])
      for _, loop, rates in rows if args.all else rows[:3]:
        cells = '  '.join(
            f'{rate:6.1f} {100 * rate / peaks[core]:5.1f}%' if rate
            else f'{"-":>13}' for rate, core in zip(rates, CORES))
        print(f'  {kind:6} {cells}  {loop.macs:5} macs {len(loop.body):4} instr'
              f' {loop.spills:2} stack  {loop.label()[:90]}')
      if path_name == 'neon' or kind not in ('bytes', 'fmla'):
        best = rows[0][2]
        for rate, core in zip(best, CORES):
          target = TARGETS[kind][core]
          if rate and rate < target:
            failures.append(f'{path_name}: {kind} on {core}:'
                            f' {rate:.1f} of {target:.1f}')
      for core, target in IN_ORDER_TARGETS.get((path_name, kind), {}).items():
        rate, loop = max(((loop.macs / in_order.cycles(loop.body, core), loop)
                          for loop in mine), key=lambda row: row[0])
        print(f'  {kind:6} {core} by its rules: {rate:5.2f}'
              f'  {loop.macs:5} macs {len(loop.body):4} instr'
              f'  {loop.label()[:90]}')
        if rate < target:
          failures.append(f'{path_name}: {kind} on {core}:'
                          f' {rate:.2f} of {target:.2f}')
  if args.check and failures:
    sys.exit('\n' + '\n'.join(failures))


if __name__ == '__main__':
  main()
