/**
 * The page in a real Chromium. By default on a stand-in server of its own; with SOMORA_TEST_SERVER (and SOMORA_TEST_PAIR)
 * on a real one, where tests that need the stand-in's hands are skipped by name.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { build } from "vite";
import type { FakeServer } from "./fake-live-server.ts";
import { rehearsedServer } from "./rehearsed-plays.ts";

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const whyNoBrowser: string | null = CHROMIUM === undefined ? "no chromium at /usr/bin" : null;
export const realServer: string | null = process.env["SOMORA_TEST_SERVER"] ?? null;

export interface Stand {
  base: string;
  /** Null on a real server. */
  server: FakeServer | null;
  close(): Promise<void>;
}

let built: Promise<unknown> | null = null;
/** Builds the page once per run; a newer build is what is tested. */
function page(): Promise<unknown> {
  built ??= asShipped(() => build({ configFile: `${ROOT}ui/vite.config.ts`, logLevel: "error" }));
  return built;
}

/** Vitest says `test` where Vite looks for `production`; without this React's slow half would be built. */
export async function asShipped<Result>(make: () => Promise<Result>): Promise<Result> {
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    return await make();
  } finally {
    process.env["NODE_ENV"] = before;
  }
}

export async function stand(options: { full?: boolean } = {}): Promise<Stand> {
  if (realServer !== null) return { base: realServer, server: null, close: async () => undefined };
  await page();
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
  const opened = await context.newPage();
  const code = process.env["SOMORA_TEST_PAIR"];
  if (realServer !== null && code !== undefined) await opened.goto(`${base}/#pair=${code}`);
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
