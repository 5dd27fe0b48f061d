/** Makes an agent: a name, and the model the first one of its kind uses. */
import type { Client } from "../../src/client/index.ts";
import { goTo, talkHref } from "../hooks/use-route.ts";
import { ask } from "./ask.tsx";
import { say } from "./toast.tsx";

export async function newAgent(client: Client): Promise<void> {
  const name = await ask({
    title: "New agent",
    note: "It gets a folder with an AGENTS.md that says who it is; you can write there at any time.",
    label: "Name",
    value: "",
    placeholder: "letters, digits, - _ and .",
    action: "Make it",
  });
  if (name === null || name.trim() === "") return;
  try {
    const { models } = await client.api.models();
    const model = models.find((other) => !other.rehearsal)?.ref;
    await client.api.createAgent({ name: name.trim(), ...(model === undefined ? {} : { model }) });
    goTo(talkHref(name.trim(), "main"));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}
