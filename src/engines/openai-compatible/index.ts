export { createOpenAiCompatibleEngine, type OpenAiCompatibleParts } from "./openai-compatible.engine.ts";
export { listModels } from "./list-models.ts";
