/** The page in a real Chromium: on a stand-in server whose every answer a test decides, or on a real one. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { FakeServer } from "./fake-live-server.ts";
import { rehearsedServer } from "./rehearsed-plays.ts";
import { buildDist } from "./server-process.ts";

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
/** For one event on a busy machine; what waits longer names what it waited for. */
const WAIT_MS = 20_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const whyNoBrowser: string | null = CHROMIUM === undefined ? "no chromium at /usr/bin" : null;

export interface Stand {
  base: string;
  server: FakeServer;
  close(): Promise<void>;
}

export async function stand(options: { full?: boolean } = {}): Promise<Stand> {
  await buildDist();
  const server = rehearsedServer({ page: `${ROOT}dist/ui`, full: options.full ?? true });
  return { base: await server.listen(), server, close: () => server.close() };
}

let browser: Promise<Browser> | null = null;
export async function openPage(base: string, options: BrowserContextOptions = {}, hash = ""): Promise<Page> {
  browser ??= chromium.launch({
    executablePath: CHROMIUM ?? "",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-features=Translate,OptimizationHints"],
  });
  const context = await (await browser).newContext({ viewport: DESKTOP, ...options });
  context.setDefaultTimeout(WAIT_MS);
  const opened = await context.newPage();
  await opened.goto(`${base}/${hash}`);
  return opened;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = null;
}

export async function talk(base: string, agent: string, options: BrowserContextOptions = {}): Promise<Page> {
  const opened = await openPage(base, options, `#/talk/${agent}/main`);
  await opened.waitForSelector("main textarea");
  return opened;
}

export async function say(opened: Page, text: string): Promise<void> {
  await opened.fill("main textarea", text);
  await opened.press("main textarea", "Enter");
}

export async function settled(opened: Page): Promise<void> {
  await opened.waitForFunction(
    () => document.querySelector("main button[title='Esc Esc']") === null && document.querySelectorAll("main [data-key^='e:']").length > 0,
  );
}
