/** The page on the real server. Would catch: a page that is only true of the stand-in; something lost, doubled or moved by a reload, a cut or a kill. */
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { closeBrowser, openPage, PHONE, say, settled, whyNoBrowser } from "../support/browser-page.ts";
import { openLine, type Line } from "../support/cut-line.ts";
import { makeStage, openHouse, type House } from "../support/real-house.ts";
import { buildDist, startServer, type TestHome, until } from "../support/server-process.ts";

const pages: Page[] = [];
const ends: (() => Promise<unknown>)[] = [];
beforeAll(buildDist);
afterEach(async () => {
  for (const page of pages.splice(0)) await page.context().close();
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(closeBrowser);

/** A paired browser on a conversation; `base` when a line lies between. */
async function paired(
  house: Pick<House, "somora">,
  place: string,
  options: BrowserContextOptions = {},
  base = house.somora.url,
): Promise<Page> {
  return enter(base, new URL(house.somora.pairingAddress()).hash, place, options);
}
async function enter(base: string, code: string, place: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(base, options, code);
  pages.push(page);
  await page.waitForSelector("text=Live");
  await page.evaluate((to) => (window.location.hash = to), `#/talk/${place}`);
  await page.waitForSelector("main textarea");
  return page;
}
/** Another window of the same browser. */
async function window2(page: Page): Promise<Page> {
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForSelector("main textarea");
  return other;
}
const words = (page: Page): Promise<string> => page.innerText("[role=log]");
const times = (text: string, part: string): number => text.split(part).length - 1;
const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });
const STOP = "main button[title='Esc Esc']";
const ended = (page: Page, turns: number): Promise<unknown> =>
  page.waitForFunction(
    (count) =>
      document.querySelectorAll("main [data-key^='e:']").length === count &&
      document.querySelector("main button[title='Esc Esc']") === null,
    turns,
  );

