#!/usr/bin/env python3
"""Simulates products on more cores than this machine has.

    bench/scaling.py --plans build/release/bench/plans \\
        --costs build/release/bench/thread_costs --shapes=1024x1024x1024 --types=s8

The blocks are those that the library makes (the program `plans`), and what things cost
is what `thread_costs` measures here, or prints into the file that --costs names. A
discrete-event simulation of one call of Mul then hands the work over, packs, deals the
blocks out, multiplies and collects the ends. It prints the speedup over one thread, by
the same model, and the percentage of linear.

What is modelled: a word of memory that another core has last written takes `atomic_ns`
to fetch where both are in one group of cores with an L3, --far_ns within a socket and
--remote_ns between sockets (both assumed: this machine has two cores); a word that
several cores change serves one after the other. A thread that sleeps takes
`wake_call_ns` of the one that wakes it, and `wake_delay_ns` until it runs. A block takes
its multiply-adds at one rate, whatever its shape, panels that it packs at another, and
at least the time to read its lhs beyond L2, unless the thread had that one in the call
before. Not modelled: memory bandwidth that cores share, clock rates that depend on the
number of busy cores, other programs.

--scheme=serial is a caller that hands work to each worker by itself and counts ends in
one word; tree:N has each thread hand work to N others and ends counted along the same
tree, as the thread pool does. --before is a program `plans` of another version,
simulated with the first scheme, beside --plans with the last.
"""

import argparse
import collections
import heapq
import json
import os
import subprocess
import sys

# A core that changes a word that it has in its own cache.
OWN_ATOMIC_NS = 5
# Counter, panel pointers, the kernel's prologue (block_map.h).
LAUNCH_NS = 50
# Loads of words that do not depend on each other.
OVERLAPPED_LOADS = 4
# A caller that waits looks again for what no worker has begun.
TAKE_BACK_EVERY_NS = 1000
# It wakes others for the rest only if what it took back first took so long.
WAKE_WORTH_NS = 5000


class Simulation:
  """Threads are generators that yield the time at which they go on, a Flag, or a Flag
  and the time at which they go on without it."""

  def __init__(self):
    self.queue = []
    self.order = 0
    self.turns = collections.Counter()  # of each thread
    self.atomics = 0
    self.system_calls = 0

  def at(self, time, thread, turn=None):
    """Nothing happens if the thread has gone on since that turn."""
    self.order += 1
    turn = self.turns[thread] if turn is None else turn
    heapq.heappush(self.queue, (time, self.order, thread, turn))

  def run(self):
    while self.queue:
      now, _, thread, turn = heapq.heappop(self.queue)
      if turn != self.turns[thread]:
        continue
      self.turns[thread] += 1
      try:
        wanted = thread.send(now)
      except StopIteration:
        continue
      if isinstance(wanted, tuple):
        wanted, timeout = wanted
        self.at(timeout, thread)
      if isinstance(wanted, Flag):
        wanted.waiting.append((thread, self.turns[thread]))
        if wanted.time is not None:
          wanted.release(self)
      else:
        self.at(max(wanted, now), thread)


class Flag:
  """Set once; whoever waits goes on `delay` later."""

  def __init__(self, delay):
    self.delay = delay
    self.time = None
    self.waiting = []

  def set(self, now, simulation):
    if self.time is None:
      self.time = now
      self.release(simulation)

  def release(self, simulation):
    for thread, turn in self.waiting:
      simulation.at(self.time + self.delay, thread, turn)
    self.waiting = []


class Word:
  """A word of memory in a cache line of its own."""

  def __init__(self, machine, owner, value=0):
    self.machine = machine
    self.owner = owner
    self.free_at = 0
    self.value = value

  def change(self, now, core):
    """When a core that begins an atomic operation now has done it."""
    self.machine.simulation.atomics += 1
    cost = self.machine.line_ns(self.owner, core)
    self.free_at = max(now, self.free_at) + cost
    self.owner = core
    return self.free_at

  def read(self, now, core):
    if core == self.owner:
      return now
    return max(now, self.free_at) + self.machine.line_ns(self.owner, core)


