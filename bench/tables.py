#!/usr/bin/env python3
"""Writes the tables of a Markdown page from measurements.

tables.py [--check] PAGE...

A page marks the place of a table with a pair of comments,

    <!-- table: KIND FOLDER [KEY=VALUE...] -->
    <!-- end of table -->

and what is between them is replaced by the table that KIND makes of the JSON in
FOLDER, which is relative to the page. --check changes nothing and fails if a
table, or a picture that the page shows of such a folder, was not made of the JSON
that is there (plot.py notes in a picture what it was drawn from). Kinds:

  about           machine, compiler, commit and date
  gops            GOP/s by shape, types and whether the lhs is cached
                  (threads=, shapes=a,b to choose; share=yes: with the share of the
                  peak, or of the read bandwidth where that is higher;
                  scaling=N: with how many times as fast N threads are;
                  others=yes: then the other paths' percent of their peaks)
  peaks           of the inner steps, and read bandwidths
  means           geometric means of our speed / theirs (threads=, file=)
  ratios          our speed / theirs by shape (threads=, types=a,b, file=)
  types           our GOP/s by shape and types in such a comparison, and the
                  ratio to the best of theirs (file=)
"""

import argparse
import glob
import os
import re
import struct
import sys

from read_results import (PATHS, PEER_NAMES, TYPE_NAMES, Results, in_order,
                          means_of, paths_of, peer_label, peers_of, plural,
                          results_by_shape)

PATH_TITLES = {
    "avx2": "AVX2", "avxvnni": "AVX-VNNI", "avx512": "AVX-512",
    "avx512vnni": "AVX-512-VNNI", "avx512bf16": "AVX512-BF16", "amx": "AMX"
}


def table(columns, rows):
  lines = ["| " + " | ".join(columns) + " |",
           "|---|" + "---:|" * (len(columns) - 1)]
  lines += ["| " + " | ".join(row) + " |" for row in rows]
  return lines


def number(value):
  """Three digits."""
  if value is None:
    return ""
  digits = 0 if value >= 100 else 1 if value >= 10 else 2
  return f"{value:.{digits}f}"


def cached_text(cached):
  return "cached" if cached else "not cached"


def best_cases(results, threads):
  """Those of the best path measured for their types."""
  cases = [c for c in results.cases if c.threads == threads]
  best = {t: paths_of([c for c in cases if c.types == t])[-1]
          for t in in_order(c.types for c in cases)}
  return [c for c in cases if c.path == best[c.types]]


def about(results, _):
  a = results.about
  lines = [f"{a['cpu']}; {a['compiler']}; commit {a['commit']}; {a['date']}."]
  return lines + ([a["note"]] if a["note"] else [])


def gops(results, options):
  cases = best_cases(results, int(options.get("threads", 1)))
  shapes = (options["shapes"].split(",") if "shapes" in options else
            in_order(c.shape for c in cases))
  measured = in_order((c.types, c.path, c.cached) for c in cases)
  columns = [(t, p, c) for t, p in in_order(m[:2] for m in measured)
             for c in (True, False) if (t, p, c) in measured]
  by_key = {(c.shape, c.types, c.cached): c for c in cases}
  more_threads = {c[:5]: c for c in results.cases
                  if c.threads == int(options.get("scaling", 0))}

  others = (shares_of_others(results.cases, {c[:2] for c in columns})
            if options.get("others") == "yes" else [])

  def cell(case):
    if case is None:
      return ""
    notes = []
    if options.get("share") == "yes" and case.share is not None:
      notes.append(f"{100 * case.read_share:.0f}% of bandwidth"
                   if (case.read_share or 0) > case.share else
                   f"{100 * case.share:.0f}%")
    faster = more_threads.get(
        case._replace(threads=int(options.get("scaling", 0)))[:5])
    if faster is not None:
      notes.append(f"{faster.gops / case.gops:.2f}x")
    return number(case.gops) + (f" ({'; '.join(notes)})" if notes else "")

  return table(
      ["M x K x N"] + [
          f"{TYPE_NAMES[t]} {PATH_TITLES.get(p, p)}, {cached_text(c)}"
          for t, p, c in columns
      ] + [title for title, _ in others],
      [[s] + [cell(by_key.get((s, t, c))) for t, _, c in columns] +
       [share(s) for _, share in others] for s in shapes])


