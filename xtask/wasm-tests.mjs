// Runs the crate's wasm-bindgen tests in the browser that RESIDUA_BROWSER chooses, for `cargo xtask test`. wasm-pack needs a WebDriver for it, which
// Firefox's distributions don't bring; here wasm-bindgen's own runner serves its page (NO_HEADLESS), and the driver of the other tests opens it.
//
// Takes targets as cargo test does, each in one argument (`--test wasm`); prints what the page says, in libtest's words, and the time of each test; ends with status 1 when a test
// has failed. A test that is `#[ignore]`d runs where RESIDUA_TIER is not `change`. RESIDUA_WASM_TESTS, where it is set, is a part of the names of the tests that run.
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launch, listen } from '../tests/browser.mjs';

/** A test that prints nothing for so long has hung: software rendering takes minutes where a GPU takes seconds. */
const LIMIT_MS = 300_000;

const build = ['test', '--target', 'wasm32-unknown-unknown', '--no-run', '--message-format', 'json-render-diagnostics'];
const executables = process.argv.slice(2).flatMap((target) => {
  const messages = execFileSync('cargo', [...build, ...target.split(' ')], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 28 });
  return messages.trim().split('\n').map((line) => JSON.parse(line)).filter(({ executable }) => executable).map(({ executable, target }) => ({ executable, name: target.name }));
});

const browser = await launch();
try {
  for (const { executable, name } of executables) {
    console.log(`\n     Running ${name}`);
    if (!(await passes(executable))) process.exitCode = 1;
  }
} finally {
  await browser.close();
}

/** Runs one target's tests; prints what the page says. */
async function passes(executable) {
  // A port that is free; tests that don't say where they run, run in the page.
  const env = { ...process.env, NO_HEADLESS: '1', WASM_BINDGEN_TEST_ADDRESS: '127.0.0.1:0', WASM_BINDGEN_USE_BROWSER: '1' };
  const tier = process.env.RESIDUA_TIER === 'change' ? [] : ['--include-ignored'];
  const filter = process.env.RESIDUA_WASM_TESTS === undefined ? [] : [process.env.RESIDUA_WASM_TESTS];
  const runner = spawn('wasm-bindgen-test-runner', [executable, '--nocapture', ...tier, ...filter], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const address = await served(runner);
    if (address === undefined) return true;
    const page = await browser.newPage();
    const complaints = [];
    listen(page, complaints);
    await page.goto(address);
    const passed = await ended(page);
    for (const words of passed ? [] : complaints) console.log(words);
    await page.close();
    return passed;
  } finally {
    runner.kill();
  }
}

/** The address at which a runner serves its page; undefined where there are no tests. */
async function served(runner) {
  const lines = [];
  for await (const line of createInterface({ input: runner.stdout })) {
    const address = /http:\/\/\S+/.exec(line);
    if (address !== null) return address[0];
    if (line.includes('no tests to run')) return undefined;
    lines.push(line);
  }
  throw new Error(`wasm-bindgen-test-runner serves nothing:\n${lines.join('\n')}`);
}

/** Prints what the page says until its tests are over, or one hangs; whether all have passed. */
async function ended(page) {
  const read = () => page.evaluate(() => document.getElementById('output')?.textContent ?? '');
  let [printed, since] = [0, Date.now()];
  for (;;) {
    const lines = (await read()).split('\n');
    for (; printed + 1 < lines.length; printed++) {
      const seconds = (Date.now() - since) / 1000;
      console.log(/^test .* \.\.\. \w+$/.test(lines[printed]) ? `${lines[printed]} (${seconds.toFixed(1)} s)` : lines[printed]);
      since = Date.now();
    }
    const result = lines.map((line) => /^test result: (\w+)/.exec(line)).find((found) => found !== null);
    if (result !== undefined) {
      lines.slice(printed).forEach((line) => console.log(line));
      return result[1] === 'ok';
    }
    if (Date.now() - since > LIMIT_MS) {
      console.log(`${lines.slice(printed).join('\n')}\nno test ended within ${LIMIT_MS / 1000} s`);
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
