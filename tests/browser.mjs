// The browsers with WebGPU, Chromium and Firefox, driven by puppeteer-core: their flags and preferences are here alone.
//
// RESIDUA_BROWSER chooses `chromium` (the default) or `firefox`; CHROMIUM and FIREFOX name the programs. RESIDUA_ADAPTER
// chooses the adapter: `software` (the default; the same everywhere: SwiftShader in Chromium, lavapipe in Firefox, whose
// ICD file LAVAPIPE names) or `hardware`. RESIDUA_URL is where `cargo xtask serve` serves www/.
//
//   const browser = await launch();                      puppeteer's Browser: newPage(), close()
//   const { page, complaints, close } = await openBlankPage(browser);
//   await page.evaluate((backend) => …, 'gpu');           puppeteer's Page, its evaluate() made faithful
//
// Of puppeteer's Page, tests use what both browsers do: goto, evaluate, evaluateOnNewDocument, exposeFunction, waitForFunction,
// on('pageerror' | 'console' | 'request'), setRequestInterception, locator, $, $$, keyboard, mouse, setViewport, screenshot.
//
// `evaluate` hands arguments and results over as text, numbers unchanged: NaN, infinities and -0 too, which a protocol's JSON
// would turn into null and 0, so that a broken engine passed for a good one. Typed arrays arrive as plain arrays; a result
// that is a handle, a function or a Map doesn't arrive. It waits for as long as the page works.
import { existsSync, readdirSync } from 'node:fs';
import { launch as start } from 'puppeteer-core';

/** Where the pages are served, with a slash at the end. */
export const url = process.env.RESIDUA_URL ?? 'http://127.0.0.1:8080/';

/** Which of the two it is. */
export const browserName = process.env.RESIDUA_BROWSER ?? 'chromium';

const adapter = process.env.RESIDUA_ADAPTER ?? 'software';
const isHardware = adapter === 'hardware';

const flags = [
  '--no-sandbox', // root, as in containers, cannot have one
  '--disable-dev-shm-usage', // containers have a /dev/shm of 64 MB
  '--disable-background-networking',
  '--enable-unsafe-webgpu',
];
const adapterFlags = isHardware
  ? ['--use-webgpu-adapter=default', '--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan', '--use-angle=vulkan', '--disable-vulkan-surface', '--ignore-gpu-blocklist']
  : [
      '--use-webgpu-adapter=swiftshader',
      // SwiftShader compiles the zeros of workgroup memory to a store each, which is most of the time of a kernel. Without the extension Dawn writes a loop,
      // as it does where Vulkan has none.
      '--disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension',
      // For screenshots of WebGPU canvases.
      '--enable-features=Vulkan', '--use-vulkan=swiftshader', '--use-angle=swiftshader',
    ];

const preferences = {
  'dom.webgpu.enabled': true,
  'gfx.webgpu.ignore-blocklist': true,
  'gfx.webrender.all': true,
  'layers.acceleration.force-enabled': true,
  // Pages in the background work as those in front do, like Chromium's under puppeteer's flags.
  'dom.timeout.enable_budget_timer_throttling': false,
  'dom.min_background_timeout_value': 4,
};

/** The file that tells Vulkan's loader of Mesa's software device. */
function lavapipe() {
  if (process.env.LAVAPIPE) return process.env.LAVAPIPE;
  const folder = '/usr/share/vulkan/icd.d/';
  const file = existsSync(folder) ? readdirSync(folder).find((name) => /^lvp_icd\b.*\.json$/.test(name)) : undefined;
  if (file === undefined) throw new Error('lavapipe is not there (Debian: mesa-vulkan-drivers); `cargo xtask setup` installs it, LAVAPIPE names its ICD file');
  return folder + file;
}

const options = {
  chromium: () => ({ browser: 'chrome', executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: [...flags, ...adapterFlags] }),
  firefox: () => ({
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    extraPrefsFirefox: preferences,
    env: isHardware ? process.env : { ...process.env, VK_ICD_FILENAMES: lavapipe() },
  }),
};

/** Starts the browser, without a window. */
export async function launch() {
  if (!(browserName in options)) throw new Error(`RESIDUA_BROWSER is ${browserName}; it takes chromium or firefox`);
  if (!['software', 'hardware'].includes(adapter)) throw new Error(`RESIDUA_ADAPTER is ${adapter}; it takes software or hardware`);
  // Solves on a software adapter take minutes: how long is the test's affair.
  const browser = await start({ headless: true, protocolTimeout: 0, defaultViewport: { width: 1280, height: 720 }, ...options[browserName]() });
  const newPage = browser.newPage.bind(browser);
  browser.newPage = async (...args) => faithful(await newPage(...args));
  return browser;
}

