// Mesh energies: the GPU against the CPU on the meshes of the collection, by the same comparison that the page of checks makes on an icosphere.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { hasData, listData, readData } from '../shared-data.mjs';

/** The energies, whose names are known before a browser is. */
const NAMES = ['developability', 'springs with rest lengths', 'as-rigid-as-possible', 'bending', 'areas and angle defects'];

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(async () => {
    const { Check } = await import('/checks/check.js');
    const { compareEngines, energyNames } = await import('/checks/mesh-comparison.js');
    window.energyNames = energyNames;
    /** What the comparison notes; it throws where the engines differ. */
    window.compare = async (name, obj) => {
      const check = new Check('both');
      try {
        await compareEngines(check, name, obj);
        return check.notes;
      } catch (error) {
        throw new Error(`${error.message}: ${JSON.stringify(error.facts)}`, { cause: error });
      } finally {
        await check.end();
      }
    };
  });
});
after(() => browser.close());

describe('GPU and CPU agree on the energies of a mesh', () => {
  for (const name of NAMES) {
    test(`${name}, collection`, async (t) => {
      if (!hasData(t, 'meshes')) return;
      for (const file of listData('meshes', '.obj')) {
        for (const note of await page.evaluate((name, obj) => window.compare(name, obj), name, readData(`meshes/${file}`))) console.log(`${file}: ${note}`);
      }
    });
  }
  test('no energy is left out', async () => assert.deepEqual(await page.evaluate(() => window.energyNames), NAMES));
});
