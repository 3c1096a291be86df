// Times ONNX Runtime on the models of onnx_models.py, and adds what it finds to the
// JSON of bench/compare:
//
//   node onnxruntime.js NODE_MODULES MODELS COMPARE.json OUT.json
//
// NODE_MODULES has onnxruntime-node, MODELS is the directory of the models. Threads
// are as many as compare had. A figure is the median of 7 turns of at least 20 ms,
// by the wall, and not in turn with ours, as other peers' are: the machine must be
// idle. Shapes of which a call takes less than 20 empty rounds of the loop are left
// out. A result that differs from what it should be is noted, not an end: if it is
// right with weights of 7 bits, the runtime saturates, and these are timed.
'use strict';
const fs = require('fs');
const path = require('path');

const [nodeModules, models, compareFile, outFile] = process.argv.slice(2);
if (outFile === undefined) {
  console.error(
      'usage: node onnxruntime.js NODE_MODULES MODELS COMPARE.json OUT.json');
  process.exit(2);
}
const folder = path.join(path.resolve(nodeModules), 'onnxruntime-node');
const ort = require(folder);
const version = require(path.join(folder, 'package.json')).version;

// As fill() in onnx_models.py.
function fill(count) {
  const bytes = new Int8Array(count);
  for (let i = 0; i < count; ++i) {
    let mixed = Math.imul(i + 1, 2654435761 | 0);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 2246822519 | 0);
    bytes[i] = mixed >>> 24;
  }
  return bytes;
}

// Weights of few bits, by floats.
function hasGroups(model) {
  return model.types.includes('g');
}

// What the runtime should have for a row and column of ours.
function expected(model, shift, weights, x, row, col) {
  const zero = model.types === 's8u8' ? 128 : 0;
  // Bits of a weight in groups, or 0.
  const bits = hasGroups(model) ? Number(model.types[1]) : 0;
  const codes = 1 << bits;
  let sum = 0;
  for (let k = 0; k < model.depth; ++k) {
    const byte = weights[k * model.rows + row] >> shift;
    sum += (bits > 0 ? (byte & codes - 1) - codes / 2 : byte) *
        (x[col * model.depth + k] - zero);
  }
  if (bits > 0) return sum * (1 + row % 8) / (4 * codes);
  if (model.types === 'f32') return sum / 128;
  const value =
      Math.round(sum * (1 + row % 8) / 1024 / Math.sqrt(model.depth)) + zero;
  return Math.min(Math.max(value, zero - 128), zero + 127);
}

// "" or the first element that differs.
function difference(model, shift, x, dst) {
  const weights = fill(model.rows * model.depth);
  for (let i = 0; i < 20; ++i) {
    const row = (i * 7919) % model.rows, col = (i * 104729) % model.cols;
    const want = expected(model, shift, weights, x, row, col);
    const got = dst[col * model.rows + row];
    // Activations are whole numbers up to 128; those of groups are rounded.
    const tolerance = model.types === 'f32' ? 1e-4 * model.depth :
        hasGroups(model)                    ? 4 * Math.sqrt(model.depth) :
                                              1;
    if (!(Math.abs(want - got) <= tolerance)) {
      return `${got} at ${row}, ${col}, not ${want}`;
    }
  }
  return '';
}

const kinds = {
  s8: ['int8', Int8Array],
  s8u8: ['uint8', Uint8Array],
};
const floats = ['float32', Float32Array];

// The seconds of a product, and in what way its result differs, if it does.
async function measure(model, threads, shift = 0) {
  const file = shift === 0 ? model.file : model.file_7bits;
  const session = await ort.InferenceSession.create(
      path.join(models, file),
      {intraOpNumThreads: threads, interOpNumThreads: 1});
  const [kind, Elements] = kinds[model.types] || floats;
  const x = new Elements(fill(model.cols * model.depth));
  const feeds = {
    x: new ort.Tensor(kind, x, [model.cols, model.depth]),
    first: new ort.Tensor(
        kind, new Elements(model.cols * model.rows), [model.cols, model.rows]),
  };
  const run = async (rounds) => {
    feeds.rounds =
        new ort.Tensor('int64', BigInt64Array.from([BigInt(rounds)]), []);
    const start = process.hrtime.bigint();
    const results = await session.run(feeds);
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    return [seconds, results.dst.data];
  };
  const [, dst] = await run(1);
  let differs = difference(model, shift, x, dst);
  if (differs !== '') {
    console.log(`${file}: ${differs}`);
    if (shift === 0 && model.file_7bits !== undefined) {
      await session.release();
      const with7Bits = await measure(model, threads, 1);
      return {seconds: with7Bits.seconds,
              differs: with7Bits.differs || 'saturates'};
    }
    differs = 'wrong';
  }
  let rounds = 1;
  while ((await run(rounds))[0] < 0.02) rounds *= 2;
  const times = [];
  for (let i = 0; i < 7; ++i) times.push((await run(rounds))[0] / rounds);
  await session.release();
  return {seconds: times.sort((a, b) => a - b)[3], differs};
}

async function main() {
  const compare = JSON.parse(fs.readFileSync(compareFile));
  const all = JSON.parse(fs.readFileSync(path.join(models, 'models.json')));
  const loop = {};
  let added = 0;
  for (const model of all) {
    const shape = `${model.rows}x${model.depth}x${model.cols}`;
    const {seconds, differs} = await measure(model, compare.threads);
    if (shape === '1x1x1') loop[model.types] = seconds;
    const gops =
        2 * model.rows * model.depth * model.cols / seconds / 1e9;
    const short = seconds < 20 * loop[model.types];
    console.log(`${model.types} ${shape}: ${gops.toFixed(1)} GOP/s` +
        (differs ? `, differs: ${differs}` : '') + (short ? `, left out: a round of the loop takes ${
            (1e6 * loop[model.types]).toFixed(1)} us` : ''));
    if (short) continue;
    for (const result of compare.results) {
      if (result.types !== model.types || result.shape !== shape ||
          !result.cached) {
        continue;
      }
      const round = (value) => Number(value.toPrecision(4));
      result.beside.push(Object.assign({
        peer: 'onnxruntime',
        gops: round(gops),
        ratio: round(result.gops / gops),
        agrees: differs === '',
      }, differs ? {differs} : {}));
      ++added;
    }
  }
  if (added === 0) throw new Error('no shape of the models is in the JSON');
  compare.peers.push({name: 'onnxruntime', description: version});
  fs.writeFileSync(outFile, JSON.stringify(compare));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
