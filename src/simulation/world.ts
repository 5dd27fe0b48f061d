/**
 * One world: the real kernel, charts and specs on virtual time, with persons at its doors, an outside that lies and a disk that fails.
 * It plays the steps of a scenario, then everything heals, and what was accepted must come to its end.
 */
import { type CommitNews } from "../actors/kernel/core.ts";
import { Kernel } from "../actors/kernel/kernel.ts";
import { root } from "../actors/tree.ts";
import type { SomoraError } from "../protocol/errors.ts";
import { type Address, ROOT } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import type { MessageEvent } from "../protocol/effects.ts";
import { Parts } from "../protocol/parts.ts";
import { charts, specs } from "./charts/index.ts";
import { type ActorPicture, Oracle } from "./oracle/oracle.ts";
import { Outside } from "./outside.ts";
import { type Heard, poisoned } from "./poison.ts";
import { Fingerprint } from "./random.ts";
import { AGENTS, POOLS, PROBE, SESSIONS, SIDE, type Step, WORKERS } from "./scenario.ts";
import { type LifeTime, Timeline } from "./timeline.ts";
import { type CrashMoment, type DiskFault, WorldDisk } from "./world-disk.ts";

export interface WorldResult {
  /** What was wrong, first to be seen first. */
  wrong: string[];
  journalHash: string;
  steps: number;
  commits: number;
  crashes: number;
  /** `chart state event`, and `crash moment chart state`. */
  coverage: Set<string>;
  story: string[];
}

interface Life {
  n: number;
  kernel: Kernel | null;
  time: LifeTime;
  alive: boolean;
  journal: ReturnType<WorldDisk["journal"]>;
  /** Dies at the next begin of outer work. */
  doomed: boolean;
}

const CUT_SHORT = 0.3;
const LONGEST_RUN = 60_000;
const HEAL_ROUND_MS = 15_000;
const HEAL_ROUNDS = 14;
const AGAIN_MS = 120;

export class World {
  readonly #timeline: Timeline;
  readonly #oracle: Oracle;
  readonly #outside: Outside;
  readonly #disk: WorldDisk;
  readonly #steps: readonly Step[];
  readonly #blind: boolean;
  readonly #print = new Fingerprint();
  readonly #coverage = new Set<string>();
  readonly #told: string[] | null;
  #life: Life | null = null;
  #lives = 0;
  #crashes = 0;
  #healed = false;
  #heard = 0;
  #diskNext: DiskFault | null = null;
  #recovers = 0;
  #poison = new Set<number>();
  #sick: { from: number; left: number; every: number; heard: number; address: string | null }[] = [];
  /** Turn ids persons were told. */
  readonly #turns: { session: Address; turnId: string }[] = [];

