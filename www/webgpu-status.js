/**
 * The state of WebGPU on this page: whether it works and on what adapter, or else why not and what to do. Takes what residua found; returns
 * a state and sentences.
 */
import { advice } from './webgpu-advice.js';

/** The reason for the missing device, from what the browser shows. */
async function causeOf() {
  if (!isSecureContext) return 'insecure';
  if (navigator.gpu === undefined || navigator.gpu === null) return 'no-navigator-gpu';
  const adapter = await navigator.gpu.requestAdapter().catch(() => null);
  return adapter === null || adapter === undefined ? 'no-adapter' : 'no-device';
}

/** An adapter in words. */
export function nameOf({ vendor, architecture, description }) {
  return [vendor, architecture, description].filter((word) => word !== '').join(' ') || 'an adapter without a name';
}

/**
 * `headline` is the first of `sentences`; `steps` are what a visitor can try; `cause` is null where WebGPU works, else the kind of failure.
 * @param {() => Promise<import('residua').GpuContext>} openContext
 * @returns {Promise<{ context: import('residua').GpuContext | null, state: 'good' | 'warning' | 'bad', cause: string | null, headline:
 *   string, sentences: string[], steps: string[] }>}
 */
export async function webGpuStatus(openContext) {
  const status = (state, sentences, more) => ({ context: null, state, cause: null, steps: [], headline: sentences[0], sentences, ...more });
  try {
    const context = await openContext();
    const headline = `WebGPU works here, on ${nameOf(context.adapter)}.`;
    if (!context.adapter.isSoftware) return status('good', [headline], { context });
    return status('warning', [headline, 'That is a software renderer: results are right, times say nothing about a GPU.'], { context });
  } catch (error) {
    const words = error?.message ?? String(error);
    if (error?.code !== 'gpu-unavailable') return status('bad', [`WebGPU could not be started: ${words}`], { cause: 'failed' });
    const cause = await causeOf();
    const { why, steps } = advice(cause, navigator.userAgent);
    return status('bad', ['WebGPU does not work here.', cause === 'no-device' ? `${why} (${words})` : why, ...steps, 'Until then everything runs on the CPU.'], { cause, steps });
  }
}

/** Shows a status in an element of class "status". */
export function showStatus(element, { state, sentences }) {
  element.dataset.state = state;
  element.replaceChildren(...sentences.map((sentence) => Object.assign(document.createElement('p'), { textContent: sentence })));
}
