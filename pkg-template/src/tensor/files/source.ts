/** Sources of files: whatever they are, their bytes arrive in pieces, in order. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';

/**
 * Where a file comes from: an address that is fetched, a response, a Blob or File, bytes in memory, or a stream. Bytes go to the device as they
 * arrive. Those in memory are read while the call is pending, and must not change before it settles; a stream and a response are used up.
 */
export type FileSource = string | URL | Response | Promise<Response> | Blob | BufferSource | ReadableStream<Uint8Array>;

/** The bytes of a file in order. */
export interface ByteSource {
  /** How many there are; null where only the end tells. */
  readonly size: number | null;
  /** As `size`, for progress alone: a server may be wrong. */
  readonly expectedSize: number | null;
  /** The next bytes; null after the last one. */
  next(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Passes over up to `count` bytes that need not be read, and returns how many. */
  skip(count: number): number;
  /** Ends the transfer. */
  cancel(): void;
}

/** Bytes that are read at once from a Blob, and passed on at once from memory. */
const PIECE_BYTES = 2 ** 20;

/** Opens a source. Rejects with 'invalid-argument' for anything that is no source, and for a response that has no file. */
export async function openSource(call: string, source: unknown, signal: AbortSignal | undefined): Promise<ByteSource> {
  const argument = `${call}: source`;
  if (typeof source === 'string' || source instanceof URL) return ofResponse(argument, await fetched(argument, source, signal));
  if (typeof source !== 'object' || source === null) throw wrongSource(argument, source);
  if (ArrayBuffer.isView(source)) return ofMemory(new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength));
  if (source instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && source instanceof SharedArrayBuffer)) return ofMemory(new Uint8Array(source as ArrayBuffer));
  if (source instanceof Blob) return ofBlob(argument, source);
  if ('getReader' in source) return ofStream(argument, source as ReadableStream<unknown>, null);
  if ('then' in source) {
    const response = await Promise.resolve(source as Promise<unknown>).catch((error: unknown) => {
      throw unreachable(argument, 'a promise that rejected', error);
    });
    if (typeof response !== 'object' || response === null || !('ok' in response)) throw invalidArgument(argument, `a promise of ${describe(response)}`, 'one of a Response');
    return ofResponse(argument, response as Response);
  }
  if ('ok' in source && 'body' in source) return ofResponse(argument, source as Response);
  throw wrongSource(argument, source);
}

function wrongSource(argument: string, source: unknown): ResiduaError {
  return invalidArgument(argument, describe(source), 'an address, a Response or a promise of one, a Blob, an ArrayBuffer, a typed array or a ReadableStream');
}

function unreachable(argument: string, got: string, cause: unknown): ResiduaError {
  return new ResiduaError('invalid-argument', `${argument}: got ${got}: ${String(cause)}`, { cause });
}

async function fetched(argument: string, address: string | URL, signal: AbortSignal | undefined): Promise<Response> {
  try {
    return await fetch(address, signal === undefined ? {} : { signal });
  } catch (error) {
    throw unreachable(argument, `no response from ${String(address).slice(0, 200)}`, error);
  }
}

function ofResponse(argument: string, response: Response): ByteSource {
  const { ok, status, statusText, url, body, bodyUsed, headers } = response;
  const from = url === '' ? '' : ` from ${url}`;
  const refuse = (got: string, takes: string) => {
    body?.cancel().catch(() => {});
    return invalidArgument(argument, got, takes);
  };
  if (!ok) throw refuse(`HTTP status ${status} ${statusText}${from}`.trimEnd(), 'a response with a status from 200 to 299');
  const type = headers.get('content-type') ?? '';
  if (/^\s*(text\/html|application\/xhtml)/i.test(type)) throw refuse(`a page of type ${describe(type)}${from}`, "the file's bytes");
  if (bodyUsed || body === null) throw invalidArgument(argument, bodyUsed ? 'a response that was read before' : `a response without a body${from}`, 'one whose body is unread');
  // The length is that of the encoded body, where there is an encoding.
  const length = headers.has('content-encoding') ? NaN : Number(headers.get('content-length') ?? NaN);
  return ofStream(argument, body, Number.isSafeInteger(length) && length > 0 ? length : null);
}

function ofMemory(bytes: Uint8Array<ArrayBuffer>): ByteSource {
  const size = bytes.byteLength;
  let at = 0;
  return {
    size,
    expectedSize: size,
    async next() {
      const from = at;
      // A buffer that was transferred has no bytes any more, and no part of it can be taken.
      if (bytes.byteLength === 0) return null;
      const piece = bytes.subarray(from, from + PIECE_BYTES);
      at += piece.length;
      return piece.length === 0 ? null : piece;
    },
    skip(count) {
      const passed = Math.min(count, size - at);
      at += passed;
      return passed;
    },
    cancel() {},
  };
}

function ofBlob(argument: string, blob: Blob): ByteSource {
  const { size } = blob;
  let at = 0;
  return {
    size,
    expectedSize: size,
    async next() {
      if (at >= size) return null;
      const from = at;
      at = Math.min(size, from + PIECE_BYTES);
      try {
        return new Uint8Array(await blob.slice(from, at).arrayBuffer());
      } catch (error) {
        throw unreachable(argument, `a failure of the Blob at byte ${from}`, error);
      }
    },
    skip(count) {
      const passed = Math.min(count, size - at);
      at += passed;
      return passed;
    },
    cancel() {},
  };
}

/** The bytes of a stream. A part of a larger source has a known size. */
export function ofStream(argument: string, stream: ReadableStream<unknown>, expectedSize: number | null, size: number | null = null): ByteSource {
  let reader: ReadableStreamDefaultReader<unknown>;
  try {
    reader = stream.getReader();
  } catch (error) {
    throw unreachable(argument, 'a stream that is locked', error);
  }
  let at = 0;
  return {
    size,
    expectedSize,
    async next() {
      let chunk: unknown;
      try {
        const { done, value } = await reader.read();
        if (done) return null;
        chunk = value;
      } catch (error) {
        if (error instanceof ResiduaError) throw error;
        throw unreachable(argument, `a failure of the stream at byte ${at}`, error);
      }
      const isBytes = chunk instanceof Uint8Array || chunk instanceof ArrayBuffer;
      if (!isBytes) throw invalidArgument(argument, `${describe(chunk)} in a stream, at byte ${at}`, 'a Uint8Array');
      at += (chunk as Uint8Array).byteLength;
      return chunk instanceof ArrayBuffer ? new Uint8Array(chunk) : (chunk as Uint8Array<ArrayBuffer>);
    },
    skip: () => 0,
    cancel() {
      reader.cancel().catch(() => {});
    },
  };
}
