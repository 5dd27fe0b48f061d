/**
 * Pictures of the page for docs/images: every state, desktop and phone, light and dark.
 *   node scripts/shots.mjs                                     a stand-in server with scripted agents
 *   node scripts/shots.mjs --address URL --pair CODE           a real server (states that need a stand-in are named and left out)
 *   node scripts/shots.mjs --only mid,first --out DIR
 */
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { runnerImport } from "vite";

const { values } = parseArgs({
  options: {
    address: { type: "string" },
    pair: { type: "string" },
    only: { type: "string" },
    out: { type: "string" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
  },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const out = values.out ?? `${root}docs/images`;
const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const LONG = "Bestandsabgleich_und_Ressourcenplanung_Herbstkatalog_2026-CH";
const LONG_SESSION = "Jahresabschluss-Vorbereitung-mit-Lieferantenabgleich-Teil-2";

/** One stand-in per picture: no state leaks from one to the next. */
async function standIn(full = true) {
  const { module } = await runnerImport(`${root}test/support/rehearsed-plays.ts`);
  const server = module.rehearsedServer({ page: `${root}dist/ui`, full });
  return { server, base: await server.listen() };
}

const say = async (page, text) => {
  await page.fill("main textarea", text);
  await page.keyboard.press("Enter");
};
const open = (page, base, agent, session = "main") =>
  page.goto(`${base}/#/talk/${agent}/${session}`).then(() => page.waitForSelector("main textarea"));
const settled = (page) => page.waitForFunction(() => !document.querySelector("main button[title='Esc Esc']"));

const SHOTS = [
  { name: "first-run", size: DESKTOP, full: false, real: true, run: ({ page, base }) => open(page, base, "guide") },
  { name: "first-run-phone", size: PHONE, full: false, real: true, run: ({ page, base }) => open(page, base, "guide") },
  {
    name: "answer",
    size: DESKTOP,
    theme: "light",
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "Compare the autumn catalogue with the price list and correct what is wrong.");
      await page.waitForSelector("main table");
      await settled(page);
    },
  },
  {
    name: "mid-turn",
    size: DESKTOP,
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(
        page,
        "Compare the autumn catalogue with the price list and correct what is wrong. If a price is in neither list, leave it out and tell me.",
      );
      await page.waitForSelector("[data-move=run] >> text=exec");
      await say(page, "Then write the mail to the printer, but do not send it yet");
      await say(page, "Last, count the titles per publisher");
      await page.click("text=file_patch");
      await page.fill("main textarea", "Use gross prices for the Swiss edition");
      await page.waitForTimeout(900);
    },
  },
  {
    name: "mid-turn-phone",
    size: PHONE,
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "Compare the autumn catalogue with the price list and correct what is wrong.");
      await page.waitForSelector("[data-move=run] >> text=exec");
      await say(page, "Then write the mail to the printer, but do not send it yet");
      await page.fill("main textarea", "Use gross prices");
      await page.waitForTimeout(600);
    },
  },
  {
    name: "rehearsal-tour",
    size: DESKTOP,
    full: false,
    real: true,
    run: async ({ page, base }) => {
      await open(page, base, "guide");
      await page.click("main button:has-text('Show me around')");
      await page.waitForSelector("main .prose");
      await page.waitForTimeout(1500);
    },
  },
  {
    name: "failed",
    size: DESKTOP,
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "cut it");
      await page.waitForSelector("text=Try again");
      await say(page, "refuse me");
      await page.waitForSelector("text=refused the key");
      await settled(page);
    },
  },
  {
    name: "failed-phone",
    size: PHONE,
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "refuse me");
      await page.waitForSelector("text=refused the key");
      await settled(page);
    },
  },
  {
    name: "waiting-429",
    size: DESKTOP,
    theme: "dark",
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "wait");
      await page.waitForSelector("text=429");
      await page.waitForTimeout(1200);
    },
  },
  {
    name: "parked",
    size: DESKTOP,
    theme: "light",
    run: ({ page, base }) => open(page, base, "ledger").then(() => page.waitForSelector("text=Parked:")),
  },
  {
    name: "long-name",
    size: DESKTOP,
    run: async ({ page, base }) => {
      await open(page, base, LONG, LONG_SESSION);
      await say(page, "来週の火曜日までに、秋カタログの在庫と倉庫の記録を照合してください。違いがあれば、理由も短く書いてください。");
      await page.waitForSelector("text=Verstanden");
      await settled(page);
      await page.fill("main textarea", "結果は日本語とドイツ語の両方でお願いします");
    },
  },
  { name: "long-result", size: DESKTOP, theme: "light", run: ({ page, base }) => longResult(page, base) },
  { name: "long-result-phone", size: PHONE, theme: "light", run: ({ page, base }) => longResult(page, base) },
  { name: "dead-server", size: DESKTOP, run: (context) => dead(context) },
  { name: "dead-server-phone", size: PHONE, theme: "dark", run: (context) => dead(context) },
  { name: "team-phone", size: PHONE, run: ({ page, base }) => page.goto(`${base}/#/`).then(() => page.waitForSelector("text=guide")) },
  {
    name: "tree-phone",
    size: PHONE,
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "build it");
      await page.waitForSelector("text=npm run build");
      await page.click("header button[aria-label='Living tree']");
      await page.waitForTimeout(600);
    },
  },
  {
    name: "house-broken",
    size: DESKTOP,
    theme: "light",
    run: async ({ page, base, server }) => {
      await open(page, base, "marlow");
      server.setServer({
        config: {
          valid: false,
          errors: [
            {
              file: "config.yaml",
              line: 7,
              key: "agentLoop.maxRound",
              value: 40,
              allowed: "maxRounds, maxToolCallsPerTurn, toolCallTimeoutMs",
              near: "maxRounds",
              message: "unknown key agentLoop.maxRound.",
            },
          ],
        },
        store: { state: "stalled", since: Date.now() - 12_000, reason: "no space left on device" },
      });
      await page.waitForSelector("text=line 7");
    },
  },
  {
    name: "unpaired",
    size: DESKTOP,
    theme: "light",
    bare: true,
    run: async ({ page }) => {
      const { module } = await runnerImport(`${root}test/support/rehearsed-plays.ts`);
      const server = module.rehearsedServer({ page: `${root}dist/ui`, pairing: { code: "right" } });
      await page.goto(`${await server.listen()}/#pair=wrong`);
      await page.waitForSelector("text=not paired");
      return () => server.close();
    },
  },
  {
    name: "palette",
    size: DESKTOP,
    theme: "dark",
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await page.keyboard.press("Control+k");
      await page.fill("input[role=combobox]", "why ledger");
      await page.waitForSelector("text=Why is ledger");
    },
  },
  {
    name: "tree-wide",
    size: DESKTOP,
    theme: "dark",
    run: async ({ page, base, server }) => {
      await open(page, base, "marlow");
      await say(page, "build it");
      await page.waitForSelector("text=npm run build");
      await page.goto(`${base}/#/tree`);
      await page.click("[role=treeitem]:has-text('exec')");
      server.story = [];
      await page.waitForTimeout(400);
    },
  },
  {
    name: "laptop",
    size: { width: 1024, height: 720 },
    theme: "dark",
    run: async ({ page, base }) => {
      await open(page, base, "marlow");
      await say(page, "Compare the autumn catalogue with the price list");
      await page.waitForSelector("main table");
      await page.keyboard.press("Escape");
      await page.click("header button[aria-label='Living tree']");
      await page.waitForTimeout(500);
    },
  },
];

