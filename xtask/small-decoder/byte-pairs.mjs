// A byte-level tokeniser (Sennrich, Haddow and Birch 2016, over bytes as in GPT-2): the pair of neighbours that is most frequent becomes a token, again and again.

/** GPT-2's printable letter for each byte. */
const LETTERS = (() => {
  const isPrintable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
})();

/** How GPT-2 cuts a text before it merges. */
const CUT = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

const lettersOf = (word) => Array.from(new TextEncoder().encode(word), (byte) => LETTERS[byte]);

/** Joins the neighbours `left`, `right` wherever they stand. */
function join(pieces, left, right) {
  const joined = [];
  for (let i = 0; i < pieces.length; i++) {
    if (pieces[i] === left && pieces[i + 1] === right) joined.push(left + pieces[++i]);
    else joined.push(pieces[i]);
  }
  return joined;
}

/**
 * A vocabulary of `size` tokens, of which the first two begin and end a text, and the merges in their order.
 * @param {string[]} texts
 */
export function learnPairs(texts, size) {
  const words = new Map();
  for (const text of texts) for (const [word] of text.matchAll(CUT)) words.set(word, (words.get(word) ?? 0) + 1);
  const parts = Array.from(words, ([word, count]) => ({ pieces: lettersOf(word), count }));
  const tokens = ['<s>', '</s>', ...LETTERS];
  const merges = [];
  while (tokens.length < size) {
    const counts = new Map();
    for (const { pieces, count } of parts) {
      for (let i = 1; i < pieces.length; i++) {
        const pair = `${pieces[i - 1]} ${pieces[i]}`;
        counts.set(pair, (counts.get(pair) ?? 0) + count);
      }
    }
    let best = null;
    for (const [pair, count] of counts) if (best === null || count > counts.get(best) || (count === counts.get(best) && pair < best)) best = pair;
    if (best === null) break;
    const [left, right] = best.split(' ');
    for (const part of parts) if (part.pieces.includes(left)) part.pieces = join(part.pieces, left, right);
    merges.push(best);
    tokens.push(left + right);
  }
  return { tokens, merges };
}

/** A function from a text to its token numbers. */
export function encoderOf({ tokens, merges }) {
  const [ids, ranks] = [tokens, merges].map((list) => new Map(list.map((entry, at) => [entry, at])));
  const known = new Map();
  const encodeWord = (word) => {
    let pieces = lettersOf(word);
    for (;;) {
      let best = null;
      for (let i = 1; i < pieces.length; i++) {
        const rank = ranks.get(`${pieces[i - 1]} ${pieces[i]}`);
        if (rank !== undefined && (best === null || rank < best.rank)) best = { rank, left: pieces[i - 1], right: pieces[i] };
      }
      if (best === null) return pieces.map((piece) => ids.get(piece));
      pieces = join(pieces, best.left, best.right);
    }
  };
  return (text) => Array.from(text.matchAll(CUT), ([word]) => {
    if (!known.has(word)) known.set(word, encodeWord(word));
    return known.get(word);
  }).flat();
}
