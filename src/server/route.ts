/** What a route is: one entry of a table from which routes are mounted and the reference page is made. */
import { z } from "zod";
import type { ErrorCode } from "../protocol/errors.ts";
import type { Handles } from "../ports/handles.port.ts";
import type { Gate } from "./auth/gate.ts";
import type { Pairing } from "./auth/pairing.ts";
import type { Tries } from "./auth/tries.ts";

export interface RouteContext {
  handles: Handles;
  gate: Gate;
  pairing: Pairing;
  tries: Tries;
}

export interface Answer {
  status: 200 | 201 | 202 | 204;
  body?: unknown;
  headers?: Record<string, string>;
}

interface RouteRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
}

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/api`, parameters as `:name`. */
  path: string;
  summary: string;
  params: z.ZodType;
  query: z.ZodType;
  /** Null: it reads no body. */
  body: z.ZodType | null;
  /** Status and shape of a good answer, in words. */
  answers: string;
  /** Refusals worth naming on the reference page, besides those of the gate and of the schemas. */
  refuses: readonly ErrorCode[];
  /** Needs no key. */
  open: boolean;
  /** Still taken while the server drains. */
  whileStopping: boolean;
  run(request: RouteRequest<unknown, unknown, unknown>, context: RouteContext): Promise<Answer> | Answer;
}

type Fields = Record<string, z.ZodType>;
type Parsed<Shape extends Fields> = z.infer<z.ZodObject<Shape>>;

/** Unknown fields of a body are refused by name; unknown query values are passed over. */
export function route<
  Params extends Fields = Record<never, never>,
  Query extends Fields = Record<never, never>,
  Body extends z.ZodType = z.ZodNull,
>(spec: {
  method: Route["method"];
  path: string;
  summary: string;
  params?: Params;
  query?: Query;
  body?: Body;
  answers: string;
  refuses?: readonly ErrorCode[];
  open?: boolean;
  whileStopping?: boolean;
  run: (request: RouteRequest<Parsed<Params>, Parsed<Query>, z.infer<Body>>, context: RouteContext) => Promise<Answer> | Answer;
}): Route {
  const { params, query, body, refuses = [], open = false, whileStopping = spec.method === "GET", run, ...rest } = spec;
  return {
    ...rest,
    refuses,
    open,
    whileStopping,
    params: z.object(params ?? {}),
    query: z.object(query ?? {}),
    body: body ?? null,
    run: run as Route["run"],
  };
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const accepted = (body: unknown): Answer => ({ status: 202, body });
export const nothing = (headers?: Record<string, string>): Answer => ({ status: 204, ...(headers ? { headers } : {}) });