def shares_of_others(cases, best):
  """Columns of percents of the peak, cached/not cached, of paths not in `best`."""
  cases = [c for c in cases if c.threads == 1 and (c.types, c.path) not in best]
  by_key = {(c.shape, c.types, c.path, c.cached): c for c in cases}

  def cell(shape, types, path):
    pair = [by_key.get((shape, types, path, c)) for c in (True, False)]
    return "/".join(
        "-" if c is None or c.share is None else f"{100 * c.share:.0f}"
        for c in pair)

  return [(f"{TYPE_NAMES[t]} {PATH_TITLES.get(p, p)}, %",
           lambda shape, t=t, p=p: cell(shape, t, p))
          for t in in_order(c.types for c in cases) for p in reversed(PATHS)
          if any((c.types, c.path) == (t, p) for c in cases)]


def peaks(results, _):
  threads = sorted({p["threads"] for p in results.peak["peaks"]})
  by_key = {(p["name"], p["fed_from"], p["threads"]): p["gops"]
            for p in results.peak["peaks"]}
  feeds = ("registers", "L1")
  columns = [(f, t) for t in threads for f in feeds]
  lines = table(["inner step, GOP/s"] + [f"{f}, {plural(t)}" for f, t in columns],
                [[n] + [number(by_key.get((n, f, t))) for f, t in columns]
                 for n in in_order(p["name"] for p in results.peak["peaks"])])
  by_size = {(b["working_set_bytes"], b["threads"]): b["gbps"]
             for b in results.peak["read_bandwidth"]}
  lines.append("")
  return lines + table(
      ["read bandwidth, GB/s"] + [plural(t) for t in threads],
      [[size_text(s)] + [number(by_size[(s, t)]) for t in threads]
       for s in in_order(s for s, _ in by_size)])


def size_text(size):
  return f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"


def comparison_of(results, options):
  threads = int(options.get("threads", 1))
  name = options.get("file")
  for comparison in results.comparisons:
    if name in (None, comparison["file"]) and comparison["threads"] == threads:
      return comparison
  sys.exit(f"no comparison with {plural(threads)}")


def means(results, options):
  comparison = comparison_of(results, options)
  found = {(m.list, m.peer, m.types, m.cached): m
           for m in means_of(comparison)}
  columns = [c for c in (True, False) if any(k[3] == c for k in found)]

  def cell(mean):
    return "" if mean is None else (
        f"{mean.ratio:.2f}; {mean.worst:.2f} at {mean.shape}")

  return table(["library", "shapes", "types"] +
               [f"{cached_text(c)}: mean; worst" for c in columns],
               [[peer_label(comparison, p), l, TYPE_NAMES[t]] +
                [cell(found.get((l, p, t, c))) for c in columns]
                for l, p, t in sorted(in_order(k[:3] for k in found),
                                      key=lambda k: k[:2])])


def ratio_text(beside):
  return f"{beside['ratio']:.2f}" + (
      f", differs: {beside['differs']}" if "differs" in beside else "")


def ratios(results, options):
  comparison = comparison_of(results, options)
  chosen = options["types"].split(",")
  rows = [r for t in chosen for r in results_by_shape(comparison, t)]
  found = {(r["shape"], r["types"], b["peer"], r["cached"]): ratio_text(b)
           for r in rows for b in r["beside"]}
  columns = [(t, p, c) for t in chosen for p in peers_of(comparison, t)
             for c in (True, False) if any(k[1:] == (t, p, c) for k in found)]

  def title(types, peer, cached):
    prefix = f"{TYPE_NAMES[types]}: " if len(chosen) > 1 else ""
    return f"{prefix}{PEER_NAMES.get(peer, peer)}, {cached_text(cached)}"

  return table(["M x K x N"] + [title(*c) for c in columns],
               [[s] + [found.get((s, *c), "") for c in columns]
                for s in in_order(r["shape"] for r in rows)])


