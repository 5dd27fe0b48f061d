/**
 * Pictures of the page for docs/images, each on a real server with a home of its own: desktop and phone, light and dark.
 *   npm run build && node scripts/shots.mjs [--only mid-turn,first-run] [--out DIR]
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { runnerImport } from "vite";

const { values } = parseArgs({
  options: { only: { type: "string" }, out: { type: "string" }, chromium: { type: "string", default: "/usr/bin/chromium" } },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const out = values.out ?? `${root}docs/images`;
const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const LONG_SESSION = "Jahresabschluss-Vorbereitung-mit-Lieferantenabgleich-Teil-2";

const { openHouse, LONG_AGENT } = (await runnerImport(`${root}test/support/real-house.ts`)).module;
const { rehearsedServer } = (await runnerImport(`${root}test/support/rehearsed-plays.ts`)).module;
const { stageWaits } = (await runnerImport(`${root}test/support/staged-waits.ts`)).module;
const { openLine } = (await runnerImport(`${root}test/support/cut-line.ts`)).module;

const STOP = "main button[title='Esc Esc']";
const say = async (page, text) => {
  await page.fill("main textarea", text);
  await page.press("main textarea", "Enter");
};
const open = async (page, agent, session = "main") => {
  await page.evaluate((to) => (window.location.hash = to), `#/talk/${agent}/${session}`);
  await page.waitForSelector("main textarea");
  await page.waitForFunction(() => !document.querySelector("main [role=status]")?.textContent.includes("Asking the server"));
};
const runs = (page, tool) => page.waitForSelector(`main [data-move=run] >> text=${tool}`);
const ended = (page, turns = 1) =>
  page.waitForFunction(
    ([stop, count]) => document.querySelectorAll("main [data-key^='e:']").length >= count && !document.querySelector(stop),
    [STOP, turns],
  );

const CATALOGUE =
  "Compare the autumn catalogue with the price list and correct what is wrong. If a price is in neither list, leave it out and tell me.";

/** `bare`: what a new user finds; else `marlow` is there too. `staged`: on a stand-in server instead of a real one. */
const SHOTS = [
  { name: "first-run", size: DESKTOP, bare: true, run: ({ page }) => open(page, "guide") },
  { name: "first-run-phone", size: PHONE, bare: true, run: ({ page }) => open(page, "guide") },
  {
    name: "answer",
    size: DESKTOP,
    theme: "light",
    run: async ({ page, house }) => {
      await house.go();
      await open(page, "marlow");
      await say(page, CATALOGUE);
      await ended(page);
    },
  },
  { name: "mid-turn", size: DESKTOP, run: (context) => midTurn(context, "Use gross prices for the Swiss edition") },
  { name: "mid-turn-phone", size: PHONE, run: (context) => midTurn(context, "Use gross prices") },
  {
    name: "steered",
    size: DESKTOP,
    theme: "light",
    run: async ({ page, house }) => {
      await open(page, "marlow");
      await say(page, "Start the build");
      await runs(page, "exec");
      await page.fill("main textarea", "Use gross prices");
      await page.press("main textarea", "Control+Enter");
      await page.waitForSelector("text=goes in when exec ends");
      await house.go();
      await ended(page);
    },
  },
  {
    name: "tour",
    size: DESKTOP,
    bare: true,
    pace: 200,
    run: async ({ page }) => {
      await open(page, "guide");
      await page.click("main button:has-text('Show me around')");
      await ended(page);
    },
  },
  {
    name: "tinker",
    size: DESKTOP,
    bare: true,
    pace: 200,
    theme: "dark",
    run: async ({ page }) => {
      await open(page, "tinker");
      await page.click("main button:has-text('Do a small job')");
      await ended(page);
      await page.click("main button:has-text('file_patch')");
    },
  },
  { name: "failed", size: DESKTOP, bare: true, pace: 200, run: ({ page }) => failed(page) },
  { name: "failed-phone", size: PHONE, bare: true, pace: 200, theme: "dark", run: ({ page }) => failed(page) },
  {
    name: "waiting-429",
    size: DESKTOP,
    theme: "dark",
    bare: true,
    run: async ({ page }) => {
      await open(page, "mishap");
      await say(page, "limit");
      await page.waitForSelector("text=/Waits \\d s/");
    },
  },
  {
    name: "parked",
    size: DESKTOP,
    theme: "light",
    bare: true,
    pace: 0,
    isPoison: (chart, event) => chart === "session" && event.type === "down",
    run: async ({ page }) => {
      await open(page, "mishap");
      await say(page, "hello");
      await say(page, "And then the second one");
      await page.waitForSelector("main >> text=Parked:");
    },
  },
  {
    name: "long-name",
    size: DESKTOP,
    run: async ({ page, house }) => {
      await house.somora.handles.team.createSession(LONG_AGENT, { slug: LONG_SESSION });
      await open(page, LONG_AGENT, LONG_SESSION);
      await say(page, "来週の火曜日までに、秋カタログの在庫と倉庫の記録を照合してください。違いがあれば、理由も短く書いてください。");
      await ended(page);
      await page.fill("main textarea", "結果は日本語とドイツ語の両方でお願いします");
    },
  },
  {
    name: "long-name-phone",
    size: PHONE,
    theme: "light",
    run: async ({ page }) => {
      await open(page, LONG_AGENT);
      await say(page, "Rechtsschutzversicherungsgesellschaftsmitarbeiterverzeichnis mit 照合 abgleichen");
      await ended(page);
    },
  },
  { name: "long-result", size: DESKTOP, theme: "light", run: ({ page }) => longResult(page) },
  { name: "long-result-phone", size: PHONE, theme: "light", run: ({ page }) => longResult(page) },
  { name: "dead-server", size: DESKTOP, run: (context) => dead(context) },
  { name: "dead-server-phone", size: PHONE, theme: "dark", run: (context) => dead(context) },
  {
    name: "team-phone",
    size: PHONE,
    run: async ({ page }) => {
      await open(page, "marlow");
      await say(page, "Start the build");
      await runs(page, "exec");
      await page.click("main header a[aria-label='Agents']");
    },
  },
  {
    name: "tree-phone",
    size: PHONE,
    run: async ({ page }) => {
      await open(page, "marlow");
      await say(page, CATALOGUE);
      await runs(page, "exec");
      await page.click("header button[aria-label='Living tree']");
    },
  },
  { name: "house-broken", size: DESKTOP, theme: "light", bare: true, run: (context) => broken(context) },
  { name: "house-broken-phone", size: PHONE, theme: "light", bare: true, run: (context) => broken(context) },
  {
    name: "unpaired",
    size: DESKTOP,
    theme: "light",
    bare: true,
    stranger: true,
    run: ({ page }) => page.waitForSelector("text=not paired"),
  },
  {
    name: "palette",
    size: DESKTOP,
    theme: "dark",
    run: async ({ page }) => {
      await open(page, "marlow");
      await say(page, "Start the build");
      await runs(page, "exec");
      await page.keyboard.press("Control+k");
      await page.fill("input[role=combobox]", "why marlow");
      await page.waitForSelector("text=Why is marlow");
    },
  },
  {
    name: "tree-wide",
    size: DESKTOP,
    theme: "dark",
    run: async ({ page }) => {
      await open(page, "marlow");
      await say(page, "Start the build");
      await runs(page, "exec");
      await page.evaluate(() => (window.location.hash = "#/tree"));
      await page.click("[role=treeitem]:has-text('exec')");
      await page.click("button:has-text('Story')");
      await page.waitForSelector("ol time");
    },
  },
  {
    name: "past",
    size: DESKTOP,
    run: async (context) => {
      await past(context);
      await context.page.click("button:has-text('Story')");
      await stepBackTo(context.page, "check.sh");
    },
  },
  {
    name: "past-phone",
    size: PHONE,
    run: async (context) => {
      await past(context);
      await context.page.click("header button[aria-label='Living tree']");
      await context.page.click("button:has-text('Time')");
      await stepBackTo(context.page, "check.sh");
    },
  },
  {
    name: "past-talk-phone",
    size: PHONE,
    theme: "light",
    run: async (context) => {
      const { page } = context;
      await past(context);
      await page.click("header button[aria-label='Living tree']");
      await stepBackTo(page, "check.sh");
      await page.click("[aria-label='The past'] button[aria-label='Close']");
    },
  },
  {
    name: "story-phone",
    size: PHONE,
    theme: "dark",
    run: async (context) => {
      const { page } = context;
      await past(context);
      await page.click("header button[aria-label='Living tree']");
      await page.click("button:has-text('Story')");
      await page.waitForSelector("ol time");
    },
  },
  { name: "waits", size: DESKTOP, staged: true, run: ({ page }) => waits(page) },
  {
    name: "waits-phone",
    size: PHONE,
    staged: true,
    run: async ({ page }) => {
      await open(page, "marlow");
      await page.click("header button[aria-label='Living tree']");
      await page.waitForSelector("[aria-label='Waits for']");
    },
  },
  {
    name: "laptop",
    size: { width: 1024, height: 720 },
    theme: "dark",
    run: async ({ page }) => {
      await open(page, "marlow");
      await say(page, CATALOGUE);
      await runs(page, "exec");
      await page.click("header button[aria-label='Living tree']");
    },
  },
];

