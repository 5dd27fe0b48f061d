/** `node dist/main/server.js [--port N] [--no-open]`: what `npm start` runs. */
import { parseArgs } from "node:util";
import { buildName } from "./build-name.ts";
import { homeFrom } from "./environment.ts";
import { serve } from "./serve.ts";

let values: { port?: string | undefined; "no-open"?: boolean | undefined };
try {
  ({ values } = parseArgs({ options: { port: { type: "string" }, "no-open": { type: "boolean" } } }));
  if (values.port !== undefined && !/^\d{1,5}$/.test(values.port))
    throw new Error(`--port ${values.port} is no port; give a number from 0 to 65535.`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nUse: npm start -- [--port N] [--no-open]\n`);
  process.exit(1);
}
const build = buildName();
process.exit(
  await serve({
    home: homeFrom(process.env),
    env: process.env,
    open: values["no-open"] !== true,
    ...(values.port === undefined ? {} : { port: Number(values.port) }),
    ...(build === null ? {} : { build }),
  }),
);
