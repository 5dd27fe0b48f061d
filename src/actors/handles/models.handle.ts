/** Models: what is configured, trying one, connecting another. Files and network are the start-up file's to give. */
import { SomoraError } from "../../protocol/errors.ts";
import { ROOT } from "../../protocol/ids.ts";
import { costOf, NO_USAGE } from "../../protocol/usage.ts";
import { type Engine, EngineError } from "../../ports/engine.port.ts";
import type { ModelsHandle } from "../../ports/handles.port.ts";
import type { RuntimeParts } from "../runtime-parts.ts";

const TEST_LIMIT_MS = 60_000;
const TEST_WORDS = "Answer with one short sentence: are you there?";

export interface ModelOutside {
  engines: Readonly<Record<string, Engine>>;
  /** Writes config.yaml (comments kept) and somora.env, then in force. */
  addProvider: ModelsHandle["addProvider"];
  find: ModelsHandle["find"];
}

export function modelsHandle(parts: RuntimeParts, outside: ModelOutside): ModelsHandle {
  const { settings, clock, kernel } = parts;
  return {
    list: () => settings.models(),
    find: outside.find,
    addProvider: outside.addProvider,
    async test(ref) {
      const model = settings.resolveModel(ref);
      if (!model)
        throw new SomoraError("MODEL_UNKNOWN", `There is no model "${ref}".`, {
          hint: `Known: ${settings
            .models()
            .map((each) => each.ref)
            .join(", ")}.`,
        });
      const engine = outside.engines[model.engine];
      if (!engine) throw new SomoraError("MODEL_UNKNOWN", `No engine of kind "${model.engine}" is built in.`);
      const began = clock.monotonic();
      const controller = new AbortController();
      const cancel = clock.setTimer(TEST_LIMIT_MS, () => controller.abort());
      try {
        const result = await engine.round(
          {
            key: `model-test-${clock.now()}`,
            model,
            messages: [{ role: "user", text: TEST_WORDS }],
            tools: [],
            toolChoice: "none",
            agent: "",
            session: "",
            thinking: null,
            idleMs: TEST_LIMIT_MS,
          },
          { signal: controller.signal, emit: () => {} },
        );
        kernel.book(ROOT, {
          usage: result.usage ?? NO_USAGE,
          costUsd: result.usage ? costOf(result.usage, model.price) : null,
          model: model.ref,
          provider: model.provider,
          note: "model test",
        });
        const text = result.blocks
          .filter((block) => block.kind === "text")
          .map((block) => block.text)
          .join("\n");
        return { ok: true, model: result.model, text, ms: Math.round(clock.monotonic() - began) };
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        return {
          ok: false,
          ms: Math.round(clock.monotonic() - began),
          error: { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) },
        };
      } finally {
        cancel();
      }
    },
  };
}