async function waits(page) {
  await open(page, "marlow");
  await page.waitForSelector("[aria-label='Waits for']");
}

/** Nothing in the product asks yet: a stand-in server with waits between its agents. */
async function openStandIn() {
  const server = rehearsedServer({ page: `${root}dist/ui`, full: true });
  stageWaits(server);
  const url = await server.listen();
  return { somora: { url, pairingAddress: () => url }, go: async () => undefined, close: () => server.close() };
}

/** Steps back until the tree shows `text`. */
async function stepBackTo(page, text) {
  await page.waitForSelector("section[aria-label='Time strip']");
  for (let step = 0; step < 40; step += 1) {
    await page.click("button[aria-label='Step back in time']");
    await page.waitForFunction(() => document.querySelector("[aria-label='The past']") !== null);
    await page.waitForTimeout(150);
    if (await page.locator(`[role=tree] >> text=${text}`).count()) return;
  }
  throw new Error(`no moment shows ${text}`);
}

async function past({ page, house }) {
  await house.go();
  await open(page, "marlow");
  await say(page, CATALOGUE);
  await ended(page);
  await say(page, "Start the build");
  await ended(page, 2);
}

async function midTurn({ page }, draft) {
  await open(page, "marlow");
  await say(page, CATALOGUE);
  await runs(page, "exec");
  await say(page, "Then write the mail to the printer, but do not send it yet");
  await say(page, "Last, count the titles per publisher");
  await page.click("main button:has-text('file_patch')");
  await page.fill("main textarea", draft);
}

