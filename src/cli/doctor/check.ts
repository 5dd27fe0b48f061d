/** One look at one thing: well, or what is wrong and how to mend it. */

export interface Finding {
  name: string;
  ok: boolean;
  /** What was seen. */
  seen: string;
  /** Only when it is not well. */
  mend?: string;
}

export type Check = () => Promise<Finding>;

/** What the store's files say of themselves, also while a server has them open. */
export interface StoreStandingSeen {
  databaseBytes: number;
  walBytes: number;
  format: number | null;
  knownFormat: number;
  build: { version: string; stamp: string | null } | null;
  lastCommit: { epoch: number; commit: number } | null;
  lastRepair: { at: number; said: string; unfinished: boolean } | null;
  repairs: number;
  lost: { epoch: number; from: number; to: number | null }[];
  /** Folders, oldest first: of damaged files, and of before an update. */
  asides: string[];
  copies: string[];
  /** Those of `asides` that belong to no repair: the store did not open. */
  unopened: string[];
}

/** What the checks need to know; the start-up file gives it. */
export interface DoctorSettings {
  nodeVersion: string;
  /** Where a server would listen. Rejects with CONFIG_INVALID when config.yaml is broken. */
  listen: () => Promise<{ host: string; port: number }>;
  home: string;
  storeFile: string;
  keyFile: string;
  storeStanding: () => Promise<StoreStandingSeen>;
}

export const well = (name: string, seen: string): Finding => ({ name, ok: true, seen });
export const unwell = (name: string, seen: string, mend: string): Finding => ({ name, ok: false, seen, mend });
