/**
 * Waits for page tests and pictures; nothing in the product asks yet. marlow waits for quill, quill for ledger, and ledger is
 * parked, so neither can move; tinker waits for guide, who writes.
 */
import { type FakeServer, actorOf, agentLine } from "./fake-live-server.ts";

const line = (agent: string): string => `/agents/${agent}/sessions/main`;

export function stageWaits(server: FakeServer): void {
  server.addAgent(agentLine("quill", { model: "local/qwen3", rehearsal: false }));
  const since = Date.now() - 72_000;
  waits(server, "marlow", "quill", "quill: is the cover text right?", since, true);
  waits(server, "quill", "ledger", "ledger: may I use the prices of 2 November?", since + 20_000, true);
  waits(server, "tinker", "guide", "guide: which file is the newest?", since + 60_000, false);
  hourBefore(server);
  const turn = `${line("guide")}/turns/turn_g`;
  server.setActor({ ...actorOf(turn, "turn", line("guide")), birth: "3.9.0", state: "calling", since: since + 61_000 });
}

/** What the time strip shows of the hour before: work that comes and goes, two questions, two failed turns. */
function hourBefore(server: FakeServer): void {
  const actors = [...server.actors.values()];
  const now = Date.now();
  const earlier: typeof server.past = [];
  for (let minute = 52; minute > 1; minute -= 1) {
    const commits = [0, 2, 5, 9, 4, 1, 0, 0, 14, 22, 17, 3][minute % 12] ?? 0;
    for (let nth = 0; nth < commits; nth += 1)
      earlier.push({
        at: now - minute * 60_000 + nth * 1_900,
        actors,
        question: nth === 0 && [20, 33].includes(minute),
        failure: nth === 0 && [9, 44].includes(minute),
      });
  }
  server.past.unshift(...earlier);
}

/** Ledger is resumed: what waited for it can move again. */
export function unstick(server: FakeServer): void {
  server.waits = server.waits.map((wait) => ({ ...(wait as object), stuck: null }));
  for (const { stuck: _, ...actor } of [...server.actors.values()]) server.setActor(actor);
}

function waits(server: FakeServer, from: string, on: string, why: string, since: number, stuck: boolean): void {
  const turn = `${line(from)}/turns/turn_${from}`;
  const call = `${turn}/calls/1.0`;
  const birth = `3.${server.actors.size}.0`;
  const sentence = `${call} waits for ${line(on)} (${why}), where nothing can move by itself`;
  server.waits = [
    ...server.waits,
    {
      token: `${call} ask`,
      name: "ask",
      from: call,
      line: line(from),
      to: line(on),
      on: line(on),
      onLine: line(on),
      why,
      since,
      blocks: true,
      stuck: stuck ? sentence : null,
    },
  ];
  const turnId = `turn_${from}`;
  server.session(from, "main", {
    type: "turn.started",
    data: { turnId, origin: { kind: "human" }, model: "local/qwen3", attempt: 1, rehearsal: false },
  });
  server.session(from, "main", { type: "turn.state", data: { turnId, state: "tools", round: 1, maxRounds: 40 } });
  server.session(from, "main", { type: "call.started", data: { turnId, callId: "call_1", tool: "agent_ask", input: { agent: on } } });
  server.setActor({ ...actorOf(turn, "turn", line(from)), birth, state: "tools", since });
  server.setActor({
    ...actorOf(call, "call", turn),
    birth,
    state: "running",
    since,
    detail: { tool: "agent_ask", about: on },
    waitingFor: { what: why, since },
    ...(stuck ? { stuck: sentence } : {}),
  });
}
