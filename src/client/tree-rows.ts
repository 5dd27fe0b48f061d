/**
 * The living tree as flat rows. Supervisors are left out, a session's row speaks for its running turn, a parent shows its
 * most urgent descendant. Order is stable: agents by name, all else by birth; state never sorts.
 */
import type { ActorView } from "../protocol/actor-view.ts";
import { placeOf, type Address } from "../protocol/ids.ts";
import { urgency, type MarkName, type Move, type Saying } from "./marks.ts";
import { sentenceOf } from "./sentence.ts";

export interface TreeNode {
  address: string;
  kind: string;
  name: string;
  /** A grey word or two beside the name. */
  sub: string;
  actor: ActorView;
  /** Whose state its row tells: its own, its running turn's, or that of the call the turn waits in. */
  speaker: ActorView;
  /** What it does itself. */
  own: Saying;
  /** What its row shows: its own or its most urgent descendant's. */
  said: Saying;
  since: number;
  past: boolean;
  children: TreeNode[];
}
export interface TreeRow {
  node: TreeNode;
  depth: number;
  fold: "none" | "open" | "closed";
  /** Of how many siblings, at which place: for a screen reader. */
  position: number;
  siblings: number;
  /** Set on the row that stands for siblings beyond the first twenty. */
  more?: { parent: string; hidden: number };
}
export type Filter = "all" | "run" | "wait" | "you" | "bad";

const SIBLINGS_SHOWN = 20;

/** What a session's own topic says of it is finer than the tree: an open conversation speaks for its row. */
export interface Voice {
  address: string;
  said: Saying;
}

export function buildTree(
  actors: readonly ActorView[],
  now: number,
  gone: ReadonlySet<string> = new Set(),
  voice: Voice | null = null,
  ends: (actor: ActorView) => Saying | null = () => null,
): TreeNode[] {
  const byAddress = new Map(actors.map((actor) => [actor.address, actor]));
  const nodes = new Map<string, TreeNode>();
  for (const actor of actors) if (isShown(actor)) nodes.set(actor.address, nodeOf(actor, now, gone.has(actor.address), ends));
  const roots: TreeNode[] = [];
  for (const [address, node] of nodes) {
    const parent = shownAbove(address, byAddress, nodes);
    (parent === null ? roots : parent.children).push(node);
  }
  for (const actor of actors) if (actor.kind === "turn") speakFor(actor, nodes, byAddress, now, gone.has(actor.address));
  const voiced = voice === null ? undefined : nodes.get(voice.address);
  if (voice !== null && voiced !== undefined) voiced.own = voiced.said = voice.said;
  for (const node of nodes.values()) node.children.sort(byBirth);
  roots.sort((a, b) => (a.kind === "agent" && b.kind === "agent" ? (a.name < b.name ? -1 : 1) : rank(a) - rank(b) || byBirth(a, b)));
  for (const root of roots) climb(root);
  return roots;
}

/** A pool shows while somebody holds or wants something of it. */
function isShown(actor: ActorView): boolean {
  if (actor.status === "parked") return true; // whatever it is, a person has to look after it
  if (actor.kind === "pool") return Number(actor.detail["used"] ?? 0) + Number(actor.detail["waiting"] ?? 0) > 0;
  return actor.kind !== "supervisor" && actor.kind !== "root" && actor.kind !== "turn" && actor.address !== "/";
}

function nodeOf(actor: ActorView, now: number, gone: boolean, ends: (actor: ActorView) => Saying | null): TreeNode {
  const known = gone ? ends(actor) : null;
  const own = known ?? sentenceOf({ actor, now });
  const said =
    known === null && gone && (own.move === "run" || own.mark === "idle")
      ? { ...own, mark: "done" as const, word: "ended", move: "none" as const, moves: false }
      : own;
  return {
    address: actor.address,
    kind: actor.kind,
    name: nameOf(actor),
    sub: subOf(actor),
    actor,
    speaker: actor,
    own: said,
    said,
    since: actor.since,
    past: gone || actor.status === "down",
    children: [],
  };
}

function nameOf(actor: ActorView): string {
  const tool = actor.detail["tool"];
  if (actor.kind === "call" && typeof tool === "string") return tool;
  return decodeURIComponent(actor.address.slice(actor.address.lastIndexOf("/") + 1));
}

