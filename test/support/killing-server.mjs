/**
 * A second start-up file: the built server with a journal that tells on stream 3 what it committed, and kills its own process
 * (SIGKILL) at the commit it was told to: `before` the write, `after` it, or `released`, when what the commit let go has begun.
 *
 * The order to kill comes by IPC, or for the start itself in HOSTILE_KILL: `{ kind?, event?, row?, under?, nth?, commit?, where }`.
 * Plain JavaScript over `dist/`, so that it runs what a user runs.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../../dist/main/serve.js";
import { openSomora } from "../../dist/main/somora.js";
import { createDuckdbJournal } from "../../dist/main/store.js";

let order = process.env.HOSTILE_KILL === undefined ? null : { nth: 1, ...JSON.parse(process.env.HOSTILE_KILL) };
process.on("message", (message) => {
  order = message === null ? null : { nth: 1, ...message };
  process.send({ armed: order !== null });
});
process.channel?.unref();
process.on("disconnect", () => {});

const home = process.env.SOMORA_HOME;
const tell = (line) => writeSync(3, `${JSON.stringify(line)}\n`);

function die(where, commit) {
  tell({ killed: where, at: Date.now(), ...commit });
  process.kill(process.pid, "SIGKILL");
  for (;;);
}

/** What a batch holds, as far as the outside wants to know. */
function summaryOf(batch) {
  const actors = [];
  const rows = [];
  for (const { kind, key, head, body } of batch.rows) {
    if (kind === "actor") {
      const { address, kind: chart, state, status } = JSON.parse(head);
      const { story = [], pending = [] } = JSON.parse(body);
      actors.push({
        address,
        kind: chart,
        state,
        status,
        events: story.map((entry) => entry.event.type),
        pending: pending.filter((each) => !each.settled && !each.mark).map((each) => each.key),
      });
    } else if (kind === "transcript") {
      const { kind: row, turnId } = JSON.parse(head);
      const { callId } = JSON.parse(body ?? "{}");
      rows.push({ session: key, row, turnId, ...(callId === undefined ? {} : { callId }) });
    }
  }
  return { commit: batch.commit, actors, rows };
}

function isMeant({ actors, rows, commit }) {
  if (order === null) return false;
  if (order.commit !== undefined) return order.commit === commit;
  const within = (address) => order.under === undefined || address === order.under || address.startsWith(`${order.under}/`);
  const hit =
    order.row === undefined
      ? actors.some((actor) => within(actor.address) && actor.kind === order.kind && actor.events.includes(order.event))
      : rows.some((row) => within(row.session) && row.row === order.row);
  if (!hit) return false;
  order.nth -= 1;
  return order.nth === 0;
}

function killing(journal) {
  return new Proxy(journal, {
    get(target, name) {
      if (name === "append") return append;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

  function append(batch) {
    const commit = summaryOf(batch);
    const where = isMeant(commit) ? order.where : null;
    if (where === "before") die(where, commit);
    const written = journal.append(batch).then((answer) => {
      if (where === "after") die(where, commit);
      tell({ at: Date.now(), ...commit });
      return answer;
    });
    // The kernel listens first, so its releases of this commit have been made when ours is called.
    if (where === "released") queueMicrotask(() => void written.then(() => die(where, commit)));
    return written;
  }
}

const wire = (options) =>
  openSomora({ ...options, journal: killing(createDuckdbJournal({ folder: join(home, "store"), now: () => Date.now() })) });
process.exit(await serve({ home, env: process.env, port: 0, open: false, wire }));
