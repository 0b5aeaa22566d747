/** Devices: where tensors are stored and computed. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions } from '../../arguments/options.js';
import type { CsrMatrix } from '../../compile/csr-matrix.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { GpuCompiledFunctions } from '../../compile/functions.js';
import { isOn } from '../../module/buffer-owners.js';
import type { Grid } from '../../problem/grid.js';
import type { ParameterArray } from '../../problem/parameter-array.js';
import type { ResidualBlock } from '../../problem/residual-block.js';
import { checkDType, numbersPerElement, type DataOf, type DType } from '../dtype.js';
import type { DeviceStats } from '../engine/accounts.js';
import type { Memory } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import { checkPicture, type ImageSource } from '../../arguments/picture.js';
import type { ReadOptions } from '../evaluator.js';
import { elementBytes, elementCount, encode, flatten, isNested, numberCount, numbersOf, paddedBytes, wholeWords, type Numbers, type Numeric, type Rows } from '../memory/numbers.js';
import { splitBlocks } from '../memory/ggml.js';
import type { Nested } from '../nested.js';
import type { Node } from '../recipe/node.js';
import { checkType, nodeOf, REALS } from '../recipe/operands.js';
import { checkComputedType, checkQuantizedType, FORMATS, planeSizes, planeTypes, type QuantizedShape, type QuantizedType } from '../recipe/quantised.js';
import { shapeText } from '../size.js';
import { quantised } from '../quantise.js';
import { SparseMatrix } from '../sparse.js';
import { Tensor, type Selection } from '../tensor.js';
import { Cell } from './cell.js';
import { compacted } from './compact.js';
import { compileProgram, type ProgramOptions } from './compile-program.js';
import type { DeviceCore, DeviceFeatures, Loss } from './core.js';
import { checkDevice, type DeviceOptions } from './device-options.js';
import { evaluationsOf } from './evaluation.js';
import { KvCache, type KvCacheOptions } from './kv-cache.js';
import { Program, type Specs, type Stored } from './program.js';
import { QuantizedTensor } from './quantized-tensor.js';
import { openHere, type OpenDevice } from './opening.js';
import { readNodes, withSignal } from './reading.js';
import { inFormOf, tensorsOf, type Results } from './results.js';
import { SharedTensor } from './shared-tensor.js';
import { dataNumbers, gridNumbers, parameterNumbers, type SharedNumbers } from './solver-numbers.js';
import type { PatternAccess } from './sparse-pattern.js';
import { SparseProduct } from './sparse-product.js';
import { SparseTriangular, type SparseTriangularOptions } from './sparse-triangular.js';
import { StoredTensor } from './stored-tensor.js';

/** The device of `Device.default()`, for each class of devices. */
const shared = /* @__PURE__ */ new WeakMap<typeof Device, Promise<Device>>();

/** Where tensors are stored and computed: a GPU, or the CPU. Work on a device takes place in the order of the calls. */
export class Device {
  /** Where it computes. */
  readonly backend: 'gpu' | 'cpu';
  /** Why 'auto' took the CPU; null on the GPU and where the CPU was requested. */
  readonly fallbackReason: string | null;
  /** The GPUDevice; null on the CPU and in a worker. */
  readonly gpu: GPUDevice | null;
  /** What the GPU has; nothing on the CPU. */
  readonly features: DeviceFeatures;
  /** `found`: what 'measure' found so far, as a text to store and to give to `Device.create`; '' if nothing, as on the CPU and on an adapter without a name. */
  readonly tuning: { readonly found: string };
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private constructor(
    private readonly core: DeviceCore,
    fallbackReason: string | null,
  ) {
    this.backend = core.engine.backend;
    this.fallbackReason = fallbackReason;
    this.gpu = core.gpu;
    this.features = core.features;
    this.tuning = Object.freeze({
      get found() {
        return core.compiler.found;
      },
    });
  }

  /** Makes a device, and loads the WebAssembly module where needed. Rejects with 'gpu-unavailable', 'invalid-argument', 'not-initialized'. */
  static create(options: DeviceOptions = {}): Promise<Device> {
    return Device.make(options, openHere);
  }

  /** @internal The class with devices that are opened elsewhere. */
  static on(open: OpenDevice): typeof Device {
    const subclass = class extends Device {
      static override create(options: DeviceOptions = {}): Promise<Device> {
        return Device.make(options, open);
      }
    };
    Object.defineProperty(subclass, 'name', { value: Device.name });
    return subclass;
  }

