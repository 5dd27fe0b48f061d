/**
 * What the server says of itself, held against what the outside knows: its answers by client key, requests at the model
 * server, marker files, processes. Each check gives the violations it found, in words.
 */
import type { ActorView } from "../../src/protocol/actor-view.ts";
import type { HistoryRow } from "../../src/protocol/history.ts";
import { CALL_NAMES, type Lane, type Story } from "./kill-story.ts";
import { LiveClient } from "./live-client.ts";
import { effectOf } from "./model-server.ts";
import { markedProcesses } from "./server-process.ts";

interface Work {
  active: { turnId: string; calls: { callId: string; tool: string }[] } | null;
  queued: { turnId: string }[];
}

const workOf = (actor: ActorView): boolean => actor.kind === "turn" || actor.kind === "call";

async function actorsOf(lane: Lane): Promise<ActorView[]> {
  return (await lane.server.api<{ actors: ActorView[] }>("GET", "/actors")).body.actors;
}

export async function historyOf(lane: Lane, session: string): Promise<HistoryRow[]> {
  return (await lane.server.api<{ rows: HistoryRow[] }>("GET", `/chat/history?agent=probe&session=${session}&limit=1000`)).body.rows;
}

async function treeOf(lane: Lane): Promise<ActorView[]> {
  const client = await new LiveClient(lane.server.url, { key: lane.server.key }).open();
  client.say({ op: "watch", topic: "tree" });
  await client.until(() => client.frames.length > 0);
  client.socket.close();
  const [snapshot] = client.frames;
  if (snapshot === undefined) throw new Error("the tree topic sent nothing");
  return (snapshot.data as { actors: ActorView[] }).actors;
}

/** While things may move: everything is read between two readings of the tree that agree, so that all of it speaks of one moment. */
export async function ghosts(lane: Lane, story: Story): Promise<string[]> {
  for (let tries = 0; ; tries += 1) {
    const before = await actorsOf(lane);
    const work = (await lane.server.api<Work>("GET", `/agents/probe/sessions/${story.session}/work`)).body;
    const history = await historyOf(lane, story.session);
    const tree = await treeOf(lane);
    const processes = markedProcesses(lane.home, lane.server.pid);
    const after = await actorsOf(lane);
    const print = (actors: ActorView[]): string =>
      actors
        .filter(workOf)
        .map((actor) => `${actor.address} ${actor.state} ${actor.status}`)
        .sort()
        .join("\n");
    // The tree topic says what changed ten times a second: it may be one tenth behind, not more.
    // A short turn may also have come and gone between two readings.
    const named = after.some((actor) => actor.kind === "turn" && actor.address.endsWith(`/${work.active?.turnId ?? ""}`));
    const same = print(before) === print(after) && print(tree) === print(after) && (work.active === null ? true : named);
    if (!same && tries < 40) continue;
    const stable = print(before) === print(after);
    return compare({ story, actors: after, known: [...before, ...after], tree, work, history, processes: stable ? processes : [], stable });
  }
}