async function longResult(page, base) {
  await open(page, base, LONG, LONG_SESSION);
  await say(page, "Gleiche alle Lager ab, long");
  await page.waitForSelector("text=31 Titel");
  await settled(page);
  await page.click("main button:has-text('exec')");
  await page.fill("input[aria-label='Find in this output']", "FEHLT");
  for (let at = 0; at < 6; at += 1) await page.click("button[aria-label='Next hit']");
}

async function dead({ page, base, server }) {
  await open(page, base, "marlow");
  await say(page, "build it");
  await page.waitForSelector("text=npm run build");
  await say(page, "Tag the release when it is out");
  await page.waitForTimeout(500);
  server.up = false;
  server.cut();
  await page.waitForSelector("text=No connection");
  await say(page, "And write the changelog from the commits");
  await page.fill("main textarea", "And then");
  await page.waitForTimeout(2500);
}

const only = values.only?.split(",");
const browser = await chromium.launch({
  executablePath: values.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
await mkdir(out, { recursive: true });
for (const shot of SHOTS) {
  if (only !== undefined && !only.includes(shot.name)) continue;
  if (values.address !== undefined && shot.real !== true) {
    console.log(`left out, needs a stand-in: ${shot.name}`);
    continue;
  }
  for (const theme of shot.theme === undefined ? ["light", "dark"] : [shot.theme]) {
    const stand = values.address !== undefined || shot.bare ? null : await standIn(shot.full ?? true);
    const base = values.address ?? stand?.base;
    const context = await browser.newContext({
      viewport: shot.size,
      colorScheme: theme,
      deviceScaleFactor: shot.size === PHONE ? 2 : 1,
      hasTouch: shot.size === PHONE,
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error(`${shot.name}: ${error.message}`));
    try {
      if (values.pair !== undefined && base !== undefined)
        await page.goto(`${base}/#pair=${values.pair}`).then(() => page.waitForTimeout(500));
      const after = await shot.run({ page, base, server: stand?.server });
      await page.evaluate(() => document.fonts.ready);
      await page.waitForTimeout(150);
      await page.screenshot({ path: `${out}/${shot.name}-${theme}.png` });
      console.log(`${shot.name}-${theme}.png`);
      if (typeof after === "function") await after();
    } catch (error) {
      console.error(`${shot.name}-${theme}: ${error.message.split("\n")[0]}`);
      process.exitCode = 1;
    }
    await context.close();
    await stand?.server.close();
  }
}
await browser.close();
process.exit();