  /** @internal A device over what was opened. */
  static over(core: DeviceCore, fallbackReason: string | null): Device {
    return new Device(core, fallbackReason);
  }

  private static async make(options: DeviceOptions, open: OpenDevice): Promise<Device> {
    const { core, fallbackReason } = await open(checkDevice(options));
    return new Device(core, fallbackReason);
  }

  /** Returns the shared device. It is made at first use, and again after a loss, a failure of the module or dispose(). */
  static default(): Promise<Device> {
    const known = shared.get(this);
    if (known !== undefined) return known;
    const request = this.create();
    shared.set(this, request);
    const forget = () => {
      if (shared.get(this) === request) shared.delete(this);
    };
    request.then((device) => void device.core.pending.whenFailed(forget), forget);
    return request;
  }

  /** @internal The inside of a device. */
  static coreOf(device: Device): DeviceCore {
    return device.core;
  }

  /** What JSON.stringify writes: where it computes, and why. */
  toJSON(): { backend: 'gpu' | 'cpu'; fallbackReason: string | null } {
    return { backend: this.backend, fallbackReason: this.fallbackReason };
  }

  /** Resolves with the reason when the GPU is lost or the WebAssembly module has failed: everything stored is gone, and a new device starts empty. */
  get lost(): Promise<Loss> {
    return this.core.lost;
  }

  /**
   * Stores numbers of the caller's memory. Lists of lists, and of typed arrays, have their own shape; for others it is `shape`, or that of a vector. `dtype` is 'f32'
   * unless told; elements of 'c64' are two numbers each, in lists of lists the innermost list. Throws 'invalid-argument' for another number of numbers than the shape has, and for a number that the type does not have;
   * 'limit-exceeded', and on the CPU 'out-of-memory'.
   */
  tensor<D extends DType = 'f32'>(data: Numeric | Nested | Rows, shape?: readonly number[], dtype: D = 'f32' as D): StoredTensor<D> {
    this.core.check();
    checkDType('tensor: dtype', dtype);
    const { numbers, sizes } = elementsOf(data, shape, dtype);
    const count = numberCount(dtype, sizes);
    if (numbers.length !== count) throw invalidArgument('tensor: data', `${numbers.length} numbers`, `${count}: the shape is ${shapeText(sizes)} of ${dtype}`);
    const bytes = encode('tensor: data', dtype, numbers);
    const memory = this.allocate('a tensor', dtype, sizes, {});
    // No earlier work uses memory that is allocated now.
    this.core.engine.write(memory, 0, wholeWords(bytes));
    return this.stored(dtype, sizes, memory);
  }

  /**
   * Stores zeros, to be written later. `dtype` is 'f32' unless told. With `vertex` the application may bind the buffer as vertices. Throws as
   * tensor() does.
   */
  zeros<D extends DType = 'f32'>(shape: readonly number[], dtype: D = 'f32' as D, options: { vertex?: boolean } = {}): StoredTensor<D> {
    this.core.check();
    checkDType('zeros: dtype', dtype);
    checkOptions('zeros: options', options, { vertex: true });
    checkFlag('zeros: vertex', options.vertex);
    const sizes = checkSizes('zeros: shape', shape);
    return this.stored(dtype, sizes, this.allocate('a tensor', dtype, sizes, { isZeroed: true, isVertex: options.vertex === true }));
  }

  /**
   * Stores the pixels of a picture as it is at the call, [height, width, 4]: red, green, blue and opacity from 0 to 255, which do not contain the opacity. On a GPU they are not read by the page.
   * Throws 'invalid-argument', also for a picture without pixels and for one of another origin; 'limit-exceeded', and on the CPU 'out-of-memory', which on a
   * GPU the next read rejects with.
   */
  image(source: ImageSource): StoredTensor<'u8'> {
    this.core.check();
    const picture = checkPicture('image', source);
    const write = this.core.engine.capture('image', picture, false);
    const sizes = Object.freeze([picture.height, picture.width, 4]);
    const memory = this.allocate('a picture', 'u8', sizes, {});
    // No earlier work uses memory that is allocated now.
    write(memory);
    return this.stored('u8', sizes, memory);
  }

  /** Computes tensors and keeps them: one, a list or a record in one go. Rejects with 'out-of-memory', 'limit-exceeded', 'disposed', and with 'aborted' when `signal` fires. */
  async store<R extends Results>(recipe: R, options: ReadOptions = {}): Promise<Stored<R>> {
    const nodes = tensorsOf('store', recipe).map(({ node }) => node);
    const memories = await withSignal('store', options, (caller) => this.kept('store', nodes, caller));
    const tensors = nodes.map(({ dtype, shape }, k) => this.stored(dtype, shape as readonly number[], memories[k] as Memory));
    return inFormOf(recipe, tensors) as Stored<R>;
  }

