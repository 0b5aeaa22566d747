import { testChecks } from '../checks-page.mjs';
const all = process.env.FFT_LONG === '1';
await testChecks(({ group, long }) => group === 'tensor-fourier' && long === all);
