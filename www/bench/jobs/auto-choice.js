/**
 * The choice of `backend: 'auto'`: for each job and size the times of the GPU, the CPU and 'auto', and the excess of 'auto' over the faster
 * of the two. It should be at most 10 % or 0.2 ms.
 */
import { runJob } from '../runner.js';
import { SIZES } from '../sizes.js';
import { excess } from '../statistics.js';
import { developable } from './developable.js';
import { fits } from './fits.js';
import { gaussNewton } from './gauss-newton.js';
import { rigidGradient } from './rigid.js';
import { lbfgsSolve, lmSolve } from './solves.js';
import { springGradient } from './spring-gradient.js';

export const name = 'auto-choice';
export const title = "What backend 'auto' takes, beside the GPU and the CPU";
export const unit = 'vertices, or fits';
export const sizes = SIZES;

const JOBS = [springGradient, gaussNewton, rigidGradient, developable, lmSolve, lbfgsSolve, fits];
const ENGINES = ['residua GPU', 'residua CPU', 'residua auto'];

/** `choices=name,name` selects jobs. */
export async function run(query, tell, progress, settings) {
  const wanted = query.get('choices')?.split(',');
  for (const job of JOBS.filter(({ name }) => wanted === undefined || wanted.includes(name))) {
    const rows = [];
    const only = { ...job, contenders: job.contenders.filter(({ name }, index) => index === 0 || ENGINES.includes(name)) };
    await runJob(only, { ...settings, sizes: settings.sizes.filter((size) => size <= job.sizes.at(-1)), contenders: undefined }, (row) => rows.push(row), progress);
    for (const size of new Set(rows.map((row) => row.size))) {
      const [gpu, cpu, auto] = ENGINES.map((engine) => rows.find((row) => row.size === size && row.contender === engine));
      const median = excess(gpu?.['median, ms'], cpu?.['median, ms'], auto?.['median, ms']);
      tell({
        job: job.name, size, took: auto?.notes?.took, 'GPU, median, ms': gpu?.['median, ms'], 'CPU, median, ms': cpu?.['median, ms'], 'auto, median, ms': auto?.['median, ms'],
        'excess, ms': median.ms, 'excess, %': 100 * median.share, within: Number.isNaN(median.ms) ? 'not known' : median.within ? 'yes' : 'no',
        'GPU, least, ms': gpu?.['least, ms'], 'CPU, least, ms': cpu?.['least, ms'], 'auto, least, ms': auto?.['least, ms'],
        reason: [gpu, cpu, auto].map((row) => row?.reason).filter(Boolean).join('; ') || undefined,
      });
    }
  }
}
