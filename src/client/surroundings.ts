/** What a client needs from where it runs: a socket, time, chance, storage. Each is passed in, so tests pass their own. */

export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((text: string) => void) | null;
  /** Called once, whether it was ever open or not. */
  onclose: (() => void) | null;
}
export type OpenSocket = () => Socket;

export interface Time {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  after(milliseconds: number, run: () => void): () => void;
  /** 0 to 1, for jitter. */
  chance(): number;
}

/** What `localStorage` offers of it. A full or forbidden storage throws in `setItem`. */
export interface Keep {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The browser's (and Node's) own WebSocket behind the port. */
export function openWebSocket(url: string, protocols: string[] = []): OpenSocket {
  return () => {
    const inner = new WebSocket(url, protocols);
    const socket: Socket = { send: (text) => inner.send(text), close: () => inner.close(), onopen: null, onmessage: null, onclose: null };
    inner.onopen = () => socket.onopen?.();
    inner.onmessage = (event) => {
      if (typeof event.data === "string") socket.onmessage?.(event.data);
    };
    inner.onclose = () => socket.onclose?.();
    return socket;
  };
}

export const realTime: Time = {
  now: () => Date.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  chance: () => Math.random(),
};

/** Holds for the life of the process. */
export function keepInMemory(): Keep {
  const held = new Map<string, string>();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => void held.set(key, value),
    removeItem: (key) => void held.delete(key),
  };
}