describe.skipIf(whyNoBrowser !== null)(
  whyNoBrowser === null ? "the page on a real server" : `the page on a real server (skipped: ${whyNoBrowser})`,
  () => {
    let house: House;
    beforeAll(async () => {
      house = await openHouse({ pace: 400 });
    });
    afterAll(() => house.close());

    it("stops the shown turn by Escape twice and by its button, ends its processes, and names the turn each time", async () => {
      const page = await paired(house, "tinker/main");
      const asked: unknown[] = [];
      page.on("request", (request) => {
        if (request.url().endsWith("/chat/abort")) asked.push(request.postDataJSON());
      });
      await say(page, "sleep");
      await page.waitForSelector("[data-move=run] >> text=exec");
      const first = (await house.somora.handles.chat.work("tinker", "main")).active?.turnId;
      await page.keyboard.press("Escape");
      await page.waitForSelector("text=Escape again stops this turn.");
      await page.keyboard.press("Escape");
      await ended(page, 1);
      await page.waitForSelector("text=/ancelled by you; \\d+ process/");
      await say(page, "sleep once more");
      await page.waitForSelector("[data-move=run] >> text=exec");
      const second = (await house.somora.handles.chat.work("tinker", "main")).active?.turnId;
      await page.click(STOP);
      await ended(page, 2);
      expect(asked).toEqual([
        { agent: "tinker", session: "main", turnId: first },
        { agent: "tinker", session: "main", turnId: second },
      ]);
      expect(times(await words(page), "cancelled")).toBeGreaterThanOrEqual(2);
    });

    it("queues two, gives one back to the composer and puts it in again, steers, and runs the rest in order", async () => {
      await house.again();
      const page = await paired(house, "marlow/main");
      await say(page, "build");
      await page.waitForSelector("[data-move=run] >> text=exec");
      await say(page, "second thought");
      await say(page, "third thought");
      const next = page.getByRole("list", { name: "Next" });
      await next.getByText("third thought").waitFor();
      await next.getByRole("listitem").filter({ hasText: "second thought" }).getByRole("button", { name: "Take back" }).click();
      await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("main textarea")?.value === "second thought");
      await page.waitForFunction(() => document.querySelector("[aria-label=Next]")?.textContent.includes("second thought") === false);
      await page.keyboard.press("Control+z");
      await next.getByText("second thought").waitFor();
      expect(await page.inputValue("main textarea")).toBe("");
      await page.fill("main textarea", "Use gross prices");
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector("text=goes in when exec ends");
      await house.go();
      await ended(page, 3);
      const text = await words(page);
      expect(text).toMatch(/You steered at \d\d:\d\d, after exec/u);
      expect(times(text, "Taken in: Use gross prices")).toBe(1);
      expect(text.indexOf("You said: third thought")).toBeLessThan(text.indexOf("You said: second thought"));
      expect(times(text, "You said: second thought")).toBe(1);
    });

    it("shows a changed file with its diff, takes the change back, and refuses when the file changed since", async () => {
      const page = await paired(house, "tinker/main");
      await say(page, "Do a small job");
      await page.waitForSelector("main button:has-text('file_patch')");
      await settled(page);
      await page.click("main button:has-text('file_patch')");
      await page.getByLabel("Change").getByText('process.argv[2] ?? "somora"').waitFor();
      const file = join(house.workspace, "hello.mjs");
      expect(await readFile(file, "utf8")).toContain('?? "somora"');
      await button(page, "Undo this change").click();
      await page.waitForSelector("text=is as it was before");
      expect(await readFile(file, "utf8")).toContain('const who = "world";');
      await page.click("main button:has-text('file_patch')");
      await appendFile(file, "// mine\n");
      await page.click("main button:has-text('file_write')");
      await button(page, "Undo this change").click();
      await page.waitForSelector("text=/was not put back: something changed it since/");
      expect(await readFile(file, "utf8")).toContain("// mine");
    });

    it("counts a 429 down, keeps cut text, tries again and goes on", async () => {
      const page = await paired(house, "mishap/main");
      await say(page, "limit");
      await page.waitForSelector("text=/Waits 2 s/");
      await page.waitForSelector("text=/Waits 1 s/");
      await ended(page, 1);
      expect(await words(page)).toContain("asked once more");
      await say(page, "cut");
      await ended(page, 2);
      expect(await words(page)).toContain("The connection breaks");
      await page.getByRole("button", { name: "Go on", exact: true }).click();
      await ended(page, 3);
      expect(await words(page)).toContain("Go on from where you stopped.");

      await house.somora.handles.team.createSession("mishap", { slug: "again" });
      const again = await paired(house, "mishap/again");
      await say(again, "key");
      await again.waitForSelector("text=/Failed: .*401/");
      await again.getByRole("button", { name: "Try again", exact: true }).click();
      await ended(again, 2);
      expect(times(await words(again), "key (401)")).toBe(2);
      expect(
        (await house.somora.handles.chat.history({ agent: "mishap", session: "again", limit: 100 })).rows.filter(
          (row) => row.kind === "user_message",
        ),
      ).toHaveLength(1);
      await button(again, "Try again with another model").click();
      await again
        .getByRole("dialog")
        .getByRole("button", { name: /rehearsal\/guide/u })
        .click();
      await ended(again, 3);
      expect((await house.somora.handles.team.model("mishap", "again")).ref).toBe("rehearsal/guide");
    });

    it("gives two windows the same, through a reload of one and a cut line of the other, and each word once", async () => {
      const line = await openLine(house.somora.url);
      ends.push(() => line.close());
      await house.somora.handles.team.createSession("marlow", { slug: "windows" });
      const a = await paired(house, "marlow/windows", {}, line.base);
      const b = await paired(house, "marlow/windows");
      await say(a, "speak");
      await Promise.all([a.waitForSelector("text=Bravo comes"), b.waitForSelector("text=Bravo comes")]);
      line.cut();
      await b.fill("main textarea", "half a thought");
      await b.waitForFunction(() => Object.values(localStorage).some((value: string) => value.includes("half a thought")));
      await b.reload();
      await Promise.all([ended(a, 1), ended(b, 1)]);
      expect(await b.inputValue("main textarea")).toBe("half a thought");
      const text = await words(a);
      for (const part of ["Alpha is where", "Charlie is third", "Echo comes back", "The end of the answer."])
        expect(times(text, part)).toBe(1);
      await Promise.all([a, b].map((page) => page.waitForFunction(() => document.querySelector("main .caret") === null)));
      expect(await words(b)).toBe(text);
    });

    it("names line 7 of a broken configuration above the first row, on a phone too, and is quiet when it is mended", async () => {
      const config = join(house.folder, "config.yaml");
      const whole = await readFile(config, "utf8");
      const page = await paired(house, "guide/main", { viewport: PHONE, hasTouch: true });
      const lines = whole.split("\n");
      await writeFile(config, [...lines.slice(0, 6), "  prot: 18737", ...lines.slice(6)].join("\n"));
      await page.waitForSelector("[role=alert] >> text=/line 7/");
      expect(await page.innerText("[role=alert]")).toContain("prot");
      const bottom = await page.locator("[role=alert]").evaluate((strip) => strip.getBoundingClientRect().bottom);
      const top = await page.evaluate(
        () => (document.querySelector("main h2, main [data-key]") as HTMLElement).getBoundingClientRect().top,
      );
      expect(top).toBeGreaterThanOrEqual(bottom);
      await writeFile(config, whole);
      await page.waitForSelector("[role=alert]", { state: "detached" });
    });

    it("opens a result of 4,000 lines with few of them in the page, and finds in all", async () => {
      await house.somora.handles.team.createSession("marlow", { slug: "long" });
      const page = await paired(house, "marlow/long");
      await say(page, "long");
      await ended(page, 1);
      await page.locator("main button:has-text('stock.mjs')").last().click();
      await page.fill("input[aria-label='Find in this output']", "FEHLT");
      await page.waitForSelector("text=1 of 31");
      expect(await page.evaluate(() => document.querySelectorAll("main .line, main [data-line]").length)).toBeLessThanOrEqual(120);
    });
  },
);

