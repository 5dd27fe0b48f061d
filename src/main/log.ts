/** The server's log: one line per event, time first. What cannot be written is dropped; a log never stops the server. */
import { createWriteStream } from "node:fs";

const LEVELS = ["error", "warn", "info", "debug"] as const;
type Level = (typeof LEVELS)[number];

export interface Log {
  write(level: Level, message: string): void;
  close(): Promise<void>;
}

export function createLog(file: string, level: string | undefined): Log {
  const most = Math.max(0, LEVELS.indexOf((level ?? "info") as Level));
  const stream = createWriteStream(file, { flags: "a", mode: 0o600 });
  stream.on("error", () => stream.destroy());
  return {
    write(each, message) {
      if (LEVELS.indexOf(each) > most || stream.destroyed) return;
      stream.write(`${new Date().toISOString()} ${each} ${message.replaceAll("\n", "\n  ")}\n`);
    },
    close: () => new Promise((resolve) => (stream.destroyed ? resolve() : stream.end(() => resolve()))),
  };
}
