#!/usr/bin/env python3
"""Makes of the JSON of a sweep what is worth keeping.

condense.py --out DIR [--cpu TEXT] [--compared_at ID]
            [--commit ID [--note TEXT]] FILE...

Of mul_bench the medians of repeated runs, without the host's name; of compare one
file for each number of threads. Writes mul_bench.json, peak.json and
compare_<n>threads.json to DIR, and with --commit about.json. --compared_at: the commit
that compare_<n>threads.json is of, if it is not that of about.json.
"""

import argparse
import datetime
import json
import os

KEPT = ("run_name", "aggregate_name", "label", "GOP/s", "GB/s", "peak_GOP/s",
        "share", "read_GB/s", "read_share")


def rounded(value):
  if isinstance(value, float):
    return float(f"{value:.4g}")
  return value


def write(out, name, header, lists):
  """An object: the header's entries, then lists with an element a line."""
  parts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in header.items()]
  for key, elements in lists.items():
    lines = ",\n  ".join(json.dumps(e) for e in elements)
    parts.append(f"{json.dumps(key)}: [\n  {lines}]")
  with open(os.path.join(out, name), "w", encoding="utf-8") as file:
    file.write("{" + ",\n ".join(parts) + "}\n")


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--out", required=True)
  parser.add_argument("--cpu", help="more exactly than the files say")
  parser.add_argument("--commit")
  parser.add_argument("--compared_at", metavar="ID",
                      help="the commit that the comparison is of")
  parser.add_argument("--note", default="", help="what else to know")
  parser.add_argument("files", nargs="+", metavar="JSON")
  args = parser.parse_args()
  os.makedirs(args.out, exist_ok=True)
  benchmarks, comparisons, compiler = [], {}, ""
  for name in args.files:
    with open(name, encoding="utf-8") as file:
      data = json.load(file)
    if "benchmarks" in data:
      benchmarks += [{k: rounded(e[k]) for k in KEPT if k in e}
                     for e in data["benchmarks"]
                     if e.get("aggregate_name", "median") == "median"]
    elif "results" in data:
      merged = comparisons.setdefault((data["threads"], data["isa"]), data)
      if merged is not data:
        merged["results"] += data["results"]
        known = [p["name"] for p in merged["peers"]]
        merged["peers"] += [p for p in data["peers"] if p["name"] not in known]
    else:
      compiler = data["compiler"]
      write(args.out, "peak.json",
            {"cpu": args.cpu or data["cpu"], "compiler": compiler},
            {k: data[k] for k in ("peaks", "read_bandwidth")})
  if benchmarks:
    write(args.out, "mul_bench.json", {}, {"benchmarks": benchmarks})
  today = datetime.date.today().isoformat()
  when = ({"commit": args.compared_at, "date": today} if args.compared_at else
          {})
  for (threads, isa), data in comparisons.items():
    compiler = data["compiler"]
    write(args.out, f"compare_{threads}threads{'_' if isa else ''}{isa}.json",
          {"cpu": args.cpu or data["cpu"], "compiler": compiler, "isa": isa,
           "threads": threads, **when},
          {k: data[k] for k in ("peers", "results")})
  if args.commit:
    write(args.out, "about.json",
          {"cpu": args.cpu, "compiler": compiler, "commit": args.commit,
           "date": today, "note": args.note}, {})


if __name__ == "__main__":
  main()
