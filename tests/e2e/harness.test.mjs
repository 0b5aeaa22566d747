// The front page and the page of checks, as a visitor finds them: with WebGPU, without it, on a phone, by keyboard, in a sub-folder.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answer, browserName, launch, listen, url } from '../browser.mjs';
import { byTurns } from '../tier.mjs';

const axe = readFileSync(fileURLToPath(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url)), 'utf8');

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Opens a page, hands it over once `ready` is true in it, and claims that it had nothing to complain about. `prepare` comes first. */
async function visit(address, ready, work, prepare = () => undefined) {
  const page = await browser.newPage();
  const complaints = [];
  listen(page, complaints);
  try {
    await prepare(page);
    await page.goto(new URL(address, url).href);
    await page.waitForFunction(ready, { timeout: 120_000 });
    await work(page);
    assert.deepEqual(complaints, []);
  } finally {
    await page.close();
  }
}

const visitFront = (work, prepare) => visit('', 'document.documentElement.dataset.ready === "yes"', work, prepare);
const visitChecks = (query, work, prepare) => visit(`checks/${query}`, 'window.residuaChecks !== undefined', work, prepare);

/** What the status says. */
const status = (page) => page.evaluate(() => {
  const { dataset, innerText, children } = document.querySelector('#status');
  return { state: dataset.state, text: innerText, steps: [...document.querySelectorAll('#status li')].map((item) => item.textContent), children: children.length };
});
/** The rows of the front page's tables, as lists of texts. */
const rows = (page) => page.evaluate(() => [...document.querySelectorAll('#facts tbody tr')].map((row) => [row.querySelector('code').textContent, ...[...row.querySelectorAll('td')].map((cell) => cell.textContent)]));

