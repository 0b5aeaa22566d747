/**
 * Files on their way to the worker. Addresses, Blobs and bytes go there as they are, and are fetched and read there. Responses and streams belong to the page:
 * the worker asks for their pieces one by one.
 */

import { errorData, errorOf } from '../../remote/error-data.js';
import type { ErrorData } from '../../remote/protocol.js';
import { openSource, type ByteSource, type FileSource } from '../files/source.js';
import type { SentSource } from './protocol.js';

/** A file that can be sent. */
export interface Sending {
  readonly source: SentSource;
  readonly transfer: readonly Transferable[];
  /** Ends what the page still has of it. */
  end(): void;
}

const nothing = (): void => {};

/**
 * Returns a file as it is sent. Rejects as `openSource` does.
 *
 * @param isTransferred whether bytes in memory go to the worker without a copy: the caller's buffer is then empty
 */
export async function sending(call: string, file: FileSource, isTransferred: boolean, signal: AbortSignal | undefined): Promise<Sending> {
  if (typeof file === 'string' || file instanceof URL) return { source: { address: addressOf(file) }, transfer: [], end: nothing };
  if (file instanceof Blob) return { source: { blob: file }, transfer: [], end: nothing };
  const bytes = bytesOf(file);
  if (bytes !== null) {
    // Memory that threads share cannot be transferred.
    const own = isTransferred && bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
    return { source: { bytes: own }, transfer: [own.buffer], end: nothing };
  }
  // Files beside a model have addresses beside its own.
  const response: unknown = await Promise.resolve(file as unknown).catch(() => null);
  return piecewise(await openSource(call, file, signal), response instanceof Response ? response.url : '');
}

/** An address as it is from anywhere: the worker's script lies elsewhere than the page. */
function addressOf(address: string | URL): string {
  const { document, location } = globalThis as { document?: { baseURI?: string }; location?: { href?: string } };
  const base = document?.baseURI ?? location?.href;
  return URL.canParse(String(address), base) ? new URL(address, base).href : String(address);
}

function bytesOf(file: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(file)) return new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  const isBuffer = file instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && file instanceof SharedArrayBuffer);
  return isBuffer ? new Uint8Array(file as ArrayBuffer) : null;
}

/** What the page answers when it is asked for a piece: null after the last one. */
type Piece = Uint8Array<ArrayBuffer> | null | { readonly error: ErrorData };

/** Sends pieces as they are asked for. */
function piecewise(file: ByteSource, url: string): Sending {
  const { port1, port2 } = new MessageChannel();
  const answer = (piece: Piece, isLast: boolean): void => {
    port1.postMessage(piece, piece instanceof Uint8Array ? [piece.buffer] : []);
    if (isLast) port1.close();
  };
  const end = (): void => {
    file.cancel();
    port1.close();
  };
  port1.onmessage = ({ data: isWanted }: MessageEvent<boolean>) => {
    if (!isWanted) return end();
    file.next().then(
      (piece) => answer(piece?.slice() ?? null, piece === null),
      (error: unknown) => answer({ error: errorData(error) }, true),
    );
  };
  return { source: { port: port2, size: file.expectedSize, url }, transfer: [port2], end };
}

/** The file that was sent, in the worker. */
export function received(sent: SentSource): FileSource {
  if ('address' in sent) return sent.address;
  if ('blob' in sent) return sent.blob;
  if ('bytes' in sent) return sent.bytes;
  const { port, size, url } = sent;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise<void>((resolve) => {
          port.onmessage = ({ data: piece }: MessageEvent<Piece>) => {
            if (piece instanceof Uint8Array) controller.enqueue(piece);
            else if (piece === null) controller.close();
            else controller.error(errorOf(piece.error));
            if (!(piece instanceof Uint8Array)) port.close();
            resolve();
          };
          port.postMessage(true);
        }),
      cancel: () => {
        port.postMessage(false);
        port.close();
      },
    },
    { highWaterMark: 0 },
  );
  // The size is for progress.
  const response = new Response(stream, size === null ? {} : { headers: { 'content-length': String(size) } });
  return Object.defineProperty(response, 'url', { value: url });
}
