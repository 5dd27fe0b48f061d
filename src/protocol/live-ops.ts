/** Topics of `/live`. */
export const TOPIC = {
  tree: "tree",
  agents: "agents",
  server: "server",
  session: (agent: string, session: string): string => `session:${agent}/${session}`,
} as const;

/** `session:a/s` → its parts; null when the topic is another one. */
export function sessionOfTopic(topic: string): { agent: string; session: string } | null {
  const match = /^session:([^/]+)\/([^/]+)$/.exec(topic);
  return match ? { agent: match[1] as string, session: match[2] as string } : null;
}

/** `"<epoch>.<n>"`, compared by its last number within one epoch. */
export function seqNumber(seq: string): { epoch: string; n: number } {
  const cut = seq.lastIndexOf(".");
  return { epoch: seq.slice(0, cut), n: Number(seq.slice(cut + 1)) };
}
