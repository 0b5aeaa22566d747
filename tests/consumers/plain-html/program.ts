// A program as a user would write it, touching every part of the public contract. It is type-checked against the
// packed declarations and then run; `window.result` resolves with what it found.
import {
  GpuCompiledFunctions, GpuContext, Mat3, Problem, ResiduaError, V, Value, Vec2, Vec3, Vec4,
  geometry, init, lbfgs, loss,
  type Block, type CompileOptions, type ContextProfile, type ContextStats, type CsrMatrix, type ErrorCode, type GpuContextOptions, type Indices, type Input,
  type IterationSummary, type LbfgsOptions, type Loss, type Manifold, type Numbers, type Output,
  type ParameterArray, type ResidualBlock, type Scalar, type SolveOptions, type SolveResult, type Termination, type Tuple, type WasmSource,
} from 'residua';
import type * as Page from 'residua';
import type * as InWorker from 'residua/worker';

declare global {
  interface Window { result: Promise<Found> }
}

interface Found {
  backends: string[];
  roots: number[];
  fitted: number[];
  termination: Termination;
  refused: ErrorCode;
  expression: number;
}

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const types: [
  Same<Block<1>, Value>, Same<Block<2>, Vec2>, Same<Block<3>, Vec3>, Same<Block<4>, Vec4>, Same<Block<7>, Value[]>,
  Same<Tuple<Value, 2>, [Value, Value]>, Same<Tuple<Vec3, 9>, Vec3[]>, Same<Scalar, Value | number>,
] = [true, true, true, true, true, true, true, true];
/** What the page has, `residua/worker` has too. */
const missing: Same<Exclude<keyof typeof Page, keyof typeof InWorker>, never> = true;

function expression(): Value {
  const a = V.C(2), b = V.Param(3, 'b');
  const operators: Value[] = [
    a.add(b), a.sub(1), a.mul(b), a.div(b), a.neg(), a.abs(), a.sign(), a.square(), a.cube(), a.sqrt(), a.reciprocal(), a.pow(3), a.mod(b),
    a.exp(), a.log(), a.sin(), a.cos(), a.tan(), V.asin(0.5), V.acos(0.5), a.atan(), a.sinh(), a.cosh(), a.tanh(), a.sigmoid(), a.softplus(), a.erf(), a.relu(),
    a.floor(), a.ceil(), a.round(), a.min(b), a.max(b), a.clamp(0, b), a.eq(b), a.neq(b), a.lt(b), a.lte(b), a.gt(b), a.gte(b),
    V.powValue(a, b), V.atan2(a, b), V.hypot(a, b, 1), V.ifThenElse(a.lt(b), a, b), V.mean([a, b, 1]), V.stopGradient(a), V.huber(a, 1), V.tukey(a),
    V.mse([a], [b]), V.mae([a], [b]), V.binaryCrossEntropy([0.5], [1]), V.categoricalCrossEntropy([a, b], [0, 1]),
  ];
  const u = Vec3.C(1, 0, 0), v = new Vec3(0, a, 0), w = Vec3.W(0, 0, 1);
  const matrix = Mat3.fromRows(u, v, w).add(Mat3.outer(u, v)).mul(0.5).matmul(Mat3.outer(u, u)).transpose();
  const quaternion = Vec4.C(1, 0, 0, 0).quaternionMul(new Vec4(0, 1, 0, 0)).conjugate();
  const shapes: Value[] = [
    ...u.cross(v).normalized, u.project(v).magnitude, quaternion.rotate(w).x, matrix.determinant, matrix.smallestEigenvalue, matrix.mulVec(w).z,
    Vec2.C(3, 4).perpendicular().dot(new Vec2(a, b)), geometry.triangleArea(u, v, w), geometry.dihedralAngle(u, v, w, u.add(v)),
    geometry.angleDefect(u, [v, w, u.neg()]), geometry.interiorAngle(u, v, w), geometry.distanceToPlane(u, v, w), geometry.distanceToLine(u, v, w),
    geometry.triangleNormal(u, v, w).x, geometry.centroid([u, v, w]).y,
  ];
  return V.sum([...operators, ...shapes].map((value) => V.mul(0, V.ifThenElse(V.eq(value, value), 1, 0)))).add(a.mul(b));
}

