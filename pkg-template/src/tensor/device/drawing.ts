/** Stored tensors on canvases. */

import type { Canvas } from '../engine/picture.js';
import { ResiduaError } from '../../arguments/errors.js';
import type { Memory } from '../engine/engine.js';
import type { Node } from '../recipe/node.js';
import { pixels } from '../recipe/pictures.js';
import type { Cell } from './cell.js';
import { evaluationsOf } from './evaluation.js';

/** Draws what a cell holds after all earlier work. Throws 'invalid-argument'. */
export function drawOn(cell: Cell, node: Node, canvas: Canvas): void {
  const { core } = cell;
  const bytes = pixels('draw', node);
  const [height, width] = node.shape as readonly [number, number];
  const target = core.engine.target('draw: canvas', canvas, width, height);
  const drawn = bytes === node
    ? core.afterEarlier(() => target(cell.memory))
    : evaluationsOf(core).run('draw', [bytes], [], ([memory]) => target(memory as Memory));
  drawn.catch((error: unknown) => {
    // The end of a device is told where it is used.
    const isEnd = error instanceof ResiduaError && (error.code === 'disposed' || error.code === 'device-lost');
    if (!isEnd) reportError(error);
  });
}
