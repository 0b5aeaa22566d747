// Every JavaScript block of the two READMEs runs, and says what it claims to.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** What the blocks of a README must have logged, block after block; each a pattern for all of its output. */
const claims = {
  'README.md': [/Termination[^]*(2\.99\d*|3\.00\d*|3), (0\.69\d*|0\.70\d*|0\.7)/],
  'pkg-template/README.md': [
    /Termination[^]*(2\.99\d*|3\.00\d*|3), (0\.69\d*|0\.70\d*|0\.7)/,
    /^cpu .*residua[^]*\n-0\.[45]\d*$/, // sin(10) is -0.54
    /^[\d.e-]+ \d+ 1$/,
    /^[a-z-]+ residua[^]*Linear solver[^]*dense QR[^]*\n0\.7071\d*, .*, 0\.7071\d* (2|2\.0000\d*|1\.9999\d*), .*, 0$/,
    /@compute/,
    /^true invalid-argument .*\b2\b/,
  ],
};

for (const [file, patterns] of Object.entries(claims)) {
  const blocks = [...readFileSync(root + file, 'utf8').matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
  describe(file, () => {
    test('every block has its claim', () => assert.equal(blocks.length, patterns.length));
    blocks.forEach((code, number) => {
      test(`block ${number + 1} runs`, async () => {
        const blank = await openBlankPage(browser, { load: false });
        try {
          const logged = await blank.page.evaluate(async (code) => {
            const lines = [];
            console.log = (...words) => void lines.push(words.map((word) => (ArrayBuffer.isView(word) ? [...word].join(', ') : String(word))).join(' '));
            await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
            return lines.join('\n');
          }, code);
          assert.match(logged, patterns[number]);
          assert.deepEqual(blank.complaints, []);
        } finally {
          await blank.close();
        }
      });
    });
  });
}
