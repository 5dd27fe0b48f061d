/**
 * Texts of payloads that were committed and may be asked for: by the row that will show them, by a driver. What is not here
 * any more is read from the store. Bounded: the oldest go first.
 */
import type { LogReader } from "../ports/journal.port.ts";

const MAX_CHARS = 32_000_000;

export class PayloadTexts {
  readonly #reader: LogReader;
  readonly #texts = new Map<string, string>();
  #chars = 0;

  constructor(reader: LogReader) {
    this.#reader = reader;
  }

  keep(texts: ReadonlyMap<string, string>): void {
    for (const [id, text] of texts) {
      if (this.#texts.has(id)) continue;
      this.#texts.set(id, text);
      this.#chars += text.length;
    }
    for (const [id, text] of this.#texts) {
      if (this.#chars <= MAX_CHARS) break;
      this.#texts.delete(id);
      this.#chars -= text.length;
    }
  }

  /** Undefined: not in memory; `read` finds it. */
  peek(id: string): string | undefined {
    return this.#texts.get(id);
  }

  /** Texts of all ids that exist; ids the store does not know are absent. */
  async read(ids: readonly string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const missing: string[] = [];
    for (const id of ids) {
      const text = this.#texts.get(id);
      if (text === undefined) missing.push(id);
      else found.set(id, text);
    }
    if (missing.length > 0) {
      const read = await this.#reader.payloads(missing);
      this.keep(read);
      for (const [id, text] of read) found.set(id, text);
    }
    return found;
  }
}
