import { engineSuite } from "./engine.suite.ts";
import { served } from "./served.ts";

engineSuite("openai-compatible", () => served());
