/** Would catch: a past that is the present, a way in without a way back, Stop in the past, a wait whose end nobody can see. */
import type { Page } from "playwright-core";
import { AxeBuilder } from "@axe-core/playwright";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { closeBrowser, DESKTOP, PHONE, say, settled, stand, talk, whyNoBrowser, type Stand } from "../support/browser-page.ts";
import { stageWaits, unstick } from "../support/staged-waits.ts";

let open: { page: Page; one: Stand } | null = null;
afterEach(async () => {
  await open?.page.context().close();
  await open?.one.close();
  open = null;
});
afterAll(closeBrowser);

async function marlow(options: { phone?: boolean; before?: (one: Stand) => void } = {}): Promise<{ page: Page; one: Stand }> {
  const one = await stand();
  options.before?.(one);
  const page = await talk(one.base, "marlow", {
    ...(options.phone === true ? { viewport: PHONE, colorScheme: "dark" } : { viewport: DESKTOP }),
  });
  open = { page, one };
  return open;
}
const rows = (page: Page): Promise<string[]> =>
  page.locator("[role=treeitem]").evaluateAll((items) => items.map((item) => item.getAttribute("aria-label") ?? ""));
const head = (page: Page): ReturnType<Page["locator"]> => page.locator("[role=status][aria-label='The past']");
const askedFor = (one: Stand, path: string): number => one.server.requests.filter((request) => request.path === path).length;

