// Chromium with WebGPU, driven by Playwright: the one place that knows the browser's flags.
//
// CHROMIUM names the program, RESIDUA_ADAPTER the adapter: `swiftshader` (the default; Chromium's software adapter,
// the same everywhere) or `hardware`. RESIDUA_URL is where `cargo xtask serve` serves www/.
import { chromium } from 'playwright-core';

/** Where the pages are served, with a slash at the end. */
export const url = process.env.RESIDUA_URL ?? 'http://127.0.0.1:8080/';

const flags = [
  '--no-sandbox', // root, as in containers, cannot have one
  '--disable-dev-shm-usage', // containers have a /dev/shm of 64 MB
  '--disable-background-networking',
  '--enable-unsafe-webgpu',
];
const adapterFlags = {
  // The last two are for screenshots of WebGPU canvases.
  swiftshader: ['--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan', '--use-vulkan=swiftshader', '--use-angle=swiftshader'],
  hardware: [
    '--use-webgpu-adapter=default',
    '--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan',
    '--use-angle=vulkan',
    '--disable-vulkan-surface',
    '--ignore-gpu-blocklist',
  ],
};

/** Starts the browser. */
export function launch() {
  const adapter = process.env.RESIDUA_ADAPTER ?? 'swiftshader';
  if (!(adapter in adapterFlags)) throw new Error(`RESIDUA_ADAPTER is ${adapter}; it takes swiftshader or hardware`);
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [...flags, ...adapterFlags[adapter]],
  });
}
