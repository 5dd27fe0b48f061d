/** An agent whose folder is not there is parked for that reason. Nobody but the folder brings it back. */
import { SomoraError } from "../protocol/errors.ts";
import { agentAddress } from "../protocol/ids.ts";

export const FOLDER_GONE = "folder gone";

export function folderGone(agent: string): SomoraError {
  return new SomoraError("PARKED", `${agentAddress(agent)} is parked: ${FOLDER_GONE}`, {
    hint: `Put the folder agents/${agent} with its AGENTS.md back; the agent goes on by itself.`,
    details: { reason: FOLDER_GONE },
  });
}
