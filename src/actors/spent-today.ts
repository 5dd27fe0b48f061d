/** What today cost, by agent, as far as it is known: read once at the start, then kept up by what commits book. */
import type { Calendar, Clock } from "../ports/clock.port.ts";
import type { LogReader } from "../ports/journal.port.ts";
import type { Booked } from "./kernel/core.ts";

export class SpentToday {
  readonly #clock: Clock & Calendar;
  readonly #usd = new Map<string | null, number>();
  #day: string;
  #unknown = false;

  constructor(clock: Clock & Calendar) {
    this.#clock = clock;
    this.#day = clock.day(clock.now());
  }

  async load(reader: LogReader): Promise<void> {
    for (const row of await reader.ledger({ by: ["agent", "day"] })) {
      if (row.day !== this.#day) continue;
      this.#usd.set(row.agent, row.costUsd ?? 0);
      if (row.unknown > 0) this.#unknown = true;
    }
  }

  add({ agent, day, costUsd }: Booked): void {
    this.#turnOver();
    if (day !== this.#day) return;
    if (costUsd === null) this.#unknown = true;
    else this.#usd.set(agent, (this.#usd.get(agent) ?? 0) + costUsd);
  }

  /** US dollars of one agent, or of all with null. */
  of(agent: string | null): number {
    this.#turnOver();
    if (agent !== null) return this.#usd.get(agent) ?? 0;
    let sum = 0;
    for (const usd of this.#usd.values()) sum += usd;
    return sum;
  }

  /** Something of today cost an unknown amount. */
  get unknown(): boolean {
    this.#turnOver();
    return this.#unknown;
  }

  #turnOver(): void {
    const day = this.#clock.day(this.#clock.now());
    if (day === this.#day) return;
    this.#day = day;
    this.#usd.clear();
    this.#unknown = false;
  }
}
