/** The tools of the reference page. Empty until the tool room is wired in: then there is no page on tools. */
import type { ToolListing } from "../../src/ports/tools.port.ts";

export function toolListings(): readonly ToolListing[] {
  return [];
}
