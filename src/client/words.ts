/** Numbers as people read them: short in rows, words in sentences. */

/** For rows: `38 ms`, `2.1 s`, `1:12`, `3:04:00`. */
export function shortSpan(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`;
  return clockSpan(ms);
}

/** For running clocks: `0:48`, `1:12`, `2:03:00`. */
export function clockSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** For things that rest: `22 s`, `9 min`, `5 h`, `3 d`. */
export function restSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** For sentences: `8 s`, `1 min 12 s`, `5 min`, `2 h 3 min`. */
export function spanWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (hours > 0) return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
  return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** `14:02` in local time. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `14:31:08` in local time. */
export function exactTime(at: number): string {
  return `${clockTime(at)}:${two(new Date(at).getSeconds())}`;
}

/** `14:31:08.4`: where several things happen within a second. */
export function tenthTime(at: number): string {
  return `${exactTime(at)}.${Math.floor((at % 1000) / 100)}`;
}

/** `at 14:02` today, `on 3 Nov at 14:02` before. */
export function atTime(at: number, now: number): string {
  const [day, today] = [new Date(at), new Date(now)];
  if (day.toDateString() === today.toDateString()) return clockTime(at);
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][day.getMonth()];
  return `${day.getDate()} ${month}, ${clockTime(at)}`;
}

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/** 1 → `first`, 11 → `11th`. */
export function ordinal(place: number): string {
  const spelled = ORDINALS[place - 1];
  if (spelled !== undefined) return spelled;
  const [tens, ones] = [place % 100, place % 10];
  return `${place}${tens > 10 && tens < 14 ? "th" : ones === 1 ? "st" : ones === 2 ? "nd" : ones === 3 ? "rd" : "th"}`;
}

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${grouped(amount)} ${amount === 1 ? one : many}`;
}

/** 1984 → `1,984`. */
export function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/gu, ",");
}

/** `$0.006`, `$1.84`; null and undefined are said, never shown as zero. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "cost unknown";
  if (usd === 0) return "$0.00";
  if (usd < 0.0005) return "under $0.001";
  return `$${usd.toFixed(usd < 0.1 ? 3 : 2)}`;
}

export function characters(amount: number): string {
  if (amount < 1000) return `${amount} characters`;
  return amount < 1_000_000 ? `${(amount / 1000).toFixed(amount < 10_000 ? 1 : 0)} KB` : `${(amount / 1_000_000).toFixed(1)} MB`;
}

/** Keeps both ends of a long path: `catalogue/…/autumn.md`. */
export function middle(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.ceil((most - 1) * 0.6);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** The word on a failed call, from its code: `FILE_NOT_FOUND` → `not found`. */
export function codeWord(code: string | undefined): string {
  if (code === undefined) return "failed";
  const known: Record<string, string> = {
    TOOL_TIMEOUT: "cut by its limit",
    TOOL_CANCELLED: "cancelled",
    TOOL_INTERRUPTED: "interrupted",
    TOOL_DENIED: "not allowed",
    TOOL_UNKNOWN: "no such tool",
    TOOL_INPUT_INVALID: "input refused",
    TOOL_INPUT_BROKEN: "input broken",
    PATH_DENIED: "not allowed",
    TOOL_FAILED: "failed",
    TOOL_LIMIT: "limit reached",
  };
  return (
    known[code] ??
    code
      .replace(/^(FILE|PATCH|SEARCH|DOC|TOOL|CHANGE|CWD|PATH)_/u, "")
      .replaceAll("_", " ")
      .toLowerCase()
  );
}
