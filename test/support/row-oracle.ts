/**
 * Reads committed rows and says what is wrong with them, by the kernel's invariants (design §3.3). It imports nothing of what it
 * checks: it knows only what a row looks like.
 */
interface Row {
  kind: string;
  key: string;
  head: string;
  body: string | null;
  epoch: number;
  commit: number;
  n: number;
}
/** A stored head leaves out what is at rest. */
interface Head {
  address: string;
  parent: string | null;
  birth: string;
  spec: string;
  line: string | null;
  waits: { name: string; to: string; on: string | null }[];
  status: string;
  state: string;
  watches: [string, string][];
  timers: { id: string }[];
  n: number;
  fence: { idle: boolean } | null;
  restarts: number;
  reason?: { kind: string };
}
interface Story {
  id: string;
  from: string;
  event: { type: string; [field: string]: unknown };
  sent: string[];
  crashed?: unknown;
}
interface Mail {
  id: string;
  class: string;
  from: string;
  key?: string;
  event: { type: string; [field: string]: unknown };
}
interface Body {
  pending?: { key: string; name: string; settled: boolean }[];
  mail?: Mail[];
  story?: Story[];
}
interface Actor {
  head: Head;
  body: Body;
}

export function wrongRows(rows: readonly Row[]): string[] {
  const wrong: string[] = [];
  const actors = new Map<string, Actor>();
  const sentTo = new Map<string, { from: string; birth: string; order: number }>();
  const over = new Set<string>();
  const handled = new Map<string, string>();
  const order = new Map<string, number>();
  const keys = new Set<string>();
  const downs = new Map<string, number>();
  let sends = 0;
  /** K3: mail on its way, by event id; gone when it was handled or may have been refused. */
  const underway = new Map<string, string>();
  /** By life: naps asked for, naps ended, and whether one is due. */
  const naps = new Map<string, { asked: number; woke: number; open: boolean }>();
  /** K15, by life and name: asked or waited for, and how often that ended. Names are used once. */
  const waits = new Map<string, { life: string; name: string; open: boolean; ends: number }>();
  for (const commit of commits(rows)) {
    // The receiver's row may stand before the sender's.
    for (const row of commit) {
      if (row.kind !== "actor") continue;
      const head = JSON.parse(row.head) as Head;
      for (const step of (JSON.parse(row.body ?? "{}") as Body).story ?? [])
        for (const id of step.sent) sentTo.set(id, { from: head.address, birth: head.birth, order: (sends += 1) });
    }
    const downsNow: { of: string; birth: string; by: string }[] = [];
    for (const row of commit) {
      if (row.kind !== "actor") continue;
      const head = {
        parent: null,
        line: null,
        waits: [],
        watches: [],
        timers: [],
        fence: null,
        restarts: 0,
        ...(JSON.parse(row.head) as object),
      } as unknown as Head;
      const body = JSON.parse(row.body ?? "{}") as Body;
      for (const step of body.story ?? []) {
        if (step.event.type === "parked" || step.event.type === "unparked") continue;
        const before = handled.get(step.id);
        if (before !== undefined) wrong.push(`K1/P9: ${head.address} handled ${step.id} (${step.event.type}) again; first at ${before}`);
        handled.set(step.id, head.address);
        underway.delete(step.id);
        const life = `${head.address}#${head.birth}`;
        const nap = naps.get(life) ?? { asked: 0, woke: 0, open: false };
        if (step.event.type === "sleep" && !step.crashed) naps.set(life, { ...nap, asked: nap.asked + 1, open: true });
        if (step.event.type === "mail" && step.event["text"] === "woke") naps.set(life, { ...nap, woke: nap.woke + 1, open: false });
        noteWait(waits, life, step);
        if (step.event.type === "forward") for (const id of step.sent) underway.set(id, String(step.event["to"]));
        const sent = sentTo.get(step.id);
        if (sent && step.from.startsWith("/")) {
          // K4: from one sender to one receiver in the order they were sent.
          const lane = `${step.from} ${head.address} ${head.birth}`;
          if ((order.get(lane) ?? 0) > sent.order) wrong.push(`K4: ${head.address} heard ${step.id} of ${step.from} out of order`);
          order.set(lane, sent.order);
          if (over.has(`${head.address}#${head.birth} ${sent.from}#${sent.birth}`))
            wrong.push(`K4: ${head.address} heard ${step.id} of ${sent.from} after its down`);
        }
        if (step.event.type === "down" && typeof step.event["birth"] === "string" && step.event["birth"] !== "") {
          const print = `${head.address}#${head.birth} ${String(step.event["address"])}#${step.event["birth"]}`;
          downs.set(print, (downs.get(print) ?? 0) + 1);
          over.add(print);
          downsNow.push({ of: String(step.event["address"]), birth: step.event["birth"], by: head.address });
        }
      }
      for (const pending of body.pending ?? []) {
        if (keys.has(pending.key) && !actors.get(head.address)?.body.pending?.some(({ key }) => key === pending.key))
          wrong.push(`K11: the key ${pending.key} came into use again`);
        keys.add(pending.key);
      }
      const names = (body.pending ?? []).map(({ name }) => name);
      if (new Set(names).size !== names.length) wrong.push(`two effects of one name at ${head.address}`);
      if (head.status === "down") {
        if (!head.reason) wrong.push(`K7: ${head.address} went down without a reason`);
        actors.delete(head.address);
      } else {
        const before = actors.get(head.address);
        if (before && before.head.birth === head.birth && before.head.n > head.n)
          wrong.push(`the effect count of ${head.address} went back`);
        actors.set(head.address, { head, body });
      }
    }
    for (const { of, birth, by } of downsNow)
      if (actors.get(of)?.head.birth === birth) wrong.push(`K7: ${by} heard the down of ${of}, which lives with that birth`);
    for (const [id, to] of underway) {
      const actor = actors.get(to);
      if (!actor || held(actors, to)) underway.delete(id);
      else if (!actor.body.mail?.some((mail) => mail.id === id) && !handled.has(id)) wrong.push(`K3: ${id} to ${to} is nowhere`);
    }
    for (const [life, nap] of naps) {
      const address = life.slice(0, life.indexOf("#"));
      const actor = actors.get(address);
      if (nap.woke > nap.asked) wrong.push(`the timer of ${life} fired ${nap.woke} times for ${nap.asked}`);
      if (!actor || `${address}#${actor.head.birth}` !== life || held(actors, address)) naps.set(life, { ...nap, open: false });
      else if (nap.open && !actor.head.timers.some(({ id }) => id === "nap")) wrong.push(`the timer of ${life} is nowhere`);
    }
    for (const wait of waits.values()) {
      if (wait.ends > 1) wrong.push(`K15: "${wait.name}" of ${wait.life} ended ${wait.ends} times`);
      if (!wait.open) continue;
      const address = wait.life.slice(0, wait.life.indexOf("#"));
      const actor = actors.get(address);
      if (!actor || `${address}#${actor.head.birth}` !== wait.life || held(actors, address)) wait.open = false;
      else if (
        !actor.head.waits.some(({ name }) => name === wait.name) &&
        !actor.body.mail?.some(({ event }) => ENDS.has(event.type) && event["name"] === wait.name)
      )
        wrong.push(`K15: "${wait.name}" of ${wait.life} neither stands nor ended`);
    }
    wrong.push(...wrongCut(actors), ...circles(actors));
  }
  for (const [print, times] of downs) if (times > 1) wrong.push(`K7: ${print.replace(" ", " heard the down of ")} ${times} times`);
  return [...new Set(wrong)];
}

