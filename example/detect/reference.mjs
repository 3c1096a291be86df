// The boxes that @vladmandic/face-api's detectors find, computed by the package
// itself on TensorFlow.js's plain CPU backend:
//
//   node reference.mjs <package folder> <PPM>... > reference.txt
//
// One line a box: network, photograph, score, left, top, right, bottom in pixels
// of the photograph. Takes minutes.
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, ...photos] = globalThis.process.argv.slice(2);
// The bundle is one for browsers, and fails where it sees node.
const {process} = globalThis;
globalThis.process = undefined;
const faceapi = await import(
    pathToFileURL(path.resolve(folder, 'dist/face-api.esm.js')).href);
globalThis.process = process;
const {tf} = faceapi;
tf.env().setPlatform('none', {
  isTypedArray: value => ArrayBuffer.isView(value),
  now: () => performance.now(),
});
// Types of pictures that it knows: these are given as tensors.
class None {}
faceapi.env.setEnv(
    {Canvas: None, CanvasRenderingContext2D: None, Image: None,
     ImageData: None, Video: None});
await tf.setBackend('cpu');
await tf.ready();

const size = 416;
const networks = [
  ['tiny_face_detector', new faceapi.TinyFaceDetector(),
   (net, input) => net.detect(input, {inputSize: size, scoreThreshold: 0.5})],
  ['ssd_mobilenetv1', new faceapi.SsdMobilenetv1(),
   (net, input) => net.locateFaces(input, {minConfidence: 0.5})],
];
for (const [network, net, detect] of networks) {
  const model = path.join(folder, `model/${network}_model`);
  const manifest =
      JSON.parse(fs.readFileSync(`${model}-weights_manifest.json`))[0].weights;
  const bytes = fs.readFileSync(`${model}.bin`);
  net.loadFromWeightMap(tf.io.decodeWeights(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
      manifest));
  for (const photo of photos) {
    // "P6 416 416 255" and a line feed, by words.
    const ppm = fs.readFileSync(photo);
    const pixels = ppm.subarray(ppm.length - size * size * 3);
    const input = tf.tensor4d(Float32Array.from(pixels), [1, size, size, 3]);
    const name = path.basename(photo, '.ppm');
    for (const {score, box} of await detect(net, input)) {
      const values = [box.left, box.top, box.right, box.bottom];
      console.log([network, name, score.toFixed(5),
                   ...values.map(v => v.toFixed(3))].join(' '));
    }
  }
}
