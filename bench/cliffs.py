#!/usr/bin/env python3
"""Looks for cliffs: calls that cost more than their neighbours let expect.

    bench/cliffs.py build/release/bench/cliffs [--paths avx2,portable] [--few]

A neighbour of a case has one more column, row, channel or tap, half of the groups,
another stride or order, or runs on the portable path. A larger neighbour must not
take less time than the case; a neighbour must not take more than --limit times the
case's time for each multiply-add if it is larger, and the case not more than --limit
times the neighbour's if it is of the same size. Times are CPU times of one thread, the
least of rounds in which a case and its neighbours have turns. What exceeds a limit is
measured again, in --again times as many rounds, and counts only if it still does.

Prints a table of what remains, the worst of each kind as bench/RESULTS.md has them or
with --all each, and returns 1 if there is any.
"""

import argparse
import subprocess
import sys

# A difference of less is noise.
NOISE = 1.08


class Mul:

  def __init__(self, types, orders, rows, depth, cols, gap=0):
    self.fields = (types, orders, rows, depth, cols, gap)

  def line(self, path):
    types, orders, rows, depth, cols, gap = self.fields
    return f'mul {path} {types} {orders} {rows}x{depth}x{cols} {gap}'

  def neighbours(self):
    """Yields what differs, and the neighbour."""
    types, orders, rows, depth, cols, gap = self.fields
    yield 'one more column', Mul(types, orders, rows, depth, cols + 1, gap)
    yield 'one more row', Mul(types, orders, rows + 1, depth, cols, gap)
    if types.startswith('s4'):
      return
    yield 'stride + 64 bytes', Mul(types, orders, rows, depth, cols, gap + 64)
    if cols > 1:
      yield 'one column less', Mul(types, orders, rows, depth, cols - 1, gap)
    other = 'c' if orders[0] == 'r' else 'r'
    yield 'other order', Mul(types, other + orders[1:], rows, depth, cols, gap)


