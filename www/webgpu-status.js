/**
 * What a page says about WebGPU: whether it works here and on what, and if not, why and what to do. Takes what residua found out; gives a state and
 * sentences.
 */

/** What a reader can do about missing WebGPU, from what the browser itself reveals. */
function advice() {
  if (!isSecureContext) return 'WebGPU takes a secure page: open this one over https, or from localhost.';
  if (navigator.gpu === undefined) {
    return 'Use Chrome or Edge 113 or newer, Safari 26 or newer, or Firefox 141 or newer on Windows (145 on a Mac with Apple silicon). In Chrome on Linux it may have to be switched on at chrome://flags/#enable-unsafe-webgpu.';
  }
  return 'See that hardware acceleration is on in the browser’s settings and that the graphics driver is up to date; chrome://gpu or about:support tells more.';
}

/**
 * @param {() => Promise<import('residua').GpuContext>} openContext
 * @returns {Promise<{ context: import('residua').GpuContext | null, state: 'good' | 'warning' | 'bad', sentences: string[] }>}
 */
export async function webGpuStatus(openContext) {
  try {
    const context = await openContext();
    const { vendor, architecture, description, isSoftware } = context.adapter;
    const name = [vendor, architecture, description].filter((word) => word !== '').join(' ') || 'an adapter without a name';
    if (!isSoftware) return { context, state: 'good', sentences: [`WebGPU works here, on ${name}.`] };
    return { context, state: 'warning', sentences: [`WebGPU works here, on ${name}.`, 'That is a software renderer: results are right, times say nothing about a GPU.'] };
  } catch (error) {
    if (error?.code !== 'gpu-unavailable') return { context: null, state: 'bad', sentences: [`WebGPU could not be started: ${error?.message ?? error}`] };
    return { context: null, state: 'bad', sentences: [`WebGPU does not work here: ${error.message}`, advice(), 'Until then everything runs on the CPU.'] };
  }
}

/** Shows a status in an element of class "status". */
export function showStatus(element, { state, sentences }) {
  element.dataset.state = state;
  element.replaceChildren(...sentences.map((sentence) => Object.assign(document.createElement('p'), { textContent: sentence })));
}
