/**
 * The normals of a grid of vertices, for drawing: the cross product of the differences between the left and right and the upper and lower
 * neighbours. Takes positions in the solver's buffer; returns normals in a buffer on the GPU, or in an array for the CPU.
 */
const WORKGROUP = 256;

const WGSL = `
struct Grid { columns: u32, rows: u32 }
@group(0) @binding(0) var<uniform> grid: Grid;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> normals: array<f32>;

fn position(vertex: u32) -> vec3f {
  return vec3f(x[3u * vertex], x[3u * vertex + 1u], x[3u * vertex + 2u]);
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(global_invocation_id) id: vec3u) {
  let vertex = id.x;
  if (vertex >= grid.columns * grid.rows) { return; }
  let column = vertex % grid.columns;
  let row = vertex / grid.columns;
  let right = position(select(vertex, vertex + 1u, column + 1u < grid.columns));
  let left = position(select(vertex, vertex - 1u, column > 0u));
  let down = position(select(vertex, vertex + grid.columns, row + 1u < grid.rows));
  let up = position(select(vertex, vertex - grid.columns, row > 0u));
  let across = cross(right - left, down - up);
  let n = across * inverseSqrt(max(dot(across, across), 1e-30));
  for (var axis = 0u; axis < 3u; axis++) { normals[3u * vertex + axis] = n[axis]; }
}`;

/** Writes the normals of `x` to `normals`. */
export function writeNormals({ rows, columns }, x, normals) {
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at += 3) {
      const left = column > 0 ? at - 3 : at, right = column + 1 < columns ? at + 3 : at;
      const up = row > 0 ? at - 3 * columns : at, down = row + 1 < rows ? at + 3 * columns : at;
      const ax = x[right] - x[left], ay = x[right + 1] - x[left + 1], az = x[right + 2] - x[left + 2];
      const bx = x[down] - x[up], by = x[down + 1] - x[up + 1], bz = x[down + 2] - x[up + 2];
      const nx = ay * bz - az * by, ny = az * bx - ax * bz, nz = ax * by - ay * bx;
      const length = Math.hypot(nx, ny, nz) || 1;
      normals[at] = nx / length;
      normals[at + 1] = ny / length;
      normals[at + 2] = nz / length;
    }
  }
}

/** The normals of one cloth on one device. */
export class NormalsOnDevice {
  /** Three f32 per vertex. */
  buffer;
  #device;
  #grid;
  #uniform;
  #pipeline;
  #bound;

  /** @param {GPUBuffer} positions the solver's parameterBuffer */
  static async create(device, grid, positions) {
    const module = device.createShaderModule({ label: 'cloth: normals', code: WGSL });
    return new NormalsOnDevice(device, grid, positions, await device.createComputePipelineAsync({ label: 'cloth: normals', layout: 'auto', compute: { module } }));
  }

  constructor(device, grid, positions, pipeline) {
    this.#device = device;
    this.#grid = grid;
    this.#pipeline = pipeline;
    this.buffer = device.createBuffer({
      label: 'cloth: normals', size: 12 * grid.count, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_SRC,
    });
    this.#uniform = device.createBuffer({ label: 'cloth: grid', size: 16, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(this.#uniform, 0, Uint32Array.of(grid.columns, grid.rows, 0, 0));
    this.#bound = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0), entries: [this.#uniform, positions, this.buffer].map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
  }

  /** Submits their computation for the next frame. */
  run() {
    const encoder = this.#device.createCommandEncoder({ label: 'cloth: normals' });
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, this.#bound);
    pass.dispatchWorkgroups(Math.ceil(this.#grid.count / WORKGROUP));
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  dispose() {
    this.buffer.destroy();
    this.#uniform.destroy();
  }
}
