// What ONNX Runtime makes of inputs, for comparison:
//
//   node reference.mjs <node_modules> <model.onnx> <1x3x48x192> <folder>
//
// For each <name>.f32 of the folder, raw little-endian floats, writes all
// outputs, one behind the other, to <name>.ref; and prints the milliseconds of
// the fastest of twenty runs of the last of them, on one thread.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [modules, model, shape, folder] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'index.js'));
const ort = require('onnxruntime-node');

const session = await ort.InferenceSession.create(
    model, {intraOpNumThreads: 1, interOpNumThreads: 1});
const dims = shape.split('x').map(Number);
let best = Infinity;
const files = fs.readdirSync(folder).filter(f => f.endsWith('.f32')).sort();
for (const file of files) {
  const bytes = fs.readFileSync(path.join(folder, file));
  const values = new Float32Array(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', values, dims)};
  const runs = file === files.at(-1) ? 20 : 1;
  let outputs;
  for (let run = 0; run < runs; ++run) {
    const start = performance.now();
    outputs = await session.run(feeds);
    if (runs > 1) best = Math.min(best, performance.now() - start);
  }
  const raw = session.outputNames.map(
      name => Buffer.from(new Uint8Array(
          outputs[name].data.buffer, outputs[name].data.byteOffset,
          outputs[name].data.byteLength)));
  fs.writeFileSync(
      path.join(folder, file.replace(/f32$/, 'ref')), Buffer.concat(raw));
}
console.log(best.toFixed(3));
