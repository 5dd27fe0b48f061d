/** What tests use of the simulation's scripts; its types stand beside it. */
export { root } from "./files.mjs";
export { findPlanted } from "./planted-search.mjs";
export { bundleSimulation } from "./simulation-bundle.mjs";
export { numbers, PART, partHash, sourceHash } from "./simulation-proof.mjs";
export { playSeeds } from "./simulation-runs.mjs";