function subOf(actor: ActorView): string {
  for (const key of ["about", "title", "what", "summary"]) {
    const value = actor.detail[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

function shownAbove(address: string, byAddress: ReadonlyMap<string, ActorView>, nodes: ReadonlyMap<string, TreeNode>): TreeNode | null {
  let above = byAddress.get(address)?.parent ?? null;
  while (above !== null) {
    const node = nodes.get(above);
    if (node !== undefined) return node;
    above = byAddress.get(above)?.parent ?? parentAddress(above);
  }
  return null;
}

function parentAddress(address: string): string | null {
  if (address === "/") return null;
  const cut = address.lastIndexOf("/");
  return cut === 0 ? "/" : address.slice(0, cut);
}

/** The running turn is not a row of its own: its session's row says what it does. */
function speakFor(
  turn: ActorView,
  nodes: ReadonlyMap<string, TreeNode>,
  byAddress: ReadonlyMap<string, ActorView>,
  now: number,
  gone: boolean,
): void {
  const session = shownAbove(turn.address, byAddress, nodes);
  if (session === null || gone || turn.status === "down" || session.own.mark === "parked" || session.own.mark === "stuck") return;
  const said = sentenceOf({ actor: turn, now });
  const number = turn.detail["number"] ?? turn.detail["turn"];
  session.speaker = turn;
  session.own = said;
  session.said = said;
  session.since = turn.since;
  if (typeof number === "number" || typeof number === "string") session.sub = `turn ${String(number).replace(/^turn_/u, "")}`;
}

function climb(node: TreeNode): Saying {
  waitsInCalls(node);
  for (const child of node.children) {
    const said = climb(child);
    if (child.past || urgency(said) <= urgency(node.said)) continue;
    if (child.kind === "call" && said.move === "bad" && said.mark !== "stuck") continue; // a failed call is the model's to handle until the turn ends
    node.said = { ...said, moves: child.kind !== "call" && said.moves };
    if (node.kind === "agent") node.since = child.since;
  }
  return node.said;
}

const WAITS: ReadonlySet<MarkName> = new Set(["agent", "slot", "you", "stuck"]);

/** A turn whose every running call waits for somebody does nothing itself: its row says for whom. */
function waitsInCalls(node: TreeNode): void {
  if (node.own.mark !== "tool" || node.kind === "call") return;
  const running = node.children.filter((child) => child.kind === "call" && !child.past);
  const [first] = running;
  if (first === undefined || running.some((call) => !WAITS.has(call.own.mark))) return;
  node.speaker = first.speaker;
  node.own = node.said = first.own;
  node.since = first.since;
}

const rank = (node: TreeNode): number => (node.kind === "agent" ? 0 : 1);

function byBirth(a: TreeNode, b: TreeNode): number {
  const [left, right] = [a.actor.birth.split("."), b.actor.birth.split(".")];
  for (let at = 0; at < 3; at += 1) {
    const difference = Number(left[at] ?? 0) - Number(right[at] ?? 0);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return a.address < b.address ? -1 : 1;
}

export interface Shape {
  /** What a person opened or closed; else an idle agent's branch is closed. */
  folds: ReadonlyMap<string, boolean>;
  filter: Filter;
  name: string;
  /** Parents whose twenty-first child and beyond are shown. */
  whole: ReadonlySet<string>;
  /** The agent whose branch is open whatever it does. */
  open: string | null;
}

export function rowsOf(roots: readonly TreeNode[], shape: Shape): TreeRow[] {
  const rows: TreeRow[] = [];
  const filtered = shape.filter !== "all" || shape.name !== "";
  const visit = (nodes: readonly TreeNode[], depth: number, parent: string): void => {
    const fit = filtered ? nodes.filter((node) => anyFits(node, shape)) : nodes;
    const most = shape.whole.has(parent) || depth === 0 ? fit.length : SIBLINGS_SHOWN;
    const shown = fit.length > most + 1 ? fit.slice(0, most) : fit;
    shown.forEach((node, at) => {
      const open = filtered || (shape.folds.get(node.address) ?? opensByItself(node, roots.length, shape.open));
      rows.push({
        node,
        depth,
        fold: node.children.length === 0 ? "none" : open ? "open" : "closed",
        position: at + 1,
        siblings: fit.length,
      });
      if (open) visit(node.children, depth + 1, node.address);
    });
    const [first] = fit.slice(shown.length);
    if (first !== undefined)
      rows.push({
        node: first,
        depth,
        fold: "none",
        position: shown.length + 1,
        siblings: fit.length,
        more: { parent, hidden: fit.length - shown.length },
      });
  };
  visit(roots, 0, "/");
  return rows;
}

function opensByItself(node: TreeNode, agents: number, open: string | null): boolean {
  if (node.kind !== "agent") return true;
  return agents <= 4 || node.said.move !== "none" || placeOf(node.address as Address).agent === open;
}

function anyFits(node: TreeNode, shape: Shape): boolean {
  const byMove = shape.filter === "all" || fitsMove(node.own, shape.filter);
  const byName = shape.name === "" || `${node.name} ${node.sub}`.toLowerCase().includes(shape.name.toLowerCase());
  return (byMove && byName) || node.children.some((child) => anyFits(child, shape));
}

function fitsMove(said: Saying, filter: Filter): boolean {
  if (filter === "wait") return urgency(said) === 1;
  return said.move === (filter as Move);
}

/** Counts lines of work (sessions, tasks, jobs), not actors: a session that calls four tools works once. */
export function countMoves(roots: readonly TreeNode[]): { run: number; wait: number; you: number; bad: number } {
  const counts = { run: 0, wait: 0, you: 0, bad: 0 };
  const visit = (node: TreeNode): void => {
    if (node.kind !== "agent" && node.kind !== "call" && !node.past) {
      const { move } = node.own;
      if (move !== "none") counts[move] += 1;
      else if (urgency(node.own) === 1) counts.wait += 1;
    }
    for (const child of node.children) visit(child);
  };
  for (const root of roots) visit(root);
  return counts;
}
