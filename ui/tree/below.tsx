/** What stands around the rows of the tree, in a piece of code of its own. */
export { Inspector } from "./inspector.tsx";
export { TimeStrip } from "./time-strip.tsx";
export { WaitArrows } from "./wait-arrows.tsx";
export { PastHead } from "./past-head.tsx";
