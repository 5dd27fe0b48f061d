/**
 * Conversations as a fold of committed rows (design §3.1): loaded when first asked for after a start, kept in memory from
 * then on, told to listeners in order. Drivers read the history here; charts never do.
 */
import type { Address } from "../protocol/ids.ts";
import type { HistoryRow } from "../protocol/history.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { PayloadRef } from "../protocol/payload.ts";
import type { LogReader, StoredRow } from "../ports/journal.port.ts";
import type { CommittedFact } from "./kernel/core.ts";
import type { PayloadTexts } from "./payload-texts.ts";

const PAGE = 500;

type RecordFact = CommittedFact & { kind: "record" };

export class Conversations {
  readonly #reader: LogReader;
  readonly #texts: PayloadTexts;
  readonly #loaded = new Map<Address, HistoryRow[]>();
  readonly #loading = new Map<Address, { promise: Promise<HistoryRow[]>; arrived: HistoryRow[] }>();
  readonly #newest = new Map<Address, number>();

  constructor(reader: LogReader, texts: PayloadTexts) {
    this.#reader = reader;
    this.#texts = texts;
  }

  /** Folds one committed row in and gives it as people see it. Async only when a text is not in memory any more. */
  take(fact: RecordFact): HistoryRow | Promise<HistoryRow> {
    const refs = refsOf(fact.data);
    if (refs.every((ref) => this.#texts.peek(ref.id) !== undefined)) return this.#fold(fact, (id) => this.#texts.peek(id));
    return this.#texts.read(refs.map((ref) => ref.id)).then((texts) => this.#fold(fact, (id) => texts.get(id)));
  }

  #fold(fact: RecordFact, textOf: (id: string) => string | undefined): HistoryRow {
    const row = {
      seq: fact.seq,
      at: fact.at,
      kind: fact.row,
      turnId: fact.turnId,
      data: resolve(fact.data, textOf),
    } as unknown as HistoryRow;
    this.#newest.set(fact.session, fact.seq);
    if (fact.seq === 1 && !this.#loaded.has(fact.session) && !this.#loading.has(fact.session)) this.#loaded.set(fact.session, []);
    this.#loaded.get(fact.session)?.push(row);
    this.#loading.get(fact.session)?.arrived.push(row);
    return row;
  }

  /** All rows of a session, oldest first. */
  rows(session: Address): Promise<HistoryRow[]> {
    const loaded = this.#loaded.get(session);
    if (loaded) return Promise.resolve(loaded);
    const loading = this.#loading.get(session);
    if (loading) return loading.promise;
    const arrived: HistoryRow[] = [];
    const promise = this.#load(session, arrived).finally(() => this.#loading.delete(session));
    this.#loading.set(session, { promise, arrived });
    return promise;
  }

  async #load(session: Address, arrived: HistoryRow[]): Promise<HistoryRow[]> {
    const rows: HistoryRow[] = [];
    let before: number | undefined;
    for (;;) {
      const page = await this.#page(session, before, PAGE);
      rows.unshift(...page);
      const first = page[0];
      if (!first || page.length < PAGE) break;
      before = first.seq;
    }
    const last = rows.at(-1)?.seq ?? 0;
    rows.push(...arrived.filter((row) => row.seq > last));
    this.#loaded.set(session, rows);
    return rows;
  }

  async #page(session: Address, before: number | undefined, limit: number): Promise<HistoryRow[]> {
    const stored = await this.#reader.transcript(session, { ...(before === undefined ? {} : { before }), limit });
    const parsed = stored.map(parseStored);
    const texts = await this.#texts.read(parsed.flatMap(({ data }) => refsOf(data).map((ref) => ref.id)));
    return parsed.map(({ head, data }) => ({ ...head, data: resolve(data, (id) => texts.get(id)) }) as unknown as HistoryRow);
  }

  /** One page, without loading the whole conversation. `before` is exclusive. */
  async page(session: Address, before: number | undefined, limit: number): Promise<{ rows: HistoryRow[]; hasMore: boolean }> {
    const loaded = this.#loaded.get(session);
    if (loaded) {
      const end = before === undefined ? loaded.length : loaded.findIndex((row) => row.seq >= before);
      const upTo = end < 0 ? loaded.length : end;
      return { rows: loaded.slice(Math.max(0, upTo - limit), upTo), hasMore: upTo > limit };
    }
    const rows = await this.#page(session, before, limit + 1);
    return { rows: rows.slice(-limit), hasMore: rows.length > limit };
  }

  newestSeq(session: Address): number {
    return this.#newest.get(session) ?? 0;
  }

  noteNewest(session: Address, seq: number): void {
    this.#newest.set(session, seq);
  }

  forget(session: Address): void {
    this.#loaded.delete(session);
    this.#newest.delete(session);
  }
}

function parseStored(row: StoredRow): { head: { seq: number; at: number; kind: string; turnId: string | null }; data: JsonObject } {
  return {
    head: JSON.parse(row.head) as { seq: number; at: number; kind: string; turnId: string | null },
    data: JSON.parse(row.body ?? "{}") as JsonObject,
  };
}

function refsOf(data: JsonObject): PayloadRef[] {
  const refs: PayloadRef[] = [];
  for (const value of Object.values(data)) if (isRef(value)) refs.push(value.payload);
  return refs;
}

function isRef(value: Json | undefined): value is { payload: PayloadRef & JsonObject } {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    typeof value["payload"] === "object" &&
    value["payload"] !== null &&
    Object.keys(value).length === 1
  );
}

/** A payload of kind `json` comes back as the value it is, any other as text. */
function resolve(data: JsonObject, textOf: (id: string) => string | undefined): JsonObject {
  const resolved: JsonObject = {};
  for (const [key, value] of Object.entries(data)) {
    if (!isRef(value)) {
      resolved[key] = value;
      continue;
    }
    const text = textOf(value.payload.id);
    resolved[key] = text === undefined ? "" : value.payload.kind === "json" ? (JSON.parse(text) as Json) : text;
  }
  return resolved;
}