const ENDS = new Set(["answered", "refused", "unanswered"]);

function noteWait(waits: Map<string, { life: string; name: string; open: boolean; ends: number }>, life: string, step: Story): void {
  const name = step.event["name"];
  if (typeof name !== "string") return;
  const key = `${life} ${name}`;
  const before = waits.get(key);
  if ((step.event.type === "ask" || step.event.type === "wait") && !step.crashed) waits.set(key, { life, name, open: true, ends: 0 });
  else if (before && ENDS.has(step.event.type)) waits.set(key, { ...before, open: false, ends: before.ends + 1 });
  else if (before && step.event.type === "unwait") waits.set(key, { ...before, open: false });
}

/** No commit holds a circle of waits between lines of work, nor a wait for somebody who is gone. */
function circles(actors: ReadonlyMap<string, Actor>): string[] {
  const wrong: string[] = [];
  const edges = new Map<string, Set<string>>();
  for (const { head } of actors.values())
    for (const { name, to, on } of head.waits) {
      if (!actors.has(to)) wrong.push(`K15: "${name}" of ${head.address} waits for ${to}, which is gone`);
      for (const { head: above } of actors.values())
        if (above.status === "parked" && (to === above.address || above.address === "/" || to.startsWith(`${above.address}/`)))
          wrong.push(`K15: "${name}" of ${head.address} waits for ${to}, while ${above.address} is parked`);
      if (on === null) continue;
      const from = lineOf(actors, head.address);
      const target = lineOf(actors, on);
      if (from !== target) edges.set(from, (edges.get(from) ?? new Set()).add(target));
    }
  for (const start of edges.keys()) {
    const seen = new Set<string>();
    const todo = [...(edges.get(start) ?? [])];
    for (let line = todo.pop(); line !== undefined; line = todo.pop()) {
      if (line === start) wrong.push(`P4: ${start} waits for itself in the end`);
      if (seen.has(line)) continue;
      seen.add(line);
      todo.push(...(edges.get(line) ?? []));
    }
  }
  return wrong;
}

