// Why WebGPU does not work, and what to do, by browser: from real user agent strings.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advice, browserOf } from '../../www/webgpu-advice.js';

const AGENTS = {
  chromeOnLinux: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  oldChromeOnWindows: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0.0.0 Safari/537.36',
  chromeOnWindows: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  edgeOnWindows: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
  chromeOnAndroid: 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Mobile Safari/537.36',
  firefoxOnLinux: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
  firefoxOnWindows: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0',
  safariOnMac: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Safari/605.1.15',
  safariOnPhone: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
  chromeOnPhone: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0.0.0 Mobile/15E148 Safari/604.1',
  somethingElse: 'curl/8.0',
};

test('browsers, versions and systems are read from user agents', () => {
  for (const [agent, name, version, system] of [
    ['chromeOnLinux', 'Chrome', 140, 'Linux'], ['edgeOnWindows', 'Edge', 140, 'Windows'], ['chromeOnAndroid', 'Chrome', 118, 'Android'], ['firefoxOnLinux', 'Firefox', 153, 'Linux'],
    ['safariOnMac', 'Safari', 18, 'macOS'], ['safariOnPhone', 'Safari', 26, 'iOS'], ['chromeOnPhone', 'Chrome', 140, 'iOS'], ['somethingElse', 'this browser', 0, 'this system'],
  ]) assert.deepEqual(browserOf(AGENTS[agent]), { name, version, system }, agent);
});

describe('each kind of trouble has its reason and its steps', () => {
  for (const [cause, agent, why, step] of [
    ['insecure', 'chromeOnWindows', /not secure/, /https.*localhost/],
    ['no-navigator-gpu', 'chromeOnLinux', /Chrome 140 on Linux has no WebGPU.*navigator\.gpu/, /chrome:\/\/flags\/#enable-unsafe-webgpu/],
    ['no-navigator-gpu', 'oldChromeOnWindows', /Chrome 109/, /Update Chrome.*113.*109/],
    ['no-navigator-gpu', 'chromeOnWindows', /Chrome 140/, /switched off/],
    ['no-navigator-gpu', 'chromeOnAndroid', /Android/, /Update Chrome.*121/],
    ['no-navigator-gpu', 'firefoxOnLinux', /Firefox 153 on Linux/, /about:config.*dom\.webgpu\.enabled/],
    ['no-navigator-gpu', 'firefoxOnWindows', /Firefox 128/, /Update Firefox.*141/],
    ['no-navigator-gpu', 'safariOnMac', /Safari 18/, /Update Safari.*26/],
    ['no-navigator-gpu', 'chromeOnPhone', /iOS/, /built on Safari.*26/],
    ['no-navigator-gpu', 'somethingElse', /this browser has no WebGPU/, /Chrome and Edge 113/],
    ['no-adapter', 'chromeOnWindows', /no graphics adapter/, /hardware acceleration/],
    ['no-adapter', 'chromeOnLinux', /no graphics adapter/, /Vulkan/],
    ['no-adapter', 'firefoxOnLinux', /no graphics adapter/, /about:support.*gfx\.webgpu\.ignore-blocklist/],
    ['no-adapter', 'safariOnMac', /no graphics adapter/, /Lockdown Mode/],
    ['no-device', 'edgeOnWindows', /gave no device/, /Close other pages/],
  ]) {
    test(`${cause} in ${agent}`, () => {
      const found = advice(cause, AGENTS[agent]);
      assert.match(found.why, why);
      assert.match(found.steps.join('\n'), step);
    });
  }
  test('an unknown cause throws', () => assert.throws(() => advice('other', AGENTS.chromeOnLinux), /other/));
});
