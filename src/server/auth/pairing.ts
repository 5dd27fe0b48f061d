/**
 * Pairing: a code, used once within five minutes, turns a browser's visit into a cookie. Cookies are signed with the home's
 * key and a generation, so they live over a restart and end together when the generation grows.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const CODE_LIFE_MS = 5 * 60_000;
const MOST_CODES = 50;

/** Which cookies still count. Kept in a file by the start-up code, in memory by tests. */
export interface Generation {
  get(): number;
  /** Resolves when it is stored. */
  grow(): Promise<void>;
}

export function memoryGeneration(): Generation {
  let value = 1;
  return {
    get: () => value,
    async grow() {
      value += 1;
    },
  };
}

export interface Pairing {
  /** A fresh code, for an address that a person opens. */
  newCode(): { code: string; expiresAt: number };
  /** True once per code. */
  redeem(code: string): boolean;
  newCookie(): string;
  cookieFits(value: string): boolean;
  /** No cookie given before counts any more; open codes end, too. */
  endAll(): Promise<void>;
  /** Called after `endAll`: what a cookie opened must close. */
  onEnd(listener: () => void): void;
}

export function createPairing(options: { key: string; now: () => number; generation: Generation }): Pairing {
  const { key, now, generation } = options;
  const codes = new Map<string, number>();
  const listeners: (() => void)[] = [];
  const sign = (nonce: string): string => createHmac("sha256", key).update(`cookie ${generation.get()} ${nonce}`).digest("base64url");
  return {
    newCode() {
      const code = randomBytes(9).toString("base64url");
      const expiresAt = now() + CODE_LIFE_MS;
      codes.set(code, expiresAt);
      for (const [old, end] of codes) if (end <= now() || codes.size > MOST_CODES) codes.delete(old);
      return { code, expiresAt };
    },
    redeem(code) {
      const end = codes.get(code);
      codes.delete(code);
      return end !== undefined && end > now();
    },
    newCookie() {
      const nonce = randomBytes(18).toString("base64url");
      return `${nonce}.${sign(nonce)}`;
    },
    cookieFits(value) {
      const [nonce, mac, ...more] = value.split(".");
      return nonce !== undefined && mac !== undefined && more.length === 0 && sameText(mac, sign(nonce));
    },
    async endAll() {
      codes.clear();
      await generation.grow();
      for (const listener of listeners) listener();
    },
    onEnd: (listener) => void listeners.push(listener),
  };
}

/** Compares without telling by its time where the difference is. */
export function sameText(a: string, b: string): boolean {
  const left = createHmac("sha256", "somora").update(a).digest();
  const right = createHmac("sha256", "somora").update(b).digest();
  return timingSafeEqual(left, right);
}
