#!/usr/bin/env python3
"""Tests of the simulation of bench/scaling.py against cases worked out by hand.

scaling_test.py SOURCE_DIR
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.abspath(sys.argv.pop(1)), "bench"))
import scaling  # pylint: disable=wrong-import-position


def plan_of(threads, blocks, rhs="packed"):
  """A plan of so many blocks in a row, 10 x 10 of depth 1."""
  return {"shape": "", "types": "t", "threads": threads, "panels": [1, 1],
          "depth": 1, "lhs": {"source": "packed", "element_bytes": 1},
          "rhs": {"source": rhs, "element_bytes": 1},
          "blocks": [[i, 0, 10, 10] for i in range(blocks)]}


def costs_of(atomic=0, signal=0, call=0, delay=0, pack=0):
  """A block takes 100 ns."""
  return {"cpu": "none", "wake_call_ns": call, "wake_delay_ns": delay,
          "signal_ns": signal, "atomic_ns": atomic, "l3_bytes_per_ns": 0,
          "types": {"t": {"macs_per_ns": 1,
                          "pack_bytes_per_ns": {"lhs": pack, "rhs": pack}}}}


def run(plan, costs, fanout, asleep=False, sockets=1, shares_packing=False):
  machine = scaling.Machine(costs, max(plan["threads"], sockets), sockets)
  return scaling.simulate(plan, machine, fanout, asleep, shares_packing)


class NothingCosts(unittest.TestCase):

  def test_even_blocks_scale_exactly(self):
    for fanout in (0, 2, 4):
      for threads in (1, 2, 8, 192):
        alone = run(plan_of(1, 2 * threads), costs_of(), fanout).ns
        self.assertEqual(alone, 200 * threads)
        result = run(plan_of(threads, 2 * threads), costs_of(), fanout)
        self.assertEqual(alone / result.ns, threads)
        self.assertEqual(result.busy, 1)

  def test_an_uneven_end_is_waited_for(self):
    for fanout in (0, 4):
      self.assertEqual(run(plan_of(2, 3), costs_of(), fanout).ns, 200)
      self.assertEqual(run(plan_of(192, 193), costs_of(), fanout).ns, 200)

  def test_a_part_that_all_need_is_packed_once(self):
    for source, ns in (("packed", 100), ("by_block", 110), ("once", 110)):
      self.assertEqual(run(plan_of(4, 4, source), costs_of(pack=1), 4).ns, ns)
    # By each of two blocks, or by the first.
    for source, ns in (("packed", 200), ("by_block", 220), ("once", 210)):
      self.assertEqual(run(plan_of(1, 2, source), costs_of(pack=1), 0).ns, ns)


class SharedPacking(unittest.TestCase):
  """A part of 10 bytes that takes 10 ns to pack."""

  def test_threads_pack_a_slice_each(self):
    plan = plan_of(4, 4, "by_block")
    self.assertEqual(run(plan, costs_of(pack=1), 4, shares_packing=True).ns,
                     10 / 4 + 100)

  def test_they_wait_for_the_last_and_read_the_others(self):
    # The workers come after 7, pack 2.5, and see each other's end 7 later; 7.5 bytes
    # of the others at 0.5 a ns.
    costs = costs_of(pack=1, signal=7)
    costs["l3_bytes_per_ns"] = 0.5
    self.assertEqual(
        run(plan_of(4, 4, "by_block"), costs, 4, shares_packing=True).ns,
        7 + 2.5 + 7 + 15 + 100)

  def test_a_thread_alone_packs_all(self):
    # Once for both blocks.
    plan = plan_of(1, 2, "by_block")
    self.assertEqual(run(plan, costs_of(pack=1), 0, shares_packing=True).ns, 210)


class HandingOver(unittest.TestCase):

  def test_sleepers_are_woken_one_after_the_other(self):
    # Worker 2 is woken at 40 and runs at 60; its block ends at 160. The caller's
    # own, 80 to 180, ends last.
    costs = costs_of(call=40, delay=20)
    result = run(plan_of(3, 3), costs, 0, asleep=True)
    self.assertEqual(result.ns, 180)
    self.assertEqual(result.system_calls, 2)

  def test_a_tree_wakes_by_level(self):
    # 1: 0 to 100, woken at 20; it wakes 3 and 4, 20 to 100, has its block until
    # 200; 4 is woken at 60, runs at 80. The caller: 80 to 180.
    costs = costs_of(call=40, delay=20)
    result = run(plan_of(5, 5), costs, 2, asleep=True)
    self.assertEqual(result.ns, 200)
    self.assertEqual(result.system_calls, 4)

  def test_a_caller_does_what_no_worker_has_begun(self):
    costs = costs_of(call=1, delay=10000)
    result = run(plan_of(2, 2), costs, 0, asleep=True)
    self.assertEqual(result.ns, 201)

  def test_a_line_of_another_core_takes_its_time(self):
    # The caller's exchange 10, signal 7, the worker's exchange 10, the parameters'
    # line 10, launch 50, block 100, the counter's line 10, the end's line 10, and
    # a signal. The caller has ended before.
    costs = costs_of(atomic=10, signal=7)
    result = run(plan_of(2, 2), costs, 0)
    self.assertEqual(result.ns, 10 + 7 + 10 + 10 + 50 + 100 + 10 + 10 + 7)

  def test_counts_atomics(self):
    # For each worker an exchange by the caller, one by itself, and its end.
    self.assertEqual(run(plan_of(8, 8), costs_of(), 0).atomics, 3 * 7)
    # For two more blocks all draw from the counter at the same time, once each.
    self.assertEqual(run(plan_of(8, 10), costs_of(), 0).atomics, 3 * 7 + 8)
    # In a tree also the ends of three workers that have children: 1 and 2 have two,
    # 3 has one.
    self.assertEqual(run(plan_of(8, 8), costs_of(), 2).atomics, 3 * 7 + 3)

  def test_two_sockets_are_farther_apart(self):
    costs = costs_of(atomic=10, signal=7)
    self.assertGreater(run(plan_of(64, 64), costs, 4, sockets=2).ns,
                       run(plan_of(64, 64), costs, 4).ns)


class Schemes(unittest.TestCase):

  def test_names(self):
    self.assertEqual(scaling.fanout_of("serial"), 0)
    self.assertEqual(scaling.fanout_of("tree:4"), 4)
    for name in ("tree", "tree:0", "tree:x", "star"):
      with self.assertRaises(ValueError):
        scaling.fanout_of(name)


if __name__ == "__main__":
  unittest.main()
