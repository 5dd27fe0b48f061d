/** A persona: owns its sessions. `main` is always there. */
import { setup } from "xstate";
import { effects } from "../protocol/effects.ts";
import { type Address, childOf, type Token } from "../protocol/ids.ts";
import type { Delivered, DownEvent, OutcomeFields, ResumedEvent } from "../protocol/kernel-events.ts";
import { Parts } from "../protocol/parts.ts";
import { type Decision, decide } from "./decide.ts";

interface SessionEntry {
  [field: string]: number | string | boolean | null;
  createdAt: number;
  /** The door that waits for its removal. */
  removing: Token | null;
  /** It is being deleted: its slug is not free before everything it left is gone. */
  going: boolean;
}

/** What a full disk refused to erase is tried again after this long. */
const ERASE_AGAIN_MS = 60_000;

export interface AgentContext {
  agent: string;
  address: Address;
  sessions: Parts<SessionEntry>;
  /** Its pool of slots was started. */
  slots: boolean;
}

type AgentEvent =
  | (Delivered & { type: "session.create"; slug: string; cwd: string | null })
  | (Delivered & { type: "session.delete"; slug: string })
  | (Delivered & { type: "slots.start"; cap: number })
  | (OutcomeFields & { type: "erase.*" })
  | (Delivered & { type: "erase.again"; slug: string })
  | DownEvent
  | ResumedEvent;

const sessionOf = (context: AgentContext, slug: string): Address => childOf(context.address, `sessions/${slug}`);
const spawnSession = (context: Pick<AgentContext, "agent">, slug: string, cwd: string | null, at: number) =>
  ({
    type: "spawn",
    params: {
      name: `sessions/${slug}`,
      chart: "session",
      spec: "session",
      input: { agent: context.agent, session: slug, cwd, createdAt: at },
      watch: true,
    },
  }) as const;
/** Named by its session, so that two may go at once; a slug holds no dot. */
const eraseOf = (slug: string): string => `erase.${slug}`;
const erase = (context: AgentContext, slug: string) =>
  ({
    type: "perform",
    params: { name: eraseOf(slug), driver: "erase", request: { session: sessionOf(context, slug), slug }, repeatable: true, cleanup: true },
  }) as const;
const slugOf = (address: Address): string => address.slice(address.lastIndexOf("/") + 1);

export const agentMachine = setup({
  types: {} as { context: AgentContext; events: AgentEvent; input: { agent: string; address: Address; at: number } },
  actions: effects,
}).createMachine({
  context: ({ input }) => ({
    agent: input.agent,
    address: input.address,
    sessions: Parts.empty<SessionEntry>().put("main", { createdAt: input.at, removing: null, going: false }),
    slots: false,
  }),
  initial: "serving",
  entry: decide<AgentContext, { input: { agent: string; at: number } }>((context, { input }) => ({
    effects: [spawnSession(context, "main", null, input.at)],
  })),
  states: {
    serving: {
      on: {
        "session.create": {
          actions: decide<AgentContext, AgentEvent & { type: "session.create"; token: Token }>((context, { slug, cwd, at, token }) => {
            if (context.sessions.has(slug))
              return {
                effects: [
                  {
                    type: "refuse",
                    params: {
                      token,
                      code: "SESSION_EXISTS",
                      message: `${context.agent} has a session "${slug}" already.`,
                      hint: "Choose another slug, or delete that session first.",
                    },
                  },
                ],
              };
            return {
              set: { sessions: context.sessions.put(slug, { createdAt: at, removing: null, going: false }) },
              effects: [spawnSession(context, slug, cwd, at), { type: "reply", params: { token, value: { slug, createdAt: at } } }],
            };
          }),
        },
        "slots.start": {
          actions: decide<AgentContext, AgentEvent & { type: "slots.start"; token: Token }>(({ slots }, { cap, token }) => ({
            set: { slots: true },
            effects: [
              ...(slots ? [] : [{ type: "spawn" as const, params: { name: "slots", chart: "pool", spec: "pool", input: { cap } } }]),
              { type: "reply", params: { token, value: null } },
            ],
          })),
        },
        "session.delete": {
          actions: decide<AgentContext, AgentEvent & { type: "session.delete"; token: Token }>((context, { slug, token }) => {
            const entry = context.sessions.get(slug);
            if (slug === "main")
              return {
                effects: [
                  {
                    type: "refuse",
                    params: {
                      token,
                      code: "SESSION_FIXED",
                      message: "`main` cannot be deleted: every agent has one.",
                      hint: "Make another session and delete that one.",
                    },
                  },
                ],
              };
            if (!entry || entry.going)
              return {
                effects: [
                  {
                    type: "refuse",
                    params: {
                      token,
                      code: "SESSION_UNKNOWN",
                      message: `${context.agent} has no session "${slug}"${entry ? " any more: it is being deleted" : ""}.`,
                    },
                  },
                ],
              };
            return {
              set: { sessions: context.sessions.put(slug, { ...entry, removing: token, going: true }) },
              effects: [
                {
                  type: "stop",
                  params: { address: sessionOf(context, slug), reason: { by: "user", note: "the session is deleted" }, remove: true },
                },
              ],
            };
          }),
        },
        down: {
          actions: decide<AgentContext, DownEvent>((context, { address }) => {
            const slug = slugOf(address);
            const entry = context.sessions.get(slug);
            if (!entry || address !== sessionOf(context, slug)) return {};
            return { set: { sessions: context.sessions.put(slug, { ...entry, going: true }) }, effects: [erase(context, slug)] };
          }),
        },
        "erase.*": { actions: decide(erased) },
        "erase.again": {
          actions: decide<AgentContext, AgentEvent & { type: "erase.again" }>((context, { slug }) => ({
            effects: context.sessions.get(slug)?.going ? [erase(context, slug)] : [],
          })),
        },
        // A watch on a session that is gone answers at once, so nothing stays half deleted; what is being erased is left alone.
        resumed: {
          actions: decide<AgentContext, ResumedEvent>((context, { pending, timers }) => ({
            effects: [...context.sessions.entries()]
              .filter(([slug]) => !pending.includes(eraseOf(slug)) && !timers.includes(eraseOf(slug)))
              .map(([slug]) => ({ type: "watch", params: { address: sessionOf(context, slug) } })),
          })),
        },
      },
    },
  },
});

function erased(context: AgentContext, event: OutcomeFields & { type: string }): Decision<AgentContext> {
  const slug = event.name.slice("erase.".length);
  const entry = context.sessions.get(slug);
  if (!entry) return {};
  if (!event.type.endsWith(".done")) {
    const answer =
      entry.removing === null
        ? []
        : [
            {
              type: "refuse",
              params: {
                token: entry.removing,
                code: "STORE_STALLED",
                message: `The session is gone; what it left could not be erased: ${event.error?.message ?? "the disk refused"}.`,
                hint: "It is tried again every minute.",
              },
            } as const,
          ];
    return {
      set: { sessions: context.sessions.put(slug, { ...entry, removing: null }) },
      effects: [
        ...answer,
        { type: "timer.set", params: { id: eraseOf(slug), event: { type: "erase.again", slug }, after: ERASE_AGAIN_MS } },
      ],
    };
  }
  return {
    set: { sessions: context.sessions.drop(slug) },
    effects: entry.removing === null ? [] : [{ type: "reply", params: { token: entry.removing, value: null } }],
  };
}