function compare({
  story,
  actors,
  known,
  tree,
  work,
  history,
  processes,
  stable,
}: {
  story: Story;
  actors: ActorView[];
  known: ActorView[];
  tree: ActorView[];
  work: Work;
  history: HistoryRow[];
  processes: ReturnType<typeof markedProcesses>;
  stable: boolean;
}): string[] {
  const wrong: string[] = [];
  const turns = actors.filter((actor) => actor.kind === "turn");
  const calls = actors.filter((actor) => actor.kind === "call");
  for (const turn of turns)
    if (!turn.address.startsWith(`${story.address}/`)) wrong.push(`a turn of an earlier story is shown: ${turn.address}`);
  if (turns.length > 1) wrong.push(`${turns.length} turns run in one session`);
  const ids = story.messages.flatMap(({ answer }) => answer?.turnId ?? answer?.steerId ?? []);
  const unanswered = story.messages.filter((message) => message.answer === null).length;
  const ended = new Set(history.filter((row) => row.kind === "turn_end").map((row) => row.turnId));
  for (const turn of turns) {
    const id = turn.address.slice(turn.address.lastIndexOf("/") + 1);
    // One whose 202 was lost with the connection may be there all the same.
    if (!ids.includes(id) && unanswered === 0) wrong.push(`nobody sent the turn ${id}`);
    if (stable && ended.has(id)) wrong.push(`${id} has ended and is shown as running`);
    if (stable && work.active !== null && work.active.turnId !== id) wrong.push(`work names ${work.active.turnId}, the tree ${id}`);
  }
  if (stable && turns.length === 0 && work.active !== null) wrong.push(`work names ${work.active.turnId}, the tree no turn`);
  for (const { turnId } of work.queued) if (!ids.includes(turnId) && unanswered === 0) wrong.push(`nobody sent the waiting ${turnId}`);
  if (stable) {
    const print = (each: ActorView[]): string =>
      each
        .filter(workOf)
        .map((actor) => actor.address)
        .sort()
        .join(" ");
    if (print(tree) !== print(actors)) wrong.push(`the tree topic shows [${print(tree)}], /api/actors [${print(actors)}]`);
    const results = new Set(history.flatMap((row) => (row.kind === "tool_result" ? [row.data.callId] : [])));
    const open = history.flatMap((row) => (row.kind === "tool_call" && !results.has(row.data.callId) ? [row.data.callId] : []));
    const shown = calls.map((call) => String(call.detail["callId"]));
    for (const callId of open) if (!shown.includes(callId)) wrong.push(`the history leaves ${callId} open, no actor runs it`);
    for (const callId of shown) if (!open.includes(callId)) wrong.push(`the tree runs ${callId}, the history has its result or no call`);
  }
  for (const { pid, command, variables } of processes) {
    const effect = variables.get("SOMORA_EFFECT") ?? variables.get("SOMORA_RUNNER") ?? "";
    if (!known.some((actor) => actor.kind === "call" && effect.startsWith(`${actor.address}#${actor.birth}.`)))
      wrong.push(`the process ${pid} (${command}) belongs to no call that is shown: ${effect}`);
  }
  return wrong;
}

/** When all of a story is over. */
export async function verify(lane: Lane, story: Story): Promise<string[]> {
  const wrong: string[] = [];
  await answeredOnce(story, wrong);
  const history = await historyOf(lane, story.session);
  checkHistory(story, history, wrong);
  checkCalls(story, history, wrong);
  checkRequests(lane, story, wrong);
  const actors = await actorsOf(lane);
  for (const actor of actors.filter(workOf)) wrong.push(`all is over, but ${actor.address} is shown`);
  for (const { pid, command } of markedProcesses(lane.home, lane.server.pid))
    wrong.push(`all is over, but the process ${pid} runs: ${command}`);
  const work = (await lane.server.api<Work>("GET", `/agents/probe/sessions/${story.session}/work`)).body;
  if (work.active !== null || work.queued.length > 0) wrong.push(`all is over, but work says ${JSON.stringify(work)}`);
  return wrong;
}

async function answeredOnce(story: Story, wrong: string[]): Promise<void> {
  for (const message of story.messages) {
    const again = await story.send(message);
    if (again.status !== 202 || JSON.stringify(again.body) !== JSON.stringify(message.answer))
      wrong.push(
        `the key of ${message.text} was answered with ${JSON.stringify(message.answer)} first, with ${JSON.stringify(again.body)} later`,
      );
    const { body } = await story.result(message);
    if (body["outcome"] !== "completed")
      wrong.push(`${message.text} ended as ${JSON.stringify(body["outcome"])} ${JSON.stringify(body["error"] ?? null)}`);
    const said = message.answer?.steered === true && body["appliedTo"] !== undefined ? story.head : message.text;
    if (!String(body["finalText"]).startsWith(`Answer to ${said}.`))
      wrong.push(`${message.text} was answered with ${JSON.stringify(body["finalText"])}`);
  }
}

