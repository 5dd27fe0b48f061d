/** The charts that live only in a simulated world, beside the real ones. */
import type { ChartDefinition } from "../../actors/kernel/chart.ts";
import { charts as realCharts, specs as realSpecs } from "../../actors/tree.ts";
import type { ChildSpec } from "../../protocol/effects.ts";
import { jobMachine } from "./job.chart.ts";
import { probeMachine } from "./probe.chart.ts";
import { workerMachine } from "./worker.chart.ts";

const budget = { intensity: 3, periodMs: 60_000 };

export const charts: readonly ChartDefinition[] = [
  ...realCharts,
  {
    name: "worker",
    version: 1,
    machine: workerMachine,
    ignore: [
      "stopped",
      ...["done", "failed", "aborted", "interrupted"].flatMap((end) => Array.from({ length: 40 }, (_, n) => `own${n}.${end}`)),
    ],
  },
  {
    name: "job",
    version: 1,
    machine: jobMachine,
    // What comes after it gave up, or for a step it is past.
    ignore: ["stop", "answered", "refused", "unanswered", "alarm", "down", "resumed"],
  },
  { name: "probe", version: 1, machine: probeMachine, ignore: ["stopped"] },
];

export const specs: Readonly<Record<string, ChildSpec>> = {
  ...realSpecs,
  line: { restart: "permanent", shutdown: "infinity", identity: "keep", past: "park", ...budget, line: true },
  job: { restart: "transient", shutdown: 9_000, identity: "keep", past: "fail", ...budget },
  probe: { restart: "permanent", shutdown: 2_000, identity: "fresh", past: "park", ...budget },
};
