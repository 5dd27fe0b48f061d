/** What the command line has of the outside: streams, the terminal, the caller's folder and environment. Tests bring their own. */
export interface CliIo {
  /** Text as it stands; no line end is added. */
  out(text: string): void;
  err(text: string): void;
  /** A person sees what goes to `out`. */
  outIsTerminal: boolean;
  inIsTerminal: boolean;
  columns: number;
  cwd: string;
  env: Record<string, string | undefined>;
  /**
   * All of stdin as text; null when nothing is piped in. With `firstByteMs` null also when nothing came for so long: a pipe
   * that its owner forgot to close must not hold up a question for ever.
   */
  readAll(firstByteMs?: number): Promise<string | null>;
  /** Ctrl-C. Returns how to stop listening. */
  onInterrupt(listener: () => void): () => void;
}