const withoutGpu = (page) => page.evaluateOnNewDocument(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
const withoutAdapter = (page) => page.evaluateOnNewDocument(() => (GPU.prototype.requestAdapter = async () => null));

describe('the front page', () => {
  test('with WebGPU it names the adapter, says that it is a software one, and lists limits and features beside what residua needs', () =>
    visitFront(async (page) => {
      const { state, text } = await status(page);
      assert.match(text, /^WebGPU works here, on \S/);
      const isSoftware = state === 'warning';
      assert.equal(/software renderer/.test(text), isSoftware);
      const found = Object.fromEntries((await rows(page)).map(([name, ...cells]) => [name, cells]));
      assert.deepEqual(found.maxStorageBuffersPerShaderStage.at(-1), '8');
      assert.equal(found.maxStorageBufferBindingSize.at(-1), '128 MiB');
      for (const feature of ['timestamp-query', 'subgroups']) assert.match(found[feature][0], /^(yes|no)$/);
      assert.equal(found['software adapter'][0], isSoftware ? 'yes' : 'no');
      assert.ok('maxTextureDimension2D' in found, 'other limits are there, folded');
      assert.equal(await page.evaluate(() => document.querySelector('#facts details').open), false);
    }));

  test('a limit that is too low is told beside what residua needs', () =>
    visitFront(async (page) => {
      const { state, text } = await status(page);
      assert.equal(state, 'warning');
      assert.match(text, /less than WebGPU promises: maxComputeWorkgroupsPerDimension is 1,000, and residua needs 65,535/);
      assert.deepEqual((await rows(page)).find(([name]) => name === 'maxComputeWorkgroupsPerDimension'), ['maxComputeWorkgroupsPerDimension', '1,000: too little', '65,535']);
    }, (page) => page.evaluateOnNewDocument(() => Object.defineProperty(GPUSupportedLimits.prototype, 'maxComputeWorkgroupsPerDimension', { get: () => 1000 }))));

  test('without navigator.gpu it says so, names the browser and what to do, and shows no table', () =>
    visitFront(async (page) => {
      const { state, text, steps } = await status(page);
      assert.equal(state, 'bad');
      assert.match(text, /^WebGPU does not work here\./);
      assert.match(text, browserName === 'firefox' ? /Firefox \d+ on Linux has no WebGPU: there is no navigator\.gpu/ : /Chrome \d+ on Linux has no WebGPU: there is no navigator\.gpu/);
      assert.match(steps[0], browserName === 'firefox' ? /about:config/ : /chrome:\/\/flags/);
      assert.match(text, /everything runs on the CPU/);
      assert.equal(await page.evaluate(() => document.querySelector('#facts').hidden), true);
    }, withoutGpu));

  test('without an adapter it says so, and where to look', () =>
    visitFront(async (page) => {
      const { state, text, steps } = await status(page);
      assert.equal(state, 'bad');
      assert.match(text, /has WebGPU, but no graphics adapter/);
      assert.ok(steps.length >= 2 && steps.some((step) => /chrome:\/\/gpu|about:support/.test(step)), steps.join('\n'));
    }, withoutAdapter));

  test('its first fit without helpers is the README’s, and runs where it stands, without WebGPU too', async () => {
    const readme = /```js\n([^]*?)```/.exec(readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8'))[1];
    const run = async (page) => {
      await page.select('#example', 'first-fit');
      await page.waitForFunction(() => /new Problem/.test(document.querySelector('#code').value), { timeout: 60_000 });
      assert.equal(await page.evaluate(() => document.querySelector('#code').value.trim()), readme.trim());
      await page.focus('#run-fit');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => !window.residuaEditor.state().running && /Termination/.test(document.querySelector('#fit-report').textContent), { timeout: 60_000 });
      // The default tolerances leave six digits.
      assert.match(await page.evaluate(() => document.querySelector('#fit-report').textContent), /(2\.99999\d*|3\.00000\d*|3), (0\.69999\d*|0\.70000\d*|0\.7)$/);
    };
    await visitFront(run);
    await visitFront(run, withoutGpu);
  });
});

test('every link of the front page leads somewhere', () =>
  visitFront(async (page) => {
    const links = await page.evaluate(() => [...document.querySelectorAll('a')].map(({ href }) => href));
    assert.ok(links.length >= 5);
    for (const link of links) assert.equal((await fetch(link)).status, 200, link);
  }));

/** A registry with checks that end in every way. */
const INJECTED = `
  import { anywhere, numbered, onCpu, onGpu } from './define.js';
  import { V } from 'residua';
  const group = { id: 'injected', title: 'Injected', about: 'Checks that end in every way.', checks: [
    ...onCpu('an engine computes', async (check) => {
      const functions = await check.compile([V.W(3)], ([x]) => x.square());
      check.equal((await functions.evaluate())[0], 9);
      check.note('nine');
    }),
    ...onGpu('a GPU is needed', async (check) => check.ok((await check.compile([V.W(3)], ([x]) => x)).backend === 'gpu', 'on the GPU')),
    ...anywhere('a number is off', (check) => check.close(1.5, 2, { within: 0.25, because: 'a quarter is enough' }, 'the number')),
    ...anywhere('an error is thrown', () => { throw new Error('something broke'); }),
    ...anywhere('the console complains', () => console.error('a complaint')),
    ...anywhere('a rejection is left alone', () => void Promise.reject(new Error('left alone'))),
    ...onGpu('a feature is needed', () => undefined, { needs: ['teleportation'] }),
  ] };
  export const REGISTRY = [{ ...group, checks: numbered(group) }];
`;
const inject = (page) => answer(page, { [new URL('checks/registry.js', url).pathname]: { contentType: 'text/javascript', body: INJECTED } });

/** What the page shows of each check: state, and what stands below. */
const shown = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll('[data-check]')].map((row) => [
  row.dataset.check.replace('injected/', ''), { state: row.querySelector('.state').textContent, below: row.querySelector('.behind').textContent, numbers: [...row.querySelectorAll('dt, dd')].map((cell) => cell.textContent) },
])));

/** Opens the page with the checks above; what the page says of itself is not complained of. */
async function injected(work, prepare = () => undefined, query = '') {
  const page = await browser.newPage();
  try {
    await inject(page);
    await prepare(page);
    await page.goto(new URL(`checks/${query}`, url).href);
    await page.waitForFunction('window.residuaChecks !== undefined', { timeout: 120_000 });
    await work(page);
  } finally {
    await page.close();
  }
}