  /** Computes tensors into memory of their own. */
  private async kept(what: string, nodes: readonly Node[], caller?: Pending): Promise<Memory[]> {
    const memories: Memory[] = [];
    const take = (results: readonly Memory[], keep: (memory: Memory) => void) => {
      for (const memory of results) {
        keep(memory);
        this.core.accounts.count('program', -memory.bytes);
        this.core.accounts.count('tensor', memory.bytes);
        memory.purpose = 'tensor';
        memories.push(memory);
      }
    };
    try {
      await evaluationsOf(this.core).run(what, nodes, [], take, caller);
      // Nobody waits for it after an abort.
      caller?.check();
    } catch (error) {
      for (const memory of memories) this.core.free(memory);
      throw error;
    }
    return memories;
  }

  /** Computes tensors and reads them into fresh typed arrays, in one round trip. */
  read<const T extends readonly Tensor[]>(...recipes: T): Promise<{ -readonly [K in keyof T]: T[K] extends Tensor<infer D> ? DataOf[D] : never }>;
  /** The same with options after the tensors. Rejects with 'aborted' when `signal` fires. */
  read<const T extends readonly Tensor[]>(...recipes: readonly [...T, ReadOptions]): Promise<{ -readonly [K in keyof T]: T[K] extends Tensor<infer D> ? DataOf[D] : never }>;
  async read(...given: readonly (Tensor | ReadOptions)[]): Promise<DataOf[DType][]> {
    const last = given.at(-1);
    const options = isReadOptions(last) ? last : null;
    const nodes = tensorsOf('read', options === null ? given : given.slice(0, -1)).map(({ node }) => node);
    return withSignal('read', options ?? {}, (caller) => readNodes(this.core, 'read', nodes, caller));
  }

  /**
   * Computes a selection, and stores the selected elements alone: [count, ...], of which `count` is read in a round trip. Rejects with
   * 'invalid-argument' where `count` is more than there are values, 'out-of-memory', 'limit-exceeded', 'disposed', and with 'aborted' when `signal` fires.
   */
  async compact<D extends DType>(selection: Selection<D>, options: ReadOptions = {}): Promise<StoredTensor<D>> {
    const allocate = (type: DType, shape: readonly number[]) => this.allocate('a selection', type, shape, {});
    const { dtype, sizes, memory } = await withSignal('compact', options, (caller) => compacted(this.core, selection, allocate, caller));
    return this.stored(dtype as D, sizes, memory);
  }

  /**
   * Makes memory for keys and values of a decoder, which programs write and read: 2 · layers · batch · heads · capacity · size numbers, 2 bytes each
   * unless `dtype` is 'f32'. Throws 'invalid-argument'; 'limit-exceeded', with the bytes of a layer and the limit of the device; and on the CPU
   * 'out-of-memory', which on a GPU a compile that uses it rejects with.
   */
  kvCache(options: KvCacheOptions): KvCache {
    this.core.check();
    return KvCache.make(options, (what, dtype, sizes) => this.stored(dtype, sizes, this.allocate(what, dtype, sizes, { isZeroed: true })));
  }

  /**
   * Computes weights [rows, columns] of f32 or f16 as quantised numbers, rounded as GGML rounds them: the scale of a block of 32 numbers is that
   * of the largest magnitude, which becomes 127 or −127 with 'q8_0' and −8 with 'q4_0'. Columns are a multiple of 32. Rejects with
   * 'invalid-argument', 'out-of-memory', 'limit-exceeded', 'disposed', and with 'aborted' when `signal` fires.
   */
  async quantize(weights: Tensor, type: 'q8_0' | 'q4_0', options: ReadOptions = {}): Promise<QuantizedTensor> {
    checkComputedType('quantize: type', type);
    const node = nodeOf('quantize: weights', weights);
    checkType('quantize: weights', node, REALS);
    const shape = checkMatrix('quantize: weights', weights.sizes);
    const sizes = planeSizes('quantize: weights', shape, type);
    const planes = quantised(weights, type).map((plane) => plane.node);
    const memories = await withSignal('quantize', options, (caller) => this.kept('quantize', planes, caller));
    return this.quantizedTensor(type, shape, sizes, memories);
  }

