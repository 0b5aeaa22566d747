// The packed tarball in Deno and in Bun, which npm installs for this test: a fit and a product of matrices.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeProject } from './project.mjs';

const PROGRAM = `
import { Problem, solve } from 'residua';
import { Device } from 'residua/tensor';
const times = Float64Array.from({ length: 500 }, (_, i) => i / 50);
const problem = new Problem();
const curve = problem.parameters('curve', { dim: 2, values: [1, 1] });
problem.residuals('decay', {
  inputs: { c: curve.shared(), t: problem.data(times), y: problem.data(times.map((t) => 3 * Math.exp(-0.7 * t))) },
  residual: ({ c, t, y }) => c.x.mul(c.y.mul(t).neg().exp()).sub(y),
});
const { success } = await solve(problem, { backend: 'cpu' });
const device = await Device.create({ backend: 'cpu' });
const product = await device.tensor([[1, 2, 3], [4, 5, 6]]).matmul(device.tensor([[1, 0], [0, 1], [1, 1]])).data();
device.dispose();
console.log(JSON.stringify({ success, curve: [...curve.values()], product: [...product] }));
`;

let project;
before(async () => {
  project = await makeProject();
  await writeFile(join(project.folder, 'program.mjs'), PROGRAM);
});
after(() => project?.remove());

for (const [runtime, args] of [['bun', ['run']], ['deno', ['run', '--allow-read']]]) {
  test(`a fit and a product in ${runtime}`, async () => {
    await project.run('npm', ['install', runtime, '--no-audit', '--no-fund', '--prefer-offline']);
    const { success, curve, product } = JSON.parse(await project.run(join('node_modules/.bin', runtime), [...args, 'program.mjs']));
    assert.equal(success, true);
    // The data are exact, so that the solve ends with the digits of doubles but for its last step.
    for (const [k, exact] of [3, 0.7].entries()) assert.ok(Math.abs(curve[k] - exact) < 1e-9, `${curve}`);
    assert.deepEqual(product, [4, 5, 10, 11]);
  });
}
