/** A persona: owns its sessions. `main` is always there. */
import { setup } from "xstate";
import { effects } from "../protocol/effects.ts";
import { type Address, childOf, type Token } from "../protocol/ids.ts";
import type { Delivered, DownEvent, ResumedEvent } from "../protocol/kernel-events.ts";
import { Parts } from "../protocol/parts.ts";
import { decide } from "./decide.ts";

interface SessionEntry {
  [field: string]: number | string | null;
  createdAt: number;
  /** The door that waits for its removal. */
  removing: Token | null;
}

export interface AgentContext {
  agent: string;
  address: Address;
  sessions: Parts<SessionEntry>;
}

type AgentEvent =
  | (Delivered & { type: "session.create"; slug: string; cwd: string | null })
  | (Delivered & { type: "session.delete"; slug: string })
  | (Delivered & { type: `erase.done`; name: string })
  | (Delivered & { type: `erase.failed`; name: string })
  | DownEvent
  | ResumedEvent;

const sessionOf = (context: AgentContext, slug: string): Address => childOf(context.address, `sessions/${slug}`);
const spawnSession = (context: Pick<AgentContext, "agent">, slug: string, cwd: string | null, at: number) =>
  ({ type: "spawn", params: { name: `sessions/${slug}`, chart: "session", spec: "session", input: { agent: context.agent, session: slug, cwd, createdAt: at }, watch: true } }) as const;
const slugOf = (address: Address): string => address.slice(address.lastIndexOf("/") + 1);

export const agentMachine = setup({
  types: {} as { context: AgentContext; events: AgentEvent; input: { agent: string; address: Address; at: number } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({ agent: input.agent, address: input.address, sessions: Parts.empty<SessionEntry>().put("main", { createdAt: input.at, removing: null }) }),
  initial: "serving",
  entry: decide<AgentContext, { input: { agent: string; at: number } }>((context, { input }) => ({ effects: [spawnSession(context, "main", null, input.at)] })),
  states: {
    serving: {
      on: {
        "session.create": {
          actions: decide<AgentContext, AgentEvent & { type: "session.create"; token: Token }>((context, { slug, cwd, at, token }) => {
            if (context.sessions.has(slug)) return { effects: [{ type: "refuse", params: { token, code: "SESSION_EXISTS", message: `${context.agent} has a session "${slug}" already.`, hint: "Choose another slug, or delete that session first." } }] };
            return {
              set: { sessions: context.sessions.put(slug, { createdAt: at, removing: null }) },
              effects: [spawnSession(context, slug, cwd, at), { type: "reply", params: { token, value: { slug, createdAt: at } } }],
            };
          }),
        },
        "session.delete": {
          actions: decide<AgentContext, AgentEvent & { type: "session.delete"; token: Token }>((context, { slug, token }) => {
            const entry = context.sessions.get(slug);
            if (slug === "main") return { effects: [{ type: "refuse", params: { token, code: "SESSION_FIXED", message: "`main` cannot be deleted: every agent has one.", hint: "Make another session and delete that one." } }] };
            if (!entry) return { effects: [{ type: "refuse", params: { token, code: "SESSION_UNKNOWN", message: `${context.agent} has no session "${slug}".` } }] };
            return {
              set: { sessions: context.sessions.put(slug, { ...entry, removing: token }) },
              effects: [{ type: "stop", params: { address: sessionOf(context, slug), reason: { by: "user", note: "the session is deleted" }, remove: true } }],
            };
          }),
        },
        down: {
          actions: decide<AgentContext, DownEvent>((context, { address }) => {
            const slug = slugOf(address);
            if (!context.sessions.has(slug)) return {};
            return { effects: [{ type: "perform", params: { name: `erase`, driver: "erase", request: { session: address, slug }, repeatable: true, cleanup: true } }] };
          }),
        },
        "erase.done": { actions: decide(erased) },
        "erase.failed": { actions: decide(erased) },
        // After a crash or a restart: a watch on a session that is gone answers at once, so nothing stays half deleted.
        resumed: { actions: decide<AgentContext, ResumedEvent>((context) => ({ effects: [...context.sessions.entries()].map(([slug]) => ({ type: "watch", params: { address: sessionOf(context, slug) } })) })) },
      },
    },
  },
});

function erased(context: AgentContext, event: { value?: unknown; error?: unknown }): { set?: Partial<AgentContext>; effects: [] | [{ type: "reply"; params: { token: Token; value: null } }] } {
  const slug = (event.value as { slug?: string } | null)?.slug ?? "";
  const entry = context.sessions.get(slug);
  if (!entry) return { effects: [] };
  return { set: { sessions: context.sessions.drop(slug) }, effects: entry.removing === null ? [] : [{ type: "reply", params: { token: entry.removing, value: null } }] };
}
