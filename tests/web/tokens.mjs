// @ts-check
// The demo model's tokens on both devices of a page.
// @ts-ignore: the address on the test's server
import { load } from '/tapml.mjs';

export default async function run() {
  /** @type {Record<string, any>} */
  const results = {};
  for (const device of ['wasm', 'webgpu']) {
    const begin = performance.now();
    /** @type {Record<string, any>} */
    const stages = {};
    const model = await load(['/webgpu', '/wasm'], { device, onProgress: (/** @type {any} */ p) => {
      stages[p.stage] = [p.done, p.total];
    } });
    const loaded = performance.now();
    let streamed = '';
    const result = await model.generate('In the beginning', { maxTokens: 64,
      onToken: (/** @type {string} */ text) => {
        streamed += text;
      } });
    results[device] = { ...result, streamed, stages, device: model.device, load: loaded - begin,
      generate: performance.now() - loaded, cached: model.cachedBytes, bytes: model.bytes };
    model.unload();
  }
  return results;
}
