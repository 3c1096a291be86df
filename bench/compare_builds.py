#!/usr/bin/env python3
"""Compares the speed of two builds of mul_bench, which run in turns.

    bench/compare_builds.py OLD/bench/mul_bench NEW/bench/mul_bench \\
        --shapes=design8,deep --types=s8,f32 --paths=avx2

Each round runs the old program and the new one, the order changing from round to
round. A case's time is the median over the rounds of what mul_bench reports, itself
a median over calls; its change is that of the two medians. Cases that seem slower
than --limit are run again, --again rounds of those alone, and count as slower only
if they still are. Both programs must know the same shapes: the new one's lists are
used.

Prints a table and the geometric mean, and returns 1 if a case stays slower. Flags
not listed by --help are handed to both programs. Idle machine, and one thread
pinned if the system moves it about: `taskset -c 1 bench/compare_builds.py ...`.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile


def run(program, flags, pattern):
  """Returns {case: seconds} of one run of mul_bench."""
  with tempfile.NamedTemporaryFile(suffix='.json') as out:
    command = [program, *flags, f'--benchmark_out={out.name}',
               '--benchmark_out_format=json']
    if pattern:
      command.append(f'--benchmark_filter={pattern}')
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(out.name, encoding='utf-8') as file:
      results = json.load(file)['benchmarks']
  # Rates, not Google Benchmark's own times: those are means.
  return {r['name'].removesuffix('/manual_time'): 1 / r['GOP/s']
          for r in results if r.get('GOP/s', 0) > 0}


def in_turns(programs, flags, pattern, rounds):
  """Returns {case: (median of the first program, of the second)}."""
  samples = [{}, {}]
  for round_number in range(rounds):
    for which in (0, 1) if round_number % 2 == 0 else (1, 0):
      for case, time in run(programs[which], flags, pattern).items():
        samples[which].setdefault(case, []).append(time)
  return {case: tuple(statistics.median(s[case]) for s in samples)
          for case in samples[0] if case in samples[1]}


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('old')
  parser.add_argument('new')
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--again', type=int, default=11)
  parser.add_argument('--limit', type=float, default=3, metavar='PERCENT')
  parser.add_argument('--filter', default='', metavar='REGEX')
  parser.add_argument('--min_time', default='0.01', metavar='SECONDS')
  args, flags = parser.parse_known_args()
  flags += [
      f'--benchmark_min_time={args.min_time}',
      '--shapes_dir=' + os.path.join(os.path.dirname(__file__), 'shapes')
  ]
  programs = (args.old, args.new)

  cases = in_turns(programs, flags, args.filter, args.rounds)
  if not cases:
    sys.exit('no case that both programs can run')
  def percent(case):
    return 100 * (cases[case][1] / cases[case][0] - 1)

  suspects = [case for case in cases if percent(case) > args.limit]
  first = {case: percent(case) for case in suspects}
  if suspects:
    pattern = '^(' + '|'.join(suspects) + ')(/|$)'
    cases.update(in_turns(programs, flags, pattern, args.again))

  print(f'{"case":60} {"old GOP/s":>10} {"new GOP/s":>10} {"time":>7}')
  for case, (old, new) in cases.items():
    again = f'  at first {first[case]:+.1f}%' if case in first else ''
    print(f'{case:60} {1 / old:10.2f} {1 / new:10.2f} {percent(case):+6.1f}%'
          f'{again}')
  mean = math.exp(statistics.fmean(
      math.log(new / old) for old, new in cases.values()))
  slower = sum(percent(case) > args.limit for case in suspects)
  print(f'{len(cases)} cases: time changes by {100 * (mean - 1):+.2f}% '
        f'(geometric mean); {slower} stay more than {args.limit:g}% slower')
  return 1 if slower else 0


if __name__ == '__main__':
  sys.exit(main())
