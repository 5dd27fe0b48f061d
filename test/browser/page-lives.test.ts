/** Would catch: text that jumps while it streams, following a reader who left, work that grows, a draft or a message lost by a reload. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { closeBrowser, DESKTOP, PHONE, say, settled, stand, talk, whyNoBrowser, type Stand } from "../support/browser-page.ts";

const open: Stand[] = [];
const pages: Page[] = [];
afterEach(async () => {
  for (const page of pages.splice(0)) await page.context().close();
  for (const one of open.splice(0)) await one.close();
});
afterAll(closeBrowser);

async function fresh(): Promise<Stand> {
  const one = await stand();
  open.push(one);
  return one;
}
async function marlow(one: Stand, viewport = DESKTOP): Promise<Page> {
  const page = await talk(one.base, "marlow", { viewport, hasTouch: viewport === PHONE });
  pages.push(page);
  return page;
}

describe.skipIf(whyNoBrowser !== null)(whyNoBrowser === null ? "a conversation" : `a conversation (skipped: ${whyNoBrowser})`, () => {
  it("shifts nothing while an answer with a table and code streams", async () => {
    const page = await marlow(await fresh());
    await page.waitForTimeout(800);
    await page.evaluate(() => {
      const state = window as unknown as { shift: number };
      state.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) state.shift += (entry as unknown as { value: number; hadRecentInput: boolean }).value;
      }).observe({ type: "layout-shift", buffered: false });
    });
    await say(page, "Compare the autumn catalogue with the price list");
    await page.waitForSelector("main table");
    await settled(page);
    expect(await page.evaluate(() => (window as unknown as { shift: number }).shift)).toBeLessThan(0.05);
  }, 60_000);

  it("spends on the last piece of a 200 KB answer at most three times what an early piece took", async () => {
    const page = await marlow(await fresh());
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const spent = async (): Promise<number> => {
      const { metrics } = await session.send("Performance.getMetrics");
      return ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].reduce(
        (sum, name) => sum + (metrics.find((one) => one.name === name)?.value ?? 0),
        0,
      );
    };
    const shown = (): Promise<number> => page.evaluate(() => document.querySelector("[role=log] .prose")?.textContent.length ?? 0);
    await say(page, "words 200000");
    const marks: [number, number][] = [];
    for (let ended = false; !ended;) {
      await page.waitForTimeout(120);
      ended = (await page.locator("[data-key^='e:']").count()) > 0;
      if (!ended) marks.push([await shown(), await spent()]);
    }
    const rate = (from: number, to: number): number => {
      const some = marks.filter(([length]) => length >= from && length <= to);
      const [first, last] = [some[0], some.at(-1)];
      return first === undefined || last === undefined ? 0 : (last[1] - first[1]) / Math.max(1, last[0] - first[0]);
    };
    expect(rate(5_000, 50_000)).toBeGreaterThan(0);
    expect(rate(140_000, 200_000)).toBeLessThan(3 * rate(5_000, 50_000));
  }, 120_000);

  it.each([
    ["desktop", DESKTOP],
    ["phone", PHONE],
  ] as const)(
    "keeps the line a reader scrolled up to, through the rest of the turn: %s (G39)",
    async (_, viewport) => {
      const page = await marlow(await fresh(), viewport);
      await say(page, "words 2000");
      await settled(page);
      await say(page, "words 20000");
      await page.waitForFunction(() => ([...document.querySelectorAll("[role=log] .prose")].at(-1)?.textContent.length ?? 0) > 3000);
      const box = await page.locator("[role=log]").boundingBox();
      if (box === null) throw new Error("no log");
      await page.mouse.move(box.x + box.width / 2, box.y + 200);
      for (let at = 0; at < 6; at += 1) await page.mouse.wheel(0, -160);
      await page.waitForTimeout(250);
      const first = (): Promise<{ text: string; top: number }> =>
        page.evaluate(() => {
          const edge = document.querySelector("[role=log]")?.getBoundingClientRect().top ?? 0;
          const line = [...document.querySelectorAll("[role=log] .prose p")].find(
            (paragraph) => paragraph.getBoundingClientRect().bottom > edge + 4,
          );
          return { text: line?.textContent.slice(0, 30) ?? "", top: line?.getBoundingClientRect().top ?? 0 };
        });
      const before = await first();
      await page.waitForFunction(() => document.querySelector("main button[title='Esc Esc']") === null);
      await page.waitForTimeout(300);
      const after = await first();
      expect(after.text).toBe(before.text);
      expect(Math.abs(after.top - before.top)).toBeLessThan(4);
      await page.getByRole("button", { name: /new|To the end/u }).click();
      await page.waitForFunction(() => {
        const log = document.querySelector("[role=log]");
        return log !== null && log.scrollHeight - log.clientHeight - log.scrollTop < 2;
      });
    },
    90_000,
  );

  it("keeps a message written while the server is away and sends it once when it is back, over a reload", async () => {
    const one = await fresh();
    const page = await marlow(one);
    one.server.up = false;
    one.server.cut();
    await page.waitForSelector("text=No connection");
    await say(page, "kept for later");
    await page.waitForSelector("text=kept here");
    one.server.up = true;
    // It may find the server by itself before the press lands: then there is nothing to press any more.
    await page.evaluate(() => [...document.querySelectorAll("button")].find((button) => button.textContent === "Try now")?.click());
    await page.waitForSelector("text=You said: kept for later");
    expect(
      one.server.requests.filter((request) => request.path === "/chat/send" && JSON.stringify(request.body).includes("kept for later")),
    ).toHaveLength(1);
  }, 60_000);

  it("draws at most sixty of 10,000 rows and loads older ones as the reader goes up", async () => {
    const one = await fresh();
    one.server.seed(
      "marlow",
      "main",
      Array.from({ length: 10_000 }, (_, at) => ({ kind: "notice" as const, turnId: null, data: { kind: "test", text: `row ${at}` } })),
    );
    const page = await marlow(one);
    await page.waitForSelector("text=row 9999");
    expect(await page.locator("[data-key]").count()).toBeLessThanOrEqual(60);
    await page.mouse.move(600, 400);
    for (let at = 0; at < 30; at += 1) {
      await page.mouse.wheel(0, -1200);
      await page.waitForTimeout(30);
    }
    await page.waitForFunction(() => /row 9[0-7]\d\d/u.test(document.querySelector("[role=log]")?.textContent ?? ""));
    expect(await page.locator("[data-key]").count()).toBeLessThanOrEqual(60);
  }, 60_000);
});
