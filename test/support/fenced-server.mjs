/**
 * A start-up file like the built server's, over whose store a newer run opens when it is told so by IPC ("take the store"): what two
 * servers on one home would come to, were both locks broken. Answers `{ epoch }` of the newer run.
 */
import { join } from "node:path";
import { serve } from "../../dist/main/serve.js";
import { openSomora } from "../../dist/main/somora.js";
import { createDuckdbJournal } from "../../dist/main/store.js";

const home = process.env.SOMORA_HOME;
const journalHere = () => createDuckdbJournal({ folder: join(home, "store"), now: () => Date.now() });

process.on(
  "message",
  () =>
    void journalHere()
      .open()
      .then((opened) => process.send(opened)),
);
process.channel?.unref();

const wire = (options) => openSomora({ ...options, journal: journalHere() });
process.exit(await serve({ home, env: process.env, port: 0, open: false, wire }));
