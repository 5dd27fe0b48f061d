/** Time that stands still until a test moves it, and a scheduler that runs when asked. */
import type { Calendar, Clock, Scheduler } from "../../src/ports/clock.port.ts";

interface Waiting {
  at: number;
  order: number;
  callback: () => void;
}

export class VirtualTime implements Clock, Calendar, Scheduler {
  #now: number;
  #order = 0;
  #timers: Waiting[] = [];
  #soon: (() => void)[] = [];

  constructor(start = 1_700_000_000_000) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  day(at: number): string {
    return new Date(at).toISOString().slice(0, 10);
  }

  setTimer(ms: number, callback: () => void): () => void {
    this.#order += 1;
    const timer = { at: this.#now + ms, order: this.#order, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  soon(work: () => void): void {
    this.#soon.push(work);
  }

  sliceOver(): boolean {
    return false;
  }

  /** Time passes without anybody noticing yet, as in a process that was busy. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Calls back what is due, without letting anything else run in between. */
  fireDue(): void {
    const due = this.#timers.filter((timer) => timer.at <= this.#now).sort((a, b) => a.at - b.at || a.order - b.order);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const timer of due) timer.callback();
  }

  /** Runs everything that may run without time passing, promises included. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2;) {
      const work = this.#soon.splice(0);
      for (const each of work) each();
      await new Promise<void>((resolve) => setImmediate(resolve));
      quiet = work.length === 0 && this.#soon.length === 0 ? quiet + 1 : 0;
    }
  }

  /** Lets `ms` pass, firing what is due in order, settling after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
      await this.settle();
    }
    this.#now = end;
  }
}
