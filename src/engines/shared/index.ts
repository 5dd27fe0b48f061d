export { fitContext, estimateTokens } from "./fit-context.ts";
export { repairHistory, UNKNOWN_OUTCOME, type Repair, type RepairKind, type RepairedHistory } from "./repair-history.ts";
export { parseArguments, type ParsedArguments } from "./parse-arguments.ts";
export { mapUsage } from "./map-usage.ts";
