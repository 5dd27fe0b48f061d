/** Looks at everything a server needs and says how to mend what is wrong. */
import { dirname } from "node:path";
import { JSON_OPTION, type Command } from "../command.ts";
import { checkDisk, checkHome, checkKey, checkNode, checkPort, checkStore } from "../doctor/checks.ts";
import { storeChecks } from "../doctor/store-checks.ts";
import { json } from "../print.ts";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Look at Node, port, home, store, key and disk, and say how to mend what is wrong.",
  options: { json: JSON_OPTION },
  notes: ["Exit 0 when all is well, 1 when something is not."],
  async run({ flag, io, dependencies }) {
    const { nodeVersion, listen, home, storeFile, keyFile, storeStanding } = dependencies.doctor;
    const running = await dependencies.findServer();
    const health = running === null ? null : await healthOf(running.url);
    const findings = await Promise.all([
      checkNode(nodeVersion),
      checkHome(home),
      checkKey(keyFile),
      checkStore(storeFile, health),
      ...storeChecks(storeStanding),
      checkPort(listen, running?.url ?? null),
      checkDisk(await existing(home)),
    ]);
    if (flag("json")) io.out(json({ findings }));
    else
      for (const { name, ok, seen, mend } of findings)
        io.out(`${ok ? "✓" : "✗"} ${name.padEnd(6)} ${seen}\n${mend === undefined ? "" : `         ${mend}\n`}`);
    return findings.every((finding) => finding.ok) ? 0 : 1;
  },
};

async function healthOf(url: string): Promise<{ store: string } | null> {
  try {
    return (await (await fetch(`${url}/api/healthz`)).json()) as { store: string };
  } catch {
    return { store: "unknown" }; // it was there a moment ago: said as a fault of the store's check
  }
}

/** The nearest folder above that is there. */
async function existing(folder: string): Promise<string> {
  const { stat } = await import("node:fs/promises");
  for (let here = folder; ; here = dirname(here)) {
    const found = await stat(here).catch(() => null);
    if (found || here === dirname(here)) return here;
  }
}
