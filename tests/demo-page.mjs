// The demos' page in a test: opened with a demo of a small size, waited for, and what it complains about collected.
//
//   const { page, complaints, close } = await openDemo(browser, 'demo=developable&subdivisions=1&backend=gpu');
//   await page.evaluate(() => window.residuaDemos.settled());       see www/demos/demos.js for what there is
import { listen, url } from './browser.mjs';

/** A software adapter pays for every pixel of every frame. */
const SMALL = { width: 400, height: 480 };

/**
 * @param {string} query of the page's address
 * @param {{ webgpu?: boolean, viewport?: { width: number, height: number }, base?: string, paused?: boolean }} options `webgpu: false` takes navigator.gpu away;
 *   `base` serves as RESIDUA_URL; `paused` lets no step begin
 */
export async function openDemo(browser, query, { webgpu = true, viewport = SMALL, base = url, paused = false } = {}) {
  const page = await browser.newPage();
  // A software adapter draws and solves one after the other, other pages' work included.
  page.setDefaultTimeout(300000);
  const complaints = [];
  listen(page, complaints);
  await page.setViewport(viewport);
  if (!webgpu) await page.evaluateOnNewDocument(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
  if (paused) await page.evaluateOnNewDocument(pauseAtOnce);
  await page.goto(new URL(`demos/?${query}`, base).href);
  await page.waitForFunction(() => window.residuaDemos !== undefined);
  await page.evaluate(() => window.residuaDemos.ready);
  return { page, complaints, close: () => page.close() };
}

/** In a page: pauses the demos when they are made. On a busy machine a demo takes steps before a call from outside arrives. */
function pauseAtOnce() {
  Object.defineProperty(window, 'residuaDemos', {
    configurable: true,
    set(demos) {
      Object.defineProperty(window, 'residuaDemos', { value: demos });
      demos.pause();
    },
  });
}

/** What the page tells, with the demo's positions as they were last brought from the device. */
export const stateOf = (page) =>
  page.evaluate(() => {
    const state = window.residuaDemos.state();
    return { ...state, demo: { ...state.demo, positions: state.demo?.positions === undefined ? undefined : Array.from(state.demo.positions()) } };
  });
