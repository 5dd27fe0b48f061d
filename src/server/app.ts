/**
 * The HTTP application, without a socket. A request passes the gate (Host, Origin, key), finds its route, has path, query and
 * body read through their schemas, calls one handle, and gets its answer or a refusal with a code.
 */
import { Hono, type Context } from "hono";
import { SomoraError } from "../protocol/errors.ts";
import { editDistance } from "../protocol/nearest.ts";
import type { Handles } from "../ports/handles.port.ts";
import { createGate, type Gate } from "./auth/gate.ts";
import { createPairing, memoryGeneration, type Generation, type Pairing } from "./auth/pairing.ts";
import { createTries } from "./auth/tries.ts";
import { readJson, wellFormed } from "./body.ts";
import { parseOrRefuse, refusalOf } from "./refusal.ts";
import type { Answer, Route, RouteContext } from "./route.ts";
import { ROUTES } from "./routes/routes.ts";
import { staticFile } from "./static-files.ts";

export interface AppOptions {
  /** The access key of the home. */
  key: string;
  /** As configured; decides which Host headers pass. */
  listenHost: string;
  /** A few letters that tell this home from others on the machine, such as a hash of its path. */
  homeId: string;
  /** Folder of the built page; null when there is none. */
  ui: string | null;
  now?: () => number;
  generation?: Generation;
  log?: (line: string, cause: unknown) => void;
}

export interface App {
  /** Answers a request; never rejects. */
  fetch(request: Request): Promise<Response>;
  readonly gate: Gate;
  readonly pairing: Pairing;
}

export function createApp(handles: Handles, options: AppOptions): App {
  const now = options.now ?? Date.now;
  const log = options.log ?? (() => undefined);
  const tries = createTries(now);
  const pairing = createPairing({ key: options.key, now, generation: options.generation ?? memoryGeneration() });
  const gate = createGate({ key: options.key, listenHost: options.listenHost, homeId: options.homeId, pairing, tries });
  const context: RouteContext = { handles, gate, pairing, tries };
  const hono = new Hono();

  hono.use(async (c, next) => {
    const path = new URL(c.req.url).pathname;
    gate.check(gateRequest(c), !isApi(path) || isOpen(c.req.method, path));
    await next();
  });
  for (const route of ROUTES) {
    hono.on(route.method, `/api${route.path}`, async (c) => {
      if (!route.whileStopping && handles.watch.server().draining) {
        throw new SomoraError("SERVER_STOPPING", "The server is stopping and takes no new commands.", {
          hint: "Send it again when the server is back.",
        });
      }
      return respond(await run(route, c, context));
    });
  }
  hono.notFound(async (c) => {
    const { pathname } = new URL(c.req.url);
    if (!isApi(pathname) && (c.req.method === "GET" || c.req.method === "HEAD")) {
      const file = await staticFile(options.ui, pathname, c.req.header("if-none-match"));
      if (file) return file;
    }
    return refuse(unknownRoute(c.req.method, pathname), log);
  });
  hono.onError((error) => refuse(error, log));
  return { fetch: async (request) => hono.fetch(request), gate, pairing };
}

async function run(route: Route, c: Context, context: RouteContext): Promise<Answer> {
  const params = parseOrRefuse(route.params, wellFormed(c.req.param()), "path");
  const query = parseOrRefuse(route.query, wellFormed(c.req.query()), "query");
  const body = route.body === null ? null : parseOrRefuse(route.body, await readJson(c.req.raw), "body");
  return route.run({ params, query, body }, context);
}

function respond({ status, body, headers }: Answer): Response {
  const all = { "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers };
  if (status === 204) return new Response(null, { status, headers: all });
  return new Response(JSON.stringify(body), { status, headers: { ...all, "content-type": "application/json" } });
}

function refuse(error: unknown, log: (line: string, cause: unknown) => void): Response {
  const { status, body, headers } = refusalOf(error, log);
  return new Response(JSON.stringify(body), {
    status,
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers, "content-type": "application/json" },
  });
}

function gateRequest(c: Context): Parameters<Gate["check"]>[0] {
  return {
    method: c.req.method,
    host: c.req.header("host") ?? new URL(c.req.url).host,
    origin: c.req.header("origin"),
    authorization: c.req.header("authorization"),
    cookie: c.req.header("cookie"),
    secFetchSite: c.req.header("sec-fetch-site"),
    upgrade: false,
  };
}

const isApi = (path: string): boolean => path === "/api" || path.startsWith("/api/");

function isOpen(method: string, path: string): boolean {
  return ROUTES.some(
    (route) => route.open && `/api${route.path}` === path && (route.method === method || (method === "HEAD" && route.method === "GET")),
  );
}

/** Names the nearest route: the same path with another method first. */
function unknownRoute(method: string, path: string): SomoraError {
  const scored = ROUTES.map((route) => ({
    name: `${route.method} /api${route.path}`,
    distance: pathDistance(path, `/api${route.path}`) * 2 + (route.method === method ? 0 : 1),
  }));
  const near = scored.reduce((best, other) => (other.distance < best.distance ? other : best)).name;
  return new SomoraError("ROUTE_UNKNOWN", `There is no ${method} ${path.slice(0, 200)}.`, {
    hint: `The nearest is ${near}; docs/reference/routes.md lists all.`,
    details: { near },
  });
}

/** Segment by segment; a parameter fits every segment. */
function pathDistance(path: string, pattern: string): number {
  const given = path.split("/");
  const wanted = pattern.split("/");
  let distance = Math.abs(given.length - wanted.length) * 4;
  for (let index = 0; index < Math.min(given.length, wanted.length); index += 1) {
    const want = wanted[index] as string;
    if (!want.startsWith(":")) distance += editDistance((given[index] as string).slice(0, 60), want);
  }
  return distance;
}
