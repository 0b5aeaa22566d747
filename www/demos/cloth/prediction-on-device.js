/**
 * prediction.js as a compute shader for the GPU engine. It reads the positions in the solver's buffer (parameterBuffer), keeps those of the
 * previous step in its own buffer, and writes x̂ and the weights directly to the data inputs of the step's problem. Nothing is read back; a
 * step uploads 80 bytes.
 *
 * A second entry point finds the vertex nearest to a ray, so that picking one of a million reads back 8 bytes. It runs in two passes over a
 * key, because WGSL has no atomics on floats: the bits of positive floats have the order of the floats, so their minimum belongs to the
 * nearest vertex; the second pass writes the index of the vertex with that key.
 */
import { FREE, PIN_HERE, PINNED } from './prediction.js';

const WORKGROUP = 256;

const CONDITIONS = `
struct Conditions {
  wind: vec3f, gusts: f32,
  heldAt: vec3f, held: i32,
  step: f32, lastStep: f32, gravity: f32, keep: f32,
  columns: u32, rows: u32, airOverMass: f32, time: f32,
  holdGrip: f32, pinGrip: f32, padding0: f32, padding1: f32,
}`;

const PREDICT = `${CONDITIONS}
const FREE = ${FREE}u;
const PINNED = ${PINNED}u;
const PIN_HERE = ${PIN_HERE}u;
@group(0) @binding(0) var<uniform> now: Conditions;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> previous: array<f32>;
@group(0) @binding(3) var<storage, read_write> target_: array<f32>;
@group(0) @binding(4) var<storage, read_write> grip: array<f32>;
@group(0) @binding(5) var<storage, read_write> pins: array<u32>;

fn position(vertex: u32) -> vec3f {
  return vec3f(x[3u * vertex], x[3u * vertex + 1u], x[3u * vertex + 2u]);
}

fn gust(p: vec3f) -> vec2f {
  let a = sin(1.3 * p.x + 0.7 * p.y + 2.1 * now.time) * sin(0.9 * p.z - 1.1 * p.x + 1.3 * now.time);
  let b = sin(2.9 * p.y - 1.7 * p.x + 3.7 * now.time + 1.0) * sin(0.53 * now.time);
  return vec2f(1.0 + now.gusts * (0.8 * a + 0.4 * b), now.gusts * 0.5 * sin(1.9 * p.x + 1.1 * p.z - 1.7 * now.time));
}

@compute @workgroup_size(${WORKGROUP})
fn predict(@builtin(global_invocation_id) id: vec3u) {
  let vertex = id.x;
  if (vertex >= now.columns * now.rows) { return; }
  let column = vertex % now.columns;
  let row = vertex / now.columns;
  let p = position(vertex);
  let before = vec3f(previous[3u * vertex], previous[3u * vertex + 1u], previous[3u * vertex + 2u]);
  var v = now.keep * (p - before) / now.lastStep;
  v.y -= now.step * now.gravity;
  // At an edge the vertex itself replaces its neighbour, which gives half the area.
  let right = position(select(vertex, vertex + 1u, column + 1u < now.columns));
  let left = position(select(vertex, vertex - 1u, column > 0u));
  let down = position(select(vertex, vertex + now.columns, row + 1u < now.rows));
  let up = position(select(vertex, vertex - now.columns, row > 0u));
  let normal = 0.25 * cross(right - left, down - up);
  let area = length(normal);
  if (area > 0.0) {
    let g = gust(p);
    let air = vec3f(g.x * now.wind.x - g.y * now.wind.z, g.x * now.wind.y, g.x * now.wind.z + g.y * now.wind.x);
    let across = dot(air - v, normal) / area;
    let push = now.step * now.airOverMass * area * abs(across);
    v += across * push / (1.0 + push) / area * normal;
  }
  let held = i32(vertex) == now.held;
  let pin = pins[vertex];
  let next = select(select(p + now.step * v, p, pin == PIN_HERE), now.heldAt, held);
  for (var axis = 0u; axis < 3u; axis++) {
    previous[3u * vertex + axis] = p[axis];
    // A pinned vertex keeps its target.
    if (held || pin != PINNED) { target_[3u * vertex + axis] = next[axis]; }
  }
  if (pin == PIN_HERE) { pins[vertex] = PINNED; }
  grip[vertex] = select(select(1.0, now.pinGrip, pin != FREE), now.holdGrip, held);
}`;

