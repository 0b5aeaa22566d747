/**
 * Incremental optimisation of a pose graph: one step of Levenberg-Marquardt at a time, so that a page can draw between steps. Takes a graph
 * and a robust loss for its loop closures; returns compiled functions whose parameters are the poses, and the result of each step. Odometry
 * keeps the squared loss, because its errors are small.
 */
import { GpuCompiledFunctions, levenbergMarquardt, loss } from 'residua';
import { poseGraphProblem, SHAPES } from '../../problems/pose-graph.js';
import { edgeGroups } from './graphs.js';

/** The available losses; `scale` is in standard deviations of a measurement. */
export const LOSSES = {
  squared: () => loss.squared(),
  huber: (scale) => loss.huber(scale),
  cauchy: (scale) => loss.cauchy(scale),
  tukey: (scale) => loss.tukey(scale),
};

/** Terminations after which a further step changes nothing. */
const STOPPED = new Set(['max-iterations', 'max-time', 'aborted']);

/**
 * Poses form long chains, along which conjugate gradients propagate information by one edge per iteration; the default of a hundred
 * iterations is not enough. On the CPU the automatic choice factorises, and these options have no effect.
 */
const LINEAR_SOLVER = { maxLinearIterations: 1000, linearTolerance: 0.01 };

const INITIAL_DAMPING = 1e-3;

export class Unfolding {
  /**
   * @param {import('../../problems/g2o.js').PoseGraph} graph
   * @param {{ loss?: keyof typeof LOSSES, scale?: number }} options
   */
  constructor(graph, { loss: kind = 'squared', scale = 3 } = {}) {
    this.graph = graph;
    this.shape = SHAPES[graph.dimension];
    this.groups = edgeGroups(graph);
    this.kind = kind;
    this.scale = scale;
    const { problem, positions, rotations, blocks } = poseGraphProblem(graph, {
      odometry: { edges: this.groups.odometry },
      closures: { edges: this.groups.closures, loss: LOSSES[kind](scale) },
    });
    Object.assign(this, { problem, positions, rotations, blocks, functions: null });
    this.forget();
  }

  get poses() {
    return this.graph.positions.length / this.shape.position;
  }

  get measurements() {
    return this.graph.edges.length / 2;
  }

  /** Degrees of freedom: at the optimum of a graph without wrong edges, twice the cost is about this, ± √(2 · this). */
  get freedom() {
    const { fixed } = this.graph;
    const perPose = this.graph.dimension === 3 ? 6 : 3;
    return perPose * (this.measurements - (this.poses - Math.max(1, fixed.length)));
  }

  /**
   * Compiles, and continues from the current parameters; a failure changes nothing. Returns the previous functions, null at first. The
   * caller disposes of them when it no longer draws from them.
   */
  async compile(options) {
    const before = this.functions;
    this.functions = await GpuCompiledFunctions.compile(this.problem, options);
    this.forget();
    return before;
  }

  /** Resets the poses to the graph's start. */
  restart() {
    this.positions.set(this.graph.positions);
    this.rotations.set(this.graph.rotations);
    this.forget();
  }

  /** Sets another loss from the next step on, without recompiling. */
  setLoss(kind, scale) {
    this.kind = kind;
    this.scale = scale;
    this.blocks.closures?.setLoss(LOSSES[kind](scale));
    this.done = false;
    this.damping = INITIAL_DAMPING;
    this.termination = null;
  }

  forget() {
    this.iteration = 0;
    this.damping = INITIAL_DAMPING;
    this.growth = 2;
    this.done = false;
    this.cost = null;
    this.termination = null;
  }

  /**
   * Runs one step of Levenberg-Marquardt; on the GPU the poses stay on the device. With a cost that is not finite no step is possible, and
   * the optimisation ends.
   */
  async step(signal) {
    let result;
    try {
      result = await levenbergMarquardt(this.functions, {
        maxIterations: 1, initialDamping: this.damping, readBack: this.functions.backend === 'cpu', signal, ...(this.functions.backend === 'gpu' ? LINEAR_SOLVER : {}),
      });
    } catch (error) {
      if (error.code !== 'non-finite') throw error;
      Object.assign(this, { done: true, termination: error.code, cost: NaN });
      return { iteration: this.iteration, cost: NaN, startCost: null, accepted: false, linearIterations: 0, milliseconds: 0 };
    }
    const last = result.history.at(-1);
    const began = this.iteration === 0 && result.history.length > 1 ? result.initialCost : null;
    this.cost = result.finalCost;
    if (result.termination !== 'aborted') {
      this.iteration += result.iterations;
      this.termination = result.termination;
      this.done = !STOPPED.has(result.termination);
      this.#adapt(last);
    }
    return {
      iteration: this.iteration, cost: this.cost, startCost: began, accepted: last.accepted, linearIterations: last.linearIterations ?? 0, milliseconds: result.computationTime,
    };
  }

  /** Keeps the damping for the next call: Nielsen's rule, which the solver applies within a call. */
  #adapt({ iteration, accepted, damping, gainRatio }) {
    if (iteration === 0 || !(damping > 0)) return;
    if (accepted) {
      this.damping = Math.max(1e-12, damping * Math.max(1 / 3, 1 - (2 * gainRatio - 1) ** 3));
      this.growth = 2;
    } else {
      this.damping = damping * this.growth;
      this.growth *= 2;
    }
  }

  dispose() {
    this.functions?.dispose();
    this.functions = null;
  }
}
