#!/usr/bin/env python3
"""Instructions that calls execute, recorded over commits.

  bench/record.py append [<target> [<command>...]]
                                      counts, appends to bench/record/, makes the page
  bench/record.py check [<target>]    counts; fails where a call takes over 1% more
                                      than in the last record, unless a commit since
                                      then has the trailer Instructions-Rise: <reason>
  bench/record.py page                makes bench/record/index.html

bench/record.sh builds what this counts and calls it. Counted are mul_calls of
build/release under Callgrind, on the paths that every x86 of the last ten years has,
and for the targets arm64 and riscv64 those of their builds in qemu: numbers that are
the same on every machine, but not with other compilers or C libraries, whose versions
are noted: the check passes over a record with others, and says so.

For x86 an entry also has our speed by that of the other libraries that bench/compare
was built with, of the machine that it names, measured under <command>, if one is given.
No check looks at these.
"""
import argparse
import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
RECORD = os.path.join(HERE, 'record')
TRAILER = 'Instructions-Rise'
TOLERANCE = 1.01

SHAPES = ((64, 64, 64), (33, 77, 129), (256, 256, 1))
# Type, orders of lhs, rhs and dst, cached operand: as mul_calls.cc has them.
KINDS = (('s8', 'rcc', 'none'), ('s8', 'rcc', 'lhs'), ('s8pc', 'rcc', 'none'),
         ('s8', 'rrr', 'none'), ('u8', 'rcc', 'none'), ('u8pc', 'rrr', 'lhs'),
         ('s32', 'ccc', 'none'), ('s8s16', 'rcc', 'none'), ('f32', 'rcc', 'none'),
         ('f32', 'rcc', 'lhs'), ('f32', 'ccc', 'none'), ('bf16', 'rcc', 'none'),
         ('f16', 'rcc', 'none'))
CASES = [kind + (shape,) for kind in KINDS for shape in SHAPES]
CASES += [('f64', 'rcc', 'none', SHAPES[0]), ('s8', 'rcc', 'none', (16, 16, 16)),
          ('f32', 'rcc', 'none', (16, 16, 16)), ('s8', 'rcc', 'none', (5, 7, 9)),
          ('f32', 'rcc', 'none', (5, 7, 9))]
CASES += [(scalar, 'rcc', 'none', (64, 256, cols))
          for scalar in ('s4g32', 's8g128') for cols in (1, 16)]

# What is compared with other libraries, each with the lhs cached and not.
COMPARED_TYPES = ('s8', 'u8', 'f32')
COMPARED_SHAPES = SHAPES + ((16, 16, 16), (512, 512, 512), (1024, 1024, 16))

Target = collections.namedtuple('Target', 'paths compiler')
TARGETS = {
    'x86': Target(('portable', 'avx', 'avx2'), 'c++'),
    'arm64': Target(('portable', 'neon', 'neondot', 'neoni8mm', 'neonbf16'),
                    'aarch64-linux-gnu-g++'),
    'riscv64': Target(('portable', 'rvv128'), 'clang++-19')}


def shape_name(shape):
  return 'x'.join(map(str, shape))


def name_of(path, case):
  scalar, orders, cached, shape = case
  return ' '.join((path, scalar, orders, cached, shape_name(shape)))


def count_x86(folder):
  """Instructions by name of call, under Callgrind."""
  program = os.path.join(ROOT, 'build/release/bench/mul_calls')
  lines = ''.join(f'{scalar} {orders} {cached} {" ".join(map(str, shape))}\n'
                  for scalar, orders, cached, shape in CASES)
  counts = {}
  for path in TARGETS['x86'].paths:
    out = os.path.join(folder, path)
    run = subprocess.run(
        ['valgrind', '--tool=callgrind', '-q', f'--callgrind-out-file={out}', program,
         path],
        input=lines, capture_output=True, text=True, check=False)
    if run.returncode != 0:
      sys.exit(f'{program} {path}: {run.stderr[-500:]}')
    calls = [int(line.split(' ', 1)[0]) for line in run.stdout.splitlines()]
    for i, (case, number) in enumerate(zip(CASES, calls)):
      with open(f'{out}.{i + 1}') as dump:
        total = int(re.search(r'^totals: (\d+)', dump.read(), re.M).group(1))
      counts[name_of(path, case)] = total // number
  return counts


def count_emulated(target, folder):
  sys.path.insert(0, os.path.join(HERE, 'arm'))
  import instructions  # in that folder
  machine = {'arm64': instructions.ARM64, 'riscv64': instructions.RISCV}[target]
  counter = instructions.Counter(machine, folder)
  program = os.path.join(ROOT, f'build/{target}/bench/mul_calls')
  cases = [case for case in CASES if case[3] == SHAPES[0] or target == 'arm64']
  return {name_of(path, case): int(number)
          for path in TARGETS[target].paths
          for case, (number, _) in zip(cases, counter.count(program, path, cases))}


def ratios_of(comparison):
  """What an entry has of compare's JSON; says which libraries were absent."""
  peers = {peer['name']: peer['description'] for peer in comparison['peers']}
  known = {name[:-3] for name in os.listdir(os.path.join(HERE, 'peers'))
           if name.endswith('.cc')}
  for name in sorted(known - set(peers)):
    print(f'SKIPPED: no ratios to {name}, which compare has not found')
  return {'cpu': comparison['cpu'], 'peers': peers,
          'calls': {' '.join((beside['peer'], result['types'], result['orders'],
                              'lhs' if result['cached'] else 'none',
                              result['shape'])): beside['ratio']
                    for result in comparison['results']
                    for beside in result['beside']}}


