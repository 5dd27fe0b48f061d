/** K1 to K15 as far as rows can tell: a slow look at one commit after the other. */
import { type Actor, type Change, type Fold, isBelow, type Mail, type Row, type Story } from "./rows.ts";

const ENDS = new Set(["answered", "refused", "unanswered"]);
const INTENSITY = 3;
const PERIOD_MS = 60_000;

export class KernelRules {
  readonly #fold: Fold;
  readonly #say: (wrong: string) => void;
  /** Messages by id, in the order they were sent. */
  readonly #sent = new Map<string, { from: string; birth: string; order: number }>();
  #sends = 0;
  readonly #handled = new Map<string, string>();
  readonly #lanes = new Map<string, number>();
  readonly #downs = new Map<string, number>();
  readonly #keys = new Map<string, string>();
  readonly #births = new Map<string, string>();
  readonly #ends = new Map<string, number>();
  readonly #alarms = new Set<string>();
  readonly #dues = new Map<string, number>();
  readonly #crashes = new Map<string, number[]>();
  /** Lives that crashed and have not heard `resumed` since. */
  readonly #unresumed = new Set<string>();
  readonly #takenBack = new Set<string>();
  #epoch = 0;
  #commit = 0;

  constructor(fold: Fold, say: (wrong: string) => void) {
    this.#fold = fold;
    this.#say = say;
  }

  isTakenBack(key: string): boolean {
    return this.#takenBack.has(key);
  }

  wasHandled(id: string): boolean {
    return this.#handled.has(id);
  }

  order(row: Row): void {
    // One that only answers has no rows.
    const next = row.epoch === this.#epoch ? row.commit > this.#commit : row.epoch > this.#epoch;
    if (!next) this.#say(`P7: commit ${row.epoch}.${row.commit} was taken after ${this.#epoch}.${this.#commit}`);
    this.#epoch = row.epoch;
    this.#commit = row.commit;
  }

  /** After the fold took the commit in. */
  check(changes: readonly Change[]): void {
    for (const { head, story } of changes) for (const step of story) for (const id of step.sent) this.#note(id, head.address, head.birth);
    let waits = false;
    for (const change of changes) {
      for (const step of change.story) this.#step(change, step);
      this.#crashCount(change);
      this.#life(change);
      this.#mail(change);
      this.#watches(change);
      waits = this.#waits(change) || waits;
      this.#timers(change);
      this.#pending(change);
    }
    for (const change of changes) this.#sentFrom(change);
    this.#tree(changes);
    for (const { now } of changes) if (now) this.#watched(now);
    if (waits || changes.some(({ now }) => !now || now.head.status === "parked")) this.#circles();
  }

