"""What bench/record.py lets pass: record_test.py <repository>."""
import contextlib
import io
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], 'bench'))
import record

VERSIONS = {'compiler': 'c++ 12', 'libc': 'libc 2.36'}
CALLS = {'avx2 s8 rcc none 64x64x64': 1000, 'avx2 f32 rcc none 64x64x64': 2000}
ENTRY = {'commit': 'f' * 40, 'versions': VERSIONS, 'calls': CALLS}


def passes(entries, calls, versions=VERSIONS, reasons=()):
  record.read = lambda target: entries
  with contextlib.redirect_stdout(io.StringIO()):
    return record.check('x86', calls, versions, list(reasons))


def with_call(number):
  return {**CALLS, 'avx2 s8 rcc none 64x64x64': number}


assert passes([], CALLS)
assert passes([ENTRY], CALLS)
assert passes([ENTRY], with_call(1010))
assert passes([ENTRY], with_call(500))
assert not passes([ENTRY], with_call(1011))
# A failure names the commands that follow.
said = io.StringIO()
with contextlib.redirect_stdout(said):
  record.check('x86', with_call(1011), VERSIONS, [])
for command in ("--trailer 'Instructions-Rise: ", 'bench/record.sh\n',
                "echo 's8 rcc none 64 64 64' | valgrind ", 'mul_calls avx2\n'):
  assert command in said.getvalue(), said.getvalue()
# Of several, the last one.
assert not passes([{**ENTRY, 'calls': with_call(2000)}, ENTRY], with_call(1011))
assert passes([ENTRY], with_call(1011), reasons=['a check of strides'])
assert passes([ENTRY], with_call(1011), versions={**VERSIONS, 'compiler': 'c++ 13'})
# New calls, and calls that are counted no more.
assert passes([ENTRY], {'avx2 f64 rcc none 64x64x64': 1})

# Of compare's JSON: a number for each other library, and which ones were not there.
said = io.StringIO()
with contextlib.redirect_stdout(said):
  ratios = record.ratios_of({
      'cpu': 'a CPU', 'peers': [{'name': 'eigen', 'description': '3.4.0'}],
      'results': [{'types': 'f32', 'orders': 'rcc', 'cached': cached, 'shape': '1x2x3',
                   'beside': beside}
                  for cached, beside in (
                      (False, [{'peer': 'eigen', 'gops': 1, 'ratio': 1.5}]),
                      (True, []))]})
assert ratios == {'cpu': 'a CPU', 'peers': {'eigen': '3.4.0'},
                  'calls': {'eigen f32 rcc none 1x2x3': 1.5}}, ratios
assert 'no ratios to openblas' in said.getvalue()
assert 'eigen' not in said.getvalue()
# They are compared with no limit.
assert passes([{**ENTRY, 'ratios': ratios}], CALLS)