class Layer:

  def __init__(self, kind, order, side, inputs, outputs, kernel, stride=1,
               dilation=1, groups=1):
    self.fields = (kind, order, side, inputs, outputs, kernel, stride, dilation,
                   groups)

  def line(self, path):
    kind, order, side, inputs, outputs, *rest = self.fields
    return (f'{kind} {path} {order} {side}x{side}x{inputs} {outputs} ' +
            ' '.join(map(str, rest)))

  def neighbours(self):
    (kind, order, side, inputs, outputs, kernel, stride, dilation,
     groups) = self.fields

    def other(**changes):
      values = dict(kind=kind, order=order, side=side, inputs=inputs,
                    outputs=outputs, kernel=kernel, stride=stride,
                    dilation=dilation, groups=groups)
      return Layer(**{**values, **changes})
    yield 'one more tap a side', other(kernel=kernel + 1)
    if kind == 'depthwise':
      yield 'one more channel', other(
          inputs=inputs + 1, outputs=outputs // inputs * (inputs + 1))
      return
    yield 'one more channel a group', other(
        inputs=inputs + groups, outputs=outputs + groups)
    if groups > 1:
      yield 'half of the groups', other(groups=groups // 2)
    if groups == inputs:
      yield 'DepthwiseConv2D', other(kind='depthwise', groups=1)


def cases(few):
  """Those whose neighbours are compared."""
  types = ['f32', 's8'] if few else [
      'f32', 'f32any', 'bf16f32', 'f16f32', 'bf16', 'f16', 's8', 's8u8', 'u8',
      's8s16']
  sizes = [(64, 64)] if few else [(256, 256), (1024, 1024), (4096, 1024),
                                  (1024, 2048), (1000, 1000)]
  columns = [1] if few else [1, 2, 3, 4, 6, 8, 12, 16]
  for name in types:
    for rows, depth in sizes:
      for cols in columns:
        for orders in ('rcc', 'ccc'):
          yield Mul(name, orders, rows, depth, cols)
  if few:
    yield Layer('conv', 'nhwc', 8, 16, 16, 3)
    yield Layer('depthwise', 'nhwc', 8, 16, 16, 3)
    return
  for name in types:
    for rows, depth, cols in ((64, 64, 64), (256, 256, 256), (512, 512, 49)):
      yield Mul(name, 'rcc', rows, depth, cols)
  for cols in (1, 4, 16):
    yield Mul('s4g32', 'rcc', 1024, 1024, cols)
  for order in ('nhwc', 'nchw'):
    yield Layer('conv', order, 56, 64, 64, 3)
    yield Layer('conv', order, 56, 64, 64, 1)
    yield Layer('conv', order, 64, 64, 64, 3, dilation=2, groups=64)
    for groups in (4, 16, 32, 64):
      yield Layer('conv', order, 28, 64, 64, 3, groups=groups)
      yield Layer('conv', order, 28, 256, 256, 1, groups=groups)
    for channels in (1, 2, 3, 4, 8, 16, 32, 96):
      yield Layer('depthwise', order, 56, channels, channels, 3)
    yield Layer('depthwise', order, 56, 32, 64, 7, stride=2)
    for kernel in (5, 7, 8, 9):
      yield Layer('depthwise', order, 56, 32, 32, kernel)


def measure(args, groups, rounds):
  """Lists of (ns, multiply-adds), one for each list of lines."""
  text = '\n\n'.join('\n'.join(lines) for lines in groups)
  done = subprocess.run(
      [args.program, f'--rounds={rounds}', f'--turn_seconds={args.turn_seconds}'],
      input=text, capture_output=True, text=True, check=False)
  if done.returncode != 0:
    sys.exit(done.stderr)
  results = iter(done.stdout.splitlines())
  return [[tuple(map(float, next(results).split()[:2])) for _ in lines]
          for lines in groups]


def fault(case, neighbour, limit):
  """How many times too much a neighbour or the case costs, and which; or None."""
  (time, work), (other_time, other_work) = case, neighbour
  if other_work > work:
    if other_time * NOISE < time:
      return time / other_time, 'dearer than its larger neighbour'
    ratio = other_time / other_work / (time / work)
    return (ratio, 'neighbour dearer') if ratio > limit else None
  ratio = time / other_time * (other_work / work if other_work < work else 1)
  return (ratio, 'dearer than its neighbour') if ratio > limit else None


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('program')
  parser.add_argument('--paths', default='')
  parser.add_argument('--limit', type=float, default=1.3)
  parser.add_argument('--rounds', type=int, default=7)
  parser.add_argument('--again', type=int, default=5)
  parser.add_argument('--turn_seconds', default='3e-4')
  parser.add_argument('--filter', default='', help='part of a case')
  parser.add_argument('--all', action='store_true')
  parser.add_argument('--few', action='store_true', help='to see that it runs')
  args = parser.parse_args()

  found = []
  for path in args.paths.split(','):
    groups, names = [], []
    for case in cases(args.few):
      if args.filter not in case.line(path):
        continue
      around = list(case.neighbours())
      lines = [case.line(path)] + [n.line(path) for _, n in around]
      names.append([what for what, _ in around])
      if path != 'portable':
        lines.append(case.line('portable'))
        names[-1].append('portable')
      groups.append(lines)

    def faults(measured, which):
      for i, times in zip(which, measured):
        for what, time in zip(names[i], times[1:]):
          bad = fault(times[0], time,
                      NOISE if what == 'portable' else args.limit)
          if bad:
            yield i, what, times[0], time, bad
    suspects = sorted({i for i, *_ in faults(
        measure(args, groups, args.rounds), range(len(groups)))})
    again = measure(args, [groups[i] for i in suspects],
                    args.rounds * args.again) if suspects else []
    found += [(groups[i][0], *rest) for i, *rest in faults(again, suspects)]

  kinds = {}
  for line, what, (time, _), (other, _), (ratio, which) in found:
    # Shapes and columns of one kernel are one kind.
    kind = line if args.all else ' '.join(line.split()[:4 if line[0] == 'm' else 3])
    kinds.setdefault((kind, what, which), []).append((ratio, time, other, line))
  print('| kind | neighbour | cases | worst | us | its us | times |')
  print('|---|---|--:|---|--:|--:|---|')
  for (kind, what, which), of_kind in kinds.items():
    ratio, time, other, line = max(of_kind)
    rest = line[len(kind) + 1:]
    print(f'| {kind} | {what} | {len(of_kind)} | {rest} | {time / 1e3:.1f} '
          f'| {other / 1e3:.1f} | {ratio:.2f} {which} |')
  print(f'\n{len(found)} above the limit')
  return 1 if found else 0


if __name__ == '__main__':
  sys.exit(main())
