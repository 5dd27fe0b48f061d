/** Two tones and weight for code: strings and numbers, names of types and keys, comments grey, keywords heavier. Loaded when the first block is complete. */

export interface Piece {
  text: string;
  /** a: strings and numbers, b: types, tags and keys, c: comments, k: keywords. */
  tone: "a" | "b" | "c" | "k" | null;
}

const C_LIKE =
  "as async await break case catch class const continue debugger default delete do else enum export extends false finally fn for from func function go goto if impl implements import in instanceof interface let loop match mod module mut namespace new nil null of package private protected pub public readonly return self static struct super switch this throw trait true try type typeof undefined union unsafe use val var void where while with yield int long float double bool boolean char string unsigned signed auto override template using";
const PYTHON =
  "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield self";
const SHELL = "if then else elif fi for while until do done case esac function in export local return exit set source echo cd sudo";
const SQL =
  "select from where insert into values update set delete create table view index drop alter add join left right inner outer on group by order having limit offset as and or not null is in distinct union all primary key references default case when then else end with over partition";
const RUBY = "def end if elsif else unless while until do class module return yield begin rescue ensure nil true false self require puts";

const HASH = new Set([
  "py",
  "python",
  "sh",
  "bash",
  "zsh",
  "shell",
  "console",
  "rb",
  "ruby",
  "yaml",
  "yml",
  "toml",
  "ini",
  "dockerfile",
  "makefile",
  "r",
]);
const WORDS: Record<string, string> = {
  py: PYTHON,
  python: PYTHON,
  sh: SHELL,
  bash: SHELL,
  zsh: SHELL,
  shell: SHELL,
  console: SHELL,
  sql: SQL,
  rb: RUBY,
  ruby: RUBY,
};
const DATA = new Set(["json", "yaml", "yml", "toml", "ini", "css", "scss"]);
const MARKUP = new Set(["html", "xml", "svg", "vue", "svelte"]);

export function highlight(text: string, language: string): Piece[] {
  const lang = language.toLowerCase();
  if (lang === "diff" || lang === "patch") return byLine(text);
  if (MARKUP.has(lang))
    return scan(
      text,
      [
        ["c", "<!--[\\s\\S]*?-->"],
        ["b", "</?[\\w:-]+|/?>"],
        ["a", "\"[^\"\\n]*\"|'[^'\\n]*'"],
      ],
      new Set(),
    );
  const comment = HASH.has(lang)
    ? "(?<=^|\\s)#[^\\n]*"
    : lang === "sql"
      ? "--[^\\n]*"
      : lang === "json" || lang === "css"
        ? "/\\*[\\s\\S]*?\\*/"
        : "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
  const strings = lang.startsWith("py") ? "\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|" : "";
  const quoted = `${strings}"(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\``;
  const keys = DATA.has(lang) ? '"[^"\\n]*"(?=\\s*:)|(?<=^|\\n|[{;,]\\s*|\\s)[\\w.-]+(?=\\s*[:=](?!=))' : "\\b[A-Z][A-Za-z0-9_]*\\b";
  const words = new Set((DATA.has(lang) ? "true false null yes no on off" : (WORDS[lang] ?? C_LIKE)).split(" "));
  return scan(
    text,
    [
      ["c", comment],
      ["b", DATA.has(lang) ? keys : "(?!)"],
      ["a", quoted],
      ["b", keys],
      ["a", "\\b\\d[\\w.]*\\b"],
    ],
    words,
  );
}

function scan(text: string, rules: [Piece["tone"], string][], keywords: ReadonlySet<string>): Piece[] {
  const pattern = new RegExp([...rules.map(([, source]) => `(${source})`), "([A-Za-z_]\\w*)"].join("|"), "gu");
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const group = match.slice(1).findIndex((part) => part !== undefined);
    const tone =
      group < rules.length ? (rules[group]?.[0] ?? null) : keywords.has(match[0]) || keywords.has(match[0].toLowerCase()) ? "k" : null;
    if (tone === null) continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), tone: null });
    pieces.push({ text: match[0], tone });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), tone: null });
  return pieces;
}

function byLine(text: string): Piece[] {
  return text
    .split(/(?<=\n)/u)
    .map((line) => ({ text: line, tone: line.startsWith("+") ? "b" : line.startsWith("-") ? "a" : line.startsWith("@@") ? "k" : null }));
}
