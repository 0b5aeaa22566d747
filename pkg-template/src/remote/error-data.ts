/** ResiduaErrors as data. */

import { ResiduaError, type ErrorCode } from '../arguments/errors.js';
import type { ErrorData } from './protocol.js';

/** Returns an error as data. */
export function errorData(error: unknown): ErrorData {
  if (!(error instanceof ResiduaError)) return { code: 'internal', message: error instanceof Error ? error.message : String(error) };
  const { code, message, wgsl } = error;
  return wgsl === undefined ? { code, message } : { code, message, wgsl };
}

/** Returns the error of data. */
export function errorOf({ code, message, wgsl }: ErrorData): ResiduaError {
  return new ResiduaError(code as ErrorCode, message, wgsl === undefined ? {} : { wgsl });
}
