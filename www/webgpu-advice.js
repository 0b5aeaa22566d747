/**
 * Why WebGPU does not work in a browser, and what a visitor can do. Takes what the page has observed; returns sentences. It reads no global
 * state, so every case is tested without its browser.
 */

/** Names and versions in user agent strings; the first match counts. */
const BROWSERS = [
  ['Edge', /Edg(?:A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Samsung Internet', /SamsungBrowser\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|Chromium|CriOS|HeadlessChrome)\/(\d+)/],
  ['Safari', /Version\/(\d+)[\d.]* (?:Mobile\/\S+ )?Safari/],
];
const SYSTEMS = [['Android', /Android/], ['iOS', /iPhone|iPad|iPod/], ['ChromeOS', /CrOS/], ['Windows', /Windows/], ['macOS', /Macintosh|Mac OS X/], ['Linux', /Linux|X11/]];

/**
 * @returns {{ name: string, version: number, system: string }} 'this browser' and 'this system' where the user agent string does not
 *   contain them
 */
export function browserOf(userAgent) {
  const [system] = SYSTEMS.find(([, pattern]) => pattern.test(userAgent)) ?? ['this system'];
  for (const [name, pattern] of BROWSERS) {
    const found = pattern.exec(userAgent);
    if (found !== null) return { name, version: Number(found[1]), system };
  }
  return { name: 'this browser', version: 0, system };
}

const inWords = ({ name, version, system }) => (version === 0 ? name : `${name} ${version} on ${system}`);

/** The first version with WebGPU enabled by default. Firefox on other systems has it behind a preference. */
const SINCE = {
  Chrome: { Windows: 113, macOS: 113, ChromeOS: 113, Android: 121 },
  Edge: { Windows: 113, macOS: 113, Android: 121 },
  Firefox: { Windows: 141, macOS: 145 },
  Safari: { macOS: 26, iOS: 26 },
};

const ELSEWHERE = 'WebGPU is in Chrome and Edge 113 and newer (121 on Android), Safari 26 and newer, and Firefox 141 and newer on Windows (145 on a Mac with Apple silicon).';

/** Advice for a browser without navigator.gpu on a secure page. */
function withoutNavigatorGpu(browser) {
  const { name, version, system } = browser;
  if (system === 'iOS' && name !== 'Safari') return ['On iOS every browser is built on Safari: update iOS to 26 or newer.'];
  const since = SINCE[name]?.[system];
  if (since !== undefined && version < since) return [`Update ${name}: it has WebGPU on ${system} from version ${since} on, and this is ${version}.`];
  if (name === 'Firefox') return ['Open about:config and set dom.webgpu.enabled to true, then restart Firefox.', ELSEWHERE];
  if (system === 'Linux' && (name === 'Chrome' || name === 'Edge' || name === 'Opera')) {
    return ['Open chrome://flags/#enable-unsafe-webgpu, choose Enabled, and restart the browser. If that does not help, also enable chrome://flags/#enable-vulkan.'];
  }
  if (since !== undefined) return [`${name} ${version} has WebGPU on ${system}, so it is switched off here: by a setting, an extension, a policy of the organisation, or a private mode.`];
  return [ELSEWHERE];
}

/** Advice where navigator.gpu returns no adapter. */
function withoutAdapter(browser) {
  const { name, system } = browser;
  const driver = 'Update the graphics driver: browsers refuse those with known faults.';
  if (name === 'Firefox') return ['about:support says under Graphics why the graphics card is not used. Set gfx.webgpu.ignore-blocklist to true in about:config to use it nevertheless.', driver];
  if (name === 'Safari') return ['See that Lockdown Mode is off, and that the system is up to date.'];
  const steps = ['Switch on hardware acceleration in the browser’s settings, under System, and restart it. chrome://gpu says what is the matter.', driver];
  if (system === 'Linux') steps.push('On Linux the driver needs Vulkan: try chrome://flags/#enable-vulkan and chrome://flags/#enable-unsafe-webgpu.');
  return steps;
}

/**
 * @param {'insecure' | 'no-navigator-gpu' | 'no-adapter' | 'no-device'} cause
 * @param {string} userAgent
 * @returns {{ why: string, steps: string[] }}
 */
export function advice(cause, userAgent) {
  const browser = browserOf(userAgent);
  switch (cause) {
    case 'insecure':
      return { why: 'The page is not secure, and browsers show WebGPU to secure pages alone.', steps: ['Open it over https, or from localhost.'] };
    case 'no-navigator-gpu':
      return { why: `${inWords(browser)} has no WebGPU: there is no navigator.gpu.`, steps: withoutNavigatorGpu(browser) };
    case 'no-adapter':
      return { why: `${inWords(browser)} has WebGPU, but no graphics adapter for it.`, steps: withoutAdapter(browser) };
    case 'no-device':
      return { why: `${inWords(browser)} has WebGPU and an adapter, which gave no device.`, steps: ['Close other pages that use the graphics card, and restart the browser.', ...withoutAdapter(browser)] };
    default:
      throw new Error(`no advice for ${cause}`);
  }
}