async function root(backend: 'gpu' | 'cpu'): Promise<{ backend: string; root: number }> {
  const options: CompileOptions = { backend, onProgress: (done, total, stage) => void [done / total, stage.length] };
  const functions = await GpuCompiledFunctions.compile([V.W(1, 'x')], ([x]: Value[]) => V.sub(V.square(x!), 2), options);
  const lbfgsOptions: LbfgsOptions = { objective: 'least-squares', historySize: 5, onIteration: ({ cost }: IterationSummary) => cost < 0 };
  const result: SolveResult = await lbfgs(functions, lbfgsOptions);
  const { jacobian }: { jacobian: CsrMatrix } = await functions.evaluateJacobian(result.x);
  const buffer: GPUBuffer | null = functions.parameterBuffer;
  if ((buffer === null) !== (functions.backend === 'cpu') || jacobian.toDense().length !== 1) throw new Error('a shape is wrong');
  functions.dispose();
  return { backend: functions.backend, root: result.x[0]! };
}

async function fit(): Promise<{ values: number[]; termination: Termination }> {
  const problem = new Problem();
  const line: ParameterArray<2> = problem.parameters('line', { dim: 2, values: [0, 0] });
  const xs: Numbers = Float64Array.of(-1, 0, 1, 2);
  const block: ResidualBlock = problem.residuals('points', {
    inputs: { line: line.shared(), x: problem.data(xs), y: problem.data([1, 3, 5, 7]) },
    // The inputs' types follow from what was handed in.
    residual: ({ line, x, y }): Output => {
      const exact: [Same<typeof line, Vec2>, Same<typeof x, Value>] = [true, true];
      return exact[0] ? line.x.mul(x).add(line.y).sub(y) : 0;
    },
    loss: loss.squared(),
  });
  block.setWeight(1);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const options: SolveOptions & Pick<LbfgsOptions, 'objective'> = { objective: 'least-squares', costTolerance: 0 };
  const result = await lbfgs(functions, options);
  functions[Symbol.dispose]();
  return { values: [...line.values()], termination: result.termination };
}

function inputTypes(indices: Indices): number {
  const problem = new Problem();
  const array: ParameterArray<3> = problem.parameters('points', { dim: 3, values: [0, 0, 0, 1, 1, 1] });
  const one: Input<Vec3> = array.at([1]);
  const two: Input<[Vec3, Vec3]> = array.at(indices, 2);
  const many: Input<Vec3[]> = array.star([0, 2], indices);
  const weights: Input<Value[]> = problem.dataStar([0, 2], [1, 1]);
  const manifold: Manifold = 'euclidean';
  array.setManifold(manifold);
  const robust: Loss = loss.scaled(loss.huber(1), 2);
  problem.residuals('typed', {
    inputs: { one, two, many, weights },
    residual: ({ one, two: [a, b], many, weights }) => [one.sub(a), b.dot(many[0]!), V.mul(weights[0]!, 2)],
    loss: robust,
  });
  return problem.numResiduals;
}

async function refusal(): Promise<ErrorCode> {
  try {
    new Problem().parameters('none', { dim: 3, values: [1] });
  } catch (error) {
    if (error instanceof ResiduaError) return error.code;
  }
  throw new Error('nothing was refused');
}

async function main(): Promise<Found> {
  const source: WasmSource | undefined = undefined;
  await init(source);
  const contextOptions: GpuContextOptions = { powerPreference: 'high-performance' };
  const context = await GpuContext.create(contextOptions);
  const stats: ContextStats = context.stats();
  const profile: ContextProfile | undefined = stats.profile;
  if (stats.buffers < 0 || profile !== undefined || !types.every(Boolean) || !missing) throw new Error('impossible');
  context.dispose();
  if (inputTypes([0, 1]) !== 5) throw new Error('one instance has 3 + 1 + 1 residuals');
  const roots = [await root('gpu'), await root('cpu')];
  const { values, termination } = await fit();
  return {
    backends: roots.map(({ backend }) => backend), roots: roots.map(({ root }) => root), fitted: values, termination,
    refused: await refusal(), expression: expression().data,
  };
}

window.result = main();