describe('the page of checks', () => {
  test('runs all by keyboard, and shows pass, fail and skip with the numbers behind a failure', () =>
    injected(async (page) => {
      await page.focus('#run-all');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => /4 failed/.test(document.querySelector('#summary').textContent), { timeout: 120_000 });
      assert.match(await page.evaluate(() => document.querySelector('#summary').textContent), /^2 passed, 4 failed, 1 skipped, in \d/);
      const found = await shown(page);
      assert.deepEqual(Object.values(found).map(({ state }) => state), ['passed', 'passed', 'failed', 'failed', 'failed', 'failed', 'skipped']);
      assert.equal(found['an-engine-computes'].below, 'nine');
      assert.deepEqual(found['a-number-is-off'].numbers, ['expected', '2', 'got', '1.5', 'difference', '0.5', 'allowed', '0.25', 'because', 'a quarter is enough']);
      assert.match(found['an-error-is-thrown'].below, /^something broke/);
      assert.match(found['the-console-complains'].below, /a complaint/);
      assert.match(found['a-rejection-is-left-alone'].below, /left alone/);
      assert.match(found['a-feature-is-needed'].below, /skipped: the device has no teleportation/);
      assert.equal(await page.evaluate(() => document.querySelector('#group-injected').closest('section').querySelector('details').open), true, 'a group with a failure unfolds');
      const report = await page.evaluate(() => document.querySelector('#report').value);
      for (const words of ['2 passed, 4 failed, 1 skipped', `Browser: ${await page.evaluate(() => navigator.userAgent)}`, 'WebGPU works here, on', '| maxBufferSize |', '### a number is off', '- allowed: 0.25', '- because: a quarter is enough', '| a feature is needed | skipped: the device has no teleportation |']) {
        assert.ok(report.includes(words), `${words} is not in\n${report}`);
      }
    }));

  test('runs one alone, and the failed ones again', () =>
    injected(async (page) => {
      const press = async (selector) => {
        await page.evaluate((selector) => document.querySelector(selector).closest('details')?.setAttribute('open', ''), selector);
        await page.focus(selector);
        await page.keyboard.press('Enter');
      };
      await press('[data-check="injected/a-number-is-off"] > button');
      await page.waitForFunction(() => document.querySelector('#summary').textContent.startsWith('0 passed, 1 failed, 6 not run'), { timeout: 60_000 });
      assert.deepEqual(Object.values(await shown(page)).map(({ state }) => state), ['not run', 'not run', 'failed', 'not run', 'not run', 'not run', 'not run']);
      await press('#run-failed');
      await page.waitForFunction(() => document.querySelector('#progress').max === 1 && !document.querySelector('#run-failed').disabled, { timeout: 60_000 });
      assert.match(await page.evaluate(() => document.querySelector('#summary').textContent), /^0 passed, 1 failed, 6 not run/);
    }));

  test('without WebGPU what needs it is skipped and never passed, and the rest runs', () =>
    injected(async (page) => {
      const outcomes = await page.evaluate(() => window.residuaChecks.run(window.residuaChecks.checks.map(({ id }) => id)));
      const statuses = Object.fromEntries(outcomes.map(({ id, status, reason }) => [id.replace('injected/', ''), reason ?? status]));
      assert.equal(statuses['an-engine-computes'], 'passed');
      assert.equal(statuses['a-gpu-is-needed'], 'no WebGPU');
      assert.equal(statuses['a-feature-is-needed'], 'no WebGPU');
      assert.match(await page.evaluate(() => document.querySelector('#status').innerText), /WebGPU does not work here/);
    }, withoutGpu));

  test('runs by itself: only= chooses, and the report is POSTed', async () => {
    const posts = [];
    await injected(async (page) => {
      const report = await page.evaluate(() => window.residuaChecks.done);
      assert.deepEqual(report.outcomes.map(({ id, status }) => [id, status]), [['injected/an-engine-computes', 'passed'], ['injected/a-number-is-off', 'failed']]);
      assert.deepEqual(report.counts, { passed: 1, failed: 1, skipped: 0 });
      assert.equal(report.page, 'checks');
      assert.equal(typeof report.adapter.isSoftware, 'boolean');
      assert.deepEqual(posts.map(([path]) => path), ['/log', '/log', '/result']);
      assert.match(posts[1][1], /^failed injected\/a-number-is-off .*a quarter is enough/);
      assert.deepEqual(JSON.parse(posts[2][1]).counts, report.counts);
    }, async (page) => {
      await page.exposeFunction('residuaHears', (path, text) => void posts.push([path, text]));
      await page.evaluateOnNewDocument(() => {
        const { fetch } = window;
        window.fetch = async (address, options) => {
          if (options?.method !== 'POST') return fetch(address, options);
          await window.residuaHears(new URL(address, location.href).pathname, options.body);
          return new Response(null, { status: 204 });
        };
      });
    }, '?auto&only=engine-computes,number-is-off');
  });

  test('lists every check of the registry, each with a button of its own', () =>
    visitChecks('', async (page) => {
      const { listed, buttons, groups } = await page.evaluate(() => ({
        listed: window.residuaChecks.checks.length,
        buttons: new Set([...document.querySelectorAll('[data-check] > button')].map((button) => button.getAttribute('aria-label'))).size,
        groups: document.querySelectorAll('#groups h2').length,
      }));
      assert.ok(listed > 250 && groups > 15, `${listed} checks in ${groups} groups`);
      assert.equal(buttons, listed, 'labels of buttons tell checks apart');
    }));
});