def types(results, options):
  comparison = comparison_of(results, options)
  found = {(r["shape"], r["types"]): r for r in comparison["results"]}
  columns = [t for t in TYPE_NAMES if any(k[1] == t for k in found)]

  def cell(result):
    if result is None:
      return ""
    ratio = min((b["ratio"] for b in result["beside"]), default=None)
    return number(result["gops"]) + ("" if ratio is None else f" ({ratio:.2f})")

  return table(["M x K x N"] + [TYPE_NAMES[t] for t in columns],
               [[s] + [cell(found.get((s, t))) for t in columns]
                for s in in_order(r["shape"] for r in comparison["results"])])


KINDS = {f.__name__: f for f in (about, gops, peaks, means, ratios, types)}
MARKED = re.compile(
    r"(<!-- table: (\w+) (\S+)((?: \w+=\S+)*) -->\n)(.*?)"
    r"(<!-- end of table -->\n)", re.DOTALL)
PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+\.png)\)")


def read_folder(folder):
  return Results(sorted(glob.glob(os.path.join(folder, "*.json"))))


def with_tables(page, text, used):
  """The page's text with new tables; notes their folders in `used`."""
  def make(match):
    start, kind, folder, options, _, end = match.groups()
    folder = os.path.normpath(os.path.join(os.path.dirname(page), folder))
    if folder not in used:
      used[folder] = read_folder(folder)
    options = dict(o.split("=", 1) for o in options.split())
    if kind not in KINDS:
      sys.exit(f"{page}: no kind of table {kind}")
    lines = KINDS[kind](used[folder], options)
    return start + "\n" + "\n".join(lines) + "\n\n" + end

  return MARKED.sub(make, text)


def png_texts(name):
  """The keywords and texts of a PNG file's tEXt chunks."""
  with open(name, "rb") as file:
    content = file.read()
  texts, position = {}, 8
  while position < len(content):
    length, kind = struct.unpack_from(">I4s", content, position)
    if kind == b"tEXt":
      data = content[position + 8:position + 8 + length]
      keyword, _, text = data.partition(b"\0")
      texts[keyword.decode()] = text.decode("latin-1")
    position += 12 + length
  return texts


def stale_pictures(page, text, used):
  """Pictures of folders in `used` that were drawn from other JSON."""
  stale = []
  for name in PICTURE.findall(text):
    picture = os.path.normpath(os.path.join(os.path.dirname(page), name))
    results = used.get(os.path.dirname(picture))
    if results is None:
      continue
    sources = png_texts(picture).get("Source", "").split()
    if not sources or not set(sources) <= set(results.digests.values()):
      stale.append(picture)
  return stale


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--check", action="store_true")
  parser.add_argument("pages", nargs="+", metavar="PAGE")
  args = parser.parse_args()
  wrong = 0
  for page in args.pages:
    with open(page, encoding="utf-8") as file:
      text = file.read()
    used = {}
    new = with_tables(page, text, used)
    if not used:
      sys.exit(f"{page}: no table is marked")
    if not args.check:
      with open(page, "w", encoding="utf-8") as file:
        file.write(new)
      continue
    if new != text:
      pairs = zip(text.splitlines(), new.splitlines())
      old, now = next((p for p in pairs if p[0] != p[1]), ("", "other length"))
      print(f"{page}: a table is not of the JSON:\n  {old}\nshould be\n  {now}")
      wrong += 1
    for picture in stale_pictures(page, text, used):
      print(f"{picture}: drawn from other JSON; draw it anew with plot.py")
      wrong += 1
  return 1 if wrong else 0


if __name__ == "__main__":
  sys.exit(main())
