/**
 * The seed of every property test. In CI it is always the same, so that a red run speaks of the change and of nothing else; elsewhere
 * it is another one each time, and fast-check prints it with a counterexample. `SOMORA_TEST_SEED` sets it.
 */
import fc from "fast-check";

const given = process.env.SOMORA_TEST_SEED ?? (process.env.CI === "true" ? "20261201" : undefined);
if (given !== undefined) fc.configureGlobal({ seed: Number(given) });
