/**
 * One long everyday scenario, played by a client that repeats itself like real ones do: same client key, until it is answered.
 * The same words go through crashes, poison and failing disks; what must hold afterwards is read from the rows.
 */
import type { HistoryRow } from "../../src/protocol/history.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { Parts } from "../../src/protocol/parts.ts";
import type { Model, RuntimeWorld } from "./runtime-world.ts";
import { until } from "./runtime-world.ts";

/** Pure but for the clock: "limited" is refused for the first second after `limitUntil` was set. */
export function scenarioModel(limits: { until: number }): Model {
  return (said, round, _messages, now) => {
    if (said === "tools")
      return round === 0
        ? {
            say: "I look",
            calls: [
              ["echo", { n: 1 }],
              ["act", { n: 1 }],
              ["gate", { name: "g1" }],
            ],
          }
        : { say: "done with tools" };
    if (said === "more tools")
      return round === 0
        ? {
            calls: [
              ["gate", { name: "g2" }],
              ["act", { n: 2 }],
            ],
          }
        : { say: "done with more tools" };
    if (said === "limited" && now < limits.until) return { fail: { code: "PROVIDER_LIMITED", retryable: true, retryAfterMs: 1000 } };
    if (said === "long") return { say: "half of a long", hang: "stream" };
    if (said === "malformed") return round === 0 ? { calls: [["broken", {}]] } : { say: "I see" };
    if (said === "bad key") return { fail: { code: "PROVIDER_REFUSED_KEY" } };
    return { say: `answer to ${said}` };
  };
}

/** Answers after which the same request is simply sent again. */
const AGAIN = new Set(["SERVER_STOPPING", "STORE_STALLED", "CRASHED"]);

export interface Stage {
  /** The world that lives now. */
  readonly world: RuntimeWorld;
  /** A server start in the middle. */
  restart(): Promise<void>;
  /** Called before each look: where a runtime that died is replaced. */
  tend?(): Promise<void>;
}

export class Client {
  readonly stage: Stage;
  readonly accepted = new Map<string, string>();
  /** Codes that came back before an answer did. */
  readonly refused: string[] = [];

  constructor(stage: Stage) {
    this.stage = stage;
  }

  /** Asks until an answer comes that is not "again". */
  async ask<Value>(what: string, request: (world: RuntimeWorld) => Promise<Value>): Promise<Value> {
    for (let tries = 0; tries < 12; tries += 1) {
      await this.stage.tend?.();
      const { world } = this.stage;
      let end: { value: Value } | { error: unknown } | null = null;
      request(world).then(
        (value) => {
          end = { value };
        },
        (error: unknown) => {
          end = { error };
        },
      );
      await until(world.time, `an answer to ${what}`, async () => {
        await this.stage.tend?.();
        return end !== null || this.stage.world !== world;
      });
      const answer = end as { value: Value } | { error: unknown } | null;
      if (answer === null) continue; // its server died; a client sees the connection go
      if ("value" in answer) return answer.value;
      const code = (answer.error as { code?: string }).code ?? String(answer.error);
      this.refused.push(code);
      if (!AGAIN.has(code)) throw answer.error as Error;
      if (code === "STORE_STALLED") await world.time.advance(250);
      await world.time.settle();
    }
    throw new Error(`asked twelve times, never answered: ${what} (${this.refused.join(", ")})`);
  }

  async send(key: string, text: string, more: { session?: string; steer?: boolean } = {}): Promise<string> {
    const answer = await this.ask(`send ${key}`, (world) =>
      world.runtime.chat.send({ agent: "ada", session: "main", text, clientKey: key, ...more }),
    );
    const id = "steerId" in answer ? answer.steerId : answer.turnId;
    this.accepted.set(key, id);
    return id;
  }

  until(what: string, holds: (world: RuntimeWorld) => boolean): Promise<void> {
    return until(this.stage.world.time, what, async () => {
      await this.stage.tend?.();
      return holds(this.stage.world);
    });
  }

  idle(session = "main"): Promise<void> {
    return this.until(`${session} idle`, (world) => {
      const { running, queued, steers } = world.runtime.kernel.committed(`/agents/ada/sessions/${session}` as never)?.detail ?? {};
      return running === null && queued === 0 && steers === 0;
    });
  }
}

