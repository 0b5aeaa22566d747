// Parametrisations of a made mesh by the symmetric Dirichlet energy, for tests and measurements of Newton's method.
import { GpuCompiledFunctions, Mat2, newton, Problem, V, Vec2 } from 'residua';

/** A square grid of `size` × `size` cells over a hilly surface, as triangles. */
export function hillyMesh(size) {
  const points = [];
  for (let j = 0; j <= size; j++) {
    for (let i = 0; i <= size; i++) {
      const [x, y] = [(2 * i) / size - 1, (2 * j) / size - 1];
      points.push([x, y, 0.8 * Math.exp(-4 * (x * x + y * y)) + 0.15 * Math.sin(5 * x) * Math.cos(4 * y)]);
    }
  }
  const triangles = [];
  for (let j = 0; j < size; j++) {
    for (let i = 0; i < size; i++) {
      const at = j * (size + 1) + i;
      triangles.push([at, at + 1, at + size + 2], [at, at + size + 2, at + size + 1]);
    }
  }
  const isBoundary = (i, j) => i === 0 || j === 0 || i === size || j === size;
  const boundary = points.flatMap((_, k) => (isBoundary(k % (size + 1), Math.floor(k / (size + 1))) ? [k] : []));
  return { points, triangles, boundary };
}

/** The area of each triangle, and the inverse of the matrix of two edges in a plane of its own. */
function restShapes({ points, triangles }) {
  const areas = [];
  const inverses = triangles.flatMap(([a, b, c]) => {
    const [u, v] = [b, c].map((corner) => points[corner].map((x, k) => x - points[a][k]));
    const dot = (p, q) => p.reduce((sum, x, k) => sum + x * q[k], 0);
    const length = Math.sqrt(dot(u, u));
    const along = dot(u, v) / length;
    const height = Math.sqrt(dot(v, v) - along * along);
    areas.push((length * height) / 2);
    return [1 / length, -along / (length * height), 0, 1 / height];
  });
  return { areas, inverses };
}

/** Puts the boundary on a circle and every other vertex at the mean of its neighbours (W. T. Tutte, 1963): one Newton step of springs. */
export async function tutte({ points, triangles, boundary }) {
  const problem = new Problem();
  const start = points.flatMap(([x, y]) => {
    const angle = Math.atan2(y, x);
    return [Math.cos(angle), Math.sin(angle)];
  });
  const places = problem.parameters('places', { dim: 2, values: start });
  places.setConstant(boundary);
  const edges = triangles.flatMap(([a, b, c]) => [[a, b], [b, c], [c, a]]);
  problem.residuals('springs', {
    inputs: { a: places.at(edges.map(([a]) => a)), b: places.at(edges.map(([, b]) => b)) },
    residual: ({ a, b }) => a.sub(b).sqrMagnitude,
  });
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const result = await newton(functions);
  functions.dispose();
  return { start: places.values(), result };
}

/** Σ area · (‖J‖² + ‖J⁻¹‖²) of the map from the surface to the plane, infinite where a triangle is turned over. */
export function symmetricDirichlet(mesh, start) {
  const { areas, inverses } = restShapes(mesh);
  const problem = new Problem();
  const places = problem.parameters('places', { dim: 2, values: start });
  const corner = (k) => places.at(Uint32Array.from(mesh.triangles, (triangle) => triangle[k]));
  problem.residuals('triangles', {
    inputs: { a: corner(0), b: corner(1), c: corner(2), rest: problem.data(inverses, 4), area: problem.data(areas) },
    residual: ({ a, b, c, rest, area }) => {
      const jacobian = Mat2.fromColumns(b.sub(a), c.sub(a)).matmul(Mat2.fromRows(new Vec2(rest[0], rest[1]), new Vec2(rest[2], rest[3])));
      const determinant = jacobian.determinant;
      const energy = jacobian.squaredNorm.mul(determinant.square().reciprocal().add(1)).mul(area);
      return V.ifThenElse(determinant.gt(0), energy, Infinity);
    },
  });
  return { problem, places, areas };
}
