// Data that tests read and the project does not hold: reference datasets, pose graphs and meshes, in a folder beside the project's.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The one place that says where it is; RESIDUA_DATA names another folder. */
const folder = process.env.RESIDUA_DATA?.replace(/\/?$/, '/') ?? fileURLToPath(new URL('../../shared/data/', import.meta.url));

/**
 * Whether a file or folder is there. When it is not, the test counts as skipped, and the line that `cargo xtask test` gathers says which and where it looked.
 * @param {import('node:test').TestContext} t
 * @param {string} path below the folder
 */
export function hasData(t, path) {
  if (existsSync(folder + path)) return true;
  console.log(`data absent: ${t.name}: ${folder}${path}`);
  t.skip(`there is no ${folder}${path}`);
  return false;
}

export const readData = (path) => readFileSync(folder + path, 'utf8');

/** Where a file is, for those that are not text. */
export const pathOf = (path) => folder + path;

/** The files of a folder with an ending, in the order of the alphabet. */
export const listData = (path, ending) => readdirSync(folder + path).filter((name) => name.endsWith(ending)).sort();
