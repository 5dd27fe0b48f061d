/** Would catch: a page wider than its window, text cut off, text too pale, findings of axe, in every state and size. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { closeBrowser, DESKTOP, openPage, PHONE, say, settled, stand, talk, whyNoBrowser, type Stand } from "../support/browser-page.ts";
import { LONG_NAME } from "../support/rehearsed-plays.ts";

const open: Stand[] = [];
const pages: Page[] = [];
afterEach(async () => {
  for (const page of pages.splice(0)) await page.context().close();
  for (const one of open.splice(0)) await one.close();
});
afterAll(closeBrowser);

type State = (look: { viewport: { width: number; height: number }; colorScheme: "light" | "dark" }) => Promise<Page>;
async function on(full: boolean): Promise<Stand> {
  const one = await stand({ full });
  open.push(one);
  return one;
}
const states: Record<string, State> = {
  "the first run": async (look) => talk((await on(false)).base, "guide", look),
  "the middle of a turn with a queue": async (look) => {
    const page = await talk((await on(true)).base, "marlow", look);
    await say(page, "Compare the autumn catalogue with the price list");
    await page.waitForSelector("[data-move=run] >> text=exec");
    await say(page, "Then the mail");
    await page.fill("main textarea", "Use gross prices");
    return page;
  },
  "a failed turn": async (look) => {
    const page = await talk((await on(true)).base, "marlow", look);
    await say(page, "refuse me");
    await settled(page);
    return page;
  },
  "a name of sixty characters, German and Japanese": async (look) => {
    const page = await talk((await on(true)).base, LONG_NAME, look);
    await say(
      page,
      "秋カタログの在庫と倉庫の記録を照合してください。Rechtsschutzversicherungsgesellschaftsmitarbeiterverzeichnisprüfungsordnung",
    );
    await settled(page);
    return page;
  },
  "a result of 4,000 lines": async (look) => {
    const page = await talk((await on(true)).base, "marlow", look);
    await say(page, "long");
    await settled(page);
    await page.click("main button:has-text('exec')");
    await page.fill("input[aria-label='Find in this output']", "FEHLT");
    return page;
  },
  "a parked session": async (look) => {
    const page = await talk((await on(true)).base, "ledger", look);
    await page.waitForSelector("text=Parked:");
    return page;
  },
  "a dead server": async (look) => {
    const one = await on(true);
    const page = await talk(one.base, "marlow", look);
    await say(page, "build it");
    await page.waitForSelector("text=npm run build");
    one.server.up = false;
    one.server.cut();
    await page.waitForSelector("text=No connection");
    await say(page, "And the changelog");
    return page;
  },
  "the tree on its own": async (look) => {
    const page = await openPage((await on(true)).base, look, "#/tree");
    await page.waitForSelector("[role=treeitem]");
    await page.click("[role=treeitem] >> nth=1");
    return page;
  },
};

/** Elements whose text is cut without an ellipsis or a scrollbar that says so. */
function clipped(): string[] {
  const bad: string[] = [];
  for (const element of document.querySelectorAll<HTMLElement>("#page *")) {
    const style = getComputedStyle(element);
    if (element.clientWidth === 0 || style.position === "absolute" || element.closest(".sr-only, svg, textarea") !== null) continue;
    const hidden = (value: string): boolean => value === "hidden" || value === "clip";
    const says = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
    const wide = element.scrollWidth > element.clientWidth + 1 && hidden(style.overflowX) && !says;
    const high =
      element.scrollHeight > element.clientHeight + 2 &&
      hidden(style.overflowY) &&
      style.webkitLineClamp === "none" &&
      style.whiteSpace !== "nowrap";
    if ((wide || high) && element.textContent.trim() !== "")
      bad.push(`${element.tagName} ${element.className}: ${element.textContent.slice(0, 40)}`);
  }
  return bad;
}

describe.skipIf(whyNoBrowser !== null)(whyNoBrowser === null ? "the page" : `the page (skipped: ${whyNoBrowser})`, () => {
  it.each(Object.keys(states))(
    "shows %s without overflow, cut text, pale text or serious axe findings, on a light desktop and a dark phone",
    async (name) => {
      const page = await states[name]?.({ viewport: DESKTOP, colorScheme: "light" });
      if (page === undefined) throw new Error("no such state");
      pages.push(page);
      await looksRight(page);
      await page.setViewportSize(PHONE);
      await page.emulateMedia({ colorScheme: "dark" });
      await looksRight(page);
    },
    60_000,
  );
});

describe.skipIf(whyNoBrowser !== null)(
  whyNoBrowser === null ? "the tree on its own, on a phone" : `the tree on its own, on a phone (skipped: ${whyNoBrowser})`,
  () => {
    it("shows its filters below the truth line, not under it", async () => {
      const page = await states["the tree on its own"]?.({ viewport: PHONE, colorScheme: "light" });
      if (page === undefined) throw new Error("no such state");
      pages.push(page);
      const line = await page.locator("footer[aria-label='Truth line']").boundingBox();
      const filters = await page.locator("[role=group][aria-label='Whose move']").boundingBox();
      expect(filters?.y).toBeGreaterThanOrEqual((line?.y ?? Infinity) + (line?.height ?? 0) - 1);
    });
  },
);

describe.skipIf(whyNoBrowser !== null)(
  whyNoBrowser === null ? "a table wider than the page" : `a table wider than the page (skipped: ${whyNoBrowser})`,
  () => {
    it("can be scrolled in its own box, on a phone and on a desktop", async () => {
      const page = await talk((await on(true)).base, "marlow", { viewport: DESKTOP, colorScheme: "light" });
      pages.push(page);
      await say(page, "wide table");
      await settled(page);
      for (const size of [DESKTOP, PHONE]) {
        await page.setViewportSize(size);
        const [shown, whole, lane] = await page
          .locator("main [role=region][aria-label=Table]")
          .evaluate((box) => [box.clientWidth, box.scrollWidth, (box.closest(".prose") as HTMLElement).clientWidth] as const);
        expect(shown).toBeLessThanOrEqual(lane);
        expect(whole).toBeGreaterThan(shown);
      }
    });
  },
);

async function looksRight(page: Page): Promise<void> {
  await page.waitForTimeout(400); // drawers and fonts come to rest
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  expect(await page.evaluate(clipped)).toEqual([]);
  const found = await new AxeBuilder({ page }).analyze();
  const serious = found.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target.join(" ")} ${node.any[0]?.message ?? ""}`).join("; ")}`);
  expect(serious).toEqual([]);
}
