/** The wait graph, asked for when some actor begins, ends or changes a wait, as the tree tells it; never while nobody waits. */
import { useEffect, useState } from "react";
import type { Client } from "../../src/client/index.ts";
import type { ActorView } from "../../src/protocol/actor-view.ts";
import type { WaitView } from "../../src/protocol/waits.ts";
import { useClient } from "../hooks/use-client.ts";

const NONE: readonly WaitView[] = [];
const asked = new WeakMap<Client, { told: string; answer: Promise<readonly WaitView[]> }>();

/** One request for all who ask on the same news. */
function ask(client: Client, told: string): Promise<readonly WaitView[]> {
  const last = asked.get(client);
  if (last?.told === told) return last.answer;
  const answer = client.api.waits();
  asked.set(client, { told, answer });
  answer.catch(() => asked.delete(client));
  return answer;
}

export function useWaits(actors: readonly ActorView[]): readonly WaitView[] {
  const client = useClient();
  const [waits, setWaits] = useState(NONE);
  const told = actors
    .filter((actor) => actor.waitingFor !== undefined || actor.stuck !== undefined)
    .map((actor) => `${actor.address} ${actor.birth} ${actor.waitingFor?.since} ${actor.stuck}`)
    .join("\n");
  useEffect(() => {
    let over = false;
    void (told === "" ? Promise.resolve(NONE) : ask(client, told)).then(
      (found) => void (over || setWaits(found)),
      () => undefined, // the truth line says why; the sentences still stand
    );
    return () => void (over = true);
  }, [client, told]);
  return waits;
}