function lineOf(actors: ReadonlyMap<string, Actor>, address: string): string {
  for (let at = address; at !== ""; at = at === "/" ? "" : at.slice(0, at.lastIndexOf("/")) || "/") {
    const head = actors.get(at)?.head;
    if (head?.spec === "line") return at;
    if (head && head.line !== null) return head.line;
  }
  return address;
}

/** A fence, a parked or an ending one at or above: mail and timers may be refused there. */
function held(actors: ReadonlyMap<string, Actor>, address: string): boolean {
  for (const { head } of actors.values()) {
    if (!(address === head.address || head.address === "/" || address.startsWith(`${head.address}/`))) continue;
    if (head.fence || head.status !== "live") return true;
  }
  return false;
}

/** The state after one commit. */
function wrongCut(actors: ReadonlyMap<string, Actor>): string[] {
  const wrong: string[] = [];
  for (const { head, body } of actors.values()) {
    if (head.parent !== null && !actors.has(head.parent)) wrong.push(`K6: ${head.address} lives without its parent ${head.parent}`);
    for (const [address, birth] of head.watches) {
      const target = actors.get(address);
      const due = body.mail?.some((mail) => mail.class === "down" && mail.event["address"] === address && mail.event["birth"] === birth);
      if ((!target || target.head.birth !== birth) && !due)
        wrong.push(`K7: ${head.address} watches ${address}, which is gone, and nothing tells it so`);
    }
    for (const pending of body.pending ?? []) {
      const inMail = body.mail?.some((mail) => mail.class === "outcome" && mail.key === pending.key) ?? false;
      if (pending.settled && !inMail && head.status === "live") wrong.push(`K11: ${pending.key} is settled and its outcome is nowhere`);
    }
  }
  return wrong;
}

function commits(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = [];
  for (const row of rows) {
    const last = groups.at(-1)?.[0];
    if (last && last.epoch === row.epoch && last.commit === row.commit) groups.at(-1)?.push(row);
    else groups.push([row]);
  }
  return groups;
}
