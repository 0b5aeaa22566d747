/**
 * Checks of a device for development. Each recipe also computes which of its operations is the first that goes wrong, and assigns a code of it to one word of the device, unless an
 * earlier one stands there. The next read brings the word, and rejects.
 */

import { ResiduaError, type ErrorCode } from '../../arguments/errors.js';
import type { Memory } from '../engine/engine.js';
import { paddedBytes } from '../memory/numbers.js';
import { anyOrAll, sizeNode } from '../recipe/reductions.js';
import { apply, test, where } from '../recipe/elementwise.js';
import { ELEMENTWISE } from '../recipe/elementwise-codes.js';
import { inOrder } from '../recipe/loop.js';
import { constantNode, inMemory, inputNode, type Node, type OpName } from '../recipe/node.js';
import { REALS } from '../recipe/operands.js';
import type { Assignment } from '../recipe/tape.js';
import { shapeText, sizeText, type Size } from '../size.js';
import { Cell } from './cell.js';
import type { DeviceCore } from './core.js';

/** Operations whose second operand is indices along the axis of their first attribute, by the names of the functions that record them. */
const INDEXED: { readonly [Op in OpName]?: string } = { gather: 'indexSelect', gatherElements: 'gather', scatter: 'scatter', indexPut: 'indexAdd' };

/** Operations that compute nothing from operands. */
const SOURCES: readonly OpName[] = ['input', 'constant', 'extent', 'iota', 'randomBits'];

const NAMES = new Map<number, string>(Object.entries(ELEMENTWISE).map(([name, { code }]) => [code, name]));

/** What a code says. */
interface Finding {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Something that may be wrong: a condition on the device, and what to say. */
interface Suspicion extends Finding {
  readonly isWrong: Node;
}

/** The checks of a device. */
export class Checks {
  private readonly findings: Finding[] = [];
  private readonly codes = new Map<string, number>();
  private readonly memory: Memory;
  private readonly log: Node;

  constructor(
    private readonly core: DeviceCore,
    private readonly areNumbersChecked: boolean,
  ) {
    this.memory = core.allocate({ what: 'checks', bytes: paddedBytes(4), purpose: 'program', isZeroed: true });
    this.log = inputNode('i32', [], new Cell(core, 'i32', [], this.memory, 'program'));
  }

  /** The assignments of a recipe with that of the checks. `what` names the recipe in messages. */
  with(what: string, results: readonly Node[], assignments: readonly Assignment[]): readonly Assignment[] {
    const roots = [...results, ...assignments.map(({ value }) => value)].map(inMemory);
    const nodes: Node[] = [];
    inOrder(roots, ({ operands }) => operands, (node) => nodes.push(node));
    const suspicions = nodes.flatMap((node) => indexSuspicion(what, node));
    if (this.areNumbersChecked) suspicions.push(...numberSuspicions(what, nodes, roots));
    if (suspicions.length === 0) return assignments;
    // The first one is chosen last.
    const found = suspicions.reduceRight((code, suspicion) => where(suspicion.isWrong, constantNode(this.codeOf(suspicion), 'i32'), code), constantNode(0, 'i32'));
    return [...assignments, { input: this.log, value: where(apply('eq', [this.log, 0]), found, this.log) }];
  }

  /** What a read takes besides tensors. */
  get part(): { readonly memory: Memory; readonly bytes: number } {
    return { memory: this.memory, bytes: 4 };
  }

  /** Throws what the word of a read says, and forgets it. */
  report(bytes: Uint8Array<ArrayBuffer>): void {
    const finding = this.findings[(new Int32Array(bytes.buffer, bytes.byteOffset, 1)[0] as number) - 1];
    if (finding === undefined) return;
    const { core, memory } = this;
    core.queue.push(() => core.engine.write(memory, 0, new Uint8Array(4)));
    throw new ResiduaError(finding.code, finding.message);
  }

  /** The code of a finding, the same for the same words, so that a recipe that is recorded again has the same tape. */
  private codeOf({ code, message }: Finding): number {
    const known = this.codes.get(message);
    if (known !== undefined) return known;
    const position = this.findings.push({ code, message });
    this.codes.set(message, position);
    return position;
  }
}

function indexSuspicion(what: string, { op, operands, attributes }: Node): Suspicion[] {
  const name = INDEXED[op];
  const [x, indices] = operands;
  if (name === undefined || x === undefined || indices === undefined) return [];
  const axis = attributes[0] as number;
  const size = x.shape[axis] as Size;
  const count = sizeNode(size, indices.dtype);
  const isBeyond = apply('gte', [indices, count]);
  const isWrong = indices.dtype === 'i32' ? apply('or', [isBeyond, apply('lt', [indices, apply('neg', [count])])]) : isBeyond;
  return [{
    isWrong: anyOrAll('any', isWrong, undefined), code: 'invalid-argument',
    message: `${what}: ${name}: got an index that is out of range; takes places along axis ${axis} of ${shapeText(x.shape)}, which has ${sizeText(size)}`,
  }];
}

/** Where a root has a NaN or an infinity: the first operation that makes one from finite numbers, else that it comes from what was given. */
function numberSuspicions(what: string, nodes: readonly Node[], roots: readonly Node[]): Suspicion[] {
  const isReal = ({ dtype }: Node) => REALS.includes(dtype);
  const wrongRoots = roots.filter(isReal);
  if (wrongRoots.length === 0) return [];
  const known = new Map<Node, Node>();
  const hasWrong = (node: Node) => {
    let found = known.get(node);
    if (found === undefined) known.set(node, (found = anyOrAll('any', apply('not', [test('isFinite', node)]), undefined)));
    return found;
  };
  const all = (conditions: readonly Node[]) => conditions.reduce((a, b) => apply('and', [a, b]));
  const isRootWrong = wrongRoots.map(hasWrong).reduce((a, b) => apply('or', [a, b]));
  const made = nodes.filter((node) => isReal(node) && !SOURCES.includes(node.op)).map((node): Suspicion => ({
    isWrong: all([isRootWrong, hasWrong(node), ...node.operands.filter(isReal).map((operand) => apply('not', [hasWrong(operand)]))]),
    code: 'non-finite',
    message: `${what}: ${nameOf(node)} gives a NaN or an infinity from finite numbers, in a tensor of ${node.dtype} of shape ${shapeText(node.shape)}`,
  }));
  return [...made, { isWrong: isRootWrong, code: 'non-finite', message: `${what}: a result has a NaN or an infinity, as what it is computed from` }];
}

function nameOf({ op, attributes }: Node): string {
  return (op === 'elementwise' ? NAMES.get(attributes[0] as number) : INDEXED[op]) ?? op;
}

const checks = /* @__PURE__ */ new WeakMap<DeviceCore, Checks>();

/** Returns the checks of a device; null where it has none. */
export function checksOf(core: DeviceCore): Checks | null {
  if (core.checks === false) return null;
  let found = checks.get(core);
  if (found === undefined) checks.set(core, (found = new Checks(core, core.checks === 'finite')));
  return found;
}
