/**
 * Committed rows as the oracle reads them: it knows what a row looks like and shares no code with who writes it. `Fold` holds what
 * the rows say up to a commit.
 */

export interface Row {
  kind: string;
  key: string;
  head: string;
  body: string | null;
  epoch: number;
  commit: number;
}

export interface Mail {
  id: string;
  class: string;
  from: string;
  key?: string;
  token?: string;
  event: { type: string; [field: string]: unknown };
}
export interface Story {
  id: string;
  at: number;
  from: string;
  event: { type: string; [field: string]: unknown };
  effects: string[];
  sent: string[];
  crashed?: { code: string; message: string };
}
export interface Pending {
  key: string;
  name: string;
  settled: boolean;
  mark: boolean;
  repeatable: boolean;
  cleanup: boolean;
  driver: string;
}
export interface Head {
  address: string;
  parent: string | null;
  birth: string;
  kind: string;
  spec: string;
  status: string;
  state: string;
  line: string | null;
  fence: { idle: boolean; rebirth: boolean } | null;
  parked: string | null;
  ending: boolean;
  watches: [string, string][];
  waits: { name: string; to: string; on: string | null; kind: string; token: string }[];
  timers: { id: string; due: number; event: { type: string; nonce?: string } }[];
  crashes: number[];
  n: number;
  reason?: { kind: string };
}
export interface Actor {
  head: Head;
  pending: Pending[];
  mail: Mail[];
  context: Record<string, unknown>;
}
export interface Change {
  address: string;
  before: Actor | null;
  /** Null: it went down. */
  now: Actor | null;
  head: Head;
  story: Story[];
}

const AT_REST = {
  parent: null,
  line: null,
  fence: null,
  parked: null,
  ending: false,
  watches: [],
  waits: [],
  timers: [],
  crashes: [],
};

export const isBelow = (address: string, scope: string): boolean => scope === "/" || address === scope || address.startsWith(`${scope}/`);

export class Fold {
  readonly actors = new Map<string, Actor>();
  /** By `address#birth` and collection. */
  readonly parts = new Map<string, Map<string, Map<string, unknown>>>();
  readonly gone = new Map<string, Head>();

  /** Takes the rows of one commit in; the changes of actors come back in the order of the rows. */
  take(rows: readonly Row[]): Change[] {
    const changes: Change[] = [];
    for (const row of rows) {
      if (row.kind === "part") this.#part(row);
      if (row.kind !== "actor") continue;
      const head = { ...AT_REST, ...(JSON.parse(row.head) as object) } as unknown as Head;
      const body = JSON.parse(row.body ?? "{}") as {
        pending?: Pending[];
        mail?: Mail[];
        story?: Story[];
        snapshot?: { context: Record<string, unknown> } | null;
      };
      const before = this.actors.get(head.address) ?? null;
      const now =
        head.status === "down" ? null : { head, pending: body.pending ?? [], mail: body.mail ?? [], context: body.snapshot?.context ?? {} };
      if (now) this.actors.set(head.address, now);
      else {
        this.actors.delete(head.address);
        this.gone.set(head.address, head);
      }
      changes.push({ address: head.address, before, now, head, story: body.story ?? [] });
    }
    return changes;
  }

  #part(row: Row): void {
    const head = JSON.parse(row.head) as { address: string; birth: string; collection: string; entry: string; gone: boolean };
    const owner = `${head.address}#${head.birth}`;
    let collections = this.parts.get(owner);
    if (!collections) this.parts.set(owner, (collections = new Map()));
    let entries = collections.get(head.collection);
    if (!entries) collections.set(head.collection, (entries = new Map()));
    if (head.gone) entries.delete(head.entry);
    else entries.set(head.entry, JSON.parse(row.body ?? "null"));
  }

  collection(address: string, name: string): ReadonlyMap<string, unknown> {
    const actor = this.actors.get(address);
    return (actor && this.parts.get(`${address}#${actor.head.birth}`)?.get(name)) ?? new Map();
  }

  /** A fence, a parked, an ending or a suspended one at or above, or nobody there: mail and timers may be refused. */
  isHeld(address: string): boolean {
    if (!this.actors.has(address)) return true;
    for (let at = address; ; at = at.lastIndexOf("/") > 0 ? at.slice(0, at.lastIndexOf("/")) : "/") {
      const head = this.actors.get(at)?.head;
      if (head && (head.fence || head.status !== "live" || head.ending)) return true;
      if (at === "/") return false;
    }
  }

  isFenced(address: string): boolean {
    for (let at = address; ; at = at.lastIndexOf("/") > 0 ? at.slice(0, at.lastIndexOf("/")) : "/") {
      if (this.actors.get(at)?.head.fence) return true;
      if (at === "/") return false;
    }
  }

  /** The line of work an address belongs to. */
  lineOf(address: string): string {
    for (let at = address; at !== ""; at = at === "/" ? "" : at.slice(0, at.lastIndexOf("/")) || "/") {
      const head = this.actors.get(at)?.head;
      if (head && (head.spec === "line" || head.spec === "session")) return at;
      if (head && head.line !== null) return head.line;
    }
    return address;
  }
}
