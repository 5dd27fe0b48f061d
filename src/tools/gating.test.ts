import { describe, expect, it } from "vitest";
import { isOffered, type GatingRules } from "./gating.ts";

const read = { name: "file_read", toolset: "file" };
const exec = { name: "exec", toolset: "exec" };
const todo = { name: "todo_write", toolset: "builder" };
const list = { name: "memory_list", toolset: "memory" };

const cases: [string, { name: string; toolset: string }, Partial<GatingRules>, boolean][] = [
  ["a chat agent without rules gets a tool", read, {}, true],
  ["an exact deny is off whatever allow says", read, { deny: ["file_read"], allow: ["file_read", "toolset:file", "*"] }, false],
  ["an allow is an exception inside a denied family", read, { deny: ["toolset:file"], allow: ["file_read"] }, true],
  ["a denied family is off", read, { deny: ["toolset:file"] }, false],
  ["a denied prefix is off", read, { deny: ["file_*"] }, false],
  ["a denied star is off", read, { deny: ["*"] }, false],
  ["a star in allow lifts a denied family", read, { deny: ["toolset:file"], allow: ["file*"] }, true],
  ["another family's deny does not matter", read, { deny: ["toolset:exec", "memory_*"] }, true],
  ["a shell is off without its name", exec, {}, false],
  ["a shell is off for a builder without its name", exec, { kind: "builder" }, false],
  ["a shell is on by its name", exec, { allow: ["exec"] }, true],
  ["a shell is on by its toolset", exec, { allow: ["toolset:exec"] }, true],
  ["a star does not give a shell", exec, { allow: ["*"] }, false],
  ["a denied shell is off though its toolset is allowed", exec, { deny: ["exec"], allow: ["toolset:exec"] }, false],
  ["a chat agent has no builder tool", todo, {}, false],
  ["a star does not give a chat agent a builder tool", todo, { allow: ["*"] }, false],
  ["an exact allow gives a chat agent a builder tool", todo, { allow: ["todo_write"] }, true],
  ["a builder has its list", todo, { kind: "builder" }, true],
  ["a builder has nothing outside its list", list, { kind: "builder" }, false],
  ["a builder gets more by allow", list, { kind: "builder", allow: ["memory_*"] }, true],
];

describe("gating", () => {
  for (const [title, tool, rules, offered] of cases) {
    it(title, () => {
      expect(isOffered(tool, { kind: "chat", deny: [], allow: [], ...rules })).toBe(offered);
    });
  }
});
