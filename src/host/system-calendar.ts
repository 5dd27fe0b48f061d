/** Days in the time zone the server runs in. */
import type { Calendar } from "../ports/clock.port.ts";

export const systemCalendar: Calendar = {
  day(at) {
    const date = new Date(at);
    return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")}`;
  },
};
