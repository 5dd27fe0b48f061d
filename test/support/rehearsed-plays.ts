/** What the stand-in server's agents do, by the words of a message: enough for every state a page can show. */
import type { Ending, FakeServer, Turn } from "./fake-live-server.ts";
import { actorOf, agentLine, FakeServer as Server } from "./fake-live-server.ts";

export const LONG_NAME = "Bestandsabgleich_und_Ressourcenplanung_Herbstkatalog_2026-CH";

const ANSWER = [
  "All 64 titles now have a price. What I changed:\n\n- four prices taken from the list of 2 November;\n- three prices from `bank/2026-11.csv`; each is noted in `catalogue/notes.md`;\n- the Swiss edition shows gross prices, with 2.6 % tax.\n\n",
  "| ISBN | before | now |\n| --- | ---: | ---: |\n| 978-3-907114-18-2 | 24.00 | 26.50 |\n| 978-3-907114-26-7 | – | 18.00 |\n| 978-3-907114-31-1 | – | 32.00 |\n\n",
  "The comparison is short:\n\n```ts\n// every title of the catalogue with the price of the list\nconst prices = new Map(list.map((row) => [row.isbn, row.net]));\nfor (const title of catalogue) title.price ??= prices.get(title.isbn) ?? null;\n```\n\nOne thing looks odd: **978-3-907114-31-1** costs more as a paperback than in cloth.",
].join("");

export async function play(turn: Turn): Promise<Ending | void> {
  const { text } = turn;
  if (/^tour|around/iu.test(text)) {
    await turn.say("Where am I? I look around first. Then I say what is here.", { thinking: true, pieces: 6, pause: 60 });
    await turn.say("I look around first.", { pieces: 4, pause: 40 });
    await turn.call(
      "file_list",
      { path: "." },
      {
        ms: 400,
        output: {
          entries: [
            { path: "notes.md", size: 1204 },
            { path: "catalogue", type: "dir" },
          ],
          count: 2,
        },
        summary: "2 entries",
      },
    );
    await turn.say("I see two things: a file `notes.md` and a folder `catalogue`. The tree at the right shows this very turn.", {
      pieces: 20,
      pause: 30,
    });
    return undefined;
  }
  if (/^wide table/iu.test(text)) {
    const columns = Array.from({ length: 14 }, (_, at) => `column${at}`);
    await turn.say(`| ${columns.join(" | ")} |\n|${" --- |".repeat(14)}\n| ${columns.join(" | ")} |\n`, { pieces: 1, pause: 1 });
    return undefined;
  }
  if (/compare/iu.test(text)) {
    await turn.say("Two sources, one key; the ISBN is the only field both have. So I read both and compare by it.", {
      thinking: true,
      pieces: 5,
      pause: 20,
    });
    await turn.say("Both files share the ISBN, so I compare by that.", { pieces: 5, pause: 20 });
    await turn.call(
      "file_read",
      { path: "catalogue/autumn.md" },
      { ms: 38, output: { content: "# Autumn\n\n978-3-907114-18-2  The Tide Table", total_lines: 1204 }, summary: "1,204 lines" },
    );
    await turn.call(
      "file_patch",
      {
        path: "blurbs/031.md",
        old_string: "A novel of the sea.\nPrice: 24.00\n",
        new_string: "A novel of the sea.\nPrice: 26.50\nGross price in the Swiss edition.\n",
      },
      {
        ms: 61,
        output: { path: "blurbs/031.md", replacements: 1 },
        changes: [
          {
            id: "chg_0123456789abcdef0123",
            path: "blurbs/031.md",
            kind: "changed",
            added: 2,
            removed: 1,
            diff: "--- a\n+++ b\n@@ -1,2 +1,3 @@\n A novel of the sea.\n-Price: 24.00\n+Price: 26.50\n+Gross price in the Swiss edition.\n",
          },
        ],
      },
    );
    await turn.call(
      "exec",
      { command: "node compare.mjs --by isbn" },
      {
        ms: 2_000,
        output: {
          ok: true,
          exit_code: 0,
          stdout:
            "61 titles are in both lists\n 4 prices differ         list 2 Nov, catalogue 19 Oct\n 3 titles have no price  978-3-907114-18-2, -26-7, -31-1",
          stderr: "",
          ms: 2000,
        },
        limitMs: 300_000,
      },
    );
    if (!turn.stopped) await turn.say(ANSWER, { pieces: 60, pause: 40 });
    return undefined;
  }
  if (/build/iu.test(text)) {
    await turn.say("I start the build.", { pieces: 2 });
    await turn.call("exec", { command: "npm run build -- --all --verbose" }, { ms: 60_000, limitMs: 80_000, output: {} });
    return undefined;
  }
  if (/wait/iu.test(text)) {
    turn.state("waiting", { until: Date.now() + 24_000, why: "the model server answered 429, too many requests" });
    await turn.pause(24_000);
    await turn.say("Now it answered.", {});
    return undefined;
  }
  if (/refuse/iu.test(text)) {
    await turn.call(
      "file_read",
      { path: "catalogue/spring.md" },
      { ok: false, code: "FILE_NOT_FOUND", output: "No such file. Nearest: catalogue/autumn.md" },
    );
    await turn.say("The spring catalogue is not there", { pieces: 3 });
    return {
      outcome: "failed",
      error: {
        code: "PROVIDER_REFUSED_KEY",
        message: "The model server refused the key (401).",
        hint: "Check OPENAI_API_KEY in somora.env, then try again.",
      },
      retryable: true,
      costUsd: null,
    };
  }
  if (/cut/iu.test(text)) {
    await turn.say("The tests pass. Whether the package went out is", { pieces: 4 });
    return { outcome: "partial", outcomeReason: "cut", costUsd: null };
  }
  if (/limit/iu.test(text)) {
    await turn.say("I have read 31 of 64 files so far; the rest is open.", { pieces: 4 });
    return { outcome: "partial", outcomeReason: "round_cap" };
  }
  if (/long|4,?000/iu.test(text)) {
    const lines = Array.from(
      { length: 4000 },
      (_, at) =>
        `2026-03-${String((at % 28) + 1).padStart(2, "0")}  978-3-907114-${String(at % 90).padStart(2, "0")}-${at % 10}  Lager ${at % 3 === 0 ? "Nord" : at % 3 === 1 ? "Süd" : "東京倉庫"}  gebucht ${String((at * 37) % 220).padStart(4)}  gezählt ${String((at * 37) % 220).padStart(4)}  ${at % 129 === 0 ? "FEHLT 9" : "ok"}`,
    );
    await turn.call(
      "exec",
      { command: "python3 abgleich.py --lager alle --von 2025-11-01 --bis 2026-10-31" },
      { ms: 30, output: { exit_code: 0, stdout: lines.join("\n"), stderr: "" } },
    );
    await turn.say(
      "31 Titel weichen ab. Die meisten Differenzen stammen aus einer nicht verbuchten Umlagerung zwischen Lager Süd und 東京倉庫; nachvollziehen lässt sich das an `Umlagerungsbeleg_2026-03-19_Seite_2_von_2_gescannt.pdf`.",
      { pieces: 5 },
    );
    return undefined;
  }
  if (/words (\d+)/u.test(text)) {
    const size = Number(/words (\d+)/u.exec(text)?.[1]);
    const line = "A sentence of an answer that goes on and on, with `code` and **weight** in it. ";
    let whole = "";
    for (let at = 0; whole.length < size; at += 1) whole += at % 9 === 8 ? "\n\n" : line;
    await turn.say(whole.slice(0, size), { pieces: Math.ceil(size / 400), pause: size > 100_000 ? 20 : 8 });
    return undefined;
  }
  if (/[\u3040-\u30ff]/u.test(text)) {
    await turn.say(
      "Verstanden. Ich gleiche die Lagerbestände mit den Wareneingangsbuchungen der letzten zwölf Monate ab; Grundlage sind die Umlagerungsbelege und die Rechnungsprüfungsprotokolle der Auslieferungsgesellschaft.\n\n秋カタログの在庫は、倉庫の記録と三十一点で違います。理由はほとんどが未計上の移動です。",
      { pieces: 5 },
    );
    return undefined;
  }
  await turn.say(`You said: ${text}`, { pieces: 4, pause: 5 });
  return undefined;
}

