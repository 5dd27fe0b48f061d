/** Which files are tests, and which of them need the machine to themselves. The line CI reads comes from `scripts/test.mjs`. */
import { defineConfig } from "vitest/config";

/** They hold limits that are promises (a stop, a flood, a full disk): no neighbours while they run. */
const alone = [
  "test/hostile/{abort,draining,disk-full}.test.ts",
  "test/suites/tools/exec*.test.ts",
  "test/suites/kernel/scale.test.ts",
  // It keeps both cores busy by itself.
  "test/suites/simulation/*.test.ts",
  "src/host/*.test.ts",
];
const never = ["**/node_modules/**", "dist/**"];

export default defineConfig({
  test: {
    // Real processes, databases and browsers on a machine with two busy cores.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    slowTestThreshold: 5_000,
    setupFiles: ["test/support/seed.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "side by side",
          include: ["src/**/*.test.{ts,tsx}", "test/**/*.test.{ts,tsx}", "ui/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
          exclude: [...never, ...alone],
          // Most of them wait for processes, disks and pages more than they compute.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: "alone", include: alone, exclude: never, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
