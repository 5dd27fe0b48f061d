/**
 * Messages on their way. Each has a client key from the moment it is written and stays in storage until the server has
 * accepted it, so a lost answer, a reload or a restart makes it neither lost nor double. Per session they go in order.
 */
import { type Api, RequestFailed, type SendAnswer } from "./api.ts";
import type { SessionView } from "../protocol/session-view.ts";
import { Store, type Notifier, type Readable } from "./store.ts";
import type { Keep, Time } from "./surroundings.ts";

export interface Outgoing {
  clientKey: string;
  agent: string;
  session: string;
  text: string;
  steer: boolean;
  retryOf?: string;
  at: number;
  /** `kept`: waits for the server. `accepted`: on the server's disk, not yet seen in the session's view. */
  state: "kept" | "sending" | "refused" | "accepted";
  turnId?: string;
  error?: { code: string; message: string; hint?: string };
}

const KEY = "somora.outbox";
const SHOWN_ROWS = 40;
/** The server's clock and ours may be so far apart. */
const CLOCKS_DIFFER = 2_000;
const PAUSE = 1_500;
const LONGEST_PAUSE = 20_000;
/** An accepted message that no view shows within this time is trusted to be in the history. */
const SHOWN_WITHIN = 5_000;

export class Outbox {
  readonly #api: Api;
  readonly #keep: Keep;
  readonly #time: Time;
  readonly #store: Store<readonly Outgoing[]>;
  readonly #busy = new Set<string>();
  readonly #timers = new Set<() => void>();
  #failures = 0;

  constructor(api: Api, keep: Keep, time: Time, notifier: Notifier) {
    this.#api = api;
    this.#keep = keep;
    this.#time = time;
    this.#store = new Store<readonly Outgoing[]>(this.#load(), notifier);
  }

  get entries(): Readable<readonly Outgoing[]> {
    return this.#store;
  }

  add(message: { agent: string; session: string; text: string; steer?: boolean; retryOf?: string }): Outgoing {
    const entry: Outgoing = {
      clientKey: newKey(this.#time),
      agent: message.agent,
      session: message.session,
      text: message.text,
      steer: message.steer ?? false,
      ...(message.retryOf === undefined ? {} : { retryOf: message.retryOf }),
      at: this.#time.now(),
      state: "kept",
    };
    this.#write([...this.#store.getSnapshot(), entry]);
    this.flush();
    return entry;
  }

  /** Takes one out that the server does not have; gives its text back. */
  takeBack(clientKey: string): string | null {
    const entry = this.#find(clientKey);
    if (entry === undefined || entry.state === "sending" || entry.state === "accepted") return null;
    this.#write(this.#store.getSnapshot().filter((other) => other.clientKey !== clientKey));
    return entry.text;
  }

  /** Tries a refused one again, with the same key. */
  again(clientKey: string): void {
    this.#change(clientKey, (entry) => ({ ...without(entry, "error"), state: "kept" }));
    this.flush();
  }

  /** The session's view now shows it. */
  seen(turnIds: ReadonlySet<string>): void {
    const all = this.#store.getSnapshot();
    const left = all.filter((entry) => entry.turnId === undefined || !turnIds.has(entry.turnId));
    if (left.length !== all.length) this.#write(left);
  }

  /** Sends what is kept; called when the line is live and when something was added. */
  flush(): void {
    for (const entry of this.#store.getSnapshot()) {
      const place = `${entry.agent}/${entry.session}`;
      if (entry.state !== "kept" || this.#busy.has(place)) continue;
      this.#busy.add(place);
      void this.#send(entry, place);
    }
  }

  /** Another window of this browser changed the storage: take over what it added and what it got rid of. */
  reload(): void {
    const mine = new Map(this.#store.getSnapshot().map((entry) => [entry.clientKey, entry]));
    const theirs = this.#load();
    const kept = theirs.map((entry) => mine.get(entry.clientKey) ?? entry);
    const landing = [...mine.values()].filter(
      (entry) => entry.state === "accepted" && !theirs.some((other) => other.clientKey === entry.clientKey),
    );
    this.#store.set([...landing, ...kept]);
  }

  close(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  async #send(entry: Outgoing, place: string): Promise<void> {
    this.#change(entry.clientKey, (other) => ({ ...other, state: "sending" }));
    const { agent, session, text, steer, clientKey, retryOf } = entry;
    let pause: number | null = 0;
    try {
      const answer = await this.#api.send({
        agent,
        session,
        clientKey,
        ...(retryOf === undefined ? { text } : { retryOf }),
        ...(steer ? { steer: true } : {}),
      });
      this.#failures = 0;
      this.#change(clientKey, (other) => ({ ...other, state: "accepted", turnId: idOf(answer) }));
      this.#later(SHOWN_WITHIN, () => this.#write(this.#store.getSnapshot().filter((other) => other.clientKey !== clientKey)));
    } catch (error) {
      const failed = error instanceof RequestFailed ? error : new RequestFailed(0, "NO_CONNECTION", "No connection to the server.");
      if (failed.again) {
        this.#failures += 1;
        pause = failed.status === 0 || failed.status === 401 ? null : Math.min(LONGEST_PAUSE, PAUSE * 2 ** (this.#failures - 1));
        this.#change(clientKey, (other) => ({ ...other, state: "kept" }));
      } else {
        const said = { code: failed.code, message: failed.message, ...(failed.hint === undefined ? {} : { hint: failed.hint }) };
        this.#change(clientKey, (other) => ({ ...other, state: "refused", error: said }));
      }
    }
    this.#busy.delete(place);
    if (pause === 0) this.flush();
    else if (pause !== null) this.#later(pause, () => this.flush());
  }

  #later(milliseconds: number, run: () => void): void {
    const cancel = this.#time.after(milliseconds, () => {
      this.#timers.delete(cancel);
      run();
    });
    this.#timers.add(cancel);
  }

