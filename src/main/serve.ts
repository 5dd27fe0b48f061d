/** Serves a home in this process until a signal ends it. SIGTERM and Ctrl-C drain; a second one ends at once. */
import { openBrowser } from "../host/open-browser.ts";
import { SomoraError } from "../protocol/errors.ts";
import { openSomora, type Somora, type SomoraOptions } from "./somora.ts";

/** The runtime cannot go on: a newer run owns the home, or the store is dead. */
const EXIT_FATAL = 70;

export interface ServeOptions extends Pick<SomoraOptions, "home" | "env" | "port" | "build"> {
  open: boolean;
  wire?: (options: SomoraOptions) => Promise<Somora>;
}

export async function serve(options: ServeOptions): Promise<number> {
  const { home, env, port, build } = options;
  let somora: Somora;
  try {
    somora = await (options.wire ?? openSomora)({
      home,
      env,
      ...(port === undefined ? {} : { port }),
      ...(build === undefined ? {} : { build }),
      fatal: (reason) => {
        process.stderr.write(`somora stops: ${reason}\n`);
        process.exit(EXIT_FATAL);
      },
    });
  } catch (error) {
    if (!(error instanceof SomoraError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}${error.hint === undefined ? "" : `\n${error.hint}`}\n`);
    return 1;
  }
  const pairing = somora.pairingAddress();
  // Before it says that it serves: who reads that may ask it to stop at once.
  const signalled = untilSignal();
  process.stdout.write(`ready ${somora.url}\nopen ${pairing}\n`);
  for (const notice of somora.storeNotices) process.stderr.write(`${notice}\n`);
  if (somora.runtime.kernel.held)
    process.stderr.write(
      "The last three starts died within a minute, so running turns are held. Look at the log, then let them go on with `somora resume /`.\n",
    );
  if (somora.settings.listen().host !== "127.0.0.1" && somora.settings.listen().host !== "localhost")
    process.stderr.write(`The server listens on ${somora.settings.listen().host}: other machines can reach it. The key protects it.\n`);
  await openBrowser(pairing, { platform: process.platform, env, terminal: process.stdout.isTTY === true, wanted: options.open });
  await signalled;
  process.stderr.write("drains; once more ends at once\n");
  const again = (): void => process.exit(1);
  process.on("SIGTERM", again);
  process.on("SIGINT", again);
  await somora.stop();
  return 0;
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.off(signal, end);
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
  });
}
