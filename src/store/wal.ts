/**
 * A look at DuckDB's write-ahead log from outside, before anything opens it. DuckDB takes an entry that ends past the file
 * for the torn end of the last write and opens without a word: one wrong bit in the length of an entry then hides all that
 * stands behind it. So it must be known where the last whole transaction ends and what stands behind it.
 *
 * Layout: a short header; then entries of length, checksum (8 bytes each, little endian) and payload. The payload begins with
 * the kind of the entry; a transaction ends with a "flush". Checksums are left to DuckDB, which names the entry.
 */
import { readFile } from "node:fs/promises";
import { whenAbsent } from "./files.ts";

/** Of a log as the DuckDB used here writes it. */
export const WAL_HEADER = Buffer.from([0x64, 0x00, 0x62, 0x65, 0x00, 0x02, 0xff, 0xff]);
const FLUSH = Buffer.from([0x64, 0x00, 0x64, 0xff, 0xff]);
const ENTRY_HEAD = 16;

export interface WalShape {
  size: number;
  /** Entries follow, but the header before them is damaged: DuckDB would read nothing of it, some of it without a word. */
  headerBroken: boolean;
  /** Where each transaction ends, as far as the entries can be walked. */
  ends: readonly number[];
  /** Whole transactions that seem to stand behind the place where the walk ended. */
  behind: number;
}

/** A file that is not there, or empty, has the size 0. */
export async function readWal(file: string): Promise<WalShape> {
  const bytes = await readFile(file).catch(whenAbsent(Buffer.alloc(0)));
  return walShape(bytes);
}

export function walShape(bytes: Buffer): WalShape {
  const ends: number[] = [];
  let at = WAL_HEADER.length;
  while (at + ENTRY_HEAD + 2 <= bytes.length) {
    const length = bytes.readBigUInt64LE(at);
    const start = at + ENTRY_HEAD;
    if (length < 2n || BigInt(start) + length > BigInt(bytes.length) || bytes.readUInt16LE(start) !== 0x64) break;
    at = start + Number(length);
    if (Number(length) === FLUSH.length && bytes.subarray(start, at).equals(FLUSH)) ends.push(at);
  }
  const headerBroken = ends.length > 0 && !bytes.subarray(0, WAL_HEADER.length).equals(WAL_HEADER);
  return { size: bytes.length, headerBroken, ends, behind: flushesBehind(bytes, ends.at(-1) ?? 0) };
}

/** The end of the last whole transaction at or before a place; 0 when there is none. */
export function wholeBefore(shape: WalShape, place: number): number {
  return shape.ends.findLast((end) => end <= place) ?? 0;
}

function flushesBehind(bytes: Buffer, from: number): number {
  let found = 0;
  for (let at = bytes.indexOf(FLUSH, from); at !== -1; at = bytes.indexOf(FLUSH, at + 1)) {
    const head = at - ENTRY_HEAD;
    if (head >= from && bytes.readBigUInt64LE(head) === BigInt(FLUSH.length)) found++;
  }
  return found;
}
