// An empty page with the package in its import map, for tests that bring their own code.
import { url } from '../chromium.mjs';

const importMap = JSON.stringify({ imports: { residua: '/residua/dist/index.js' } });

/**
 * Opens the page in a context of its own; `residua` is the imported package there. What the page complains about
 * collects in `complaints`.
 *
 * `policy` is a Content-Security-Policy (its nonce for the import map is `map`); `webgpu: false` takes navigator.gpu
 * away; `load: false` leaves the import to the test.
 */
export async function openBlankPage(browser, { policy, webgpu = true, load = true } = {}) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  if (!webgpu) {
    await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
  }
  const address = new URL('blank-page.html', url).href;
  await page.route(address, (route) =>
    route.fulfill({
      contentType: 'text/html',
      headers: policy === undefined ? {} : { 'Content-Security-Policy': policy },
      body: `<!doctype html><link rel="icon" href="data:,"><script type="importmap" nonce="map">${importMap}</script>`,
    }),
  );
  await page.goto(address);
  if (load) await page.evaluate(async () => void (window.residua = await import('residua')));
  return { page, complaints, close: () => context.close() };
}