const PICK = `
struct Ray { origin: vec3f, count: u32, direction: vec3f, padding: f32 }
@group(0) @binding(0) var<uniform> ray: Ray;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> nearest: array<atomic<u32>, 2>;

// The tangent of the angle to the ray, plus a small multiple of the distance, so that the front one of two layers is nearer.
fn key(vertex: u32) -> u32 {
  let way = vec3f(x[3u * vertex], x[3u * vertex + 1u], x[3u * vertex + 2u]) - ray.origin;
  let along = dot(way, ray.direction);
  let off = length(way - along * ray.direction) / max(along, 1e-6);
  return select(bitcast<u32>(off + 0.003 * along), 0x7f000000u, along <= 0.0);
}

@compute @workgroup_size(${WORKGROUP})
fn least(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < ray.count) { atomicMin(&nearest[0], key(id.x)); }
}

@compute @workgroup_size(${WORKGROUP})
fn whose(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < ray.count && key(id.x) == atomicLoad(&nearest[0])) { atomicMin(&nearest[1], id.x); }
}`;

/** The order of key() in WGSL, for the CPU. */
export function nearestVertex(x, { origin, direction }) {
  let best = -1, least = Infinity;
  for (let at = 0; at < x.length; at += 3) {
    const [wx, wy, wz] = [x[at] - origin[0], x[at + 1] - origin[1], x[at + 2] - origin[2]];
    const along = wx * direction[0] + wy * direction[1] + wz * direction[2];
    if (along <= 0) continue;
    const off = Math.hypot(wx - along * direction[0], wy - along * direction[1], wz - along * direction[2]) / along;
    if (off + 0.003 * along < least) [best, least] = [at / 3, off + 0.003 * along];
  }
  return best;
}

/** The kernels and buffers of one cloth on one device. */
export class PredictionOnDevice {
  #device;
  #grid;
  #conditions;
  #positions;
  #previous;
  #pins;
  #ray;
  #nearest;
  #answer;
  #predict;
  #least;
  #whose;
  #bound;
  #picking;

  /**
   * @param {GPUDevice} device
   * @param {{ rows: number, columns: number, spacing: number }} grid
   * @param {{ positions: GPUBuffer, target: GPUBuffer, grip: GPUBuffer }} buffers the solver's: parameterBuffer, and the data inputs of the
   *   inertia
   * @param {Float64Array} previous positions of the previous step
   * @param {Uint32Array} pins FREE, PINNED or PIN_HERE, for each vertex
   */
  static async create(device, grid, buffers, previous, pins) {
    const compile = (code, entryPoint) => device.createComputePipelineAsync({
      label: `cloth: ${entryPoint}`, layout: 'auto', compute: { module: device.createShaderModule({ label: 'cloth', code }), entryPoint },
    });
    const [predict, least, whose] = await Promise.all([compile(PREDICT, 'predict'), compile(PICK, 'least'), compile(PICK, 'whose')]);
    return new PredictionOnDevice(device, grid, buffers, previous, pins, { predict, least, whose });
  }

  constructor(device, grid, { positions, target, grip }, previous, pins, { predict, least, whose }) {
    this.#device = device;
    this.#grid = grid;
    this.#positions = positions;
    const buffer = (label, size, usage) => device.createBuffer({ label: `cloth: ${label}`, size, usage });
    this.#conditions = buffer('conditions', 80, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.#previous = buffer('previous positions', 12 * grid.count, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC);
    this.#ray = buffer('ray', 32, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.#nearest = buffer('nearest', 8, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC);
    this.#answer = buffer('answer', 8, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    this.#pins = buffer('pins', 4 * grid.count, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
    device.queue.writeBuffer(this.#previous, 0, Float32Array.from(previous));
    device.queue.writeBuffer(this.#pins, 0, pins);
    [this.#predict, this.#least, this.#whose] = [predict, least, whose];
    const bind = (pipeline, ...bound) => device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0), entries: bound.map((resource, binding) => ({ binding, resource: { buffer: resource } })),
    });
    this.#bound = bind(predict, this.#conditions, positions, this.#previous, target, grip, this.#pins);
    this.#picking = [bind(least, this.#ray, positions, this.#nearest), bind(whose, this.#ray, positions, this.#nearest)];
  }

