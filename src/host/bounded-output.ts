/**
 * What a command wrote, in bounded memory: the beginning and the end of a stream as text, the middle counted. The stream
 * itself lies in files: `<stream>` up to the disk cap, then `<stream>.tail` with its last bytes and, when it has
 * ended, `<stream>.total` with the count of all.
 */
import { open, readFile, stat } from "node:fs/promises";
import type { BoundedText } from "../ports/host.port.ts";
import { hasCode } from "./files.ts";

/** Kept in memory per stream. */
const CAPTURE_BYTES = 256 * 1024;
/** Stored on disk per stream; what comes after is drained and counted. */
export const STORE_BYTES = 64 * 1024 * 1024;
/** Of a stream past the disk cap the last bytes are kept as well. */
export const TAIL_BYTES = 128 * 1024;
const HEAD_SHARE = 0.6;

export async function readBounded(file: string, capture = CAPTURE_BYTES): Promise<BoundedText> {
  const stored = await sizeOf(file);
  const total = await totalOf(file, stored);
  const dropped = total - stored;
  if (total <= capture) {
    const all = await readRange(file, 0, stored);
    return { head: decodeStream(all, true, true), tail: "", omittedBytes: 0, totalBytes: total, droppedBytes: dropped, file };
  }
  const headBytes = Math.floor(capture * HEAD_SHARE);
  const tailBytes = capture - headBytes;
  const head = trimEnd(await readRange(file, 0, Math.min(headBytes, stored)));
  const end =
    dropped > 0 ? await lastBytes(`${file}.tail`, tailBytes) : await readRange(file, Math.max(head.length, stored - tailBytes), stored);
  const tail = trimStart(end);
  return {
    head: decodeStream(head, true, false),
    tail: decodeStream(tail, false, true),
    omittedBytes: total - head.length - tail.length,
    totalBytes: total,
    droppedBytes: dropped,
    file,
  };
}

/** The last non-empty line of a growing file, for watchers. */
export async function lastLine(file: string): Promise<string> {
  const size = await sizeOf(file);
  const text = decodeStream(trimStart(await readRange(file, Math.max(0, size - 2_048), size)), false, true);
  const lines = text.split(/[\r\n]+/u).filter((line) => line.trim() !== "");
  return (lines.at(-1) ?? "").slice(-200);
}

/** One stateful decoder over a piece; only at the very end of a stream a cut character becomes U+FFFD. */
function decodeStream(bytes: Uint8Array, atStart: boolean, atEnd: boolean): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: !atStart });
  let text = "";
  for (let at = 0; at < bytes.length; at += 65_536) text += decoder.decode(bytes.subarray(at, at + 65_536), { stream: true });
  return atEnd ? text + decoder.decode() : text;
}

/** Without the beginning of a character whose rest is cut off. */
function trimEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Without the rest of a character whose beginning is cut off. */
function trimStart(bytes: Buffer): Buffer {
  let from = 0;
  while (from < Math.min(3, bytes.length) && ((bytes[from] as number) & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from);
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return 0;
    throw error;
  }
}

/** Bytes in all; what is stored while nobody has counted yet. */
async function totalOf(file: string, stored: number): Promise<number> {
  try {
    return Math.max(stored, Number.parseInt(await readFile(`${file}.total`, "utf8"), 10) || 0);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return stored;
    throw error;
  }
}

async function lastBytes(file: string, most: number): Promise<Buffer> {
  const size = await sizeOf(file);
  return readRange(file, Math.max(0, size - most), size);
}

async function readRange(file: string, from: number, to: number): Promise<Buffer> {
  if (to <= from) return Buffer.alloc(0);
  const handle = await open(file, "r");
  try {
    const buffer = Buffer.alloc(to - from);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
