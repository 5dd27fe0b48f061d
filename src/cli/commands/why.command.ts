/** Why an actor stands where it stands, and what it did: `why` and `story`. */
import { sentenceOf, clockTime, exactTime, spanWords } from "../../client/index.ts";
import type { ActorView, StoryStep } from "../../protocol/actor-view.ts";
import { type Address, isWithin } from "../../protocol/ids.ts";
import type { WaitView } from "../../protocol/waits.ts";
import { JSON_OPTION, type Command } from "../command.ts";
import type { Api } from "../api.ts";
import { json, plainText, table } from "../print.ts";
import { addressOf } from "./team.command.ts";

export const whyCommands: readonly Command[] = [
  {
    name: "why",
    summary: "One sentence on an actor's state, what it waits for, since when, and what happens next.",
    arguments: [{ name: "address", about: "An address of `somora actors`, or `agent/session`" }],
    options: { json: JSON_OPTION },
    async run({ arguments: { address = "" }, flag, io, api }) {
      const server = await api();
      const found = await look(server, addressOf(address));
      io.out(flag("json") ? json(found) : explain(found, Date.now()));
      return 0;
    },
  },
  {
    name: "story",
    summary: "What an actor did: event, where from, its state after, what it wanted done.",
    arguments: [{ name: "address", about: "An address of `somora actors`, or `agent/session`" }],
    options: { limit: { value: "N", about: "The newest N steps (1 to 1000; 50)" }, json: JSON_OPTION },
    async run({ arguments: { address = "" }, option, flag, io, api }) {
      const limit = option("limit") ?? "50";
      const { steps } = await (await api()).get<{ steps: StoryStep[] }>("/story", { address: addressOf(address), limit });
      if (flag("json")) io.out(json({ steps }));
      else if (steps.length === 0) io.out(`Nothing is kept of ${address}.\n`);
      else
        io.out(
          table(steps.map((step) => [exactTime(step.at), plainText(step.type), `from ${step.from}`, step.state, step.effects.join(", ")])),
        );
      return 0;
    },
  },
];

interface Found {
  actor: ActorView;
  below: ActorView[];
  waits: WaitView[];
}

async function look(server: Api, address: string): Promise<Found> {
  const [{ actor }, { actors }, { waits }] = await Promise.all([
    server.get<{ actor: ActorView }>("/actor", { address }),
    server.get<{ actors: ActorView[] }>("/actors", { under: address }),
    server.get<{ waits: WaitView[] }>("/waits"),
  ]);
  return { actor, below: actors.filter((each) => each.address !== address), waits };
}

/** The sentence first; then who works for it, whom it waits for to the end of the chain, what is due, and what cannot move. */
function explain({ actor, below, waits }: Found, now: number): string {
  const lines = [`${actor.address}: ${sentenceOf({ actor, now }).sentence}`];
  for (const each of below) {
    const said = sentenceOf({ actor: each, now });
    if (each.kind !== "supervisor" && said.move !== "none")
      lines.push(`  ${each.address.slice(actor.address.length + 1)}: ${said.sentence}`);
  }
  for (const wait of chainFrom(actor.address as Address, waits)) {
    lines.push(`  ${wait.from} waits for ${wait.on ?? wait.to} (${wait.why}) for ${spanWords(Math.max(0, now - wait.since))}.`);
    if (wait.stuck !== null) lines.push(`  Stuck: ${wait.stuck}.`);
  }
  if (actor.mailbox > 0) lines.push(`  ${actor.mailbox} events wait in its mailbox.`);
  if (actor.restarts > 0) lines.push(`  It crashed and was restarted ${actor.restarts === 1 ? "once" : `${actor.restarts} times`}.`);
  if (actor.nextTimer) lines.push(`  Next: ${actor.nextTimer.id} at ${clockTime(actor.nextTimer.at)}.`);
  if (actor.stuck !== undefined) lines.push(`  Stuck: ${actor.stuck}.`);
  return `${lines.join("\n")}\n`;
}

/** Waits of the actor and those below it, then of whom they wait for, each once. */
function chainFrom(address: Address, waits: readonly WaitView[]): WaitView[] {
  const chain: WaitView[] = [];
  const todo = [address];
  for (let at = todo.shift(); at !== undefined; at = todo.shift())
    for (const wait of waits) {
      if (chain.includes(wait) || !isWithin(wait.from, at)) continue;
      chain.push(wait);
      todo.push(wait.onLine ?? wait.on ?? wait.to);
    }
  return chain;
}
