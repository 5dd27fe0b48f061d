/**
 * A supervisor `/sup` with named children, for the conformance suite. Every move lets all settle, and the kernel may be replaced by
 * another on the same rows after any commit (`dieAt`): what a story ends in must not depend on it.
 */
import { assign, setup } from "xstate";
import type { ChildSpec, DownReason, StopCause } from "../../src/protocol/effects.ts";
import { effects } from "../../src/protocol/effects.ts";
import type { Address, Token } from "../../src/protocol/ids.ts";
import type { Json, JsonObject } from "../../src/protocol/json.ts";
import type { ChartDefinition } from "../../src/actors/kernel/chart.ts";
import { Kernel } from "../../src/actors/kernel/kernel.ts";
import { decide } from "../../src/machines/decide.ts";
import type { StoredRow } from "../../src/ports/journal.port.ts";
import { createMemoryJournal, type MemoryJournal } from "../../src/store/index.ts";
import { HandDriver } from "./kernel-world.ts";
import { VirtualTime } from "./virtual-time.ts";

const spec: ChildSpec = { restart: "permanent", shutdown: 1000, identity: "fresh", past: "park", intensity: 3, periodMs: 60_000 };
/** In the words of the suites; `keeper` is what most of somora's own actors are. */
export const otpSpecs: Readonly<Record<string, ChildSpec>> = {
  root: { ...spec, identity: "keep" },
  fixed: { ...spec, identity: "keep" },
  permanent: spec,
  transient: { ...spec, restart: "transient", past: "fail" },
  temporary: { ...spec, restart: "temporary", past: "fail" },
  keeper: { ...spec, identity: "keep" },
  transientKeeper: { ...spec, restart: "transient", identity: "keep", past: "fail" },
};

export interface Child {
  name: string;
  spec?: string;
  chart?: string;
  input?: JsonObject;
  /** Its parent watches it unless this is false. */
  watch?: boolean;
}

interface Down {
  name: string;
  reason: DownReason;
  output: Json;
}
interface MemberContext {
  address: Address;
  seen: string[];
  downs: Down[];
  atOnce: boolean;
}
type MemberEvent = { type: string; [field: string]: unknown; token?: Token; address?: Address; birth?: string };

/** How many first steps at an address still throw: the world outside that a start depends on. */
const startFaults = new Map<string, number>();
/** Addresses whose next lives end in their first step. */
const endsAtOnce = new Set<string>();
/** First steps that were tried at an address, failed ones too: more than rows can tell when several fall into one commit. */
const tries = new Map<string, number>();
const last = (address: string): string => address.slice(address.lastIndexOf("/") + 1);

const reply = (event: MemberEvent, value: Json): { type: "reply"; params: { token: Token; value: Json } }[] =>
  event.token === undefined ? [] : [{ type: "reply", params: { token: event.token, value } }];

function begin(input: { address: Address; end?: boolean }): MemberContext {
  tries.set(input.address, (tries.get(input.address) ?? 0) + 1);
  const faults = startFaults.get(input.address) ?? 0;
  if (faults > 0) {
    startFaults.set(input.address, faults - 1);
    throw new Error(`${last(input.address)} does not start`);
  }
  return { address: input.address, seen: [], downs: [], atOnce: input.end === true || endsAtOnce.has(input.address) };
}

function birth(child: Child): { type: "spawn"; params: { name: string; chart: string; spec: string; input: JsonObject; watch: boolean } } {
  return {
    type: "spawn",
    params: {
      name: child.name,
      chart: child.chart ?? "member",
      spec: child.spec ?? "permanent",
      input: child.input ?? {},
      watch: child.watch !== false,
    },
  };
}

