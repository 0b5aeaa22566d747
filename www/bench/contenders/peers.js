/**
 * Other libraries, bundled by `cargo xtask bench` into peers/ beside this folder's parent, and loaded on first use. Absent ones are
 * reported.
 */

const loading = new Map();

/** The module of a peer; rejects with a reason that can be shown. */
export function peer(name) {
  if (!loading.has(name)) loading.set(name, load(name));
  return loading.get(name);
}

async function load(name) {
  const address = new URL(`../../peers/${name}.js`, import.meta.url).href;
  try {
    return await import(address);
  } catch (error) {
    throw new Error(`${name} is not bundled here (cargo xtask bench does that): ${error.message}`, { cause: error });
  }
}
