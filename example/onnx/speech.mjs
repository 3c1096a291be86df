// Writes inputs of openWakeWord's networks: sentences that espeak-ng speaks, as
// the package's own spectrogram and, for the timer's network, its embeddings,
// both computed by ONNX Runtime.
//
//   node speech.mjs <node_modules> <folder of models> <folder>
//
// <folder>/embedding gets 1x76x32x1 (frames of 10 ms, mel bands),
// <folder>/timer 1x34x96 (embeddings every 80 ms); the sentences of one voice
// are named calibration-...
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [modules, models, folder] = process.argv.slice(2);
const ort = createRequire(path.resolve(modules, 'index.js'))('onnxruntime-node');
const open = name =>
    ort.InferenceSession.create(path.join(models, `${name}.onnx`));
const spectrogram = await open('melspectrogram');
const embedding = await open('embedding_model');
const FRAMES = 76, BANDS = 32, STEP = 8, EMBEDDINGS = 34, CHANNELS = 96;

async function run(session, values, dims) {
  const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', values, dims)};
  return (await session.run(feeds))[session.outputNames[0]].data;
}

// 16,000 values a second of 16 bits, with silence at both ends.
function speak(text, voice, speed) {
  const wav = execFileSync('espeak-ng', ['--stdout', '-v', voice, '-s', speed, text],
                           {maxBuffer: 1 << 26});
  const rate = wav.readUInt32LE(24);
  const begin = wav.indexOf('data') + 8;
  const count = Math.floor((wav.length - begin) / 2);
  const silence = 16000;
  const spoken = Math.floor((count - 1) * 16000 / rate);
  const values = new Float32Array(Math.max(spoken, 32000) + 2 * silence);
  for (let i = 0; i < spoken; ++i) {
    const at = i * rate / 16000, left = Math.floor(at);
    const sample = k => wav.readInt16LE(begin + 2 * k);
    values[silence + i] = sample(left) * (left + 1 - at) + sample(left + 1) * (at - left);
  }
  return values;
}

function write(kind, name, values) {
  fs.mkdirSync(path.join(folder, kind), {recursive: true});
  fs.writeFileSync(path.join(folder, kind, `${name}.f32`),
                   Buffer.from(values.buffer, values.byteOffset, values.byteLength));
}

const sentences = [
  'set a one minute timer', 'set a five minute timer', 'start a ten minute timer',
  'set a timer for twenty minutes', 'set a thirty minute timer',
  'create a one hour timer', 'what is the weather today',
  'hello world, nobody asked for a timer',
];
const voices = ['en-us', 'en-gb', 'en-us+f3', 'en-gb+m5', 'en-us+f2'];
for (const [v, voice] of voices.entries()) {
  for (const [s, text] of sentences.entries()) {
    const name = `${v === 0 ? 'calibration' : 'sentence'}-${v}-${s}`;
    const sound = speak(text, voice, String(130 + 15 * v));
    // As the package has it.
    const mel = (await run(spectrogram, sound, [1, sound.length]))
                    .map(value => value / 10 + 2);
    const embeddings = [];
    for (let frame = 0; frame + FRAMES <= mel.length / BANDS; frame += STEP) {
      const window = mel.slice(frame * BANDS, (frame + FRAMES) * BANDS);
      const index = embeddings.length;
      embeddings.push(await run(embedding, window, [1, FRAMES, BANDS, 1]));
      if (index % 8 === 4) write('embedding', `${name}-${index}`, window);
    }
    for (let i = 0; i + EMBEDDINGS <= embeddings.length; i += 3) {
      const all = new Float32Array(EMBEDDINGS * CHANNELS);
      embeddings.slice(i, i + EMBEDDINGS).forEach((e, k) => all.set(e, k * CHANNELS));
      write('timer', `${name}-${i}`, all);
    }
  }
}