  /**
   * Submits one prediction.
   * @param {typeof import('./prediction.js').CALM} conditions
   */
  run({ step, lastStep, gravity, density, air, damping, wind, gusts, time, held, heldAt, holdGrip, pinGrip }) {
    const { rows, columns, spacing } = this.#grid;
    const numbers = new Float32Array(20);
    numbers.set([...wind, gusts, ...heldAt, 0, step, lastStep, gravity, 1 / (1 + damping * step)]);
    numbers.set([air / (density * spacing * spacing), time, holdGrip, pinGrip], 14);
    new Int32Array(numbers.buffer)[7] = held;
    new Uint32Array(numbers.buffer).set([columns, rows], 12);
    this.#device.queue.writeBuffer(this.#conditions, 0, numbers);
    const encoder = this.#device.createCommandEncoder({ label: 'cloth: prediction' });
    this.#dispatch(encoder, this.#predict, this.#bound);
    this.#device.queue.submit([encoder.finish()]);
  }

  /** The vertex nearest to a ray; resolves with -1 if all are behind it. */
  async pick({ origin, direction }) {
    const { queue } = this.#device;
    const ray = new Float32Array(8);
    ray.set(origin, 0);
    ray.set(direction, 4);
    new Uint32Array(ray.buffer)[3] = this.#grid.count;
    queue.writeBuffer(this.#ray, 0, ray);
    queue.writeBuffer(this.#nearest, 0, Uint32Array.of(0x7f000000, 0xffffffff));
    const encoder = this.#device.createCommandEncoder({ label: 'cloth: picking' });
    this.#dispatch(encoder, this.#least, this.#picking[0]);
    this.#dispatch(encoder, this.#whose, this.#picking[1]);
    encoder.copyBufferToBuffer(this.#nearest, 0, this.#answer, 0, 8);
    queue.submit([encoder.finish()]);
    await this.#answer.mapAsync(GPUMapMode.READ);
    const [key, vertex] = new Uint32Array(this.#answer.getMappedRange());
    this.#answer.unmap();
    return key >= 0x7f000000 ? -1 : vertex;
  }

  /** Reads the positions of the previous step, for another engine. */
  async previous() {
    const size = this.#previous.size;
    const copy = this.#device.createBuffer({ label: 'cloth: previous positions read', size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.#previous, 0, copy, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    try {
      await copy.mapAsync(GPUMapMode.READ);
      return Float64Array.from(new Float32Array(copy.getMappedRange()));
    } finally {
      copy.destroy();
    }
  }

  /** Sets the positions of the previous step, and so the speeds. */
  setPrevious(positions) {
    this.#device.queue.writeBuffer(this.#previous, 0, Float32Array.from(positions));
  }

  /** Sets FREE, PINNED or PIN_HERE for these vertices. */
  setPins(vertices, pin) {
    const value = Uint32Array.of(pin);
    for (const vertex of vertices) this.#device.queue.writeBuffer(this.#pins, 4 * vertex, value);
  }

  /** Reads the position of a vertex. */
  async positionOf(vertex) {
    const place = this.#device.createBuffer({ label: 'cloth: place', size: 12, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.#device.createCommandEncoder({ label: 'cloth: place' });
    encoder.copyBufferToBuffer(this.#positions, 12 * vertex, place, 0, 12);
    this.#device.queue.submit([encoder.finish()]);
    try {
      await place.mapAsync(GPUMapMode.READ);
      return [...new Float32Array(place.getMappedRange())];
    } finally {
      place.destroy();
    }
  }

  dispose() {
    for (const buffer of [this.#conditions, this.#previous, this.#pins, this.#ray, this.#nearest, this.#answer]) buffer.destroy();
  }

  #dispatch(encoder, pipeline, bound) {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bound);
    pass.dispatchWorkgroups(Math.ceil(this.#grid.count / WORKGROUP));
    pass.end();
  }
}