export interface SessionState {
  running: string | null;
  queue: Parts;
  steers: Parts;
  turns: Parts<JsonObject & { state: string; outcome: string | null }>;
  held: boolean;
}

export function sessionOf(world: RuntimeWorld, session: string): SessionState | null {
  return world.runtime.kernel.context(`/agents/ada/sessions/${session}` as never) as unknown as SessionState | null;
}

const known = (error: unknown, ...codes: string[]): void => {
  if (!codes.includes((error as { code?: string }).code ?? "")) throw error as Error;
};

/** Plays everything; resolves when all of it is over. */
export async function play(stage: Stage, limits: { until: number }): Promise<Client> {
  const client = new Client(stage);
  await client.send("k1", "tools");
  await client.until("the gate is reached", (world) => world.outside.isWaiting("g1"));
  limits.until = stage.world.time.now() + 3_600_000;
  await client.send("k2", "limited");
  const third = await client.send("k3", "never runs");
  await client.send("k4", "steer me", { steer: true });
  const steer = await client.send("k5", "take me back", { steer: true });
  await client
    .ask("take the steer back", (world) => world.runtime.chat.takeBack(steer))
    .catch((error: unknown) => known(error, "TURN_REMOVED"));
  await client.ask("take back", (world) => world.runtime.chat.takeBack(third)).catch((error: unknown) => known(error, "TURN_REMOVED"));
  await client.ask("hold", (world) => world.runtime.team.hold("ada", "main"));
  await stage.restart();
  await client.ask("release", (world) => world.runtime.team.release("ada", "main"));
  await client.ask("title", (world) => world.runtime.team.patchSession("ada", "main", { title: "a title" }));
  await client.until(
    "the gate is reached again, or its call is over",
    (world) => world.outside.isWaiting("g1") || !world.runtime.kernel.has(`${turnAddress(client, "k1")}/calls/1.2` as never),
  );
  stage.world.outside.release("g1");
  await client.until(
    "the limit is met",
    (world) => world.runtime.kernel.committed(turnAddress(client, "k2"))?.state === "waiting" || over(world, client.accepted.get("k2")),
  );
  await client
    .ask("a session for a moment", (world) => world.runtime.team.createSession("ada", { slug: "temp" }))
    .catch((error: unknown) => known(error, "SESSION_EXISTS"));
  const due = stage.world.runtime.kernel.committed(turnAddress(client, "k2"))?.nextTimer?.at;
  if (due !== undefined) {
    await stage.world.time.advance(due - stage.world.time.now() - 1);
    stage.world.time.jump(1);
  }
  limits.until = stage.world.time.now();
  // The fence of the deletion ends its round, so that the timer that is due lies in a mailbox at that commit.
  await client
    .ask("delete it", (world) => {
      const deleting = world.runtime.team.deleteSession("ada", "temp");
      world.time.fireDue();
      return deleting;
    })
    .catch((error: unknown) => known(error, "SESSION_UNKNOWN"));
  await client.idle();
  await client.send("k6", "long");
  await client.until("it streams", (world) => world.outside.isWaiting("stream"));
  const long = client.accepted.get("k6") as string;
  await client.ask("abort", (world) => world.runtime.chat.abort({ agent: "ada", session: "main", turnId: long }));
  await client.idle();
  await client.send("k7", "malformed");
  await client.send("k8", "bad key");
  await client.idle();
  await client.ask("a tool at the door", (world) => world.runtime.tools.call("ada", "echo", { input: { n: 3 } }));
  await client
    .ask("a session", (world) => world.runtime.team.createSession("ada", { slug: "second" }))
    .catch((error: unknown) => known(error, "SESSION_EXISTS"));
  await client.send("k9", "in the second", { session: "second" });
  await client.idle("second");
  await client.send("k10", "more tools");
  await client.until("the second gate is reached", (world) => world.outside.isWaiting("g2"));
  const eleventh = await client.send("k11", "made a steer");
  await client
    .ask("make it a steer", (world) => world.runtime.chat.steerQueued(eleventh))
    .catch((error: unknown) => known(error, "TURN_STARTED"));
  stage.world.outside.release("g2");
  await client.idle();
  return client;
}

