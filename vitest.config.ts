/** Which files are tests. The line CI reads comes from `scripts/test.mjs`. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.{ts,tsx}", "test/**/*.test.{ts,tsx}", "ui/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
    exclude: ["**/node_modules/**", "dist/**"],
    // Real processes, databases and browsers on a machine with two busy cores.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    slowTestThreshold: 5_000,
    // In CI one after the other: limits that are promises (a stop, a flood) are held without neighbours.
    maxWorkers: process.env.CI === "true" ? 1 : 2,
  },
});
