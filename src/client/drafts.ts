/** What a person has typed and not sent, per session; survives reload, restart and another session in between. */
import type { Keep } from "./surroundings.ts";

export class Drafts {
  readonly #keep: Keep;

  constructor(keep: Keep) {
    this.#keep = keep;
  }

  read(agent: string, session: string): string {
    return this.#keep.getItem(keyOf(agent, session)) ?? "";
  }

  write(agent: string, session: string, text: string): void {
    try {
      if (text === "") this.#keep.removeItem(keyOf(agent, session));
      else this.#keep.setItem(keyOf(agent, session), text);
    } catch {
      // storage is full or forbidden: the text stays in the field
    }
  }
}

const keyOf = (agent: string, session: string): string => `somora.draft:${agent}/${session}`;