  /**
   * Stores quantised weights [rows, columns] or [matrices, rows, columns] of a file: blocks in the order of the rows, as GGML has them. They are copied at
   * the call. Columns are a multiple of 32, or of 256 with types that end in K and with 'iq4_xs'. Throws 'invalid-argument', also for another number of
   * bytes; 'limit-exceeded', and on the CPU 'out-of-memory'.
   */
  quantized(bytes: BufferSource, shape: readonly [rows: number, columns: number] | readonly [matrices: number, rows: number, columns: number], type: QuantizedType): QuantizedTensor {
    this.core.check();
    checkQuantizedType('quantized: type', type);
    const own = checkSizes('quantized: shape', shape);
    if (own.length !== 2 && own.length !== 3) throw invalidArgument('quantized: shape', shapeText(own), 'two or three sizes: [rows, columns] or [matrices, rows, columns]');
    const sizes = planeSizes('quantized: shape', own, type);
    const source = bytesOf('quantized: bytes', bytes);
    const { numbers, bytes: blockBytes } = FORMATS[type];
    const blocks = elementCount(own) / numbers;
    if (source.length !== blocks * blockBytes) throw invalidArgument('quantized: bytes', `${source.length} bytes`, `${blocks * blockBytes}: the shape is ${shapeText(own)} of ${type}`);
    const { words, side } = splitBlocks(type, source, (own.at(-1) as number) / numbers);
    const memories: Memory[] = [];
    try {
      [words, side].forEach((plane, k) => {
        memories.push(this.allocate('quantised weights', planeTypes(type)[k as 0 | 1], sizes[k as 0 | 1], {}));
        this.core.engine.write(memories[k] as Memory, 0, wholeWords(new Uint8Array(plane.buffer)));
      });
    } catch (error) {
      for (const memory of memories) this.core.free(memory);
      throw error;
    }
    return this.quantizedTensor(type, own as unknown as QuantizedShape, sizes, memories);
  }

  private quantizedTensor(type: QuantizedType, shape: QuantizedShape, sizes: readonly (readonly number[])[], memories: readonly Memory[]): QuantizedTensor {
    const cell = (k: 0 | 1) => new Cell(this.core, planeTypes(type)[k], sizes[k] as readonly number[], memories[k] as Memory, 'tensor');
    return new QuantizedTensor(this, type, shape, [cell(0), cell(1)]);
  }

  /**
   * A buffer of the application, without a copy; it stays the application's, and dispose() of the tensor leaves it. It needs usage STORAGE
   * and COPY_SRC, and COPY_DST for set(). `byteOffset` is a multiple of the device's minStorageBufferOffsetAlignment, and the buffer has room
   * for the elements rounded up to 16 bytes, as kernels read and write up to there. Throws 'invalid-argument' otherwise. A program or set()
   * that writes bytes of the buffer rejects with 'invalid-graph' where it uses them by another stored tensor as well.
   */
  borrow<D extends DType>(buffer: GPUBuffer, shape: readonly number[], dtype: D, byteOffset = 0): StoredTensor<D> {
    this.core.check();
    checkDType('borrow: dtype', dtype);
    const sizes = checkSizes('borrow: shape', shape);
    checkWholeNumber('borrow: byteOffset', byteOffset, 0);
    if (this.gpu === null) throw new ResiduaError('gpu-unavailable', `borrow: the device is ${this.core.placeText}; takes buffers on a GPU of this thread`);
    const alignment = this.gpu.limits.minStorageBufferOffsetAlignment;
    if (byteOffset % alignment !== 0) throw invalidArgument('borrow: byteOffset', String(byteOffset), `a multiple of ${alignment}`);
    const bytes = paddedBytes(elementBytes(dtype, sizes));
    if (byteOffset + bytes > buffer.size) throw invalidArgument('borrow: buffer', `${buffer.size} bytes`, `at least ${byteOffset + bytes}, a multiple of 16 from byteOffset on`);
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    if ((buffer.usage & usage) !== usage) throw invalidArgument('borrow: buffer', `usage ${buffer.usage}`, 'usage STORAGE and COPY_SRC');
    const memory: Memory = { bytes, buffer, offset: byteOffset, isOwned: false, purpose: 'tensor', failure: null };
    return new StoredTensor<D>(this, new Cell(this.core, dtype, sizes, memory, 'application'));
  }