/** JSON has neither these numbers nor typed arrays: in text they are `{ "$number": "NaN" }` and plain arrays. Both functions run in the page too. */
function replace(key, value) {
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) return { $number: Object.is(value, -0) ? '-0' : String(value) };
  return ArrayBuffer.isView(value) ? [...value] : value;
}
function revive(key, value) {
  return value !== null && typeof value === 'object' && '$number' in value ? Number(value.$number) : value;
}

/** A page whose evaluate() loses no number. */
function faithful(page) {
  const evaluate = page.evaluate.bind(page);
  page.evaluate = async (work, ...args) => {
    const handedOver = JSON.stringify(JSON.stringify(args, replace));
    const called = typeof work === 'string' ? work : `(${work})(...JSON.parse(${handedOver}, ${revive}))`;
    const text = await evaluate(`(async () => JSON.stringify(await (${called}), ${replace}))()`);
    return text === undefined ? undefined : JSON.parse(text, revive);
  };
  return page;
}

/**
 * Answers a page's requests by path: `answers` maps a path to the response (`{ contentType, headers, body }`). Everything else
 * goes its way. Gives a function that ends it.
 */
export async function answer(page, answers) {
  const listen = (request) => {
    const response = answers[new URL(request.url()).pathname];
    return (response === undefined ? request.continue() : request.respond({ status: 200, ...response })).catch(() => undefined);
  };
  await page.setRequestInterception(true);
  page.on('request', listen);
  return async () => {
    page.off('request', listen);
    await page.setRequestInterception(false);
  };
}

/** Hands what the page POSTs to /log and /result to `hear(path, text)`; the server, which may end its run by that, gets none of it. */
export async function hearPosts(page, hear) {
  await page.exposeFunction('residuaHears', hear);
  await page.evaluateOnNewDocument(() => {
    const { fetch } = window;
    window.fetch = async (address, options) => {
      if (options?.method !== 'POST' || !['/log', '/result'].includes(address)) return fetch(address, options);
      await window.residuaHears(address, options.body);
      return new Response(null, { status: 204 });
    };
  });
}

const entries = { residua: '/residua/dist/index.js', 'residua/worker': '/residua/dist/worker.js', 'residua/cameras': '/residua/dist/cameras.js', 'residua/tensor': '/residua/dist/tensor.js', 'residua/tensor/models': '/residua/dist/tensor-models.js', 'residua/tensor/onnx': '/residua/dist/tensor-onnx.js', 'residua/tensor/models/worker': '/residua/dist/tensor-models-worker.js', 'residua/tensor/tfjs': '/residua/dist/tensor-tfjs.js', 'residua/tensor/train': '/residua/dist/tensor-train.js', 'residua/tensor/worker': '/residua/dist/tensor-worker.js' };
const importMap = (more) => JSON.stringify({ imports: { ...entries, ...more } });

/**
 * Opens an empty page in a context of its own, with the package in its import map, for tests that bring their own code;
 * `residua` is the imported package there. What the page complains about collects in `complaints`.
 *
 * `policy` is a Content-Security-Policy (its nonce for the import map is `map`); `webgpu: false` takes navigator.gpu
 * away; `load: false` leaves the import to the test; `imports` is what the import map names besides the package.
 */
export async function openBlankPage(browser, { policy, webgpu = true, load = true, isolated = false, imports = {} } = {}) {
  const context = await browser.createBrowserContext();
  const page = faithful(await context.newPage());
  const complaints = [];
  listen(page, complaints);
  if (!webgpu) {
    await page.evaluateOnNewDocument(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
  }
  const address = new URL('blank-page.html', url);
  const endAnswers = await answer(page, {
    [address.pathname]: {
      contentType: 'text/html',
      headers: {
        ...(policy === undefined ? {} : { 'Content-Security-Policy': policy }),
        ...(isolated ? { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' } : {}),
      },
      body: `<!doctype html><link rel="icon" href="data:,"><script type="importmap" nonce="map">${importMap(imports)}</script>`,
    },
  });
  await page.goto(address.href);
  await endAnswers();
  if (load) await page.evaluate(async () => void (window.residua = await import('residua')));
  return { page, complaints, close: () => context.close() };
}

/** Collects what a page complains about: errors that were not caught, and those on its console. */
export function listen(page, complaints, name = () => '') {
  page.on('pageerror', (error) => complaints.push(name() + error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(name() + message.text());
  });
}
