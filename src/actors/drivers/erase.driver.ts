/** erase: removes what a deleted session left in the store. Doing it twice harms nothing. */
import type { Address } from "../../protocol/ids.ts";
import type { Driver } from "../../ports/driver.port.ts";
import type { Journal } from "../../ports/journal.port.ts";

export function eraseDriver(journal: Journal, forget: (session: Address) => void): Driver {
  return {
    name: "erase",
    async perform(request) {
      const session = request["session"] as Address;
      await journal.erase(session);
      forget(session);
      return { status: "done", value: { slug: request["slug"] ?? "" } };
    },
  };
}
