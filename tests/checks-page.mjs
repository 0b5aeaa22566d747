// The checks of www/checks in the browser that is driven: each is a test of its own, by the name that the page shows.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { launch, listen, url } from './browser.mjs';

/** The checks that pass a broken kernel to the device, and a kernel to a device that is lost: Firefox reports both on the console. */
const REPORTED = /^(error-codes\/a-kernel-that-the-device-does-not-compile|tensor-devices\/a-lost-device-rejects-calls)/;

/** An outcome's failure as the page shows it. */
const inWords = ({ failure, reason }) =>
  failure === undefined ? `skipped: ${reason}` : Object.entries(failure).filter(([name]) => name !== 'stack').map(([name, value]) => `${name}: ${value}`).join('\n');

/** Makes a test of each check that `isTaken` takes. */
export async function testChecks(isTaken) {
  const browser = await launch();
  const complaints = [];
  const page = await browser.newPage();
  listen(page, complaints);
  await page.goto(new URL('checks/', url).href);
  await page.waitForFunction(() => window.residuaChecks !== undefined, { timeout: 120_000 });
  const { checks, groups } = await page.evaluate(() => ({ checks: window.residuaChecks.checks, groups: window.residuaChecks.groups }));
  after(() => browser.close());
  const taken = checks.filter(isTaken);

  test('there are checks for the script', () => assert.notEqual(taken.length, 0));

  for (const { id: group, title } of groups.filter(({ id }) => taken.some((check) => check.group === id))) {
    describe(title, () => {
      for (const { id, title } of taken.filter((check) => check.group === group)) {
        test(title, { timeout: 660_000 }, async () => {
          const [outcome] = await page.evaluate((id) => window.residuaChecks.run([id]), id);
          for (const note of outcome.notes) console.log(note);
          // The software adapters have all that checks need: nothing is skipped.
          assert.equal(outcome.status, 'passed', inWords(outcome));
          if (REPORTED.test(id)) complaints.length = 0;
          assert.deepEqual(complaints, [], 'what the page complains of meanwhile');
        });
      }
    });
  }

  test('the page reports no error', () => assert.deepEqual(complaints, []));
}
