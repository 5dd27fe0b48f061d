import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SomoraError } from "../../protocol/errors.ts";
import { checkDisk, checkHome, checkKey, checkNode, checkPort, checkStore } from "./checks.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "somora-doctor-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("the check of", () => {
  it("Node fails for an old one", async () => {
    expect(await checkNode("v20.19.0")).toMatchObject({ ok: true });
    expect(await checkNode("v24.1.0")).toMatchObject({ ok: true });
    expect(await checkNode("v20.18.3")).toMatchObject({ ok: false, mend: "Install Node 20.19 or later." });
  });

  it("the port fails when another program has it, and when config.yaml is broken", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const listen = async (): Promise<{ host: string; port: number }> => ({ host: "127.0.0.1", port });
    expect(await checkPort(listen, null)).toMatchObject({
      ok: false,
      seen: expect.stringContaining("is taken") as string,
      mend: expect.stringContaining("SOMORA_PORT") as string,
    });
    expect(await checkPort(listen, "http://127.0.0.1:1")).toMatchObject({ ok: true });
    await new Promise((resolve) => other.close(resolve));
    expect(await checkPort(listen, null)).toMatchObject({ ok: true });
    const broken = (): Promise<never> => Promise.reject(new SomoraError("CONFIG_INVALID", "config.yaml:7: no"));
    expect(await checkPort(broken, null)).toMatchObject({ ok: false, seen: expect.stringContaining("config.yaml:7") as string });
  });

  it("the home fails when others can read it and when it is not there", async () => {
    await chmod(home, 0o755);
    expect(await checkHome(home)).toMatchObject({ ok: false, mend: `chmod 700 ${home}` });
    await chmod(home, 0o700);
    expect(await checkHome(home)).toMatchObject({ ok: true });
    expect(await checkHome(join(home, "none"))).toMatchObject({ ok: false, mend: expect.stringContaining("npm start") as string });
  });

  it("the store fails for a file that is no database and for a server whose disk stalls", async () => {
    const file = join(home, "somora.duckdb");
    expect(await checkStore(file, null)).toMatchObject({ ok: true });
    await writeFile(file, "this is no database at all");
    expect(await checkStore(file, null)).toMatchObject({ ok: false, seen: expect.stringContaining("no DuckDB file") as string });
    await writeFile(file, Buffer.concat([Buffer.alloc(8), Buffer.from("DUCK"), Buffer.alloc(100)]));
    expect(await checkStore(file, null)).toMatchObject({ ok: true });
    expect(await checkStore(file, { store: "stalled" })).toMatchObject({ ok: false });
  });

  it("the key fails when others can read it, when it is too short, and when it is not there", async () => {
    const file = join(home, "key");
    expect(await checkKey(file)).toMatchObject({ ok: false, seen: expect.stringContaining("not there") as string });
    await writeFile(file, "x".repeat(43), { mode: 0o644 });
    expect(await checkKey(file)).toMatchObject({ ok: false, mend: `chmod 600 ${file}` });
    await chmod(file, 0o600);
    expect(await checkKey(file)).toMatchObject({ ok: true });
    await writeFile(file, "short");
    expect(await checkKey(file)).toMatchObject({ ok: false, seen: expect.stringContaining("5 bytes") as string });
  });

  it("the disk fails when less is free than asked for", async () => {
    expect(await checkDisk(home, 1)).toMatchObject({ ok: true });
    expect(await checkDisk(home, 1e12)).toMatchObject({ ok: false, mend: expect.stringContaining("Free some space") as string });
  });
});