/** Does what it is told: starts children (those of its input at once), works, crashes, ends, remembers what it heard. */
const memberMachine = setup({
  types: {} as { context: MemberContext; events: MemberEvent; input: { address: Address; end?: boolean } },
  actions: effects,
}).createMachine({
  context: ({ input }) => begin(input),
  entry: decide<MemberContext, { input: { children?: Child[] } }>((_, { input }) => ({ effects: (input.children ?? []).map(birth) })),
  initial: "live",
  output: ({ context }) => ({ heard: context.seen.length }),
  states: {
    live: {
      always: { guard: ({ context }) => context.atOnce, target: "ended" },
      on: {
        start: {
          actions: decide<MemberContext, MemberEvent>((_, event) => ({
            effects: [...(event["children"] as Child[]).map(birth), ...reply(event, null)],
          })),
        },
        say: {
          actions: decide<MemberContext, MemberEvent>(({ seen }, event) => ({
            set: { seen: [...seen, String(event["text"])] },
            effects: reply(event, event["text"] as string),
          })),
        },
        pass: {
          actions: decide<MemberContext, MemberEvent>((_, event) => ({
            effects: [
              {
                type: "send",
                params: {
                  to: event["to"] as Address,
                  event: (event["event"] as { type: string } | undefined) ?? { type: "say", text: String(event["text"]) },
                },
              },
              ...reply(event, null),
            ],
          })),
        },
        halt: {
          actions: decide<MemberContext, MemberEvent>((_, event) => ({
            effects: [
              {
                type: "stop",
                params: {
                  address: event["who"] as Address,
                  reason: { by: "agent" },
                  ...(event["remove"] === true ? { remove: true } : {}),
                },
              },
            ],
          })),
        },
        look: { actions: { type: "watch", params: ({ event }) => ({ address: event["who"] as Address }) } },
        forget: { actions: { type: "unwatch", params: ({ event }) => ({ address: event["who"] as Address }) } },
        work: {
          actions: {
            type: "perform",
            params: ({ event }) => ({ name: "job", driver: "hand", request: { what: String(event["what"] ?? "") } }),
          },
        },
        crash: {
          actions: assign({
            seen: ({ event }) => {
              throw new Error(String(event["text"] ?? "planted"));
            },
          }),
        },
        finish: {
          target: "ended",
          actions: decide<MemberContext, MemberEvent>((_, event) => ({ effects: reply(event, "bye") })),
        },
        down: {
          actions: assign({
            downs: ({ context, event }) => [
              ...context.downs,
              { name: last(String(event.address)), reason: event["reason"] as DownReason, output: (event["output"] ?? null) as Json },
            ],
          }),
        },
        resumed: { actions: assign({ seen: ({ context, event }) => [...context.seen, `resumed:${String(event["cause"])}`] }) },
        stopped: { actions: assign({ seen: ({ context }) => [...context.seen, "stopped"] }) },
        "job.done": { actions: assign({ seen: ({ context }) => [...context.seen, "job done"] }) },
        // A chart with a fault where it hears how its work ended.
        "job.failed": {
          actions: assign({
            seen: () => {
              throw new Error("planted in an outcome");
            },
          }),
        },
        "job.aborted": { actions: assign({ seen: ({ context }) => [...context.seen, "job aborted"] }) },
      },
    },
    ended: { type: "final" },
  },
});
export const member: ChartDefinition = { name: "member", version: 1, machine: memberMachine, ignore: ["stop", "job.interrupted"] };

export interface OtpOptions {
  /** Of `/sup`, over those of `permanent`. */
  sup?: Partial<ChildSpec>;
  /** Children of its first step: name, and what its spec has over `permanent`. */
  children?: Record<string, Partial<ChildSpec>>;
  input?: Record<string, JsonObject>;
  specs?: Record<string, Partial<ChildSpec>>;
  charts?: readonly ChartDefinition[];
  /** The kernel is replaced after this commit. */
  dieAt?: number;
}

/** Children that stand in `/sup`, as a reader of rows and of the kernel sees them. */
export class Otp {
  readonly time = new VirtualTime();
  readonly hand = new HandDriver();
  kernel!: Kernel;
  journal!: MemoryJournal;
  commits = 0;
  #specs: Record<string, ChildSpec>;
  #charts: readonly ChartDefinition[];
  #dieAt: number;
  #died = false;
  #kernels = 0;
  readonly #root: JsonObject;

