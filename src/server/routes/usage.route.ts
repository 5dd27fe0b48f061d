/** What work cost. */
import { z } from "zod";
import { addressField } from "../fields.ts";
import { ok, route, type Route } from "../route.ts";

const byField = z
  .string()
  .transform((text) => text.split(",").filter((part) => part !== ""))
  .pipe(z.array(z.enum(["agent", "model", "day"], { error: "one or more of agent, model, day, with commas between" })))
  .default([]);

export const usageRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/usage",
    summary: "Sums of the ledger, descendants included; `by` is one or more of agent, model, day.",
    query: { by: byField, under: addressField.optional() },
    answers: "200 `{rows: [{agent?, model?, day?, input, output, cacheRead, cacheWrite, reasoning, costUsd, unknown, estimated}], total}`",
    run: async ({ query: { by, under } }, { handles }) => ok(await handles.usage.usage(under === undefined ? { by } : { by, under })),
  }),
];
