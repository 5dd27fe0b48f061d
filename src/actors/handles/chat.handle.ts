/** Chat: send, wait, stop, take back, history. Translates between the door and a session's chart. */
import type { SessionContext } from "../../machines/index.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { type Address, agentAddress, placeOf, sessionAddress, turnAddress } from "../../protocol/ids.ts";
import type { HistoryRow, Outcome } from "../../protocol/history.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PayloadRef } from "../../protocol/payload.ts";
import { stateOf, type TurnResult } from "../../protocol/turn.ts";
import { NO_USAGE } from "../../protocol/usage.ts";
import type { AbortAnswer, ChatHandle, SendAnswer, SendRequest } from "../../ports/handles.port.ts";
import { FOLDER_GONE, folderGone } from "../folder-gone.ts";
import type { RuntimeParts } from "../runtime-parts.ts";
import type { TurnOver } from "../turn-index.ts";

/** Past it an abort is answered with what is stuck; its own kill path ends before (tree.ts: 9 s per call, 10 s per turn). */
const ABORT_LIMIT_MS = 12_000;

export function chatHandle(parts: RuntimeParts): ChatHandle {
  const { kernel, conversations, texts, index, clock, settings, digest } = parts;

  function knownSession(agent: string, session: string): Address {
    const address = sessionAddress(agent, session);
    if (kernel.has(address)) return address;
    if (!kernel.has(agentAddress(agent)) || settings.agent(agent) === null) {
      if (!kernel.has(agentAddress(agent)))
        throw new SomoraError("AGENT_UNKNOWN", `There is no agent "${agent}".`, {
          hint: `Known: ${settings.agents().join(", ") || "none"}.`,
          details: { known: settings.agents() },
        });
    }
    const known = parts.sessionsOf(agent);
    throw new SomoraError("SESSION_UNKNOWN", `${agent} has no session "${session}".`, {
      hint: `Known: ${known.join(", ")}. Make one first; sending never does.`,
      details: { known },
    });
  }

  async function send(request: SendRequest): Promise<SendAnswer> {
    const session = request.session ?? "main";
    const address = knownSession(request.agent, session);
    if (kernel.parkedReason(agentAddress(request.agent)) === FOLDER_GONE) throw folderGone(request.agent);
    if (request.cwd !== undefined) await parts.checkFolder(request.cwd);
    const text = (request.text ?? "").toWellFormed();
    const answer = await kernel.command(
      address,
      {
        type: "send",
        origin: { kind: "human", via: "chat" },
        attachments: request.attachments ?? [],
        steer: request.steer ?? false,
        clientKey: request.clientKey ?? null,
        digest: digest(JSON.stringify([text, request.attachments ?? [], request.steer ?? false, request.retryOf ?? null])),
        cwd: request.cwd ?? null,
        retryOf: request.retryOf ?? null,
      },
      request.retryOf === undefined ? [{ kind: "message", text }] : [],
    );
    return answer as unknown as SendAnswer;
  }

  async function resultOf(turnId: string): Promise<TurnResult> {
    const address = index.sessionOf(turnId);
    const context = address ? (kernel.context(address) as unknown as SessionContext | null) : null;
    if (!address || !context) throw new SomoraError("TURN_UNKNOWN", `There is no turn "${turnId}".`);
    const over = index.overOf(turnId);
    if (over && "appliedTo" in over) return { ...(await resultOf(over.appliedTo)), turnId, appliedTo: over.appliedTo };
    const rows = (await conversations.rows(address)).filter((row) => row.turnId === turnId);
    return compose(turnId, address, context, over, rows);
  }

  function compose(
    turnId: string,
    address: Address,
    context: SessionContext,
    over: Exclude<TurnOver, { appliedTo: string }> | null,
    rows: HistoryRow[],
  ): TurnResult {
    const { agent = "", session = "" } = placeOf(address);
    const end = rows.findLast((row) => row.kind === "turn_end");
    const data = end?.kind === "turn_end" ? end.data : null;
    const last = rows.findLast((row) => row.kind === "assistant_message" && !row.data.superseded);
    const outcome: Outcome | null = data?.outcome ?? over?.outcome ?? null;
    const turn = context.turns.get(turnId);
    const waiting = [...context.queue.entries()].sort((a, b) => a[1].n - b[1].n).findIndex(([id]) => id === turnId);
    const error = data?.error ?? over?.error ?? null;
    return {
      turnId,
      agent,
      session,
      state: outcome === null ? "pending" : stateOf(outcome),
      ...(outcome === null ? {} : { outcome }),
      ...(data?.outcomeReason === undefined ? {} : { outcomeReason: data.outcomeReason }),
      finalText: last?.kind === "assistant_message" ? last.data.text : "",
      ...(error === null ? {} : { error }),
      toolCalls: data?.toolCalls ?? 0,
      rounds: data?.rounds ?? 0,
      ms: data?.ms ?? (turn ? Math.max(0, clock.now() - turn.at) : 0),
      usage: data?.usage ?? NO_USAGE,
      costUsd: data?.costUsd ?? null,
      ...(data?.model ? { model: data.model } : {}),
      ...(data?.provider ? { provider: data.provider } : {}),
      filesWritten: data?.filesWritten ?? [],
      media: [],
      ...(waiting < 0 ? {} : { position: waiting + (context.running === null ? 0 : 1) }),
    };
  }

  /** Looks again whenever something is told of the turn; the state itself is always read from the charts. */
  async function waitFor(turnId: string, waitMs: number): Promise<TurnResult> {
    const result = await resultOf(turnId);
    if (result.state !== "pending" || waitMs <= 0) return result;
    const began = clock.monotonic();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stop();
        cancel();
        resolve();
      };
      const stop = index.onEnd(turnId, done);
      const cancel = clock.setTimer(Math.min(waitMs, 3_600_000), done);
    });
    return waitFor(turnId, waitMs - (clock.monotonic() - began));
  }

  async function abort({ agent, session, turnId }: { agent: string; session: string; turnId?: string }): Promise<AbortAnswer> {
    const address = knownSession(agent, session);
    const running = (kernel.context(address) as unknown as SessionContext).running;
    if (running === null || (turnId !== undefined && turnId !== running)) return { aborted: false };
    const target = turnAddress(agent, session, running);
    if (!kernel.has(target)) return { aborted: false };
    const report = await parts.within(ABORT_LIMIT_MS, kernel.stop(target, { by: "user" }));
    if (report === null)
      return kernel.stalled === null
        ? {
            aborted: false,
            stuck: kernel
              .lost()
              .filter((each) => each.address.startsWith(target))
              .flatMap((each) => each.processes),
          }
        : { aborted: false, stalled: true };
    return report.lost.length > 0 ? { aborted: false, stuck: report.lost } : { aborted: true, turnId: running, children: [] };
  }

  /** From the committed actors, as the tree shows them: never behind it, never a ghost. */
  function activeTurn(address: Address, agent: string, session: string): JsonObject | null {
    const running = kernel.committed(address)?.detail["running"];
    if (typeof running !== "string") return null;
    const target = turnAddress(agent, session, running);
    const turn = kernel.committed(target);
    if (!turn) return null;
    const calls = [...kernel.addresses(target)].flatMap((each) => {
      const call = kernel.committed(each);
      return call?.kind === "call" ? [{ callId: call.detail["callId"] ?? "", tool: call.detail["tool"] ?? "" }] : [];
    });
    const { model = null, attempt = 1, round = 0, origin = null } = turn.detail;
    return { turnId: running, state: turn.state, model, attempt, round, origin: { kind: origin }, since: turn.since, calls };
  }

  const sessionOfTurn = (turnId: string): Address => {
    const address = index.sessionOf(turnId);
    if (!address) throw new SomoraError("TURN_UNKNOWN", `There is no turn "${turnId}".`);
    return address;
  };

  return {
    send,
    async sendSync(request) {
      const answer = await send(request);
      return waitFor("steerId" in answer ? answer.steerId : answer.turnId, request.timeoutMs ?? 600_000);
    },
    turn: waitFor,
    abort,
    async takeBack(turnId) {
      const answer = (await kernel.command(sessionOfTurn(turnId), { type: "queue.takeBack", turnId })) as {
        text: PayloadRef & JsonObject;
        attachments: Json[];
      };
      const found = await texts.read([answer.text.id]);
      return { removed: true, text: found.get(answer.text.id) ?? answer.text.preview, attachments: answer.attachments };
    },
    async steerQueued(turnId) {
      return (await kernel.command(sessionOfTurn(turnId), { type: "queue.steer", turnId })) as unknown as SendAnswer;
    },
    async history({ agent, session, before, limit }) {
      const { rows, hasMore } = await conversations.page(knownSession(agent, session), before, limit);
      return { rows, hasMore, oldestSeq: rows[0]?.seq ?? null, newestSeq: rows.at(-1)?.seq ?? null };
    },
    async row(agent, session, seq) {
      const { rows } = await conversations.page(knownSession(agent, session), seq + 1, 1);
      const row = rows[0];
      if (row?.seq !== seq) throw new SomoraError("REQUEST_INVALID", `${agent}/${session} has no row ${seq}.`);
      return row;
    },
    async work(agent, session) {
      const address = knownSession(agent, session);
      const view = await parts.views.view(agent, session);
      return { active: activeTurn(address, agent, session), queued: view?.queue ?? [], pendingWakes: [], children: [] };
    },
  };
}
