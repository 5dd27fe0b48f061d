export { createOpenAiCompatibleEngine, type OpenAiCompatibleParts } from "./openai-compatible.engine.ts";