/** Deletes the second session: its own step, so that its rows can be looked at before. */
export async function playDelete(client: Client): Promise<void> {
  await client
    .ask("delete", (world) => world.runtime.team.deleteSession("ada", "second"))
    .catch((error: unknown) => known(error, "SESSION_UNKNOWN"));
  await client.until(
    "the second session is gone",
    (world) =>
      !world.runtime.kernel.has("/agents/ada/sessions/second" as never) &&
      world.runtime.kernel.committed("/agents/ada" as never)?.detail["sessions"] === 1,
  );
}

function turnAddress(client: Client, key: string): never {
  return `/agents/ada/sessions/main/turns/${client.accepted.get(key)}` as never;
}

function over(world: RuntimeWorld, turnId: string | undefined): boolean {
  return turnId !== undefined && sessionOf(world, "main")?.turns.get(turnId)?.state === "ended";
}

/** P1, P2 and P3 as far as a session knows them, from rows and state. Gives what is wrong, in words. */
export async function broken(client: Client): Promise<string[]> {
  const { world } = client.stage;
  const wrong: string[] = [];
  const main = sessionOf(world, "main");
  if (!main) return ["the session is gone"];
  if (main.running !== null || main.queue.size > 0 || main.steers.size > 0)
    wrong.push(`not at rest: running ${main.running}, ${main.queue.size} queued, ${main.steers.size} steers`);
  const rows = await world.history();
  for (const [key, id] of client.accepted) {
    if (key === "k9") continue;
    const ends = rows.filter((row) => row.kind === "turn_end" && row.turnId === id).length;
    const turn = main.turns.get(id);
    if (!turn) wrong.push(`${key} (${id}) is nowhere`);
    else if (turn.state === "running") wrong.push(`${key} never ended`);
    else if (turn.state === "applied" && ends !== 0) wrong.push(`${key} was applied and ended as well`);
    else if (turn.state === "ended" && turn.outcome !== "removed" && ends !== 1) wrong.push(`${key} ended ${ends} times (${turn.outcome})`);
    const said = rows.filter(
      (row) => row.kind === "user_message" && (row.turnId === id || (row.data as { steerId?: string }).steerId === id),
    ).length;
    const expected = turn?.outcome === "removed" ? 0 : 1;
    const own = rows.filter(
      (row) => row.kind === "user_message" && ((row.turnId === id && row.data.steer !== true) || row.data.steerId === id),
    ).length;
    if (own !== expected) wrong.push(`${key} stands ${own} times in the transcript instead of ${expected} (${said})`);
  }
  wrong.push(...interleaved(rows));
  const seqs = rows.map((row) => row.seq);
  if (seqs.some((seq, index) => seq !== index + 1)) wrong.push(`history numbers have gaps or repeats: ${seqs.join(",")}`);
  for (const call of rows) {
    if (call.kind !== "tool_call") continue;
    const results = rows.filter((row) => row.kind === "tool_result" && row.data.callId === call.data.callId).length;
    if (results > 1) wrong.push(`${call.data.callId} has ${results} results`);
  }
  const acts = world.outside.ran.filter((ran) => ran.startsWith("act "));
  if (new Set(acts).size !== acts.length) wrong.push(`an act ran twice: ${acts.join(", ")}`);
  return wrong;
}

/** P2: the rows of one turn stand together, from its message to its end. */
function interleaved(rows: readonly HistoryRow[]): string[] {
  const wrong: string[] = [];
  let open: string | null = null;
  for (const row of rows) {
    if (row.turnId === null || row.kind === "notice") continue;
    if (row.kind === "user_message" && row.data.steer !== true) {
      if (open !== null) wrong.push(`${row.turnId} began before ${open} ended`);
      open = row.turnId;
    } else if (row.turnId !== open) wrong.push(`row ${row.seq} (${row.kind}) of ${row.turnId} lies inside ${open}`);
    if (row.kind === "turn_end") open = null;
  }
  return wrong;
}
