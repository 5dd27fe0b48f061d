/** The life of the server: start, stop, status, open, logs. */
import { createReadStream, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { CliError, JSON_OPTION, type Command, type CommandContext } from "../command.ts";
import { parseWhole } from "../duration.ts";
import { json, table } from "../print.ts";

const STOP_MS = 30_000;

export const serverCommands: readonly Command[] = [
  {
    name: "server start",
    summary: "Start the server of this home.",
    options: {
      foreground: { about: "Serve in this terminal; Ctrl-C drains and ends" },
      port: { value: "N", about: "Port to listen on; 0 takes any free one" },
      "no-open": { about: "Do not open a browser" },
    },
    notes: ["With --foreground it prints `ready http://127.0.0.1:PORT` when it serves, then the address that pairs a browser."],
    async run({ option, flag, io, dependencies }) {
      const port = option("port");
      const options = { open: !flag("no-open"), ...(port === undefined ? {} : { port: parseWhole(port, "port", 0, 65_535) }) };
      if (flag("foreground")) return dependencies.serve(options);
      const running = await dependencies.findServer();
      if (running) {
        io.out(`serves already at ${running.url} (pid ${running.pid})\n`);
        return 0;
      }
      const started = await dependencies.startDetached(options);
      io.out(`serves at ${started.url} (pid ${started.pid})\nopen it with: somora server open\n`);
      return 0;
    },
  },
  {
    name: "server stop",
    summary: "Let running turns end, then stop the server.",
    async run({ io, dependencies }) {
      const running = await dependencies.findServer();
      if (!running) {
        io.out("no server runs\n");
        return 0;
      }
      dependencies.signal(running.pid, "SIGTERM");
      for (let waited = 0; waited < STOP_MS; waited += 50) {
        if (!dependencies.signal(running.pid, 0)) {
          io.out(`stopped (pid ${running.pid})\n`);
          return 0;
        }
        await dependencies.sleep(50);
      }
      throw new CliError(`The server (pid ${running.pid}) still runs after ${STOP_MS / 1_000} s.`, {
        hint: `A second signal ends it at once: kill ${running.pid}`,
      });
    },
  },
  {
    name: "server status",
    summary: "Whether a server serves this home, where, since when. Exit 0 when one does, 1 when none.",
    options: { json: JSON_OPTION },
    async run({ flag, io, dependencies }) {
      const running = await dependencies.findServer();
      if (flag("json")) io.out(json({ running: running !== null, home: dependencies.home, ...running }));
      else if (running) {
        io.out(
          table([
            ["address", running.url],
            ["pid", String(running.pid)],
            ["version", running.version],
            ["since", new Date(running.startedAt).toISOString()],
            ["home", dependencies.home],
          ]),
        );
      } else io.out(`no server serves ${dependencies.home}\n`);
      return running ? 0 : 1;
    },
  },
  {
    name: "server open",
    summary: "Print a fresh address that pairs a browser, and open it where there is a desktop.",
    options: { "no-open": { about: "Only print it" } },
    async run({ flag, io, dependencies, api }) {
      const server = await api();
      const { code } = await server.post<{ code: string }>("/pair/codes", {});
      const address = `${server.url}/#pair=${code}`;
      io.out(`${address}\n`);
      if (!flag("no-open") && io.outIsTerminal) await dependencies.openBrowser(address);
      return 0;
    },
  },
  {
    name: "server logs",
    summary: "The server's log.",
    options: { follow: { about: "Go on as it grows, until Ctrl-C", short: "f" } },
    run: logs,
  },
];

async function logs({ flag, io, dependencies }: CommandContext): Promise<number> {
  let at = 0;
  let reading: Promise<void> = Promise.resolve();
  const more = async (): Promise<void> => {
    const size = await stat(dependencies.logFile).then(
      (found) => found.size,
      () => null,
    );
    if (size === null) {
      if (at === 0 && !flag("follow"))
        throw new CliError(`There is no log at ${dependencies.logFile} yet.`, {
          hint: "A server in the foreground writes to its terminal.",
        });
      return;
    }
    if (size < at) at = 0;
    if (size === at) return;
    for await (const chunk of createReadStream(dependencies.logFile, { start: at, end: size - 1, encoding: "utf8" })) io.out(String(chunk));
    at = size;
  };
  await more();
  if (!flag("follow")) return 0;
  await new Promise<void>((resolve) => {
    const again = (): void => {
      reading = reading.then(more, more);
    };
    const watcher = watch(dependencies.logFile.replace(/[^/\\]+$/, ""), again);
    const timer = setInterval(again, 1_000);
    const off = io.onInterrupt(() => {
      off();
      watcher.close();
      clearInterval(timer);
      resolve();
    });
  });
  await reading;
  return 0;
}
