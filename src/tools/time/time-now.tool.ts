/** time_now: date and time, so that nobody guesses. */
import { z } from "zod";
import { SomoraError } from "../../protocol/errors.ts";
import { defineTool } from "../define-tool.ts";

export const timeNow = defineTool({
  name: "time_now",
  toolset: "time",
  description:
    "The current date, time, weekday and time zone. Never guess today's date or the time: call this whenever an answer, a file name, a schedule or a calculation depends on now. Nothing in the conversation tells you the present time reliably.",
  input: z.object({
    timezone: z.string().min(1).max(100).optional().describe("IANA time zone such as Europe/Berlin or UTC; default: the server's own"),
  }),
  needs: ["clock"],
  repeatable: true,
  async run({ timezone }, { clock }) {
    const epochMs = clock.now();
    const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const parts = partsAt(epochMs, zone);
    const date = `${parts["year"]}-${parts["month"]}-${parts["day"]}`;
    const time = `${parts["hour"]}:${parts["minute"]}:${parts["second"]}`;
    const utcOffset = offsetOf(parts["timeZoneName"] ?? "GMT");
    return {
      iso: `${date}T${time}${utcOffset === "+00:00" ? "Z" : utcOffset}`,
      date,
      time,
      weekday: parts["weekday"] ?? "",
      timezone: zone,
      utcOffset,
      epochMs,
    };
  },
  summary: ({ date, time, timezone }) => `${date} ${time} ${timezone}`,
});

function partsAt(epochMs: number, timeZone: string): Partial<Record<string, string>> {
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    });
    return Object.fromEntries(format.formatToParts(epochMs).map(({ type, value }) => [type, value]));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SomoraError("TOOL_INPUT_INVALID", `timezone: ${JSON.stringify(timeZone)} is no known time zone.`, {
      hint: "Use an IANA name such as Europe/Berlin, America/New_York or UTC, or leave it out.",
    });
  }
}

/** `GMT+02:00` to `+02:00`, `GMT` to `+00:00`. */
function offsetOf(name: string): string {
  const offset = name.replace("GMT", "");
  return offset === "" ? "+00:00" : offset;
}