describe.skipIf(whyNoBrowser !== null)(whyNoBrowser === null ? "a new house" : `a new house (skipped: ${whyNoBrowser})`, () => {
  it("pairs a browser once, shows three agents, and the guide shows around", async () => {
    const house = await openHouse({ bare: true, pace: 300 });
    ends.push(() => house.close());
    const code = new URL(house.somora.pairingAddress()).hash;
    const page = await openPage(house.somora.url, {}, code);
    pages.push(page);
    await page.waitForSelector("text=Three agents live here.");
    expect(page.url()).toBe(`${house.somora.url}/#/talk/guide/main`);
    for (const name of ["Show me around", "Do a small job", "Break something"]) await button(page, name).waitFor();
    await page.getByText("node bin/somora.mjs model add").waitFor();
    await button(page, "Show me around").click();
    await ended(page, 1);
    const text = await words(page);
    expect(text).toContain("What to try here");
    expect(times(text, "somora_docs_list")).toBe(1);
    expect(await page.getByRole("treeitem", { name: /file_list.*done/u }).count()).toBe(1);
    await page.reload();
    await page.waitForSelector("text=What to try here");

    const stranger = await openPage(house.somora.url, {}, code);
    pages.push(stranger);
    await stranger.waitForSelector("text=This browser is not paired.");
    await stranger.waitForSelector("[role=alert]");
  });

  it("says why a session is parked, keeps its queue, lets the others work, and goes on when resumed", async () => {
    let poisoned = true;
    const house = await openHouse({
      pace: 0,
      isPoison: (chart, event) => poisoned && chart === "session" && event.type === "down",
    });
    ends.push(() => house.close());
    const page = await paired(house, "mishap/main");
    await say(page, "hello");
    await say(page, "and then");
    await page.waitForSelector("text=/Parked: .*planted poison/");
    const other = await window2(page);
    await other.evaluate(() => (window.location.hash = "#/talk/guide/main"));
    poisoned = false;
    await other.waitForSelector("main button:has-text('Show me around')");
    await say(other, "code");
    await ended(other, 1);
    await button(page, "Resume").first().click();
    await page.waitForFunction(() => !document.body.textContent.includes("Parked:"));
    await page.waitForFunction(
      () =>
        document.querySelectorAll("main [data-key^='e:']").length >= 1 && document.querySelector("main button[title='Esc Esc']") === null,
    );
  });
});

