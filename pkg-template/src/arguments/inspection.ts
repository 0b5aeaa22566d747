/** What consoles and text show of an object: its name and what its toJSON() says, never what it is made of. */

/** The functions by which Node, Bun and Deno let an object say what consoles show. */
const NODE = Symbol.for('nodejs.util.inspect.custom');
const DENO = Symbol.for('Deno.customInspect');

type Inspect = (value: unknown, options?: object) => string;

/** Lets consoles show objects of a class as a name and what toJSON() gives, and text likewise, unless the class has text of its own. */
export function makeInspectable(type: { prototype: { toJSON(): unknown } }, name: string): void {
  const { prototype } = type;
  const define = (key: PropertyKey, value: (this: { toJSON(): unknown }, ...given: never[]) => string): void => {
    Object.defineProperty(prototype, key, { configurable: true, writable: true, value });
  };
  define(NODE, function (_depth: number, options: object, inspect: Inspect) {
    return `${name} ${inspect(this.toJSON(), options)}`;
  });
  define(DENO, function (inspect: Inspect, options: object) {
    return `${name} ${inspect(this.toJSON(), options)}`;
  });
  if (Symbol.toPrimitive in prototype) return;
  define('toString', function () {
    return `${name} ${JSON.stringify(this)}`;
  });
}
