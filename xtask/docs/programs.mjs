// The code of a page as programs that can be checked and run.
//
// Takes a page's markdown; gives its fenced blocks and the programs that they make. A `ts` or `js` block that imports begins a
// program, and one that does not goes on with the program before it. A block `ts NAME.ts` is a module of its own, which the page's programs find
// at `new URL('./NAME.js', import.meta.url)` and import from './NAME.js'. Every other block has to be of a kind that NOT_RUN names with its reason.
//
// A line `console.log(…); // → claim` claims what it prints. In a claim
//   - a number with decimals stands for every number that rounds to it: 0.70 for 0.6951 to 0.7049, 1.2e-7 for 1.19e-7;
//   - a number without decimals or exponent stands for itself alone;
//   - … stands for anything; words and signs stand for themselves, whatever the space between them.
//   - the one word "below" stands for the next `text` block of the page, which is a claim of several lines. There is no other use of such a block.
// What is printed is taken apart the same way: the arguments one after another, arrays as their entries with commas between them.

/** Kinds of blocks that are not run, and why. */
export const NOT_RUN = new Map([
  ['sh', 'commands for a terminal; that each names a command that exists is a test of its own'],
  ['cpp', 'Ceres is C++; the blocks are its side of a comparison'],
  ['python scipy', 'SciPy is Python; the blocks are its side of a comparison'],
  ['python jax', 'JAX is Python; the blocks are its side of a comparison'],
  ['ts scalar-autograd', 'ScalarAutograd is not on npm; the blocks are its side of a comparison'],
  ['html', 'a page of its own; a test opens it'],
  ['http', 'headers that a server sends'],
  ['text', 'what a claim says to be printed'],
]);

const CODE = new Map([
  ['ts', 'ts'],
  ['js', 'js'],
]);
const MODULE = /^ts ([\w-]+)\.ts$/;
const FENCE = /^```(.*)$/;
const CLAIM = /^(\s*)console\.log\((.*)\);\s*\/\/ → (.+)$/;

/** The fenced blocks of a markdown text: what stands behind the fence, the code, and the line (from 0) where the code begins. */
export function blocksOf(markdown) {
  const blocks = [];
  let open = null;
  markdown.split('\n').forEach((line, number) => {
    const fence = FENCE.exec(line);
    if (open === null && fence !== null) open = { kind: fence[1].trim(), line: number + 1, lines: [] };
    else if (open !== null && line === '```') {
      blocks.push({ kind: open.kind, line: open.line, code: open.lines.join('\n') });
      open = null;
    } else open?.lines.push(line);
  });
  if (open !== null) throw new Error(`line ${open.line}: a block is not closed`);
  return blocks;
}

/**
 * The programs of a page: `language`, `line` (from 1, of its first block), `source`, whose lines stand where they stand in the page, so that
 * a message's line is the page's, and `claims`, each with its line and its words.
 */
export function programsOf(markdown) {
  const programs = [];
  for (const { kind, line, code } of blocksOf(markdown)) {
    const language = CODE.get(kind);
    let program = programs.at(-1);
    if (language === undefined) {
      if (MODULE.test(kind)) continue;
      if (!NOT_RUN.has(kind)) throw new Error(`line ${line}: a block of the kind "${kind}", which is neither run nor known for not being run`);
      if (kind !== 'text') continue;
      const claim = program?.claims.at(-1);
      if (claim?.words !== 'below') throw new Error(`line ${line}: a block of text that no claim above refers to`);
      claim.words = code;
      continue;
    }
    if (/^import /m.test(code)) {
      program = { language, line: line + 1, lines: [], claims: [] };
      programs.push(program);
    }
    if (program === undefined) throw new Error(`line ${line}: the page's first program imports nothing`);
    if (program.language !== language) throw new Error(`line ${line}: ${language} goes on with a program in ${program.language}`);
    while (program.lines.length < line) program.lines.push('');
    program.lines.push(...code.split('\n'));
    program.claims.push(...claimsOf(code, line));
  }
  for (const { claims } of programs) for (const { line, words } of claims) if (words === 'below') throw new Error(`line ${line}: there is no block of text below`);
  return programs.map(({ lines, ...program }) => ({ ...program, source: `${lines.join('\n')}\n` }));
}

/** The modules of a page: `name`, without its ending, and `source`. */
export function modulesOf(markdown) {
  return blocksOf(markdown).flatMap(({ kind, line, code }) => {
    const name = MODULE.exec(kind)?.[1];
    return name === undefined ? [] : [{ name, source: `${'\n'.repeat(line)}${code}\n` }];
  });
}

/** The claims of a block whose first line is the page's line `first` (from 0). */
function claimsOf(code, first) {
  return code.split('\n').flatMap((line, number) => {
    const claim = CLAIM.exec(line);
    if (claim === null && line.includes('// →')) throw new Error(`line ${first + number + 1}: a claim takes the form console.log(…); // → words`);
    return claim === null ? [] : [{ line: first + number + 1, words: claim[3] }];
  });
}

/** The source with every claimed console.log handing what it prints to `claim(line, …)`, which the page that runs it has to have. */
export function withClaims(source) {
  return source
    .split('\n')
    .map((line, number) => line.replace(CLAIM, (_, indent, printed) => `${indent}claim(${number + 1}, ${printed});`))
    .join('\n');
}

const TOKEN = /-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w])|…|[\p{L}_][\p{L}\p{N}_-]*|\S/gu;
const NUMBER = /^-?\d/;

/** Whether what was printed is what the claim says. */
export function holds(claim, printed) {
  return matches(claim.match(TOKEN) ?? [], printed.match(TOKEN) ?? []);
}

function matches(claim, printed) {
  if (claim.length === 0) return printed.length === 0;
  const [first, ...rest] = claim;
  if (first === '…') return printed.some((_, skipped) => matches(rest, printed.slice(skipped))) || matches(rest, []);
  return printed.length > 0 && agrees(first, printed[0]) && matches(rest, printed.slice(1));
}

function agrees(claim, printed) {
  if (!NUMBER.test(claim)) return claim === printed;
  if (!NUMBER.test(printed)) return false;
  const [, , decimals, exponent] = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(claim);
  if (decimals === undefined && exponent === undefined) return Number(claim) === Number(printed);
  const unit = 10 ** (Number(exponent ?? 0) - (decimals?.length ?? 0));
  // A little more than half of the last digit: the claim itself is not a number that doubles hold exactly.
  return Math.abs(Number(printed) - Number(claim)) <= 0.5000001 * unit;
}