describe.skipIf(whyNoBrowser !== null)(
  whyNoBrowser === null ? "a server that dies" : `a server that dies (skipped: ${whyNoBrowser})`,
  () => {
    async function killable(): Promise<{
      home: TestHome;
      line: Line;
      start(): Promise<Awaited<ReturnType<typeof startServer>>>;
      go(): Promise<void>;
    }> {
      const stage = await makeStage({ pace: 60 });
      const home: TestHome = {
        folder: stage.folder,
        base: stage.base,
        workspace: stage.workspace,
        mark: `page-${process.pid}`,
        remove: () => stage.remove(),
      };
      const line = await openLine(null);
      ends.push(
        () => stage.remove(),
        () => line.close(),
      );
      return {
        home,
        line,
        go: () => stage.go(),
        async start() {
          const server = await startServer(home);
          ends.push(() => server.kill());
          line.lead(server.url);
          return server;
        },
      };
    }
    const code = async (server: Awaited<ReturnType<typeof startServer>>): Promise<string> =>
      `#pair=${(await server.api<{ code: string }>("POST", "/pair/codes", {})).body.code}`;

    it("in the middle of an answer: what was read stays where it was, nothing is lost or double, draft and message are kept", async () => {
      const { home, line, start } = await killable();
      const script = join(home.folder, "rehearsals", "marlow.yaml");
      const whole = await readFile(script, "utf8");
      await writeFile(
        script,
        whole.replace("stall: { for: 0s, at: middle }", "stall: { for: forever, at: middle }").replace("pace: 30", "pace: 300"),
      );
      let server = await start();
      const page = await enter(line.base, await code(server), "marlow/main");
      await say(page, "hello there");
      await ended(page, 1);
      await say(page, "speak");
      await page.waitForSelector("text=The end of the answer.");
      const place = (): Promise<number> => page.locator("text=You said: hello there").evaluate((row) => row.getBoundingClientRect().top);
      const { turnId } = (await server.api<{ active: { turnId: string } }>("GET", "/agents/marlow/sessions/main/work")).body.active;
      const turn = encodeURIComponent(`/agents/marlow/sessions/main/turns/${turnId}`);
      await until("what has come of the text is stored", async () =>
        JSON.stringify((await server.api("GET", `/story?address=${turn}`)).body).includes("text.stored"),
      );
      const before = await place();
      line.lead(null);
      await server.kill();
      await page.waitForSelector("text=No connection");
      expect(await page.isDisabled(STOP)).toBe(true);
      expect(await words(page)).toContain("The end of the answer.");
      await writeFile(script, whole);
      expect(await place()).toBe(before);
      await say(page, "kept for later");
      await page.waitForSelector("text=kept here");
      await page.fill("main textarea", "half a thought");
      server = await start();
      await button(page, "Try now")
        .click({ timeout: 2_000 })
        .catch(() => undefined); // it may have come back by itself
      await ended(page, 3);
      const text = await words(page);
      expect(await page.inputValue("main textarea")).toBe("half a thought");
      expect(times(text, "The end of the answer.")).toBe(1);
      expect(times(text, "You said: kept for later")).toBe(1);
      expect(text).toMatch(/Attempt 1, interrupted after \d+ characters/u);
      const again = await window2(page);
      await ended(again, 3);
      expect(await words(again)).toBe(text);
      expect(await again.inputValue("main textarea")).toBe("half a thought");
    });

    it("in the middle of a command: the card says that its outcome is unknown and it did not run again, seen on a phone", async () => {
      const { home, line, start } = await killable();
      let server = await start();
      const page = await enter(line.base, await code(server), "marlow/main", { viewport: PHONE, hasTouch: true });
      await say(page, "build");
      await page.waitForSelector("[data-move=run] >> text=exec");
      await expect.poll(() => readFile(join(home.workspace, "builds"), "utf8").catch(() => "")).toBe("begun\n");
      line.lead(null);
      await server.kill();
      await page.waitForSelector("text=No connection");
      server = await start();
      await ended(page, 1);
      await page.waitForSelector("text=interrupted");
      await page.click("main button:has-text('exec')");
      await page.waitForSelector("text=not run again");
      expect(await readFile(join(home.workspace, "builds"), "utf8")).toBe("begun\n");
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    });
  },
);
