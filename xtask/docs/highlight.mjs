// Colours for code, given when the site is built: no script of the page has to do it.
//
// Takes code and its language, gives HTML. It distinguishes words and not grammar, which suffices for reading.

const WORDS = {
  ts: 'abstract as async await break case catch class const continue declare default delete do else export extends false finally for from function get if import in instanceof interface is keyof let new null of private readonly return static switch this throw true try type typeof undefined using var void while yield',
  cpp: 'auto bool class const double false float for if include int namespace new nullptr operator private public return static struct template this true typename using virtual void',
  python: 'and as assert break class continue def del elif else except False finally for from if import in is lambda None not or pass raise return True try while with yield',
  wgsl: 'alias array atomic bitcast bool break case const continue continuing default diagnostic discard else enable f32 false fn for i32 if let loop mat3x3 override ptr read read_write return storage struct switch true u32 uniform var vec2 vec3 vec4 while',
  sh: 'cargo npm npx node cd',
};
WORDS.js = WORDS.ts;

const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/;
const NUMBER = /\b(?:0x[\da-f]+u?|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?[fu]?)\b/i;
const COMMENT = { sh: /#[^\n]*/, python: /#[^\n]*/, html: /<!--[^]*?-->/ };
const SLASHES = /\/\/[^\n]*|\/\*[^]*?\*\//;
const NAME = /[A-Za-z_$][\w$]*/;
const TAG = /<\/?[\w-]+|\/?>/;

/** Text as HTML. */
export function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Code as HTML. `linkOf` gives the address of a name's documentation, or nothing. */
export function highlight(code, language, linkOf = () => undefined) {
  const base = language.split(' ')[0];
  if (base === 'text' || base === '') return escapeHtml(code);
  const words = new Set((WORDS[base] ?? '').split(' '));
  const parts = [['comment', COMMENT[base] ?? SLASHES], ['string', STRING], ...(base === 'html' ? [['word', TAG]] : []), ['attribute', /@\w+/], ['number', NUMBER], ['name', NAME]];
  const pattern = new RegExp(parts.map(([name, { source }]) => `(?<${name}>${source})`).join('|'), 'gi');
  let html = '';
  let end = 0;
  for (const found of code.matchAll(pattern)) {
    html += escapeHtml(code.slice(end, found.index));
    end = found.index + found[0].length;
    const [kind] = Object.entries(found.groups).find(([, text]) => text !== undefined);
    html += span(kind === 'name' ? kindOfName(found[0], words, code.slice(end)) : kindOf(kind, found[0]), found[0], linkOf);
  }
  return html + escapeHtml(code.slice(end));
}

function kindOf(kind, text) {
  return kind === 'comment' && text.startsWith('// →') ? 'claim' : kind;
}

function kindOfName(name, words, after) {
  if (words.has(name)) return 'word';
  if (/^[A-Z]/.test(name)) return 'type';
  return after.startsWith('(') ? 'call' : '';
}

function span(kind, text, linkOf) {
  const address = kind === 'type' || kind === 'call' || kind === '' ? linkOf(text) : undefined;
  const shown = kind === '' ? escapeHtml(text) : `<span class="${kind}">${escapeHtml(text)}</span>`;
  return address === undefined ? shown : `<a href="${address}">${shown}</a>`;
}
