export { fitContext } from "./fit-context.ts";
export { repairHistory, type Repair, type RepairKind, type RepairedHistory } from "./repair-history.ts";
