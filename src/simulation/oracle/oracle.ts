/**
 * Says what is wrong in a world. It reads committed rows, what the outside was asked to do and what the doors said; it imports
 * nothing of what it judges.
 */
import { KernelRules } from "./kernel-rules.ts";
import { Promises } from "./promises.ts";
import { Fold, isBelow, type Row } from "./rows.ts";

export interface ActorPicture {
  address: string;
  birth: string;
  kind: string;
  state: string;
  parts: Record<string, Record<string, unknown>>;
}

const WORK = new Set(["turn", "call", "job"]);

export class Oracle {
  readonly wrong: string[] = [];
  readonly fold = new Fold();
  readonly promises: Promises;
  readonly #rules: KernelRules;
  readonly #blind: boolean;
  readonly #told: (wrong: string) => void;
  commits = 0;
  /** Scopes a stop was asked for, with the number of commits offered by then. */
  readonly #stops: { scope: string; offered: number }[] = [];

  /** `blind`: it counts and judges nothing, for a second run that is only compared. */
  constructor(blind: boolean, told: (wrong: string) => void = () => {}) {
    this.#blind = blind;
    this.#told = told;
    const say = (wrong: string): void => {
      if (blind || this.wrong.includes(wrong)) return;
      this.wrong.push(wrong);
      this.#told(wrong);
    };
    this.say = say;
    this.promises = new Promises(this.fold, say);
    this.#rules = new KernelRules(this.fold, say);
  }

  readonly say: (wrong: string) => void;

  /** Rows of one commit, as they stand on disk now. */
  committed(rows: readonly Row[]): void {
    const [first] = rows;
    if (!first) return;
    this.commits += 1;
    if (this.#blind) return;
    this.#rules.order(first);
    const changes = this.fold.take(rows);
    this.#rules.check(changes);
    this.promises.check(rows, changes);
  }

  stopAsked(scope: string, offered: number): void {
    this.#stops.push({ scope, offered });
  }

  /** A commit that was offered after a stop was asked for has its fence in it. */
  acknowledged(offered: number): void {
    for (let at = this.#stops.length - 1; at >= 0; at -= 1) if ((this.#stops[at]?.offered ?? 0) < offered) this.#stops.splice(at, 1);
  }

  died(): void {
    this.#stops.length = 0;
  }

  begun(act: { key: string; address: string; attempt: number; repeatable: boolean; cleanup: boolean }): void {
    if (this.#blind) return;
    this.promises.begun({
      ...act,
      takenBack: this.#rules.isTakenBack(act.key),
      // What is permanent is only held back, and lets go at once when nothing below it has to end.
      stopping:
        WORK.has(this.fold.actors.get(act.address)?.head.kind ?? "") && this.#stops.some(({ scope }) => isBelow(act.address, scope)),
    });
  }

  /** K5: what a restart made of the rows is what they hold. */
  restored(pictures: readonly ActorPicture[]): void {
    if (this.#blind) return;
    const seen = new Set<string>();
    for (const { address, birth, parts, state } of pictures) {
      seen.add(address);
      const actor = this.fold.actors.get(address);
      if (!actor) {
        if (this.fold.actors.size > 0) this.say(`K5: ${address} came back and is not on disk`);
        continue;
      }
      if (actor.head.birth !== birth) this.say(`K5: ${address} came back with the birth ${birth}, on disk it is ${actor.head.birth}`);
      if (actor.head.state !== state) this.say(`K5: ${address} came back in ${state}, on disk it is in ${actor.head.state}`);
      for (const [name, entries] of Object.entries(parts)) {
        const stored = Object.fromEntries(this.fold.collection(address, name));
        if (sorted(entries) !== sorted(stored))
          this.say(`K5: ${name} of ${address} came back as ${sorted(entries)}, on disk it is ${sorted(stored)}`);
      }
    }
    for (const address of this.fold.actors.keys()) if (!seen.has(address)) this.say(`K5: ${address} is on disk and did not come back`);
  }
}

function sorted(entries: Record<string, unknown>): string {
  return JSON.stringify(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)));
}