class Machine:
  """Cores 0, 1, ..., core t being thread t's; costs as thread_costs prints them."""

  def __init__(self, costs, threads, sockets=1, group=8, far_ns=110,
               remote_ns=220):
    self.costs = costs
    self.threads = threads
    self.sockets = sockets
    self.group = group
    self.far_ns = far_ns
    self.remote_ns = remote_ns
    self.simulation = None

  def line_ns(self, a, b):
    if self.costs["atomic_ns"] == 0:
      return 0
    if a == b:
      return OWN_ATOMIC_NS
    if a * self.sockets // self.threads != b * self.sockets // self.threads:
      return self.remote_ns
    if a // self.group != b // self.group:
      return self.far_ns
    return self.costs["atomic_ns"]

  def launch_ns(self):
    return LAUNCH_NS if self.costs["atomic_ns"] > 0 else 0


class Product:
  """One call of Mul: what the blocks cost, and who has which."""

  def __init__(self, plan, machine, held, shares_packing=False):
    self.plan = plan
    self.shares_packing = shares_packing  # of what blocks pack for themselves
    self.machine = machine
    self.blocks = plan["blocks"]
    self.counter = Word(machine, 0, value=plan["threads"])
    # A side that is packed once for all threads has a Flag for each part.
    self.parts = collections.defaultdict(dict)
    self.held = held  # rows of blocks that a thread had in the last call
    self.had = collections.defaultdict(set)
    self.done = set()
    self.work_ns = 0

  def side_bytes(self, side, count):
    """Of so many rows or columns, in whole panels."""
    width = self.plan["panels"][0 if side == "lhs" else 1]
    panels = -(-count // width) * width
    return panels * self.plan["depth"] * self.plan[side]["element_bytes"]

  def pack_ns(self, side, count):
    rate = self.machine.costs["types"][self.plan["types"]]["pack_bytes_per_ns"]
    return (self.side_bytes(side, count) / rate[side]) if rate[side] else 0

  def pack_shared(self, now, side, index):
    """The blocks that need a part pack a slice of it each, whoever comes; then all
    wait for the last slice, and read the others' out of their caches."""
    costs = self.machine.costs
    simulation = self.machine.simulation
    which, length = (0, 2) if side == "lhs" else (1, 3)
    part, count = self.blocks[index][which], self.blocks[index][length]
    sharing = [i for i, block in enumerate(self.blocks) if block[which] == part]
    own = sharing.index(index)
    slices = self.parts[side].setdefault(part, {})
    for i in sharing[own:] + sharing[:own]:
      if i in slices:
        continue
      flag = slices[i] = Flag(costs["signal_ns"])
      simulation.atomics += 1
      now = yield now + self.pack_ns(side, count) / len(sharing)
      flag.set(now, simulation)
    for flag in slices.values():
      if flag.time is None:
        now = yield flag
    if costs["l3_bytes_per_ns"]:
      others = self.side_bytes(side, count) * (1 - 1 / len(sharing))
      now = yield now + others / costs["l3_bytes_per_ns"]
    return now

  def run_block(self, now, core, index):
    """A thread's part, to be delegated to."""
    row, col, rows, cols = self.blocks[index]
    assert index not in self.done
    self.done.add(index)
    costs = self.machine.costs
    l3_rate = costs["l3_bytes_per_ns"]
    simulation = self.machine.simulation
    now = yield now + self.machine.launch_ns()
    for side, part, count in (("lhs", row, rows), ("rhs", col, cols)):
      source = self.plan[side]["source"]
      if source == "by_block" and self.shares_packing:
        now = yield from self.pack_shared(now, side, index)
      elif source == "by_block":
        now = yield now + self.pack_ns(side, count)
      elif source == "once":
        flag = self.parts[side].get(part)
        if flag is None:
          flag = self.parts[side][part] = Flag(costs["signal_ns"])
          simulation.atomics += 1
          now = yield now + self.pack_ns(side, count)
          flag.set(now, simulation)
        else:
          if flag.time is None:
            now = yield flag
          # Out of another core's cache.
          if l3_rate:
            now = yield now + self.side_bytes(side, count) / l3_rate
    panels = -(-rows // self.plan["panels"][0]) * self.plan["panels"][0]
    compute = (panels * cols * self.plan["depth"] /
               costs["types"][self.plan["types"]]["macs_per_ns"])
    self.work_ns += compute
    if (l3_rate and row not in self.held.get(core, ()) and
        row not in self.had[core] and self.plan["lhs"]["source"] != "by_block"):
      compute = max(compute, self.side_bytes("lhs", rows) / l3_rate)
    self.had[core].add(row)
    now = yield now + compute
    return now

  def work(self, now, core, number):
    """What thread `number` of the product does, on any core."""
    # The call's parameters, which the caller wrote.
    now = yield now + self.machine.line_ns(0, core)
    index = number
    while index < len(self.blocks):
      now = yield from self.run_block(now, core, index)
      now = yield self.counter.read(now, core)
      if self.counter.value >= len(self.blocks):
        break
      now = yield self.counter.change(now, core)
      index = self.counter.value
      self.counter.value += 1
    return now


class Pool:
  """Hands a product over and collects the ends."""

  def __init__(self, product, machine, fanout, asleep):
    self.product = product
    self.machine = machine
    self.fanout = fanout  # 0: the caller does all
    self.asleep = asleep
    self.threads = product.plan["threads"]
    self.slots = [Word(machine, t) for t in range(self.threads)]
    self.ready = [Flag(machine.costs["signal_ns"]) for _ in range(self.threads)]
    self.taken = [False] * self.threads
    # What is to end before a thread's own end counts: its children and, but for
    # the caller, itself.
    self.ends = [Word(machine, t, value=(t > 0) + len(self.children(t)))
                 for t in range(self.threads)]
    self.all_done = Flag(machine.costs["signal_ns"])

  def children(self, t):
    if self.fanout == 0:
      return range(1, self.threads) if t == 0 else range(0)
    first = self.fanout * t + 1
    return range(min(first, self.threads),
                 min(first + self.fanout, self.threads))

  def parent(self, t):
    return 0 if self.fanout == 0 else (t - 1) // self.fanout

  def hand_over(self, now, core, t):
    """First to all, then the system calls for those that sleep."""
    for child in self.children(t):
      now = yield self.slots[child].change(now, core)
      if not self.asleep:
        self.ready[child].set(now, self.machine.simulation)
    if self.asleep:
      costs = self.machine.costs
      for child in self.children(t):
        self.machine.simulation.system_calls += 1
        self.ready[child].delay = costs["wake_delay_ns"]
        self.ready[child].set(now, self.machine.simulation)
        now = yield now + costs["wake_call_ns"]
    return now

  def finish(self, now, core, t):
    """Whoever ends last among a thread and its children ends with its parent."""
    if self.ends[t].value > 1:
      now = yield self.ends[t].change(now, core)
    while True:
      self.ends[t].value -= 1
      if self.ends[t].value > 0:
        return now
      if t == 0:
        self.all_done.set(now, self.machine.simulation)
        return now
      t = self.parent(t)
      now = yield self.ends[t].change(now, core)

  def run_tree(self, now, core, t):
    """What the caller takes back, with the threads that wait for it to be handed on."""
    self.taken[t] = True
    if not self.asleep:
      now = yield from self.hand_over(now, core, t)
    start = now
    now = yield from self.product.work(now, core, t)
    if self.asleep and now - start > WAKE_WORTH_NS:
      now = yield from self.hand_over(now, core, t)
    elif self.asleep:
      for child in self.children(t):
        now = yield from self.run_tree(now, core, child)
    now = yield from self.finish(now, core, t)
    return now

  def take_back(self, now):
    """What no worker has begun; for a tree, as long as anything is unfinished."""
    for t in range(1, self.threads):
      if self.fanout > 0 and self.ends[0].value == 0:
        break
      now = yield now + self.machine.line_ns(t, 0) / OVERLAPPED_LOADS
      if self.taken[t] or self.slots[t].owner == t:
        continue
      now = yield self.slots[t].change(now, 0)
      if not self.taken[t]:
        now = yield from self.run_tree(now, 0, t)
    return now

  def worker(self, t):
    now = yield
    now = yield self.ready[t]
    now = yield self.slots[t].change(now, t)
    if self.taken[t]:
      return
    self.taken[t] = True
    now = yield from self.hand_over(now, t, t)
    now = yield from self.product.work(now, t, t)
    yield from self.finish(now, t, t)

  def caller(self, finished):
    now = yield
    now = yield from self.hand_over(now, 0, 0)
    now = yield from self.product.work(now, 0, 0)
    now = yield from self.take_back(now)
    while self.fanout > 0 and self.ends[0].value > 0:
      now = yield self.all_done, now + TAKE_BACK_EVERY_NS
      now = yield from self.take_back(now)
    if self.ends[0].value > 0:
      now = yield self.all_done
    finished.append(now)


Result = collections.namedtuple("Result", "ns atomics system_calls busy")


def simulate(plan, machine, fanout, asleep=False, shares_packing=False):
  """The second of two calls: its nanoseconds, atomics and system calls of the one that
  hands over, and the share of the threads' time that was multiplication."""
  held = {}
  for _ in range(2):
    simulation = Simulation()
    machine.simulation = simulation
    product = Product(plan, machine, held, shares_packing)
    pool = Pool(product, machine, fanout, asleep)
    finished = []
    threads = [pool.caller(finished)]
    threads += [pool.worker(t) for t in range(1, plan["threads"])]
    for thread in threads:
      next(thread)
      simulation.at(0, thread)
    simulation.run()
    assert len(product.done) == len(plan["blocks"]), "blocks were left"
    held = product.had
  ns = finished[0]
  return Result(ns, simulation.atomics, simulation.system_calls,
                product.work_ns / (ns * plan["threads"]) if ns else 0)


def read_plans(program, args, threads):
  command = [program, f"--shapes={args.shapes}", f"--types={args.types}",
             f"--cached={args.cached}",
             "--threads=" + ",".join(map(str, threads))]
  for name in ("path", "l1d", "l2", "l3", "l3_sharing"):
    value = getattr(args, name)
    if value:
      command.append(f"--{name}={value}")
  done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
  plans = {}
  for line in done.stdout.splitlines():
    plan = json.loads(line)
    plans[plan["types"], plan["shape"], plan["limit"]] = plan
  return plans


def read_costs(source):
  if os.access(source, os.X_OK):
    return json.loads(subprocess.run([source], stdout=subprocess.PIPE, text=True,
                                     check=True).stdout)
  with open(source, encoding="utf-8") as file:
    return json.load(file)


def fanout_of(scheme):
  if scheme == "serial":
    return 0
  name, _, count = scheme.partition(":")
  if name != "tree" or not count.isdigit() or int(count) < 1:
    raise ValueError(f"--schemes: {scheme} is neither serial nor tree:N")
  return int(count)


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--plans", required=True)
  parser.add_argument("--before", help="a program `plans` of another version")
  parser.add_argument("--costs", required=True)
  parser.add_argument("--shapes", default="1024x1024x1024,3072x768x128")
  parser.add_argument("--types", default="f32,s8")
  parser.add_argument("--cached", default="yes", choices=("yes", "no"))
  parser.add_argument("--threads", default="2,8,16,32,64,96,128,192")
  parser.add_argument("--sockets", default="1,2")
  parser.add_argument("--schemes", default="tree:4")
  parser.add_argument("--asleep", action="store_true",
                      help="workers sleep when the call begins")
  parser.add_argument("--shared_packing", action="store_true",
                      help="blocks that need the same panels pack them together, "
                      "rather than each for itself")
  parser.add_argument("--path", default="")
  parser.add_argument("--l1d", type=int, default=0)
  parser.add_argument("--l2", type=int, default=0)
  parser.add_argument("--l3", type=int, default=32 << 20)
  parser.add_argument("--l3_sharing", type=int, default=8)
  parser.add_argument("--far_ns", type=float, default=110)
  parser.add_argument("--remote_ns", type=float, default=220)
  args = parser.parse_args()

  costs = read_costs(args.costs)
  schemes = args.schemes.split(",")
  counts = [int(n) for n in args.threads.split(",")]
  runs = [("", args.plans, scheme) for scheme in schemes]
  if args.before:
    runs = [("before, ", args.before, schemes[0]),
            ("after, ", args.plans, schemes[-1])]
  print(f"Costs measured on: {costs['cpu']}")
  print("| M x K x N, sockets, scheme | " + " | ".join(map(str, counts)) + " |")
  print("|---|" + "---:|" * len(counts))
  plans_of = {program: read_plans(program, args, [1] + counts)
              for program in {run[1] for run in runs}}
  for types in args.types.split(","):
    for shape in args.shapes.split(","):
      for sockets in map(int, args.sockets.split(",")):
        for label, program, scheme in runs:
          plans = plans_of[program]

          def ns(limit):
            plan = plans[types, shape, limit]
            machine = Machine(costs, max(limit, sockets), sockets,
                              args.l3_sharing, args.far_ns, args.remote_ns)
            return simulate(plan, machine, fanout_of(scheme), args.asleep,
                            args.shared_packing).ns

          alone = ns(1)
          speedups = [alone / ns(count) for count in counts]
          cells = [f"{s:.1f} ({100 * s / n:.0f}%)"
                   for s, n in zip(speedups, counts)]
          print(f"| {types} {shape}, {sockets}, {label}{scheme} | " +
                " | ".join(cells) + " |")
  return 0


if __name__ == "__main__":
  sys.exit(main())