async function failed(page) {
  await open(page, "mishap");
  await say(page, "tool");
  await ended(page, 1);
  await say(page, "cut");
  await ended(page, 2);
  await say(page, "key");
  await ended(page, 3);
}

async function broken({ page, house }) {
  await open(page, "guide");
  const file = `${house.folder}/config.yaml`;
  const lines = (await readFile(file, "utf8")).split("\n");
  await writeFile(file, [...lines.slice(0, 6), "  prot: 18738", ...lines.slice(6)].join("\n"));
  await page.waitForSelector("text=line 7");
}

async function longResult(page) {
  await open(page, LONG_AGENT);
  await say(page, "Gleiche alle Lager ab, long");
  await ended(page);
  await page.click("main button:has-text('stock.mjs')");
  await page.fill("input[aria-label='Find in this output']", "FEHLT");
  for (let at = 0; at < 6; at += 1) await page.click("button[aria-label='Next hit']");
}

async function dead({ page, line }) {
  await open(page, "marlow");
  await say(page, "Start the build");
  await runs(page, "exec");
  await say(page, "Tag the release when it is out");
  await page.waitForSelector("[aria-label=Next] >> text=Tag the release");
  line.lead(null);
  await page.waitForSelector("text=No connection");
  await say(page, "And write the changelog from the commits");
  await page.fill("main textarea", "And then");
  await page.waitForFunction(() => /again in \d/u.test(document.querySelector("footer")?.textContent ?? ""));
}

async function take(browser, shot, theme) {
  const house = shot.staged
    ? await openStandIn()
    : await openHouse({
        bare: shot.bare ?? false,
        ...(shot.pace === undefined ? {} : { pace: shot.pace }),
        ...(shot.isPoison === undefined ? {} : { isPoison: shot.isPoison }),
      });
  const line = await openLine(house.somora.url);
  const phone = shot.size === PHONE;
  const context = await browser.newContext({
    viewport: shot.size,
    colorScheme: theme,
    deviceScaleFactor: phone ? 1.5 : 1,
    hasTouch: phone,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(`${shot.name}: ${error.message}`));
  try {
    await page.goto(`${line.base}/${shot.stranger ? "#pair=wrong" : new URL(house.somora.pairingAddress()).hash}`);
    if (!shot.stranger) await page.waitForSelector("text=Live");
    await shot.run({ page, house, line });
    await page.evaluate(() => document.fonts.ready);
    await page.waitForTimeout(700); // code is coloured, the first ping is back, drawers are at rest
    await page.screenshot({ path: `${out}/${shot.name}-${theme}.png` });
    console.log(`${shot.name}-${theme}.png`);
  } catch (error) {
    console.error(`${shot.name}-${theme}: ${error.message.split("\n")[0]}`);
    process.exitCode = 1;
  }
  await context.close();
  await line.close();
  await house.go();
  await house.close();
}

const only = values.only?.split(",");
await mkdir(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: values.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
for (const shot of SHOTS) {
  if (only !== undefined && !only.includes(shot.name)) continue;
  for (const theme of shot.theme === undefined ? ["light", "dark"] : [shot.theme]) await take(browser, shot, theme);
}
await browser.close();
process.exit();