  /**
   * The current parameters of compiled functions, all as a vector or those of an array as [count, dim], in memory of this device: as they are
   * now, and after refresh() as the solver has them then. publish() sets them. Without a copy, for reading: borrow() of the functions'
   * parameterBuffer. Throws 'invalid-argument'.
   */
  parameters(functions: GpuCompiledFunctions, array?: ParameterArray): SharedTensor<'f32'> {
    return this.share(parameterNumbers(functions, array));
  }

  /**
   * A data input of a residual block as [count, dim], to be assigned to: publish() gives it to the solver. Without a copy: borrow() of the
   * block's dataBuffer(), which a program may assign to between calls. Throws 'invalid-argument'.
   */
  dataInput(block: ResidualBlock, input: string): SharedTensor<'f32'> {
    return this.share(dataNumbers(block, input));
  }

  /**
   * The numbers of a grid, its last axis first, with channels as [..., channels], to be assigned to: publish() gives them to the solver, where its functions
   * are on this device without a copy through the page. Throws 'invalid-argument' for a grid with prefilter and for one of parameters.
   */
  gridValues(grid: Grid): SharedTensor<'f32'> {
    return this.share(gridNumbers(grid));
  }

  /**
   * What evaluate…OnDevice left, numParams numbers where they lie. For reading; the next such call writes over them. Throws 'invalid-argument'
   * on the CPU and for another GPUDevice.
   */
  gradient(functions: GpuCompiledFunctions, of: { readonly gradient: GPUBuffer | null }): StoredTensor<'f32'> {
    const { gradient } = of;
    if (gradient === null || this.gpu === null) throw invalidArgument('gradient', 'functions or a device on the CPU or in a worker', 'both on one GPUDevice; on the CPU, evaluateCostWithGradient gives numbers');
    if (!isOn(gradient, this.gpu)) throw invalidArgument('gradient', 'a gradient on another GPUDevice', "one on this device's");
    return this.borrow(gradient, [functions.numParams], 'f32');
  }

  /**
   * Stores a sparse matrix of the solvers, such as a Jacobian, in single precision. Its tensors are stored ones: `dispose(matrix.rowOffsets,
   * matrix.colIndices, matrix.values)` frees them. Throws as tensor() does.
   */
  sparse({ rows, cols, rowOffsets, colIndices, values }: CsrMatrix): SparseMatrix {
    const [offsets, columns] = [rowOffsets, colIndices].map((indices) => this.tensor(indices, undefined, 'u32')) as [StoredTensor<'u32'>, StoredTensor<'u32'>];
    return SparseMatrix.fromCsr(rows, cols, offsets, columns, this.tensor(values));
  }

  /**
   * Computes a sparse matrix and keeps it with its pattern by columns, so that neither products of its transpose nor derivatives sort it again. Its parts are
   * stored tensors: `dispose(...Object.values(matrix.parts))` frees them. Rejects as store() does.
   */
  async storeSparse(matrix: SparseMatrix, options: ReadOptions = {}): Promise<SparseMatrix> {
    return matrix.ofParts(await this.store({ ...matrix.parts }, options));
  }

  /**
   * The product of two sparse matrices. Their patterns are read, and that of the product is found in the memory of the page and stored; the values are a
   * recipe. Rejects with 'invalid-argument', 'out-of-memory', 'limit-exceeded', 'disposed', and with 'aborted' when `signal` fires.
   */
  async sparseProduct(a: SparseMatrix, b: SparseMatrix, options: ReadOptions = {}): Promise<SparseProduct> {
    return withSignal('sparseProduct', options, (caller) => SparseProduct.of(this.ofPatterns('sparseProduct'), a, b, caller));
  }

  /**
   * Prepares systems with a triangle of a sparse matrix: its pattern and, without `unitDiagonal`, its values are read, and the order of its rows is found in
   * the memory of the page and stored. Solutions are recipes. Rejects with 'invalid-argument', for a row without an entry on the diagonal or with 0 there, too;
   * 'out-of-memory', 'limit-exceeded', 'disposed', and with 'aborted' when `signal` fires.
   */
  async sparseTriangular(matrix: SparseMatrix, options: SparseTriangularOptions = {}): Promise<SparseTriangular> {
    return SparseTriangular.of(this.ofPatterns('sparseTriangular'), this.backend === 'gpu', matrix, options);
  }

  private ofPatterns(what: string): PatternAccess {
    return { read: (nodes, caller) => readNodes(this.core, what, nodes, caller), store: (numbers) => this.tensor(numbers, undefined, 'u32') };
  }