  #note(id: string, from: string, birth: string): void {
    this.#sends += 1;
    this.#sent.set(id, { from, birth, order: this.#sends });
  }

  #step({ address, head }: Change, step: Story): void {
    const { type } = step.event;
    const life = `${address}#${head.birth}`;
    if (type === "parked") return;
    if (type === "unparked") {
      this.#crashes.delete(budgetOf(address, head));
      return;
    }
    const before = this.#handled.get(step.id);
    if (before !== undefined) this.#say(`P9: ${address} handled ${step.id} (${type}) again; first at ${before}`);
    this.#handled.set(step.id, address);
    if (this.#unresumed.delete(life) && type !== "resumed" && type !== "start" && type !== "stop")
      this.#say(`P9: ${address} heard ${type} after a crash before it heard that something was dropped`);
    if (step.crashed) {
      if (!/planted poison/.test(step.crashed.message)) this.#say(`K12: ${address} crashed on ${type}: ${step.crashed.message}`);
      const budget = budgetOf(address, head);
      this.#crashes.set(budget, [...(this.#crashes.get(budget) ?? []), step.at]);
      if (type !== "start" && head.spec !== "probe") this.#unresumed.add(life);
    }
    const sent = this.#sent.get(step.id);
    if (sent && step.from.startsWith("/")) {
      const lane = `${step.from} ${life}`;
      if ((this.#lanes.get(lane) ?? 0) > sent.order) this.#say(`K4: ${address} heard ${step.id} (${type}) of ${step.from} out of order`);
      this.#lanes.set(lane, sent.order);
      if (this.#downs.has(`${life} ${sent.from}#${sent.birth}`)) this.#say(`K4: ${address} heard ${type} of ${sent.from} after its down`);
    }
    if (type === "down") this.#down(life, address, step);
    const key = (step.event["value"] as { key?: unknown } | null | undefined)?.key;
    // One that begins anew crashed on it in its life before.
    if (typeof key === "string" && !step.crashed && !key.startsWith(`${life}.`))
      this.#say(`K11: ${life} heard ${type}, the outcome of ${key}`);
    if (type === "alarm") {
      const nonce = String(step.event["nonce"]);
      if (this.#alarms.has(nonce)) this.#say(`K9: the timer ${nonce} of ${address} fired twice`);
      this.#alarms.add(nonce);
      if (step.at < (this.#dues.get(nonce) ?? 0)) this.#say(`K9: the timer ${nonce} of ${address} fired early`);
    }
    if (ENDS.has(type)) this.#end(life, String(step.event["name"]), step.id);
  }

  #end(life: string, name: string, id: string): void {
    const of = `${life} ${name}`;
    this.#ends.set(of, (this.#ends.get(of) ?? 0) + 1);
    if (this.#ends.get(of) === 2) this.#say(`K15: "${name}" of ${life} ended twice (${id})`);
  }

  #down(life: string, address: string, step: Story): void {
    const { birth } = step.event as unknown as { birth: string };
    if (typeof birth !== "string" || birth === "") return;
    const of = String(step.event["address"]);
    const print = `${life} ${of}#${birth}`;
    const times = (this.#downs.get(print) ?? 0) + 1;
    this.#downs.set(print, times);
    if (times === 2 && !this.#mayHearAgain.has(print)) this.#say(`K7: ${address} heard the down of ${of} twice`);
    if (step.crashed) this.#mayHearAgain.add(print);
    if (this.#fold.actors.get(of)?.head.birth === birth) this.#say(`K7: ${address} heard the down of ${of}, which lives with that birth`);
  }
  /** A dropped one comes again when the watcher looks again; and who looks twice at what is gone hears it twice. */
  readonly #mayHearAgain = new Set<string>();

  #crashCount({ address, now, head, story }: Change): void {
    if (!now) return;
    const own = this.#crashes.get(budgetOf(address, head)) ?? [];
    const last = story.findLast((step) => step.crashed)?.at;
    if (last !== undefined) {
      const within = own.filter((at) => last - at < PERIOD_MS).length;
      if (head.crashes.length !== within) this.#say(`K8: ${address} crashed ${within} times, its row counts ${head.crashes.length}`);
      if (within > INTENSITY && head.status === "live") this.#say(`K8: ${address} goes on after ${within} crashes within a minute`);
    }
  }

  #life({ address, before, now, head }: Change): void {
    const known = this.#births.get(head.birth);
    if (known !== undefined && known !== address) this.#say(`K5: ${address} and ${known} have one birth, ${head.birth}`);
    this.#births.set(head.birth, address);
    if (now && this.#over.has(`${address}#${head.birth}`)) this.#say(`K5: ${address} lives again with the birth ${head.birth}`);
    if (!now) {
      this.#over.add(`${address}#${head.birth}`);
      if (!head.reason) this.#say(`K7: ${address} went down without a reason`);
    }
    if (now && before && before.head.birth === head.birth && before.head.n > head.n)
      this.#say(`K11: the effect count of ${address} went back`);
    if (before && before.head.birth !== head.birth && now && head.spec !== "probe" && !this.#over.has(`${address}#${before.head.birth}`))
      this.#say(`K5: ${address} changed its birth without an end`);
  }
  readonly #over = new Set<string>();

  /** What lay in the mailbox lies there still, was handled, or was refused by rule (K3). */
  #mail({ address, before, now, story }: Change): void {
    if (!before || !now || now.head.birth !== before.head.birth) return;
    if (before.head.status !== "live" || this.#fold.isHeld(address)) return;
    const here = new Set([...now.mail.map(({ id }) => id), ...story.map(({ id }) => id)]);
    const unwatched = story.some(({ effects }) => effects.some((effect) => effect === "unwatch" || effect.startsWith("unwatch")));
    for (const mail of before.mail) {
      if (here.has(mail.id) || mail.token !== undefined || mail.class === "start" || mail.class === "resumed") continue;
      if (mail.class === "down" && unwatched) continue;
      this.#say(`K3: ${mail.id} (${mail.event.type}) lay at ${address} and is nowhere`);
    }
  }

  #sentFrom({ story }: Change): void {
    for (const step of story) {
      const sends = step.effects.filter((effect) => effect.startsWith("send /"));
      if (sends.length !== step.sent.length) continue;
      sends.forEach((effect, index) => {
        const to = effect.slice("send ".length);
        const id = step.sent[index] as string;
        const actor = this.#fold.actors.get(to);
        if (!actor || this.#fold.isHeld(to) || this.#handled.has(id) || actor.mail.some((mail) => mail.id === id)) return;
        this.#say(`K3: ${id} to ${to} is nowhere`);
      });
    }
  }

  /** A watch ends with its `down`, or is taken back. */
  #watches({ address, before, now, story }: Change): void {
    if (!before || !now || now.head.birth !== before.head.birth || now.head.ending) return;
    for (const [of, birth] of before.head.watches) {
      if (now.head.watches.some(([other, its]) => other === of && its === birth)) continue;
      const heard = (event: Mail["event"]): boolean => event.type === "down" && event["address"] === of && event["birth"] === birth;
      if (now.mail.some(({ event }) => heard(event)) || story.some(({ event }) => heard(event))) continue;
      if (story.some(({ effects }) => effects.some((effect) => effect.startsWith("unwatch")))) continue;
      this.#say(`K7: ${address} watched ${of}, which is gone, and was not told`);
    }
  }

  #watched({ head, mail }: Actor): void {
    for (const [of, birth] of head.watches) {
      if (this.#fold.actors.get(of)?.head.birth === birth) continue;
      if (mail.some(({ event }) => event.type === "down" && event["address"] === of && event["birth"] === birth)) continue;
      this.#say(`K7: ${head.address} watches ${of} of birth ${birth}, which is gone, and nothing tells it so`);
    }
  }

  /** True when its waits changed. */
  #waits({ address, before, now, story }: Change): boolean {
    if (!now) return (before?.head.waits.length ?? 0) > 0;
    const life = `${address}#${now.head.birth}`;
    const standing = new Set(now.head.waits.map(({ name }) => name));
    const ended = new Set<string>();
    for (const { event } of [...now.mail, ...story]) if (ENDS.has(event.type)) ended.add(String(event["name"]));
    for (const name of ended) if (standing.has(name)) this.#say(`K15: "${name}" of ${life} has ended and stands still`);
    const withdrawn = new Set(
      story.flatMap(({ effects }) => effects.flatMap((effect) => (effect.startsWith("unwait ") ? [effect.slice("unwait ".length)] : []))),
    );
    const same = before?.head.birth === now.head.birth ? before : null;
    const asked = story
      .filter((step) => !step.crashed)
      .flatMap(({ effects }) => effects.flatMap((effect) => /^(?:ask|wait) (.+)$/.exec(effect)?.[1] ?? []));
    if (!this.#fold.isHeld(address) && !now.head.ending)
      for (const name of [...(same?.head.waits.map((wait) => wait.name) ?? []), ...asked])
        if (!standing.has(name) && !ended.has(name) && !withdrawn.has(name))
          this.#say(`K15: "${name}" of ${life} neither stands nor ended`);
    return standing.size !== (same?.head.waits.length ?? 0) || asked.length > 0;
  }

  /** No commit holds a circle of waits between lines, nor a wait for somebody who is gone or parked. */
  #circles(): void {
    const edges = new Map<string, Set<string>>();
    const parked = [...this.#fold.actors.values()].filter(({ head }) => head.parked !== null).map(({ head }) => head.address);
    for (const { head } of this.#fold.actors.values())
      for (const { name, to, on } of head.waits) {
        if (!this.#fold.actors.has(to)) this.#say(`K15: "${name}" of ${head.address} waits for ${to}, which is gone`);
        const above = parked.find((address) => isBelow(to, address));
        if (above !== undefined) this.#say(`K15: "${name}" of ${head.address} waits for ${to}, while ${above} is parked`);
        if (on === null || this.#fold.actors.get(on)?.head.kind === "pool") continue;
        const from = this.#fold.lineOf(head.address);
        const target = this.#fold.lineOf(on);
        if (from !== target) edges.set(from, (edges.get(from) ?? new Set()).add(target));
      }
    for (const start of edges.keys()) {
      const seen = new Set<string>();
      const todo = [...(edges.get(start) ?? [])];
      for (let line = todo.pop(); line !== undefined; line = todo.pop()) {
        if (line === start) {
          this.#say(`P4: ${start} waits for itself in the end`);
          break;
        }
        if (seen.has(line)) continue;
        seen.add(line);
        todo.push(...(edges.get(line) ?? []));
      }
    }
  }

  #timers({ address, before, now, story }: Change): void {
    if (!now) return;
    for (const { due, event } of now.head.timers) if (event.nonce !== undefined) this.#dues.set(event.nonce, due);
    if (!before || before.head.birth !== now.head.birth || now.head.ending || this.#fold.isHeld(address)) return;
    const names = story.flatMap(({ effects }) => effects);
    for (const { id, due, event } of before.head.timers) {
      if (now.head.timers.some((timer) => timer.id === id && timer.due === due)) continue;
      const fired = story.some(
        (step) => step.event.type === event.type && (event.nonce === undefined || step.event["nonce"] === event.nonce),
      );
      if (!fired && !names.some((name) => name.startsWith("timer."))) this.#say(`K9: the timer "${id}" of ${address} is nowhere`);
    }
  }

  #pending({ address, before, now, story }: Change): void {
    if (!now) return;
    const names = new Set<string>();
    for (const pending of now.pending) {
      if (names.has(pending.name)) this.#say(`K11: two effects called ${pending.name} at ${address}`);
      names.add(pending.name);
      if (this.#keys.get(pending.key) === "over") this.#say(`K11: the key ${pending.key} came into use again`);
      this.#keys.set(pending.key, "pending");
      if (pending.settled && now.head.status === "live" && !now.mail.some(({ key, class: of }) => of === "outcome" && key === pending.key))
        this.#say(`K11: ${pending.key} is settled and its outcome is nowhere`);
      if (
        story.some(({ effects, crashed }) => !crashed && effects.includes(`abort ${pending.name}`)) &&
        before?.pending.some(({ key }) => key === pending.key)
      )
        this.#takenBack.add(pending.key);
      if (this.#takenBack.has(pending.key) && !pending.mark && !pending.settled)
        this.#say(`K5: ${pending.key} was taken back and its row does not say so`);
    }
    for (const { key } of before?.pending ?? []) if (!now.pending.some((each) => each.key === key)) this.#keys.set(key, "over");
  }

  /** Every actor but the root has a living parent (K6). */
  #tree(changes: readonly Change[]): void {
    const gone = changes.filter(({ now }) => !now && !this.#fold.actors.has("?")).map(({ address }) => address);
    for (const { now } of changes)
      if (now && now.head.parent !== null && !this.#fold.actors.has(now.head.parent))
        this.#say(`K6: ${now.head.address} lives without its parent ${now.head.parent}`);
    for (const address of gone)
      if (!this.#fold.actors.has(address))
        for (const { head } of this.#fold.actors.values())
          if (head.parent === address) this.#say(`K6: ${head.address} lives without its parent ${address}`);
  }
}

/** One that begins anew keeps its count. */
function budgetOf(address: string, { spec, birth }: { spec: string; birth: string }): string {
  return spec === "probe" ? address : `${address}#${birth}`;
}
