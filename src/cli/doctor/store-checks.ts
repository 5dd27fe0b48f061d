/** What `somora doctor` tells of the store's past and size: the last repair, what is gone, copies, format. Reads no database. */
import { unwell, well, type Finding, type StoreStandingSeen } from "./check.ts";

/** The standing is asked once for all of them. */
export function storeChecks(standing: () => Promise<StoreStandingSeen>): Promise<Finding>[] {
  const asked = standing();
  return [sizeOf, repairOf, gapsOf, copiesOf].map((check) => asked.then(check, (error: unknown) => unread(error)));
}

function unread(error: unknown): Finding {
  return unwell("store", error instanceof Error ? error.message : String(error), "Make the folder store/ yours.");
}

function sizeOf({ databaseBytes, walBytes, lastCommit, format, knownFormat, build }: StoreStandingSeen): Finding {
  if (format !== null && format > knownFormat) {
    return unwell(
      "size",
      `the store has the format ${format}; this build knows formats up to ${knownFormat}`,
      "Start the newer build again, or put back the copy it made before.",
    );
  }
  const parts = [`database ${megabytes(databaseBytes)}`, `log (WAL) ${megabytes(walBytes)}`];
  if (lastCommit !== null) parts.push(`last commit ${lastCommit.epoch}.${lastCommit.commit}`);
  if (build !== null) parts.push(`written by ${build.version}${build.stamp === null ? "" : ` (${build.stamp.slice(0, 8)})`}`);
  return well("size", parts.join(", "));
}

/** Not well until a person has looked: removing the kept bytes says so. */
function repairOf({ lastRepair, repairs, asides, unopened }: StoreStandingSeen): Finding {
  if (unopened.length > 0) {
    return unwell(
      "repair",
      `the store did not open; its bytes are kept in ${unopened.join(", ")}`,
      "docs/tasks/repair-a-store.md says how to go on. Remove them when you need them no more.",
    );
  }
  if (lastRepair === null) return well("repair", "never needed");
  const seen = `${new Date(lastRepair.at).toISOString().slice(0, 19)}Z ${lastRepair.said}${repairs > 1 ? ` It was repair ${repairs}.` : ""}`;
  if (lastRepair.unfinished) return unwell("repair", seen, "It was cut short; the next start ends it.");
  const kept = asides.filter((folder) => lastRepair.said.includes(folder));
  return kept.length === 0
    ? well("repair", seen)
    : unwell("repair", seen, `When you have seen this, remove the kept bytes: rm -r ${kept.join(" ")}`);
}

function gapsOf({ lost }: StoreStandingSeen): Finding {
  if (lost.length === 0) return well("gaps", "no commit is known to be missing");
  return well("gaps", lost.map(({ epoch, from, to }) => `${epoch}.${from} to ${to === null ? "unknown" : `${epoch}.${to}`}`).join("; "));
}

function copiesOf({ copies, asides }: StoreStandingSeen): Finding {
  const parts = [
    ...copies.map((folder) => `before an update: ${folder}`),
    ...asides.map((folder) => `as it was when it was damaged: ${folder}`),
  ];
  return well("copies", parts.length === 0 ? "none" : parts.join("; "));
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(bytes < 10_485_760 ? 1 : 0)} MB`;
}
