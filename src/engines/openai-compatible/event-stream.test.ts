import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEventStream, EventTooLarge, LARGEST_EVENT } from "./event-stream.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function read(pieces: Uint8Array[]) {
  const stream = createEventStream();
  return { events: [...pieces.flatMap((piece) => stream.push(piece)), ...stream.end()], stray: stream.stray() };
}

const STREAM =
  'event: a\ndata: {"ñ":"北"}\n\n: keep-alive\n\ndata:no space\ndata: second line\n\nid: 7\nretry: 5\ndata\n\ndata: 👩‍👩‍👧\n\ndata: last';
const EVENTS = [
  { event: "a", data: '{"ñ":"北"}' },
  { event: "", data: "no space\nsecond line" },
  { event: "", data: "" },
  { event: "", data: "👩‍👩‍👧" },
  { event: "", data: "last" },
];

describe("an event stream", () => {
  it.each(["\n", "\r\n", "\r"])("is read with %j as line end, cut in two at any byte", (end) => {
    const all = bytes(STREAM.replaceAll("\n", end));
    for (let at = 0; at <= all.length; at += 1) expect(read([all.subarray(0, at), all.subarray(at)]).events, `${at}`).toEqual(EVENTS);
  });

  it("is read alike however it is cut, with line ends mixed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("data: x", "data:ñ北", "\n", "\r\n", "\r", ": c", "event: e", "👩‍👩‍👧", "error: y"), { maxLength: 20 }),
        fc.array(fc.nat(80), { maxLength: 6 }),
        (parts, cuts) => {
          const all = bytes(parts.join(""));
          const places = [0, ...cuts.filter((cut) => cut < all.length).toSorted((a, b) => a - b), all.length];
          expect(read(places.slice(1).map((place, index) => all.subarray(places[index], place)))).toEqual(read([all]));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("gives an event as soon as its blank line is there", () => {
    const stream = createEventStream();
    expect(stream.push(bytes("data: 1\n"))).toEqual([]);
    expect(stream.push(bytes("\nda"))).toEqual([{ event: "", data: "1" }]);
  });

  it("keeps a little of what is no event stream, for the error", () => {
    expect(read([bytes(`<html>${"x".repeat(1_000)}\n<body>\n`)])).toMatchObject({
      events: [],
      stray: expect.stringMatching(/^<html>x{294}$/) as string,
    });
  });

  it("joins the pieces of one large line in time linear in its size", () => {
    const stream = createEventStream();
    const piece = bytes("y".repeat(1_024));
    stream.push(bytes("data: "));
    const began = performance.now();
    for (let n = 0; n < 20_000; n += 1) stream.push(piece);
    expect(stream.push(bytes("\n\n"))[0]?.data.length).toBe(20_480_000);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it("refuses an event that would fill the memory", () => {
    const stream = createEventStream();
    const piece = bytes("z".repeat(1024 * 1024));
    expect(() => {
      for (let n = 0; n <= LARGEST_EVENT / piece.length; n += 1) stream.push(piece);
    }).toThrow(EventTooLarge);
  });
});