  private constructor(options: OtpOptions) {
    this.#specs = { ...otpSpecs, sup: { ...spec, ...options.sup } };
    for (const [name, over] of Object.entries(options.specs ?? {})) this.#specs[name] = { ...spec, ...over };
    for (const [name, over] of Object.entries(options.children ?? {})) this.#specs[`child ${name}`] = { ...spec, ...over };
    this.#charts = [member, ...(options.charts ?? [])];
    this.#dieAt = options.dieAt ?? 0;
    const children = Object.keys(options.children ?? {}).map((name) => ({
      name,
      spec: `child ${name}`,
      input: options.input?.[name] ?? {},
    }));
    this.#root = { children: [{ name: "sup", spec: "sup", input: { children: children as never } }] as never };
  }

  static async open(options: OtpOptions = {}, faults: Record<string, number> = {}): Promise<Otp> {
    startFaults.clear();
    tries.clear();
    endsAtOnce.clear();
    for (const [address, times] of Object.entries(faults)) startFaults.set(address, times);
    const world = new Otp(options);
    await world.#open([]);
    return world;
  }

  async #open(rows: readonly StoredRow[]): Promise<void> {
    this.#kernels += 1;
    this.journal = createMemoryJournal({
      from: rows,
      onAppend: () => {
        if (this.#died) return "hang";
        this.commits += 1;
        if (this.commits !== this.#dieAt) return "ok";
        this.#died = true;
        return "lost";
      },
    });
    const opening = Kernel.open({
      journal: this.journal,
      clock: this.time,
      scheduler: this.time,
      charts: this.#charts,
      drivers: [this.hand],
      specs: this.#specs,
      root: { chart: "member", spec: "root", input: this.#root },
      observer: { committed: () => {}, stalled: () => {}, fatal: () => {} },
    });
    opening.catch(() => {});
    await this.time.settle();
    this.kernel = await opening;
    await this.settle();
  }

  /** Another kernel on the same rows, with other specs or charts if given: a new build of the server. */
  async replace(changed: { specs?: Record<string, Partial<ChildSpec>>; charts?: readonly ChartDefinition[] } = {}): Promise<void> {
    for (const [name, over] of Object.entries(changed.specs ?? {}))
      this.#specs = { ...this.#specs, [name]: { ...(this.#specs[name] ?? spec), ...over } };
    if (changed.charts) this.#charts = changed.charts;
    this.kernel.close();
    this.#died = false;
    await this.#open([...this.journal.rows]);
  }

  async settle(): Promise<void> {
    await this.time.settle();
    if (this.#died) await this.replace();
  }

  async advance(ms: number): Promise<void> {
    // A kernel that dies on the way is replaced on the way.
    const step = this.#dieAt === 0 ? ms : 250;
    for (let left = ms; left > 0 || left === ms; left -= step) {
      await this.time.advance(Math.min(step, left));
      await this.settle();
      if (left === 0) return;
    }
  }

  /** An event that nobody waits an answer for. */
  async tell(who: string, event: { type: string; [field: string]: unknown }): Promise<void> {
    this.kernel.tell(at(who), event);
    await this.settle();
  }

  async ask(who: string, event: { type: string; [field: string]: unknown }): Promise<Json> {
    const kernels = this.#kernels;
    const answer = this.kernel.command(at(who), event);
    answer.catch(() => {});
    await this.settle();
    // Who asked a kernel that died hears nothing; what it asked was committed.
    return this.#kernels === kernels ? answer : null;
  }

  crash(who: string, text = "planted"): Promise<void> {
    return this.tell(who, { type: "crash", text });
  }

  finish(who: string): Promise<void> {
    return this.tell(who, { type: "finish" });
  }

  start(...children: Child[]): Promise<void> {
    return this.tell("", { type: "start", children });
  }

  /** Does not wait for its end. */
  async stop(who: string, by: StopCause = "shutdown", remove = false): Promise<void> {
    if (this.kernel.has(at(who))) void this.kernel.stop(at(who), { by }, { remove }).catch(() => {});
    await this.settle();
  }

  async resume(who: string): Promise<boolean> {
    const resumed = this.kernel.resume(at(who));
    await this.settle();
    return resumed;
  }

  failStarts(who: string, times: number): void {
    startFaults.set(at(who), times);
  }

  endAtStart(who: string): void {
    endsAtOnce.add(at(who));
  }

  /** Work at the hand driver, in the order it was started. */
  jobs(who?: string): HandDriver["started"] {
    return this.hand.started.filter(({ context }) => who === undefined || context.address === at(who));
  }

  has(who: string): boolean {
    return this.kernel.has(at(who));
  }

  /** Names in start order. */
  names(under = ""): string[] {
    return this.kernel.children(at(under)).map((child) => last(child.address));
  }

  status(who: string): string {
    return this.kernel.committed(at(who))?.status ?? "gone";
  }

  birth(who: string): string {
    return this.kernel.committed(at(who))?.birth ?? "gone";
  }

  seen(who: string): string[] {
    return ((this.kernel.context(at(who))?.["seen"] as string[] | undefined) ?? []).filter((each) => each !== "resumed:restart");
  }

  /** What a watcher was told (`/sup` watches its children, the root watches `/sup`). */
  downs(who = ""): { name: string; kind: string; by?: string; message?: string; output: Json }[] {
    const downs = (this.kernel.context(who === "/" ? ("/" as Address) : at(who))?.["downs"] as Down[] | undefined) ?? [];
    return downs.map(({ name, reason, output }) => ({
      name,
      kind: reason.kind,
      ...(reason.kind === "stopped" ? { by: reason.stop.by } : {}),
      ...(reason.kind === "crash" ? { message: reason.error.message } : {}),
      output,
    }));
  }

  downsOf(name: string, who = ""): string[] {
    return this.downs(who).flatMap((down) => (down.name === name ? [down.kind] : []));
  }

  /** How often its first step was tried. */
  starts(who: string): number {
    return tries.get(at(who)) ?? 0;
  }

  /** In how many births its rows show it. */
  lives(who: string): number {
    return new Set(this.#heads().flatMap((head) => (head.address === at(who) ? [head.birth] : []))).size;
  }

  /** Births in the order they came, from the rows. */
  births(): string[] {
    const born = new Map(this.#heads().map((head) => [head.birth, last(head.address)]));
    return [...born].sort(([a], [b]) => compareIds(a, b)).map(([, name]) => name);
  }

  /** Who went down for good, in the order it did, from the rows. */
  buried(): string[] {
    return this.#heads().flatMap((head) => (head.status === "down" ? [last(head.address)] : []));
  }

  #heads(): { address: string; birth: string; status: string }[] {
    return this.journal.rows.filter((row) => row.kind === "actor").map((row) => JSON.parse(row.head) as never);
  }
}

/** `""` is the supervisor, `a` its child, `a/b` a child of that. */
export function at(who: string): Address {
  return (who.startsWith("/") ? who : who === "" ? "/sup" : `/sup/${who}`) as Address;
}

function compareIds(a: string, b: string): number {
  const [left, right] = [a, b].map((id) => id.split(".").map(Number));
  for (let n = 0; n < 3; n += 1) if (left?.[n] !== right?.[n]) return (left?.[n] ?? 0) - (right?.[n] ?? 0);
  return 0;
}

/**
 * Plays a story once, then once for each of its commits with the kernel replaced right after it. What it ends in must be the same;
 * `exact` is only told of the first, where nothing is computed twice.
 */
export async function atEveryCommit<End, Exact>(
  options: OtpOptions,
  story: (world: Otp) => Promise<{ end: End; exact?: Exact }>,
): Promise<{ end: End; exact: Exact | undefined; different: { dieAt: number; end: End }[]; commits: number }> {
  const world = await Otp.open(options);
  const { end, exact } = await story(world);
  const different: { dieAt: number; end: End }[] = [];
  const { commits } = world;
  for (let dieAt = 1; dieAt <= commits; dieAt += 1) {
    const other = await story(await Otp.open({ ...options, dieAt }));
    if (JSON.stringify(other.end) !== JSON.stringify(end)) different.push({ dieAt, end: other.end });
  }
  return { end, exact, different, commits };
}
