/** A kernel on a memory journal with virtual time, toy charts and a driver whose work a test ends by hand. */
import { assign, setup } from "xstate";
import { effects, type ChildSpec } from "../../src/protocol/effects.ts";
import type { Address } from "../../src/protocol/ids.ts";
import { Parts } from "../../src/protocol/parts.ts";
import type { Driver, DriverContext, Outcome } from "../../src/ports/driver.port.ts";
import type { ChartDefinition } from "../../src/actors/kernel/chart.ts";
import type { CommitNews } from "../../src/actors/kernel/core.ts";
import { Kernel } from "../../src/actors/kernel/kernel.ts";
import { createMemoryJournal, type MemoryJournal, type MemoryJournalOptions } from "../../src/store/index.ts";
import { VirtualTime } from "./virtual-time.ts";

const base: ChildSpec = { restart: "permanent", shutdown: 1000, identity: "keep", past: "park", intensity: 3, periodMs: 60_000 };
export const toySpecs: Record<string, ChildSpec> = {
  root: base,
  fixed: base,
  keeper: base,
  fresh: { ...base, identity: "fresh" },
  transient: { ...base, restart: "transient", past: "fail" },
  temporary: { ...base, restart: "temporary", past: "fail" },
  line: { ...base, line: true },
  /** Supervisors that restart their children together, and children that wait, climb or end their supervisor. */
  forAll: { ...base, identity: "fresh", strategy: "one_for_all", autoShutdown: "any_significant" },
  rest: { ...base, strategy: "rest_for_one", autoShutdown: "all_significant" },
  slow: { ...base, identity: "fresh", backoffMs: { first: 5, most: 100 } },
  slowKeeper: { ...base, restart: "transient", past: "fail", backoffMs: { first: 5, most: 100 } },
  climber: { ...base, identity: "fresh", past: "climb", intensity: 1 },
  main: { ...base, restart: "transient", identity: "fresh", past: "fail", significant: true },
};

interface ToyContext {
  address: string;
  seen: string[];
  downs: { address: string; reason: string; output: unknown }[];
  items: Parts<number>;
  result: unknown;
  /** How its questions and waits ended, and which of those asked of it were withdrawn. */
  ends: { end: string; name: string; value: unknown }[];
  /** Tokens of questions it has heard and not answered. */
  asked: string[];
}
type ToyEvent = { type: string; [field: string]: unknown; token?: never };

