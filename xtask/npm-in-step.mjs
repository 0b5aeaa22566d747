// Ends with status 0 when node_modules holds what package-lock.json asks for: npm's own record of what it installed
// lists the same versions and contents, and the folders are there. Packages for other platforms may be absent.
import { existsSync, readFileSync } from 'node:fs';

const packages = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;
try {
  const installed = packages('node_modules/.package-lock.json');
  for (const [path, wanted] of Object.entries(packages('package-lock.json'))) {
    if (path === '') continue;
    const found = installed[path];
    const same = found?.version === wanted.version && found?.integrity === wanted.integrity && existsSync(path);
    if (!same && !(wanted.optional && found === undefined)) process.exit(1);
  }
} catch {
  process.exit(1);
}
