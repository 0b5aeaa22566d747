// Runs the crate's wasm-bindgen tests in the browser that RESIDUA_BROWSER chooses, for `cargo xtask test`. wasm-pack needs a WebDriver for it, which
// Firefox's distributions don't bring; here wasm-bindgen's own runner serves its page (NO_HEADLESS), and the driver of the other tests opens it.
//
// Takes targets as cargo test does (`--lib`, `--test gpu`); prints what the page says, in libtest's words; ends with status 1 when a test has failed.
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launch, listen } from '../tests/browser.mjs';

/** Software rendering takes minutes where a GPU takes seconds. */
const LIMIT_MS = 600_000;

const build = ['test', '--target', 'wasm32-unknown-unknown', '--no-run', '--message-format', 'json-render-diagnostics', ...process.argv.slice(2)];
const messages = execFileSync('cargo', build, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 28 }).trim().split('\n').map((line) => JSON.parse(line));
const executables = messages.filter(({ executable }) => executable).map(({ executable, target }) => ({ executable, name: target.name }));

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
  const runner = spawn('wasm-bindgen-test-runner', [executable, '--nocapture'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const address = await served(runner);
    if (address === undefined) return true;
    const page = await browser.newPage();
    const complaints = [];
    listen(page, complaints);
    await page.goto(address);
    const outcome = await ended(page);
    console.log(outcome.text);
    for (const words of outcome.passed ? [] : complaints) console.log(words);
    await page.close();
    return outcome.passed;
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

/** What the page says when its tests are over, or when it is given up. */
async function ended(page) {
  const read = () => page.evaluate(() => document.getElementById('output')?.textContent ?? '');
  const deadline = Date.now() + LIMIT_MS;
  for (let text = ''; ; await new Promise((resolve) => setTimeout(resolve, 200))) {
    text = await read();
    const result = /^test result: (\w+)/m.exec(text);
    if (result !== null) return { text, passed: result[1] === 'ok' };
    if (Date.now() > deadline) return { text: `${text}\nthe tests did not end within ${LIMIT_MS / 1000} s`, passed: false };
  }
}
