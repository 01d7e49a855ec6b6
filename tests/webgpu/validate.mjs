// Checks the shaders of a module of format "wgsl" with the compiler of Chromium: each as a module
// and as a pipeline. Prints a line of JSON for each shader that is refused: {"shader": number,
// "messages": [...]}, and at the end the number of all.
//
//   npm ci --prefix tests/webgpu && node tests/webgpu/validate.mjs MODULE
import { readFileSync } from 'node:fs';
import { create } from 'webgpu';

function* shaders(bytes) {
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32LE(at);
    yield bytes.toString('utf8', at + 4, at + 4 + length);
    at += 4 + length;
  }
}

// Kept: what belongs to it ends with it.
globalThis.gpu = create(['backend=null']);
globalThis.adapter = await globalThis.gpu.requestAdapter();
// Without requests a device has WebGPU's default limits and no features.
const device = await globalThis.adapter.requestDevice();

async function complaints(code) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const info = await module.getCompilationInfo();
  const messages = info.messages.map(
    (one) => `${one.type} in line ${one.lineNum}: ${one.message}\n  ${code.split('\n')[one.lineNum - 1]}`);
  const wrong = await device.popErrorScope();
  if (wrong && messages.length === 0) messages.push(wrong.message);
  if (messages.length > 0) return messages;
  device.pushErrorScope('validation');
  device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const refused = await device.popErrorScope();
  return refused ? [refused.message] : [];
}

let number = 0;
const known = new Set();
for (const code of shaders(readFileSync(process.argv[2]))) {
  const messages = known.has(code) ? [] : await complaints(code);
  known.add(code);
  if (messages.length > 0) console.log(JSON.stringify({ shader: number, messages }));
  ++number;
}
console.log(number);
device.destroy();
delete globalThis.adapter;
delete globalThis.gpu;