/** Does what its events say: spawns, performs, counts, throws, ends. */
const toyMachine = setup({
  types: {} as { context: ToyContext; events: ToyEvent; input: { address: string } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    address: input.address,
    seen: [],
    downs: [],
    items: Parts.empty<number>(),
    result: null,
    ends: [],
    asked: [],
  }),
  initial: "live",
  output: ({ context }) => ({ seen: context.seen.length }),
  states: {
    live: {
      on: {
        note: {
          actions: [
            assign({ seen: ({ context, event }) => [...context.seen, String(event["text"])] }),
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: event["text"] as string }) },
          ],
        },
        mail: { actions: assign({ seen: ({ context, event }) => [...context.seen, String(event["text"])] }) },
        forward: {
          actions: [
            { type: "send", params: ({ event }) => ({ to: event["to"] as Address, event: event["event"] as { type: string } }) },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        put: {
          actions: [
            assign({ items: ({ context, event }) => context.items.put(String(event["key"]), Number(event["value"])) }),
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        read: {
          actions: {
            type: "reply",
            params: ({ context, event }) => ({
              token: event.token as never,
              value: {
                seen: context.seen,
                downs: context.downs,
                items: [...context.items.entries()],
                result: context.result,
                ends: context.ends,
                asked: context.asked,
              } as never,
            }),
          },
        },
        child: {
          actions: [
            {
              type: "spawn",
              params: ({ event }) => ({
                name: String(event["name"]),
                chart: String(event["chart"] ?? "toy"),
                spec: String(event["spec"]),
                input: (event["input"] ?? {}) as never,
                watch: event["watch"] !== false,
              }),
            },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        work: {
          actions: [
            {
              type: "perform",
              params: ({ event }) => ({
                name: "job",
                driver: "hand",
                request: { what: String(event["what"] ?? "") },
                repeatable: event["repeatable"] === true,
              }),
            },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        cancel: {
          actions: [
            { type: "abort", params: { name: "job" } },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        sleep: {
          actions: [
            {
              type: "timer.set",
              params: ({ event }) => ({ id: "nap", event: { type: "mail", text: "woke" }, after: Number(event["ms"]) }),
            },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        record: {
          actions: [
            {
              type: "record",
              params: ({ context, event }) => ({
                kind: "note",
                session: context.address as Address,
                turnId: null,
                data: { text: String(event["text"]) },
              }),
            },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        poison: {
          actions: assign({
            seen: () => {
              throw new Error("planted");
            },
          }),
        },
        ask: {
          actions: [
            {
              type: "ask",
              params: ({ event }) => ({
                name: String(event["name"]),
                to: event["to"] as Address,
                event: { ...(event["with"] as object | undefined), type: String(event["question"] ?? "question") },
                why: String(event["why"] ?? "an answer"),
                ...(event["on"] === undefined ? {} : { on: event["on"] as Address | null }),
              }),
            },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        wait: {
          actions: [
            {
              type: "wait",
              params: ({ event }) => ({ name: String(event["name"]), on: event["on"] as Address, why: String(event["why"] ?? "its end") }),
            },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        unwait: {
          actions: [
            { type: "unwait", params: ({ event }) => ({ name: String(event["name"]) }) },
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        question: { actions: assign({ asked: ({ context, event }) => [...context.asked, String(event.token)] }) },
        answer: {
          actions: [
            {
              type: "reply",
              params: ({ context, event }) => ({
                token: (event["of"] ?? context.asked[0]) as never,
                value: String(event["text"] ?? "yes"),
              }),
            },
            assign({ asked: ({ context }) => context.asked.slice(1) }),
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        deny: {
          actions: [
            { type: "refuse", params: ({ context }) => ({ token: context.asked[0] as never, code: "REQUEST_INVALID", message: "no" }) },
            assign({ asked: ({ context }) => context.asked.slice(1) }),
            { type: "reply", params: ({ event }) => ({ token: event.token as never, value: null }) },
          ],
        },
        answered: {
          actions: assign({
            ends: ({ context, event }) => [...context.ends, { end: "answered", name: String(event["name"]), value: event["value"] }],
          }),
        },
        refused: {
          actions: assign({
            ends: ({ context, event }) => [...context.ends, { end: "refused", name: String(event["name"]), value: event["refusal"] }],
          }),
        },
        unanswered: {
          actions: assign({
            ends: ({ context, event }) => [...context.ends, { end: "unanswered", name: String(event["name"]), value: event["reason"] }],
          }),
        },
        withdrawn: { actions: assign({ asked: ({ context, event }) => context.asked.filter((token) => token !== event["of"]) }) },
        volley: {
          actions: {
            type: "send",
            params: ({ event }) => ({ to: event["to"] as Address, event: { type: "volley", to: event["back"], back: event["to"] } }),
          },
        },
        look: { actions: { type: "watch", params: ({ event }) => ({ address: event["target"] as Address }) } },
        spawnUnder: {
          actions: {
            type: "spawn",
            params: ({ event }) => ({
              name: String(event["name"]),
              under: event["under"] as Address,
              chart: "toy",
              spec: "transient",
              input: {},
              watch: true,
            }),
          },
        },
        finish: { target: "ended" },
        "job.done": { actions: assign({ result: ({ event }) => event["value"] ?? null }) },
        "job.aborted": { actions: assign({ result: ({ event }) => ({ aborted: true, started: event["started"] ?? null }) }) },
        "job.failed": { actions: assign({ result: ({ event }) => ({ failed: event["error"] ?? null }) }) },
        "job.interrupted": { actions: assign({ result: ({ event }) => ({ interrupted: event["value"] ?? null }) }) },
        down: {
          actions: assign({
            downs: ({ context, event }) => [
              ...context.downs,
              { address: String(event["address"]), reason: (event["reason"] as { kind: string }).kind, output: event["output"] ?? null },
            ],
          }),
        },
        resumed: { actions: assign({ seen: ({ context, event }) => [...context.seen, `resumed:${String(event["cause"])}`] }) },
        stopped: { actions: assign({ seen: ({ context }) => [...context.seen, "stopped"] }) },
      },
    },
    ended: { type: "final" },
  },
});

export const toy: ChartDefinition = { name: "toy", version: 1, machine: toyMachine, ignore: ["stop"] };

/** Work that begins when released and ends when the test says so. */
export class HandDriver implements Driver {
  readonly name = "hand";
  started: { key: string; attempt: number; what: string; context: DriverContext; end: (outcome: Outcome) => void }[] = [];
  recovered: { key: string; takenBack: boolean }[] = [];
  recovery: Awaited<ReturnType<NonNullable<Driver["recover"]>>> = { kind: "unknown" };
  /** When true, an abort is ignored. */
  stubborn = false;

  perform(request: { [field: string]: unknown }, context: DriverContext): Promise<Outcome> {
    return new Promise((resolve) => {
      this.started.push({ key: context.key, attempt: context.attempt, what: String(request["what"]), context, end: resolve });
      context.signal.addEventListener("abort", () => {
        if (!this.stubborn) resolve({ status: "aborted" });
      });
      if (context.signal.aborted && !this.stubborn) resolve({ status: "aborted" });
    });
  }

  async recover(
    _request: object,
    context: DriverContext & { takenBack: boolean },
  ): Promise<Awaited<ReturnType<NonNullable<Driver["recover"]>>>> {
    this.recovered.push({ key: context.key, takenBack: context.takenBack });
    return this.recovery;
  }
}

export interface World {
  kernel: Kernel;
  time: VirtualTime;
  journal: MemoryJournal;
  hand: HandDriver;
  news: CommitNews[];
  stalls: (string | null)[];
  fatal: string[];
  /** Asks and settles: the usual step of a test. */
  ask(to: string, event: { type: string; [field: string]: unknown }): Promise<unknown>;
  state(address: string): Promise<ToyState>;
}

export interface ToyState {
  seen: string[];
  downs: { address: string; reason: string; output: unknown }[];
  items: [string, number][];
  result: unknown;
  ends: { end: string; name: string; value: unknown }[];
  asked: string[];
}

export interface WorldOptions {
  journal?: MemoryJournalOptions;
  time?: VirtualTime;
  hand?: HandDriver;
  charts?: ChartDefinition[];
  specs?: Record<string, ChildSpec>;
}

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const time = options.time ?? new VirtualTime();
  const hand = options.hand ?? new HandDriver();
  const journal = createMemoryJournal(options.journal ?? {});
  const news: CommitNews[] = [];
  const stalls: (string | null)[] = [];
  const fatal: string[] = [];
  const opening = Kernel.open({
    journal,
    clock: time,
    scheduler: time,
    charts: [toy, ...(options.charts ?? [])],
    drivers: [hand],
    specs: { ...toySpecs, ...options.specs },
    root: { chart: "toy", spec: "root", input: {} },
    observer: {
      committed: (each) => news.push(each),
      stalled: (reason) => stalls.push(reason),
      fatal: (why, reason) => fatal.push(`${why}: ${reason}`),
    },
  });
  await time.settle();
  const kernel = await opening;
  await time.settle();
  const world: World = {
    kernel,
    time,
    journal,
    hand,
    news,
    stalls,
    fatal,
    async ask(to, event) {
      const answer = kernel.command(to as Address, event);
      answer.catch(() => {});
      await time.settle();
      return answer;
    },
    async state(address) {
      return (await world.ask(address, { type: "read" })) as never;
    },
  };
  return world;
}

/** What a kill leaves: the rows. Opens a new kernel on them, a later epoch. */
export async function reopen(world: World, options: WorldOptions = {}): Promise<World> {
  world.kernel.close();
  return openWorld({
    ...options,
    journal: { ...options.journal, from: [...world.journal.rows] },
    time: options.time ?? world.time,
    hand: options.hand ?? new HandDriver(),
  });
}