function checkHistory(story: Story, history: HistoryRow[], wrong: string[]): void {
  history.forEach((row, index) => {
    if (row.seq !== index + 1) wrong.push(`row ${index + 1} has the number ${row.seq}`);
  });
  for (const { text } of story.messages) {
    const count = history.filter((row) => row.kind === "user_message" && row.data.text === text).length;
    if (count !== 1) wrong.push(`${text} stands ${count} times in the history`);
  }
  const ends = history.filter((row) => row.kind === "turn_end").map((row) => row.turnId);
  const turns = story.messages.filter((message) => message.answer?.steered !== true).map((message) => message.answer?.turnId ?? "");
  const late = story.messages.find((message) => message.answer?.steered === true)?.answer?.steerId;
  const expected = [...turns, ...(late !== undefined && ends.includes(late) ? [late] : [])];
  if (new Set(ends).size !== ends.length) wrong.push(`a turn ended twice: ${ends.join(" ")}`);
  if ([...ends].sort().join() !== [...expected].sort().join())
    wrong.push(`these turns ended: ${ends.join(" ")}; these were accepted: ${expected.join(" ")}`);
  const inOrder = ends.filter((id) => turns.includes(id ?? ""));
  if (inOrder.join() !== turns.join()) wrong.push(`accepted in the order ${turns.join(" ")}, ended in the order ${inOrder.join(" ")}`);
  const answers = history.filter(
    (row) => row.kind === "assistant_message" && !row.data.superseded && row.data.text.startsWith("Answer to "),
  );
  for (const id of ends)
    if (answers.filter((row) => row.turnId === id).length !== 1)
      wrong.push(`${id} has ${answers.filter((row) => row.turnId === id).length} answers in the history`);
}

function checkCalls(story: Story, history: HistoryRow[], wrong: string[]): void {
  const calls = history.flatMap((row) => (row.kind === "tool_call" ? [row.data] : []));
  if (calls.length !== CALL_NAMES.length) wrong.push(`${calls.length} calls in the history`);
  for (const call of calls) {
    const name = CALL_NAMES.find((each) => String((call.input as { command?: string }).command).includes(`.${each};`)) ?? "?";
    const results = history.flatMap((row) => (row.kind === "tool_result" && row.data.callId === call.callId ? [row.data] : []));
    const { begun, ended } = story.marks(name);
    const [result] = results;
    if (result === undefined || results.length > 1) wrong.push(`the call ${name} has ${results.length} results`);
    if (begun > 1) wrong.push(`the call ${name} ran ${begun} times`);
    if (result?.ok === true && (begun !== 1 || ended !== 1))
      wrong.push(`the call ${name} is said to be done, its file says begun ${begun}, ended ${ended}`);
    if (result?.ok === false) {
      if (result.code !== "TOOL_INTERRUPTED") wrong.push(`the call ${name} ended with ${result.code}`);
      if (![...story.kills, ...story.startKills].some((kill) => !kill.outcomes.has(call.callId)))
        wrong.push(`the call ${name} is said to be interrupted, but no kill came before its outcome`);
    }
  }
}

/** Every request is the first of its effect, or follows a kill that hit while the effect had no committed outcome. */
function checkRequests(lane: Lane, story: Story, wrong: string[]): void {
  const byEffect = new Map<string, number[]>();
  for (const request of lane.model.requests()) {
    const effect = effectOf(request);
    if (!effect.startsWith(`${story.address}/`)) continue;
    if (request.status !== 200 && request.end !== "left") wrong.push(`the model server answered ${request.status} to ${effect}`);
    byEffect.set(effect, [...(byEffect.get(effect) ?? []), request.at]);
  }
  for (const [effect, times] of byEffect) {
    times.slice(1).forEach((at, index) => {
      const since = times[index] as number;
      const between = [...story.kills, ...story.startKills].filter((kill) => kill.at >= since && kill.at <= at);
      if (between.length === 0) wrong.push(`${effect} was asked twice without a kill between`);
      else if (!between.some((kill) => kill.open.has(effect))) wrong.push(`${effect} was asked again though its outcome was committed`);
    });
  }
  const ofHead = [...byEffect.keys()].filter((effect) => effect.includes(`/${story.messages[0]?.answer?.turnId}#`)).length;
  if (ofHead !== 3) wrong.push(`the first turn has 3 rounds, ${ofHead} were asked for`);
  for (const { answer } of story.messages.slice(1)) {
    const id = answer?.turnId;
    if (id === undefined) continue;
    const count = [...byEffect.keys()].filter((effect) => effect.includes(`/${id}#`)).length;
    if (count !== 1) wrong.push(`${id} has one round, ${count} were asked for`);
  }
}
