/** `Symbol.dispose`, where the engine has it. */

/** Lets `using` dispose objects of a class; engines without `Symbol.dispose` go without. */
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
