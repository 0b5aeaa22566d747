// The import map of the pages, in Node.
import { register } from 'node:module';

/** The folder of the package. */
export const folder = new URL('../../target/npm/residua/', import.meta.url);

/**
 * Resolves names as pages do.
 * @param {Record<string, string>} entries by the name that is imported a file of `dist/`, or an address
 */
export function mapImports(entries) {
  const addresses = Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, new URL(file, new URL('dist/', folder)).href]));
  const source = `const addresses = ${JSON.stringify(addresses)}; export const resolve = (name, context, next) => addresses[name] === undefined ? next(name, context) : { url: addresses[name], shortCircuit: true };`;
  register(`data:text/javascript,${encodeURIComponent(source)}`);
}
