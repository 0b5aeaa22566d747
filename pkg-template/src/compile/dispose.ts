/** `Symbol.dispose`, where the JavaScript engine has it. */

/** Lets `using` dispose objects of a class. Does nothing in engines without `Symbol.dispose`. */
export function makeDisposable(type: { prototype: { dispose(): void } }): void {
  const symbol: symbol | undefined = (Symbol as { dispose?: symbol }).dispose;
  if (symbol === undefined) return;
  Object.defineProperty(type.prototype, symbol, {
    configurable: true,
    writable: true,
    value(this: { dispose(): void }) {
      this.dispose();
    },
  });
}
