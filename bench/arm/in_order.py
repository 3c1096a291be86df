"""Cycles of a loop on Cortex-A53 and A55, by what is published of how they issue
instructions: in order, and two in a cycle if they pair.

Used by inner_loops.py. llvm-mca does not serve for these two: it lets the A55
issue two 128-bit multiplications a cycle, and has loads wait until what is
before them is finished, both of which measurements contradict. doc/kernels.md
says from where the rules are. Left out is what the sources do not tell: caches,
branches (which count as one more scalar instruction), and that the A53 is said
to hold up vector loads in the fourth cycle after a multiplication. There was no
such core: this bounds by rules, it measures nothing.
"""
import re

CORES = ('cortex-a53', 'cortex-a55')

# Cycles from the end of issue to the use of the result.
DELAY = {'vector': 3, 'load q': 2, 'load d': 2, 'load x': 3, 'insert': 1,
         'scalar': 0}

# What may be issued after what in one cycle. A 128-bit vector instruction
# comes first, and a 128-bit load is alone.
BOTH = {('vector', 'load x'), ('vector', 'scalar'), ('load d', 'insert'),
        ('insert', 'load d'), ('insert', 'insert'), ('scalar', 'scalar')}
for other in ('load d', 'load x', 'insert'):
  BOTH |= {('scalar', other), (other, 'scalar')}
PAIRS = {'cortex-a53': BOTH,
         'cortex-a55': BOTH | {('vector', 'load d'), ('vector', 'insert')}}


def kind_of(name, operands):
  """The kind of an instruction and the cycles that its issue takes."""
  first = operands.lstrip('{ ')[:1]
  if name.startswith('ld'):
    count = 2 if name == 'ldp' else 1
    if first in 'xw':
      return 'load x', count
    if first == 'q' or re.match(r'\{v\d+\.(16b|8h|4s|2d)', operands):
      return 'load q', 2 * count
    return 'load d', count
  if re.match(r'v\d+\.d\[1\], x', operands):
    return 'insert', 1
  return ('vector' if first in 'vqdshb' else 'scalar'), 1


def registers(name, operands):
  """Those that are written and those that are read."""
  names = [re.sub('^[qdshb]', 'v', register.replace('w', 'x'))
           for register in re.findall(r'\b[vqdshbxw]\d+', operands)]
  if name.startswith('ld'):
    loaded = len(re.findall(r'\b[vqdshbxw]\d+', operands.split('[x')[0]))
    return names[:loaded], names[loaded:]
  if name.startswith(('b', 'cmp', 'st', 'cb', 'prf')):
    return [], names
  return names[:1], names  # of accumulators, also what they were


def cycles(body, core, turns=50):
  """Cycles of a turn of a loop of (address, name, operands)."""
  ready = {}
  now, group = 0, []
  for _ in range(turns):
    for _, name, operands in body:
      kind, issue = kind_of(name, operands)
      written, read = registers(name, operands)
      at = max([now] + [ready.get(register, 0) for register in read])
      pairs = len(group) == 1 and (group[0], kind) in PAIRS[core]
      if at == now and group and not pairs:
        at += 1
      if at > now:
        group = []
      ready.update((register, at + issue + DELAY[kind]) for register in written)
      group.append(kind)
      now = at
      if issue > 1:
        now, group = at + issue, []
  return now / turns