  constructor(seed: string, steps: readonly Step[], options: { story: boolean; blind?: boolean }) {
    this.#steps = steps;
    this.#blind = options.blind ?? false;
    this.#told = options.story ? [] : null;
    this.#timeline = new Timeline(seed);
    this.#oracle = new Oracle(options.blind ?? false, (wrong) => this.#tell(`WRONG ${wrong}`));
    this.#outside = new Outside(seed, { timeline: this.#timeline, oracle: this.#oracle, story: (line) => this.#tell(line) });
    this.#disk = new WorldDisk(this.#timeline, {
      fault: (offered, inLife) => this.#faultAt(offered, inLife),
      written: (rows) => {
        for (const row of rows) this.#print.add(`${row.epoch}.${row.commit} ${row.kind} ${row.key} ${row.head} ${row.body ?? ""}`);
        this.#oracle.committed(rows);
      },
      acknowledged: (offered) => this.#oracle.acknowledged(offered),
      crash: (moment) => this.#crashAt(moment),
      late: (answer) => {
        this.#tell(`disk: a batch of a run that is over came late and was answered ${answer}`);
        if (answer !== "fenced") this.#oracle.say(`P7: a batch of a run that is over was answered ${answer}`);
      },
      story: (line) => this.#tell(line),
      say: (wrong) => this.#oracle.say(wrong),
    });
    for (const step of steps) {
      if (step.do === "poison") this.#poison.add(step.nth);
      if (step.do === "sick") this.#sick.push({ from: step.nth, left: step.times, every: step.every, heard: 0, address: step.who });
    }
  }

  #tell(line: string): void {
    this.#told?.push(`${String(this.#timeline.passed).padStart(6)} ms  ${line}`);
  }

  async play(): Promise<WorldResult> {
    this.#begin();
    for (const step of this.#steps) if (step.at >= 0) this.#timeline.after(step.at, () => this.#do(step));
    const last = Math.max(0, ...this.#steps.map(({ at }) => at));
    await this.#run(last + 1_500);
    if (this.#oracle.wrong.length === 0) await this.#heal();
    return {
      wrong: this.#oracle.wrong,
      journalHash: this.#print.toString(),
      steps: this.#timeline.ran,
      commits: this.#oracle.commits,
      crashes: this.#crashes,
      coverage: this.#coverage,
      story: this.#told ?? [],
    };
  }

  async #run(ms: number): Promise<void> {
    if (!(await this.#timeline.run(this.#timeline.now + ms, LONGEST_RUN))) this.#oracle.say("progress: it goes on and on");
  }

  async #heal(): Promise<void> {
    this.#healed = true;
    this.#outside.healed = true;
    this.#tell("everything heals");
    for (let round = 0; round < HEAL_ROUNDS && this.#oracle.wrong.length === 0; round += 1) {
      const { kernel } = this.#life ?? {};
      if (kernel) {
        for (const address of [...kernel.addresses()]) if (kernel.parkedReason(address) !== null) kernel.resume(address);
        for (const session of SESSIONS)
          if (kernel.context(session)?.["held"] === true) this.#ask(session, { type: "queue.hold", held: false });
      }
      await this.#run(round === 0 ? 2_000 : HEAL_ROUND_MS);
      if (round > 1 && this.#isQuiet()) break;
    }
    if (this.#oracle.wrong.length === 0 && !this.#blind) this.#oracle.promises.healed();
    if (this.#doors > 0 && this.#oracle.wrong.length === 0) this.#oracle.say(`progress: ${this.#doors} callers wait for an answer`);
  }

  #isQuiet(): boolean {
    const kernel = this.#life?.kernel;
    if (!kernel || this.#doors > 0) return false;
    for (const address of kernel.addresses()) {
      const view = kernel.committed(address);
      if (!view || view.status !== "live" || view.mailbox + view.pending.length + view.waits.length > 0 || view.nextTimer) return false;
    }
    return true;
  }

  // --- runs of the server ------------------------------------------------------------------------------------------------

  #begin(): void {
    this.#lives += 1;
    const time = this.#timeline.life(CUT_SHORT);
    const last = this.#life?.journal;
    const life: Life = { n: this.#lives, kernel: null, time, alive: true, doomed: false, journal: this.#disk.journal(() => life.alive) };
    this.#life = life;
    this.#tell(`the server starts (run ${life.n})`);
    const opening = Kernel.open({
      journal: life.journal,
      clock: time,
      scheduler: time,
      charts: poisoned(charts, (heard) => this.#hears(heard)),
      drivers: this.#outside.drivers(life.journal, {
        alive: () => life.alive,
        begins: () => this.#beginsWork(life),
        recovers: () => this.#recoversWork(life),
      }),
      specs,
      root,
      observer: {
        committed: (news) => this.#watch(news),
        stalled: (reason) => this.#tell(reason === null ? "the disk takes commits" : `stalled: ${reason}`),
        fatal: (why, reason) => {
          this.#tell(`fatal: ${why}: ${reason}`);
          if (why === "fenced") this.#oracle.say(`P7: the only run of the server was fenced: ${reason}`);
          this.#die("its end");
        },
      },
    });
    opening.then(
      (kernel) => {
        if (!life.alive) return;
        life.kernel = kernel;
        this.#oracle.restored(pictures(kernel));
        if (last) this.#timeline.after(this.#timeline.random.whole(0, 6), () => last.openedAnother());
        this.#ensure(life);
      },
      (error: unknown) => this.#oracle.say(`P7: it does not open: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  #die(how: string): void {
    const life = this.#life;
    if (!life?.alive) return;
    life.alive = false;
    life.time.end();
    this.#crashes += 1;
    this.#doors = 0;
    this.#tell(`the server dies (${how})`);
    for (const { head } of this.#oracle.fold.actors.values()) this.#coverage.add(`crash ${how} ${head.kind} ${head.state}`);
    life.kernel?.close();
    this.#oracle.died();
    this.#outside.serverDied();
    this.#timeline.after(this.#timeline.random.whole(1, 60), () => this.#begin());
  }

  #crashAt(moment: CrashMoment): void {
    const life = this.#life;
    if (!life?.alive) return;
    if (moment !== "after") return this.#die(`${moment} a commit`);
    life.doomed = true;
    this.#timeline.after(1, () => {
      if (life.alive) this.#die("after a commit");
    });
  }

  #faultAt(offered: number, inLife: number): ReturnType<ConstructorParameters<typeof WorldDisk>[1]["fault"]> {
    if (this.#healed) return null;
    const next = this.#diskNext;
    this.#diskNext = null;
    if (next) return next;
    for (const step of this.#steps) {
      if (step.do === "crashAtCommit" && step.nth === offered) return { crash: step.moment };
      if (step.do === "crashInLife" && step.life === this.#lives && step.nth === inLife) return { crash: step.moment };
      if (step.do === "disk" && step.nth === offered) return step.fault;
    }
    return null;
  }

  #beginsWork(life: Life): boolean {
    if (this.#healed) return false;
    const planned = this.#steps.some((step) => step.do === "crashAtBegin" && step.nth === this.#outside.begun);
    if (!planned && !life.doomed) return false;
    this.#die(life.doomed ? "after the first act of a commit" : "at an act");
    return true;
  }

  #recoversWork(life: Life): boolean {
    this.#recovers += 1;
    if (this.#healed || !this.#steps.some((step) => step.do === "crashAtRecover" && step.nth === this.#recovers)) return false;
    if (life.alive) this.#die("while restoring");
    return true;
  }

  #hears({ chart, state, event, address }: Heard): boolean {
    this.#heard += 1;
    this.#coverage.add(`${chart} ${state} ${event.replace(/\d+/g, "*")}`);
    if (this.#healed) return false;
    if (this.#poison.has(this.#heard)) {
      this.#tell(`poison: ${event} at ${address ?? chart}`);
      return true;
    }
    for (const sick of this.#sick) {
      if (this.#heard < sick.from || sick.left === 0 || address === null) continue;
      sick.address ??= address;
      if (sick.address !== address) continue;
      sick.heard += 1;
      if (sick.heard % sick.every !== 0) continue;
      sick.left -= 1;
      this.#tell(`sick: ${event} at ${address}`);
      return true;
    }
    return false;
  }

  /** A live watcher: hears only what is on disk, and of each row once. */
  #watch(news: CommitNews): void {
    for (const fact of news.facts) {
      if (fact.kind !== "record") continue;
      const name = `${fact.session} ${fact.seq} ${news.epoch}.${news.commit}`;
      if (this.#watched.has(name)) this.#oracle.say(`P7: a watcher heard ${name} twice`);
      this.#watched.add(name);
    }
  }
  readonly #watched = new Set<string>();

  /** What stands from the first start on, as the real runtime does it. */
  #ensure(life: Life): void {
    const { kernel } = life;
    if (!life.alive || !kernel) return;
    const static_ = (name: string, chart: string, spec: string, input: Json = {}) => ({ name, chart, spec, input });
    const wanted: [Address, Address, MessageEvent][] = [
      ...AGENTS.map((agent): [Address, Address, MessageEvent] => [
        agent,
        "/agents" as Address,
        { type: "child.start", ...static_(agent.slice("/agents/".length), "agent", "agent", { agent: agent.slice("/agents/".length) }) },
      ]),
      [
        "/slots" as Address,
        ROOT,
        { type: "child.start", ...static_("slots", "supervisor", "fixed", { children: [static_("agents", "pool", "pool", { cap: 2 })] }) },
      ],
      [POOLS[0] as Address, AGENTS[0] as Address, { type: "slots.start", cap: 2 }],
      [
        "/lines" as Address,
        ROOT,
        {
          type: "child.start",
          ...static_("lines", "supervisor", "fixed", {
            children: [
              ...WORKERS.map((worker) => static_(worker.slice("/lines/".length), "worker", "line")),
              static_("probe", "probe", "probe"),
            ],
          }),
        },
      ],
    ];
    let missing = false;
    for (const [address, to, event] of wanted) {
      if (kernel.has(address)) continue;
      missing = true;
      if (kernel.has(to)) kernel.command(to, event).catch(() => {});
    }
    if (missing) this.#timeline.after(AGAIN_MS, () => this.#ensure(life));
  }

  // --- persons -----------------------------------------------------------------------------------------------------------

  #doors = 0;

  /** Asks; says it again while the server does not answer, as long as `again` allows. */
  #ask(
    to: Address,
    event: MessageEvent,
    more: { text?: string; again?: number; answered?: (value: Json) => void; refused?: (error: SomoraError) => void } = {},
  ): void {
    const { text, again = 0, answered, refused } = more;
    const retry = (): void => {
      if (again > 0) this.#timeline.after(AGAIN_MS * (this.#healed ? 4 : 1), () => this.#ask(to, event, { ...more, again: again - 1 }));
    };
    const life = this.#life;
    if (!life?.alive || !life.kernel) return retry();
    this.#doors += 1;
    life.kernel.command(to, event, text === undefined ? [] : [{ kind: "message", text }]).then(
      (value) => {
        if (!life.alive) return retry();
        this.#doors -= 1;
        this.#tell(`door: ${event.type} to ${to} is answered ${JSON.stringify(value)}`);
        answered?.(value);
      },
      (error: unknown) => {
        if (!life.alive) return retry();
        this.#doors -= 1;
        const { code, message } = error as SomoraError;
        this.#tell(`door: ${event.type} to ${to} is refused: ${code} ${message}`);
        if (code === "STORE_STALLED" || code === "CRASHED" || code === "PARKED" || code === "SERVER_STOPPING") return retry();
        refused?.(error as SomoraError);
      },
    );
  }

  #do(step: Step): void {
    if (this.#healed || this.#oracle.wrong.length > 0) return;
    const life = this.#life;
    const kernel = life?.alive ? life.kernel : null;
    this.#tell(`${step.do === "diskNext" ? "fault" : "person"}: ${wordsFor(step)}`);
    switch (step.do) {
      case "send": {
        const digest = step.other ? `${step.text}, changed` : step.text;
        const event = {
          type: "send",
          origin: { kind: "human" },
          attachments: [],
          steer: step.steer,
          clientKey: step.key,
          digest: `${digest} ${step.steer}`,
          cwd: null,
          retryOf: null,
        };
        this.#ask(step.session, event, {
          text: digest,
          again: 40,
          answered: (value) => {
            const answer = value as { turnId?: string; steerId?: string };
            this.#turns.push({ session: step.session, turnId: answer.turnId ?? answer.steerId ?? "" });
            this.#oracle.promises.accepted(step.session, step.key, event.digest, answer);
          },
        });
        return;
      }
      case "takeBack":
      case "steerQueued": {
        const turn = this.#turns[step.nth % Math.max(1, this.#turns.length)];
        if (turn) this.#ask(turn.session, { type: step.do === "takeBack" ? "queue.takeBack" : "queue.steer", turnId: turn.turnId });
        return;
      }
      case "hold":
        return this.#ask(step.session, { type: "queue.hold", held: step.held });
      case "stop":
        return kernel ? this.#stop(kernel, step) : undefined;
      case "resume":
        for (const address of kernel?.addresses() ?? [])
          if (kernel?.parkedReason(address) !== null) {
            kernel?.resume(address);
            return;
          }
        return;
      case "create":
        return this.#ask(step.agent, { type: "session.create", slug: SIDE, cwd: null });
      case "delete":
        this.#oracle.promises.sessionVoid(`${step.agent}/sessions/${SIDE}`);
        return this.#ask(
          step.agent,
          { type: "session.delete", slug: SIDE },
          {
            answered: () => this.#oracle.promises.sessionVoid(`${step.agent}/sessions/${SIDE}`),
            refused: () => this.#oracle.promises.sessionVoid(`${step.agent}/sessions/${SIDE}`),
          },
        );
      case "job":
        return this.#ask(
          step.worker,
          { type: "job", name: step.name, key: step.key, script: step.script as never },
          {
            again: 30,
            answered: () => this.#oracle.promises.jobAccepted(step.key),
          },
        );
      case "own":
        return this.#ask(step.worker, { type: "own.act" });
      case "probe":
        return this.#ask(PROBE, { type: "go", what: step.what });
      case "tool":
        return this.#ask(step.session, { type: "tool.call", tool: "look", about: "", repeatable: true, limitMs: 5_000, request: {} });
      case "cap":
        return this.#ask(step.pool, { type: "slot.cap", cap: step.cap });
      case "diskNext":
        this.#diskNext = step.fault;
        return;
      case "crash":
        return this.#die("a kill");
      default:
        return;
    }
  }

  #stop(kernel: Kernel, step: Step & { do: "stop" }): void {
    const found = [...kernel.addresses()].filter((address) => kernel.committed(address)?.kind === step.what).sort();
    const address = found[step.nth % Math.max(1, found.length)];
    if (address === undefined) return;
    const life = this.#life as Life;
    this.#tell(`person: stops ${address}`);
    this.#oracle.stopAsked(address, this.#disk.offered);
    this.#doors += 1;
    kernel.stop(address, { by: "user" }).then(
      ({ told }) => {
        if (!life.alive) return;
        this.#doors -= 1;
        this.#tell(`door: the stop of ${address} is through (${told} told)`);
      },
      (error: unknown) => {
        if (!life.alive) return;
        this.#doors -= 1;
        this.#oracle.say(`P6: the stop of ${address} was refused: ${String(error)}`);
      },
    );
  }
}

function pictures(kernel: Kernel): ActorPicture[] {
  return [...kernel.addresses()].flatMap((address) => {
    const view = kernel.committed(address);
    if (!view) return [];
    const parts: ActorPicture["parts"] = {};
    for (const [name, value] of Object.entries(kernel.context(address) ?? {}))
      if (value instanceof Parts) parts[name] = Object.fromEntries(value.entries());
    return [{ address, birth: view.birth, kind: view.kind, state: view.state, parts }];
  });
}

function wordsFor(step: Step): string {
  const { at: _, do: what, ...rest } = step;
  return `${what} ${JSON.stringify(rest)}`;
}