async function hasNoSeriousFindings(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).analyze();
  const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  expect(serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join("; ")}`)).toEqual([]);
}

/** Steps back with `[` until the tree holds a row that begins so. */
async function stepBackTo(page: Page, name: string): Promise<void> {
  await page.locator("[role=tree]").focus();
  for (let step = 0; step < 30; step += 1) {
    const before = (await head(page).count()) === 0 ? "" : await head(page).innerText();
    await page.keyboard.press("[");
    await page.waitForFunction(
      (was) => (document.querySelector("[aria-label='The past']") as HTMLElement | null)?.innerText.split(",")[0] !== was,
      before.split(",")[0],
    );
    await page.waitForSelector("[aria-label='Living tree'][aria-busy=false]", { state: "attached" });
    if ((await page.locator(`[role=treeitem][aria-label^='${name}']`).count()) > 0) return;
  }
  throw new Error(`no moment shows ${name}`);
}

describe.skipIf(whyNoBrowser !== null)(whyNoBrowser === null ? "the past" : `the past (skipped: ${whyNoBrowser})`, () => {
  it("shows the tree as it was, to read only, marks the moment in the conversation, and goes back to live with Escape", async () => {
    const { page } = await marlow();
    await say(page, "tour");
    await settled(page);
    const slider = page.locator("[role=slider][aria-label='Moment of the tree']");
    expect(await slider.getAttribute("aria-valuetext")).toBe("now, live");
    const height = (await page.locator("aside[aria-label='Living tree']").boundingBox())?.height;

    await stepBackTo(page, "file_list ., running");
    expect(await head(page).innerText()).toMatch(/\d\d:\d\d:\d\d\.\d, \d+ s ago/u);
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/ago/u);
    expect(await rows(page)).toContain("file_list ., running");
    await page.click("[role=treeitem][aria-label^='file_list']");
    const inspector = page.locator("section[aria-label='Selected']");
    expect(await inspector.getByRole("button", { name: "Stop" }).count()).toBe(0);
    expect(await page.locator("[data-key=moment]").innerText()).toContain("the moment the tree shows");
    expect(await page.locator("[data-key=moment] ~ [data-key] .later").count()).toBeGreaterThan(0);
    expect(await page.locator("main >> text=Messages go to the present").count()).toBe(1);
    expect((await page.locator("aside[aria-label='Living tree']").boundingBox())?.height).toBe(height);

    await page.focus("main textarea");
    await page.keyboard.press("Escape");
    await page.waitForSelector("text=Living tree");
    expect(await head(page).count()).toBe(0);
    expect(await page.locator("[data-key=moment], .later").count()).toBe(0);
    expect((await rows(page)).filter((row) => row.startsWith("file_list") && row.endsWith("running"))).toEqual([]);
  }, 60_000);

  it("is reached on a phone with the buttons of the folded strip, and left with its own", async () => {
    const { page } = await marlow({ phone: true });
    await say(page, "tour");
    await settled(page);
    await page.click("header button[aria-label='Living tree']");
    expect(await page.locator("[role=slider]").isVisible()).toBe(false);
    await page.click("section[aria-label='Time strip'] button:has-text('Time')");
    const box = await page.locator("[role=slider]").boundingBox();
    if (box === null) throw new Error("the strip did not open");
    await page.mouse.click(box.x + box.width * 0.2, box.y + box.height / 2);
    await page.waitForSelector("text=Nothing lived here then");
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    await hasNoSeriousFindings(page);
    await page.click("text=Back to live");
    await page.waitForSelector("[role=treeitem]");
  }, 60_000);
});

describe.skipIf(whyNoBrowser !== null)(whyNoBrowser === null ? "the why" : `the why (skipped: ${whyNoBrowser})`, () => {
  it("opens a story with S, copies it whole, and asks again only when the tree tells of that actor", async () => {
    const { page, one } = await marlow();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const address = "/agents/marlow/sessions/main";
    const step = (eventId: string, type: string) => ({
      at: 1_700_000_000_000,
      epoch: 1,
      commit: 4,
      eventId,
      type,
      from: "door",
      state: "running",
      effects: ["reply"],
    });
    one.server.story = [step("1.4.1", "send")];
    await page.waitForSelector("section[aria-label='Selected'] >> text=Story");
    expect(askedFor(one, "/story")).toBe(0);
    await page.locator("[role=tree]").focus();
    await page.keyboard.press("s");
    await page.waitForSelector("[aria-label=Story] >> text=send from a request");
    await page.click("button[aria-label='Copy story']");
    await page.waitForSelector("button[aria-label=copied]");
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(
      new RegExp(`^Story of ${address}, 1 step\n.*send from a request -> running; asks for reply`, "u"),
    );
    const asked = askedFor(one, "/story");
    const actor = one.server.actors.get(address);
    if (actor === undefined) throw new Error("no such actor");
    one.server.setActor({ ...actor, address: "/agents/guide/sessions/main", parent: "/agents/guide" });
    one.server.story = [step("1.4.1", "send"), step("1.5.1", "down")];
    one.server.setActor({ ...actor, since: Date.now() });
    await page.waitForSelector("[aria-label=Story] >> text=down from a request");
    expect(askedFor(one, "/story")).toBe(asked + 1);
  }, 60_000);

  it("follows a wait to the one who can end it, marks what cannot move, and resumes from there", async () => {
    const { page, one } = await marlow({ before: ({ server }) => stageWaits(server) });
    const chain = page.locator("ol[aria-label='Waits for'] > li");
    await chain.nth(2).waitFor();
    expect((await chain.allInnerTexts()).map((text) => text.replace(/\s+/gu, " ").replace(/waits .*? s for/u, "waits for"))).toEqual([
      "marlow / main waits for quill: is the cover text right? Nothing there can move by itself.",
      "quill / main waits for ledger: may I use the prices of 2 November? Nothing there can move by itself.",
      expect.stringContaining("ledger / main can end it. Parked: three crashes"),
    ]);
    const nothing = "for quill: is the cover text right? Nothing there can move by itself.";
    expect(await page.locator("section[aria-label='Selected'] > p").first().innerText()).toContain(nothing);
    expect(await page.locator("main [aria-label=Now]").innerText()).toContain(nothing);
    expect(await rows(page)).toEqual(expect.arrayContaining(["marlow, stuck", "quill, stuck", "tinker, waits", "ledger, parked"]));
    expect(await page.locator("[role=tree] > svg").count()).toBe(3);
    expect(await page.locator("[role=tree] > svg path[stroke-dasharray]").count()).toBe(2);
    expect(askedFor(one, "/waits")).toBe(1);
    await chain.getByRole("button", { name: "Resume" }).click();
    await page.waitForSelector("[role=treeitem][aria-label='ledger, idle']");
    expect(one.server.requests.find((request) => request.path === "/resume")?.body).toEqual({ address: "/agents/ledger/sessions/main" });
    unstick(one.server);
    await page.waitForSelector("[role=treeitem][aria-label='marlow, waits']");
    await page.waitForFunction(() => document.querySelector("[role=tree] > svg path[stroke-dasharray]") === null);
  }, 60_000);
});