  /**
   * Records `body` once with tensors for the inputs, plans its memory, compiles its kernels, and gives a program to run as often as wanted.
   * Stored tensors that the body uses are read at each run where they lie. Rejects with 'invalid-argument', 'invalid-graph', 'aborted',
   * 'out-of-memory', 'limit-exceeded', 'shader-compilation'.
   */
  async compile<const I extends Specs, R extends Results>(
    inputs: I,
    body: (inputs: { readonly [K in keyof I]: Tensor<I[K]['dtype']> }) => R,
    options?: ProgramOptions,
  ): Promise<Program<I, R>> {
    return new Program<I, R>(this, await compileProgram(this.core, inputs, body, options));
  }

  /** Waits until all work that was asked for is done. Rejects with 'aborted' when `signal` fires. */
  async synchronize(options: ReadOptions = {}): Promise<void> {
    const { core } = this;
    await withSignal('synchronize', options, () => core.afterEarlier(() => core.engine.idle()));
  }

  /** Returns the counters. */
  stats(): DeviceStats {
    return this.core.stats();
  }

  /** Frees memory that is kept for later allocations. */
  trim(): void {
    this.core.check();
    this.core.queue.push(() => this.core.engine.trim());
  }

  /**
   * Frees everything on the device. Pending calls and later ones reject with 'disposed'. The GPUDevice stays: it is the page's, or its owner's.
   * A second call does nothing.
   */
  dispose(): void {
    this.core.dispose();
  }

  private allocate(what: string, dtype: DType, sizes: readonly number[], options: { isZeroed?: boolean; isVertex?: boolean }): Memory {
    return this.core.allocate({ what: `${what} ${dtype} ${shapeText(sizes)}`, bytes: paddedBytes(elementBytes(dtype, sizes)), purpose: 'tensor', ...options });
  }

  private share({ numbers, sizes, present }: SharedNumbers): SharedTensor<'f32'> {
    this.core.check();
    const memory = this.allocate(numbers.what, 'f32', sizes, { isZeroed: true });
    const tensor = new SharedTensor<'f32'>(this, new Cell(this.core, 'f32', sizes, memory, 'tensor'), numbers);
    if (present !== null) tensor.set(present);
    return tensor;
  }

  private stored<D extends DType>(dtype: D, sizes: readonly number[], memory: Memory): StoredTensor<D> {
    return new StoredTensor<D>(this, new Cell(this.core, dtype, sizes, memory, 'tensor'));
  }
}

makeDisposable(Device);
makeInspectable(Device, 'Device');

/** Whether what stands last in a read are options and not results. */
function isReadOptions(last: unknown): last is ReadOptions {
  return typeof last === 'object' && last !== null && !(last instanceof Tensor) && !Array.isArray(last) && !Object.values(last).some((part) => part instanceof Tensor);
}

/** The numbers and the shape of what a tensor is made of. */
function elementsOf(data: unknown, shape: unknown, dtype: DType): { numbers: Numbers; sizes: readonly number[] } {
  if (!isNested(data)) {
    const numbers = numbersOf('tensor: data', data);
    return { numbers, sizes: shape === undefined ? [Math.ceil(numbers.length / numbersPerElement(dtype))] : checkSizes('tensor: shape', shape) };
  }
  const { numbers, sizes } = flatten('tensor: data', data);
  if (dtype === 'c64' && sizes.pop() !== 2) throw invalidArgument('tensor: data', describe(data), 'lists of two numbers, the parts of an element of c64');
  return { numbers, sizes: shape === undefined ? sizes : checkSizes('tensor: shape', shape) };
}

/** Returns a copy of a shape of numbers. Throws 'invalid-argument' for anything else. */
function checkSizes(argument: string, shape: unknown): readonly number[] {
  if (!Array.isArray(shape)) throw invalidArgument(argument, describe(shape), 'an array of whole numbers');
  shape.forEach((size, axis) => checkWholeNumber(`${argument}[${axis}]`, size, 0));
  return Object.freeze([...(shape as number[])]);
}

/** The sizes of a matrix. Throws 'invalid-argument' for another number of axes. */
function checkMatrix(argument: string, sizes: readonly number[]): readonly [number, number] {
  if (sizes.length !== 2) throw invalidArgument(argument, shapeText(sizes), 'two sizes: [rows, columns]');
  return sizes as readonly [number, number];
}

/** The bytes of a buffer or of a view of one. Throws 'invalid-argument' for anything else. */
function bytesOf(argument: string, source: unknown): Uint8Array {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  throw invalidArgument(argument, describe(source), 'an ArrayBuffer or a view of one');
}
