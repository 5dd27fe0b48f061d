/** The rehearsal engine in process: plays a script as if a model answered, and fails with the codes a real server would give. */
import type { Clock } from "../../ports/clock.port.ts";
import { EngineError, type Engine, type EngineContext, type RoundRequest, type RoundResult } from "../../ports/engine.port.ts";
import { SomoraError } from "../../protocol/errors.ts";
import { createBlockWriter } from "../shared/block-writer.ts";
import { aborted, emptyCut, failureOf, silent } from "../shared/http-failure.ts";
import { roundCall } from "../shared/round-call.ts";
import { createAskCounter } from "./ask-counter.ts";
import { beatsOf } from "./beats.ts";
import { playRound, type RoundPlan } from "./player.ts";
import { createScriptReader } from "./read-script.ts";

export interface RehearsalParts {
  /** The script of that name as it stands now, with the path a person knows it by; null when there is none. */
  readScript(name: string): Promise<{ text: string; file: string } | null>;
  clock: Clock;
}

/** What is said in place of calls on a forced finish. */
const FORCED = "The limit of this turn is reached; the rehearsal stops here.";

export function createRehearsalEngine(parts: RehearsalParts): Engine {
  const { clock } = parts;
  const asked = createAskCounter();
  const scriptOf = createScriptReader();
  return {
    kind: "rehearsal",
    async round(request, context) {
      if (context.signal.aborted) throw aborted();
      const plan = await planOf(request);
      return await perform(plan, request, context);
    },
  };

  async function planOf(request: RoundRequest): Promise<RoundPlan> {
    try {
      const source = await parts.readScript(request.model.id);
      if (!source) {
        throw new SomoraError("MODEL_UNKNOWN", `There is no rehearsal ${JSON.stringify(request.model.id)}.`, {
          hint: "Model ids of the provider rehearsal are the file names under rehearsals/.",
        });
      }
      const plan = playRound(scriptOf(source), request.messages, source.file);
      const times = plan.fail?.times;
      const failed = times !== undefined && asked.count([request.agent, request.session, request.model.id], request.messages) > times;
      const forced = request.toolChoice === "none" && plan.calls.length > 0;
      return { ...plan, ...(failed ? { fail: null } : {}), ...(forced ? { calls: [], say: plan.say || FORCED } : {}) };
    } catch (error) {
      if (!(error instanceof SomoraError)) throw error;
      throw new EngineError(error.code, error.message, { ...(error.hint === undefined ? {} : { hint: error.hint }), cause: error });
    }
  }

  async function perform(plan: RoundPlan, request: RoundRequest, context: EngineContext): Promise<RoundResult> {
    const { signal } = context;
    const writer = createBlockWriter((event) => context.emit(event));
    const calls: RoundResult["calls"] = [];
    const resultWith = (finish: RoundResult["finish"]): RoundResult => ({
      blocks: writer.blocks(),
      calls,
      finish,
      model: request.model.ref,
    });
    const partial = (): RoundResult | undefined => (writer.hasBlocks() || calls.length > 0 ? resultWith("cut") : undefined);
    for (const beat of beatsOf(plan)) {
      if (signal.aborted) throw aborted(partial());
      switch (beat.kind) {
        case "think":
        case "say":
          writer.write(beat.kind === "say" ? "text" : "thinking", beat.text);
          break;
        case "wait": {
          const tooLong = beat.stall && (beat.ms === null || beat.ms >= request.idleMs);
          await pause(clock, tooLong ? request.idleMs : (beat.ms ?? request.idleMs), signal);
          if (signal.aborted) throw aborted(partial());
          if (tooLong) throw silent(request.idleMs, partial());
          break;
        }
        case "call":
          writer.close();
          calls.push(roundCall(beat.id, beat.name, beat.arguments));
          break;
        case "fail": {
          const before = partial();
          throw failureOf({
            status: beat.status,
            message: beat.message,
            ...(beat.retryAfter === null ? {} : { retryAfterMs: beat.retryAfter * 1000 }),
            ...(before ? { partial: before } : {}),
          });
        }
        case "cut":
          if (!partial()) throw emptyCut();
          writer.close();
          return resultWith("cut");
        case "end":
          writer.close();
          return { ...resultWith(beat.finish), ...(plan.usage ? { usage: usageOf(plan.usage, request) } : {}) };
      }
    }
    throw new Error("a rehearsal ended without an end");
  }
}

function usageOf(usage: NonNullable<RoundPlan["usage"]>, { model }: RoundRequest): NonNullable<RoundResult["usage"]> {
  return {
    ...usage,
    contextUsed: usage.input + usage.cacheRead + usage.cacheWrite,
    ...(model.contextWindow === null ? {} : { contextWindow: model.contextWindow }),
  };
}

/** Resolves after `ms`, or at once when the signal is aborted. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.setTimer(ms, end);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
