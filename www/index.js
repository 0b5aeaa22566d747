/** The first page: says what WebGPU is like here. */
import { showStatus, webGpuStatus } from './webgpu-status.js';

const openContext = async () => (await import('residua')).GpuContext.default();
showStatus(document.querySelector('#status'), await webGpuStatus(openContext));
