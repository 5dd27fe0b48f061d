/** Play a script and compare with what it expects, or serve it as a model server. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { SomoraError } from "../../protocol/errors.ts";
import type { Command } from "../command.ts";
import { parseWhole } from "../duration.ts";
import { readExpectations } from "../rehearse/expect.ts";
import { playRehearsal } from "../rehearse/play.ts";

export const rehearseCommand: Command = {
  name: "rehearse",
  summary: "Play a script against a throw-away home and compare with what it expects, or serve it as a model server.",
  arguments: [{ name: "script", about: "A rehearsal, such as rehearsals/guide.yaml" }],
  options: {
    serve: { about: "Serve it in the Chat Completions shape, until Ctrl-C" },
    port: { value: "N", about: "Port for --serve (any free one)" },
  },
  notes: ["Exit 0 as expected, 1 it differs, 2 the script is invalid."],
  async run({ arguments: { script = "" }, flag, option, io, dependencies }) {
    const file = resolve(io.cwd, script);
    let text: string;
    try {
      text = await readFile(file, "utf8");
      dependencies.rehearsal.checkScript(text, script);
    } catch (error) {
      io.err(
        `${error instanceof SomoraError ? error.message : `${script} cannot be read: ${error instanceof Error ? error.message : String(error)}`}\n`,
      );
      return 2;
    }
    if (flag("serve")) {
      const port = option("port");
      const served = await dependencies.rehearsal.serveModel({
        text,
        file: script,
        port: port === undefined ? 0 : parseWhole(port, "port", 0, 65_535),
      });
      io.out(`ready ${served.url}\n`);
      await new Promise<void>((done) => {
        const off = io.onInterrupt(() => {
          off();
          done();
        });
      });
      await served.close();
      return 0;
    }
    const read = readExpectations(text, script);
    if (!read.ok) {
      io.err(`${read.reason}\n`);
      return 2;
    }
    if (read.played.expect.length === 0) io.err(`${script} expects nothing; the script itself is valid\n`);
    const differences = await playRehearsal({
      script: text,
      played: read.played,
      startServer: dependencies.rehearsal.startServer,
      say: (line) => io.err(`${line}\n`),
    });
    for (const { entry, what, expected, seen } of differences) io.out(`entry ${entry}: ${what} should be ${expected}, was ${seen}\n`);
    if (differences.length === 0) io.out("as expected\n");
    return differences.length === 0 ? 0 : 1;
  },
};