  #find(clientKey: string): Outgoing | undefined {
    return this.#store.getSnapshot().find((entry) => entry.clientKey === clientKey);
  }

  #change(clientKey: string, change: (entry: Outgoing) => Outgoing): void {
    this.#write(this.#store.getSnapshot().map((entry) => (entry.clientKey === clientKey ? change(entry) : entry)));
  }

  #write(entries: readonly Outgoing[]): void {
    this.#store.set(entries);
    const unsent = entries.filter((entry) => entry.state !== "accepted");
    try {
      if (unsent.length === 0) this.#keep.removeItem(KEY);
      else this.#keep.setItem(KEY, JSON.stringify(unsent));
    } catch {
      // storage is full or forbidden: the message still lives in this window
    }
  }

  #load(): Outgoing[] {
    const stored: unknown = readJson(this.#keep.getItem(KEY));
    if (!Array.isArray(stored)) return [];
    return (stored as Outgoing[])
      .filter((entry) => typeof entry?.clientKey === "string")
      .map((entry) => (entry.state === "sending" ? { ...entry, state: "kept" } : entry));
  }
}

/** Of what is on its way, what the view does not show yet. A frame may come before the answer that gives a message its id. */
export function unseen(outbox: readonly Outgoing[], view: SessionView): Outgoing[] {
  const shown = new Map<string, { text: string; at: number }>();
  for (const row of view.rows.slice(-SHOWN_ROWS))
    if (row.kind === "user_message") shown.set(row.data.steerId ?? row.turnId ?? "", { text: row.data.text, at: row.at });
  for (const { turnId, preview, at } of view.queue) shown.set(turnId, { text: preview, at });
  for (const { steerId, text } of view.steers) shown.set(steerId, { text, at: Infinity });
  if (view.active !== null && !shown.has(view.active.turnId)) shown.set(view.active.turnId, { text: "", at: view.active.startedAt });
  const nameless: Outgoing[] = [];
  const left = new Set(
    outbox.filter((entry) => {
      if (entry.turnId !== undefined) return !shown.delete(entry.turnId);
      if (entry.state === "sending") nameless.push(entry);
      return true;
    }),
  );
  for (const entry of nameless) {
    const match = [...shown].find(
      ([, { text, at }]) => text !== "" && at >= entry.at - CLOCKS_DIFFER && entry.text.startsWith(text.replace(/…$/u, "")),
    );
    if (match === undefined) continue;
    shown.delete(match[0]);
    left.delete(entry);
  }
  return [...left];
}

function idOf(answer: SendAnswer): string {
  return "steerId" in answer ? answer.steerId : answer.turnId;
}

function without<Value extends object, Key extends keyof Value>(value: Value, key: Key): Omit<Value, Key> {
  const { [key]: _, ...rest } = value;
  return rest;
}

function newKey(time: Time): string {
  const chance = (): string =>
    Math.floor(time.chance() * 2 ** 32)
      .toString(36)
      .padStart(7, "0");
  return `c_${time.now().toString(36)}${chance()}${chance()}`;
}

/** JSON from storage, or null when there is none or something else wrote there. */
export function readJson(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
