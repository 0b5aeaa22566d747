/**
 * Sets of texts, as expressions over bytes. What may follow a byte is again an expression, its derivative (Brzozowski 1964). Equal expressions are one object, so that derivatives are found once.
 */

/** An expression; {@link Language} makes it. */
export interface Expression {
  /** Another for each. */
  readonly id: number;
  /** Whether the empty text is among its texts. */
  readonly isNullable: () => boolean;
  /** The texts that follow a byte; null where there are none. */
  readonly after: (byte: number) => Expression | null;
}

interface Parts extends Expression {
  /** Of a sequence its two parts. */
  readonly sequence?: readonly [Parts, Parts];
  /** Of a choice its alternatives. */
  readonly choices?: readonly Parts[];
}

/** Makes expressions. null is the one without any text. */
export class Language {
  private readonly known = new Map<string, Parts>();
  /** The empty text. */
  readonly empty: Expression = this.made('empty', () => true, () => null);

  /** One byte of ranges, each from a first to a last one. */
  bytes(...ranges: readonly (readonly [first: number, last: number])[]): Expression {
    return this.made(`bytes ${ranges.join()}`, () => false, (byte) => (ranges.some(([first, last]) => byte >= first && byte <= last) ? this.empty : null));
  }

  /** One text. */
  text(text: string): Expression {
    return this.sequence(...Array.from(new TextEncoder().encode(text), (byte) => this.bytes([byte, byte])));
  }

  /** Texts after one another. */
  sequence(...parts: readonly (Expression | null)[]): Expression {
    return parts.reduceRight<Expression | null>((rest, part) => this.pair(part, rest), this.empty) ?? this.never();
  }

  /** Texts of either. */
  choice(...alternatives: readonly (Expression | null)[]): Expression {
    return this.either(alternatives) ?? this.never();
  }

  /** From `least` to `most` texts of one expression after one another. */
  repeat(part: Expression, least = 0, most: number = Infinity): Expression {
    if (most === 0) return this.empty;
    const rest = () => this.repeat(part, Math.max(least - 1, 0), most - 1);
    return this.made(`repeat ${part.id} ${least} ${most}`, () => least === 0 || part.isNullable(), (byte) => this.pair(part.after(byte), rest()));
  }

  /** What `make` gives when it is needed: expressions may contain themselves, behind at least one byte. */
  later(name: string, make: () => Expression): Expression {
    let isOpen = false;
    let made: Expression | undefined;
    const within = <T>(use: (expression: Expression) => T): T => {
      if (isOpen) throw new RangeError(name);
      isOpen = true;
      try {
        return use((made ??= make()));
      } finally {
        isOpen = false;
      }
    };
    return this.made(`later ${name}`, () => within((expression) => expression.isNullable()), (byte) => within((expression) => expression.after(byte)));
  }

  private never(): Expression {
    return this.made('never', () => false, () => null);
  }

  private pair(first: Expression | null, rest: Expression | null): Expression | null {
    if (first === null || rest === null) return null;
    if (first === this.empty) return rest;
    if (rest === this.empty) return first;
    const { sequence } = first as Parts;
    if (sequence !== undefined) return this.pair(sequence[0], this.pair(sequence[1], rest));
    const after = (byte: number) => {
      const inFirst = this.pair(first.after(byte), rest);
      return first.isNullable() ? this.either([inFirst, rest.after(byte)]) : inFirst;
    };
    return this.made(`pair ${first.id} ${rest.id}`, () => first.isNullable() && rest.isNullable(), after, { sequence: [first as Parts, rest as Parts] });
  }

  private either(alternatives: readonly (Expression | null)[]): Expression | null {
    const flat = alternatives.flatMap((each) => (each === null ? [] : ((each as Parts).choices ?? [each as Parts])));
    const choices = [...new Map(flat.map((each) => [each.id, each])).values()].sort((a, b) => a.id - b.id);
    if (choices.length < 2) return choices[0] ?? null;
    const after = (byte: number) => this.either(choices.map((each) => each.after(byte)));
    return this.made(`choice ${choices.map(({ id }) => id)}`, () => choices.some((each) => each.isNullable()), after, { choices });
  }

  /** The one expression of a description. */
  private made(description: string, isNullable: () => boolean, derive: (byte: number) => Expression | null, parts: Pick<Parts, 'sequence' | 'choices'> = {}): Expression {
    const found = this.known.get(description);
    if (found !== undefined) return found;
    const derivatives: (Expression | null | undefined)[] = [];
    const after = (byte: number) => {
      const known = derivatives[byte];
      return known === undefined ? (derivatives[byte] = derive(byte)) : known;
    };
    const made: Parts = { id: this.known.size, isNullable, after, ...parts };
    this.known.set(description, made);
    return made;
  }
}
