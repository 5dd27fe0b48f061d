/** Would catch: a key file, another agent's notes or the agent's own rules within reach of a file tool. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createPathPolicy, realPathOf } from "./path-policy.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "somora-policy-")));
const home = join(root, "home");
mkdirSync(join(home, "agents", "ada"), { recursive: true });
mkdirSync(join(root, "user"));
symlinkSync(home, join(root, "home-link"));
afterAll(() => rmSync(root, { recursive: true }));
const policy = createPathPolicy({ home: join(root, "home-link"), userHome: join(root, "user") });

/** r: may be read, w: may be written. */
const table: [string, "rw" | "r" | "-"][] = [
  ["home/key", "-"],
  ["home/somora.env", "-"],
  ["home/store", "-"],
  ["home/store/somora.duckdb", "-"],
  ["home/run/effects/x/stdout", "-"],
  ["home/audit/exec.jsonl", "-"],
  ["home-link/key", "-"],
  ["home/keys-of-the-house.md", "rw"],
  ["home/config.yaml", "r"],
  ["home/config.yaml.bak-1", "r"],
  ["home/team.yaml", "r"],
  ["home/skills/x/SKILL.md", "r"],
  ["home/hooks/x.sh", "r"],
  ["home/rehearsals/x.yaml", "rw"],
  ["home/projects/x.md", "rw"],
  ["home", "r"],
  ["home/agents", "r"],
  ["home/agents/ada/AGENTS.md", "rw"],
  ["home/agents/ada/SOUL.md", "rw"],
  ["home/agents/ada/agent.yaml", "r"],
  ["home/agents/ada/memory/note.md", "rw"],
  ["home/agents/ada/tool-output/x.txt", "r"],
  ["home/agents/ada/exec-jobs/j/stdout.log", "r"],
  ["home/agents/ada/changes/c/before", "r"],
  ["home/agents/ada/sessions/s", "r"],
  ["home/agents/ada/skills/x", "r"],
  ["home/agents/bob/AGENTS.md", "rw"],
  ["home/agents/bob/agent.yaml", "r"],
  ["home/agents/bob/memory", "-"],
  ["home/agents/bob/memory/note.md", "-"],
  ["home/agents/bob/tool-output/x.txt", "-"],
  ["home/agents/bob/exec-jobs/j/stdout.log", "-"],
  ["home/agents/bob/changes/c/before", "-"],
  ["home/agents/bob/sessions/s", "-"],
  ["home/agents/adab/memory/note.md", "-"],
  ["user/.ssh/id_ed25519", "-"],
  ["user/.ssh", "-"],
  ["user/.sshx", "rw"],
  ["user/.gnupg/x", "-"],
  ["user/.aws/credentials", "-"],
  ["user/.aws/config", "rw"],
  ["user/.kube/config", "-"],
  ["user/.netrc", "-"],
  ["user/notes.txt", "rw"],
  ["/etc/shadow", "-"],
  ["/etc/sudoers.d/x", "-"],
  ["/etc/ssh/ssh_host_key", "-"],
  ["/boot/x", "-"],
  ["/sys/x", "-"],
  ["/proc/self/environ", "-"],
  ["/etc/hosts", "r"],
  ["/usr/bin/x", "r"],
  ["/dev/null", "r"],
  ["/etcetera/x", "rw"],
  ["home/agents/ada/memory/../../bob/memory/x.md", "-"],
  ["user/x/../.ssh/id", "-"],
];

describe("the path table, for agent ada", () => {
  for (const [path, may] of table) {
    it(`${path} is ${may === "rw" ? "open" : may === "r" ? "read-only" : "closed"}`, () => {
      const full = path.startsWith("/") ? path : `${root}/${path}`;
      const found = { read: policy.refusal(full, "read", "ada") === null, write: policy.refusal(full, "write", "ada") === null };
      expect(found).toEqual({ read: may !== "-", write: may === "rw" });
    });
  }
});

describe("the real path", () => {
  it("follows a dangling link to the place it points to", async () => {
    symlinkSync(join(root, "nowhere", "new.txt"), join(root, "dangling"));
    expect(await realPathOf(join(root, "dangling"))).toBe(join(root, "nowhere", "new.txt"));
  });
  it("follows a relative link above a missing tail", async () => {
    symlinkSync("home/run", join(root, "run-link"));
    expect(await realPathOf(join(root, "run-link", "a", "b"))).toBe(join(home, "run", "a", "b"));
  });
  it("resolves `..` of a link's target as the system does", async () => {
    mkdirSync(join(root, "deep", "er"), { recursive: true });
    symlinkSync(join(root, "deep", "er"), join(root, "user", "er"));
    symlinkSync("er/../secret", join(root, "user", "up"));
    writeFileSync(join(root, "deep", "secret"), "");
    expect(await realPathOf(join(root, "user", "up"))).toBe(realpathSync.native(join(root, "user", "up")));
  });
  it("refuses a circle of links", async () => {
    symlinkSync(join(root, "circle-b"), join(root, "circle-a"));
    symlinkSync(join(root, "circle-a"), join(root, "circle-b"));
    await expect(realPathOf(join(root, "circle-a"))).rejects.toMatchObject({ code: "PATH_DENIED" });
  });
});