describe('pages for everybody', () => {
  // Firefox's protocol has no way to ask for a colour scheme; the colours are the same in every browser.
  const schemes = browserName === 'firefox' ? ['light'] : ['light', 'dark'];
  const widths = [1280, 390];
  const dress = (scheme, width) => async (page) => {
    if (browserName !== 'firefox') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setViewport({ width, height: 844 });
  };
  /** What axe-core finds that is serious or worse, and whether the page is wider than the window. */
  const audit = async (page) => {
    await page.evaluate((source) => document.head.append(Object.assign(document.createElement('script'), { textContent: source })), axe);
    const found = await page.evaluate(async () => {
      const { violations, passes } = await window.axe.run(document, { resultTypes: ['violations'] });
      return {
        serious: violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`),
        rules: passes.length, overflow: document.documentElement.scrollWidth - window.innerWidth,
      };
    });
    assert.ok(found.rules > 10, `axe-core went by ${found.rules} rules`);
    assert.deepEqual(found.serious, []);
    assert.ok(found.overflow <= 0, `the page is ${found.overflow} pixels too wide`);
  };
  for (const [k, scheme] of schemes.entries()) {
    for (const width of byTurns(widths, k)) {
      test(`axe-core finds nothing serious, ${scheme}, ${width} pixels wide`, async () => {
        await visitFront(audit, dress(scheme, width));
        await visitFront(audit, async (page) => {
          await withoutGpu(page);
          await dress(scheme, width)(page);
        });
        await injected(async (page) => {
          await page.evaluate(() => window.residuaChecks.run(window.residuaChecks.checks.map(({ id }) => id)));
          await audit(page);
        }, dress(scheme, width));
        // Three hundred rows take axe-core a while: once in each scheme.
        if ((scheme === 'dark') === (width === 390)) {
          await visitChecks('', async (page) => {
            await page.evaluate(() => document.querySelector('#unfold').click());
            await audit(page);
          }, dress(scheme, width));
        }
      });
    }
  }

  test('everything on the front page is reached by Tab, with a ring around it', () =>
    visitFront(async (page) => {
      await page.bringToFront();
      const reached = [];
      // From the page's beginning to its end, where the focus leaves it.
      for (;;) {
        await page.keyboard.press('Tab');
        const next = await page.evaluate(() => {
          const element = document.activeElement;
          if (element === document.body) return null;
          return { name: element.id || element.querySelector('strong')?.textContent || element.tagName, ring: element.matches(':focus-visible') && getComputedStyle(element).outlineStyle !== 'none' };
        });
        if (next === null || reached.length > 20) break;
        reached.push(next);
      }
      const names = reached.map(({ name }) => name);
      assert.deepEqual(names, ['example', 'run-fit', 'code', 'fit-report', 'Documentation', 'Gallery', 'Demos', 'Handwritten digits', 'Models of ONNX and TensorFlow.js', 'Text generation', 'Search by meaning', 'Checks', 'Benchmarks', 'Soak', 'Source', 'SUMMARY']);
      for (const { name, ring } of reached) assert.ok(ring, `a ring around ${name}`);
    }));
});

test('both pages work from a sub-folder of any server', async () => {
  // A server that has nothing but `/some/where/`, behind which the pages stand.
  const server = createServer(async (request, response) => {
    const below = /^\/some\/where\/(.*)/.exec(request.url)?.[1];
    const found = below === undefined ? { status: 404 } : await fetch(new URL(below, url));
    response.writeHead(found.status, found.status === 200 ? { 'Content-Type': found.headers.get('content-type') } : {});
    response.end(found.status === 200 ? Buffer.from(await found.arrayBuffer()) : undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${server.address().port}/some/where/`;
  try {
    await visit(base, 'document.documentElement.dataset.ready === "yes"', async (page) => assert.match((await status(page)).text, /^WebGPU works here/));
    await visit(`${base}checks/`, 'window.residuaChecks !== undefined', async (page) => {
      const id = 'jacobian/rows-and-columns-are-at-their-positions-in-the-dense-matrix-cpu';
      assert.deepEqual((await page.evaluate((id) => window.residuaChecks.run([id]), id)).map(({ status }) => status), ['passed']);
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