/** A home as the first start makes it, and more for pictures when `full`. */
export function rehearsedServer(options: { page?: string; port?: number; full?: boolean; pairing?: { code: string } } = {}): FakeServer {
  const server = new Server({
    ...options,
    agents: [
      agentLine("guide", { description: "A tour." }),
      agentLine("tinker", { model: "rehearsal/tinker" }),
      agentLine("mishap", { model: "rehearsal/mishap" }),
    ],
  });
  if (options.full === true) {
    const session = {
      title: null,
      createdAt: Date.now(),
      lastAt: Date.now(),
      newestSeq: 0,
      state: "idle",
      queued: 0,
      parked: null,
      cwd: null,
    };
    server.addAgent(
      agentLine("marlow", {
        model: "local/qwen3",
        rehearsal: false,
        description: "Keeps the catalogue.",
        sessions: [
          { ...session, slug: "main" },
          { ...session, slug: "fair-leipzig", title: "The stand in Leipzig" },
          { ...session, slug: "printer-mails" },
        ],
      }),
    );
    server.addAgent(
      agentLine(LONG_NAME, {
        model: "local/qwen3",
        rehearsal: false,
        sessions: [
          { ...session, slug: "main" },
          { ...session, slug: "Jahresabschluss-Vorbereitung-mit-Lieferantenabgleich-Teil-2" },
        ],
      }),
    );
    server.addAgent(
      agentLine("ledger", {
        model: "local/qwen3",
        rehearsal: false,
        sessions: [{ ...session, slug: "main", parked: "three crashes in 60 s, the last one on call.settled: undefined is not JSON" }],
      }),
    );
  }
  server.play = play;
  return server;
}

export { actorOf, agentLine };
