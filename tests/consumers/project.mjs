// A user's project in an empty folder, with the packed tarball installed by npm, a server as any static host would be, and a browser's visit to it.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export async function tarball() {
  if (process.env.RESIDUA_TARBALL) return process.env.RESIDUA_TARBALL;
  const files = await readdir(join(root, 'target/npm'));
  return join(root, 'target/npm', files.find((name) => name.endsWith('.tgz')));
}

/** Makes a project of a folder beside this file, or an empty one. */
export async function makeProject(sources) {
  const folder = await mkdtemp(join(tmpdir(), 'residua-consumer-'));
  if (sources !== undefined) await cp(new URL(`${sources}/`, import.meta.url), folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
  /** Runs a program in the project; its output is part of the error when it fails. */
  const run = async (program, args, env = {}) => {
    try {
      return (await promisify(execFile)(program, args, { cwd: folder, env: { ...process.env, ...env } })).stdout;
    } catch (error) {
      throw new Error(`${program} ${args.join(' ')}\n${error.stdout}\n${error.stderr}`, { cause: error });
    }
  };
  await run('npm', ['install', await tarball(), '--no-audit', '--no-fund', '--prefer-offline']);
  return { folder, run, remove: () => rm(folder, { recursive: true, force: true }) };
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };

/** Serves a folder with these headers; gives the address of its root, the paths that were asked for so far, by pages and by workers, and what ends it. */
export async function serve(folder, headers = {}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    try {
      const path = normalize(new URL(request.url, 'http://localhost').pathname);
      asked.push(path);
      const body = await readFile(join(folder, path));
      response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream', ...headers }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, asked, close: () => server.close() };
}

/** Opens a page that leaves its outcome in `window.result`; gives that and what the page complained of. */
export async function visit(browser, address) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  try {
    await page.goto(address);
    await page.waitForFunction(() => window.result !== undefined);
    return { result: await page.evaluate(() => window.result), complaints };
  } catch (error) {
    throw new Error(`${address}: ${error.message}; the page complained: ${complaints.join('; ') || 'of nothing'}`, { cause: error });
  } finally {
    await page.close();
  }
}
