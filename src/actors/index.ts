/** The actors' door. */
export { openRuntime, type Runtime, type RuntimeOptions } from "./runtime.ts";
export type { PrepareHistory } from "./drivers/engine.driver.ts";
