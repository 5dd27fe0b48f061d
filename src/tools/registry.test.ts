import { describe, expect, it } from "vitest";
import { createRegistry } from "./registry.ts";
import { timeNow } from "./time/time-now.tool.ts";

describe("the registry", () => {
  it("refuses a name that is registered twice and says which", () => {
    expect(() => createRegistry([timeNow, timeNow])).toThrow(/time_now is registered twice/u);
  });
  it("answers null for a name it does not know", () => {
    expect(createRegistry([timeNow]).get("toString")).toBeNull();
  });
});
