/** A vitest reporter that only counts: writes `{ passed, failed, skipped: [{ test, why }] }` to the file in TEST_SUMMARY_FILE. */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { root } from "./files.mjs";

export default class SummaryReporter {
  onTestRunEnd(modules, errors) {
    const summary = { passed: 0, failed: 0, skipped: [] };
    for (const module of modules) {
      // A file that does not load has no tests to count, and is no pass.
      if (module.errors().length > 0) summary.failed++;
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) summary.failed++;
      for (const test of module.children.allTests()) this.#count(summary, relative(root, module.moduleId), test);
    }
    summary.failed += errors.length;
    writeFileSync(process.env.TEST_SUMMARY_FILE, JSON.stringify(summary));
  }

  #count(summary, file, test) {
    const { state, note } = test.result();
    if (state === "passed") summary.passed++;
    else if (state === "skipped") summary.skipped.push({ test: `${file} > ${test.fullName}`, why: note ?? null });
    else summary.failed++;
  }
}