def compare(command, folder):
  out = os.path.join(folder, 'compare.json')
  subprocess.run([*command, os.path.join(ROOT, 'build/release/bench/compare'),
                  '--types=' + ','.join(COMPARED_TYPES),
                  '--shapes=' + ','.join(map(shape_name, COMPARED_SHAPES)),
                  '--json=' + out], stdout=subprocess.DEVNULL, check=True)
  with open(out) as file:
    return ratios_of(json.load(file))


def git(*args):
  return subprocess.run(['git', '-C', ROOT, *args], capture_output=True, text=True,
                        check=True).stdout.strip()


def versions(compiler):
  """What counts depend on besides the sources."""
  names = {}
  for name, command in (('compiler', [compiler, '--version']),
                        ('libc', ['ldd', '--version'])):
    names[name] = subprocess.run(command, capture_output=True, text=True,
                                 check=True).stdout.splitlines()[0]
  return names


def read(target):
  try:
    with open(os.path.join(RECORD, target + '.json')) as file:
      return json.load(file)
  except FileNotFoundError:
    return []


def reasons_since_record(target):
  """The trailers of the commits since the record was last written."""
  path = f'bench/record/{target}.json'
  written = git('log', '-1', '--format=%H', '--', path)
  commits = f'{written}..HEAD' if written else 'HEAD'
  text = git('log', f'--format=%(trailers:key={TRAILER},valueonly,separator=%x0A)',
             commits)
  return [line for line in text.splitlines() if line]


def rises(entry, counts):
  """Calls over the tolerance as (name, before, now)."""
  return [(name, before, counts[name]) for name, before in entry['calls'].items()
          if name in counts and counts[name] > before * TOLERANCE]


def make_page():
  data = {target: read(target) for target in TARGETS}
  with open(os.path.join(RECORD, 'page.html')) as file:
    page = file.read()
  page = page.replace('/*DATA*/', json.dumps(data, separators=(',', ':')))
  with open(os.path.join(RECORD, 'index.html'), 'w') as file:
    file.write(page)


def print_rises(found):
  for name, before, now in sorted(found, key=lambda rise: rise[1] / rise[2]):
    print(f'{name:40} {before:9} {now:9} {100 * now / before - 100:+6.1f}%')


def print_advice(target, commit, rise):
  path, *case, shape = rise[0].split()
  print(f'FAILED. A commit since {commit[:9]} must say why, in a trailer:\n'
        f"  git commit --amend --no-edit --trailer '{TRAILER}: <reason>'\n"
        'A commit after it makes these counts the record, by\n'
        f'  bench/record.sh{"" if target == "x86" else " " + target}')
  if target == 'x86':
    print('If the rise is not meant: where the instructions are, to compare with the same of '
          f'{commit[:9]}:\n'
          f"  echo '{' '.join(case)} {shape.replace('x', ' ')}' | valgrind "
          '--tool=callgrind --callgrind-out-file=calls build/release/bench/mul_calls '
          f'{path}\n  callgrind_annotate --inclusive=yes calls.1')


def check(target, counts, names, reasons):
  """Whether the counts are as low as the last record, or there is a reason."""
  entries = read(target)
  if not entries:
    print(f'SKIPPED: no record of {target}')
    return True
  last = entries[-1]
  if last['versions'] != names:
    print(f'SKIPPED: {names} here, {last["versions"]} in the last record')
    return True
  found = rises(last, counts)
  falls = [name for name, before in last['calls'].items()
           if name in counts and counts[name] * TOLERANCE < before]
  print(f'{len(counts)} calls, {len(found)} of them over 1% above the record of '
        f'{last["commit"][:9]}, {len(falls)} as far below')
  print_rises(found)
  if found and not reasons:
    print_advice(target, last['commit'], max(found, key=lambda rise: rise[2] / rise[1]))
    return False
  return True


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('command', choices=('append', 'check', 'page'))
  parser.add_argument('target', nargs='?', choices=TARGETS, default='x86')
  parser.add_argument('under', nargs=argparse.REMAINDER, metavar='command')
  args = parser.parse_args()
  if args.command == 'page':
    make_page()
    return
  target = args.target
  with tempfile.TemporaryDirectory() as folder:
    counts = (count_x86(folder) if target == 'x86' else
              count_emulated(target, folder))
    ratios = {}
    if args.command == 'append' and target == 'x86':
      ratios = {'ratios': compare(args.under, folder)}
  names = versions(TARGETS[target].compiler)
  reasons = reasons_since_record(target)
  ok = check(target, counts, names, reasons)
  if args.command == 'append' and ok:
    entries = read(target)
    entries.append({'commit': git('rev-parse', 'HEAD'),
                    'date': datetime.date.today().isoformat(),
                    'subject': git('log', '-1', '--format=%s'), 'versions': names,
                    'reasons': reasons, 'calls': counts, **ratios})
    # A line for each, so that appending changes none.
    with open(os.path.join(RECORD, target + '.json'), 'w') as file:
      file.write('[\n' + ',\n'.join(json.dumps(entry) for entry in entries) + '\n]\n')
    make_page()
  sys.exit(0 if ok else 1)


if __name__ == '__main__':
  main()
