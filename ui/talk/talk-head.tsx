/** Name and title, the model of the next turn, how full its window is, and the session's menu. */
import { useEffect, useRef, useState } from "react";
import { grouped } from "../../src/client/index.ts";
import type { AgentLine } from "../../src/protocol/frames.ts";
import type { ModelInfo } from "../../src/protocol/model.ts";
import type { SessionView } from "../../src/protocol/session-view.ts";
import { ask } from "../frame/ask.tsx";
import { page } from "../frame/page-state.ts";
import { Menu, MenuItem } from "../frame/menu.tsx";
import { say } from "../frame/toast.tsx";
import { useClient, useFrozenAt } from "../hooks/use-client.ts";
import { goTo, talkHref } from "../hooks/use-route.ts";
import { Icon } from "../marks/icon.tsx";

export function TalkHead({
  agent,
  session,
  view,
  line,
}: {
  agent: string;
  session: string;
  view: SessionView | null;
  line: AgentLine | undefined;
}) {
  const client = useClient();
  const live = useFrozenAt() === null;
  const title = view?.title ?? null;
  const usage = view?.usage;
  const full =
    usage?.contextUsed !== undefined && usage.contextWindow !== undefined
      ? Math.round((usage.contextUsed / usage.contextWindow) * 100)
      : null;
  const rename = async (): Promise<void> => {
    const next = await ask({ title: "Rename this session", label: "Title", value: title ?? session, action: "Rename" });
    if (next !== null && next.trim() !== "")
      await client.api
        .rename(agent, session, next.trim())
        .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
  };
  const remove = async (): Promise<void> => {
    const sure = await ask({
      title: `Delete ${agent} / ${session} with everything it left?`,
      note: "Its conversation, kept outputs and kept files are gone for good.",
      action: "Delete",
    });
    if (sure === null) return;
    await client.api
      .deleteSession(agent, session)
      .then(() => goTo(talkHref(agent, "main")))
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
  };
  return (
    <header className="flex h-(--h-head) flex-none items-center gap-2 border-b border-line px-4 max-rail:mb-[calc(var(--h-line)+var(--h-strips,0px))] max-rail:border-b-0 max-rail:gap-0 max-rail:pr-1.5 max-rail:pl-1">
      <a className="icon-btn rail:!hidden" href="#/" aria-label="Agents">
        <Icon name="left" />
      </a>
      <h1 className="min-w-0 flex-1 truncate text-title font-strong" title={`${agent} / ${session}${title === null ? "" : `: ${title}`}`}>
        {agent} <span className="font-normal text-ink-2">/ {session}</span>
        {line?.rehearsal === true ? <span className="tag ml-2 align-[1px] font-normal rail:hidden">rehearsal</span> : null}
        {title !== null && title !== session ? (
          <span className="ml-3 text-small font-normal text-ink-3 max-wide:hidden">{title}</span>
        ) : null}
      </h1>
      {view === null ? null : (
        <ModelMenu
          agent={agent}
          session={session}
          model={view.model ?? line?.model ?? null}
          rehearsal={line?.rehearsal ?? false}
          running={view.active?.model ?? null}
          live={live}
        />
      )}
      {full === null ? null : (
        <span
          className={`text-small max-rail:hidden ${full > 90 ? "text-bad" : full > 75 ? "text-you" : "text-ink-2"}`}
          title={`The last request filled ${grouped(usage?.contextUsed ?? 0)} of ${grouped(usage?.contextWindow ?? 0)} tokens`}
        >
          {full} % full
        </span>
      )}
      {view === null ? null : (
        <Menu label="Session menu" className="icon-btn" button={<Icon name="more" />}>
          {(close) => (
            <>
              <MenuItem
                icon={<Icon name="pencil" />}
                disabled={!live}
                onPick={() => {
                  close();
                  void rename();
                }}
              >
                Rename
              </MenuItem>
              <MenuItem
                icon={<Icon name={view.held ? "play" : "pause"} />}
                disabled={!live}
                onPick={() => {
                  close();
                  void (view.held ? client.api.release(agent, session) : client.api.hold(agent, session)).catch((error: unknown) =>
                    say(error instanceof Error ? error.message : String(error)),
                  );
                }}
              >
                {view.held ? "Release the queue" : "Hold the queue"}
              </MenuItem>
              <MenuItem
                icon={<Icon name="plus" />}
                disabled={!live}
                onPick={() => {
                  close();
                  void newSession(client, agent);
                }}
              >
                New session
              </MenuItem>
              {session === "main" ? null : (
                <MenuItem
                  icon={<Icon name="close" />}
                  disabled={!live}
                  onPick={() => {
                    close();
                    void remove();
                  }}
                >
                  Delete session
                </MenuItem>
              )}
              {view.cwd === null ? null : (
                <p className="px-2 py-1 text-tiny [overflow-wrap:anywhere] text-ink-3">
                  Works in <span className="font-mono">{view.cwd}</span>
                </p>
              )}
            </>
          )}
        </Menu>
      )}
      <button type="button" className="icon-btn tree:!hidden" aria-label="Living tree" onClick={() => page.showTree(true)}>
        <Icon name="tree" />
      </button>
    </header>
  );
}

export async function newSession(client: ReturnType<typeof useClient>, agent: string): Promise<void> {
  const slug = await ask({
    title: `New session with ${agent}`,
    label: "Name",
    value: "",
    placeholder: "letters, digits, - and _",
    action: "Begin",
  });
  if (slug === null || slug.trim() === "") return;
  const name = slug.trim().replaceAll(/\s+/gu, "-");
  await client.api
    .createSession(agent, name)
    .then(() => goTo(talkHref(agent, name)))
    .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
}

function shortName(ref: string | null): string {
  if (ref === null) return "no model";
  const [provider, ...rest] = ref.split("/");
  return rest.length === 0 ? ref : `${rest.join("/")} · ${provider}`;
}

function ModelMenu({
  agent,
  session,
  model,
  rehearsal,
  running,
  live,
}: {
  agent: string;
  session: string;
  model: string | null;
  rehearsal: boolean;
  running: string | null;
  live: boolean;
}) {
  const isRehearsal = model?.startsWith("rehearsal/") ?? rehearsal;
  const name = isRehearsal ? "rehearsal, no model" : shortName(model);
  return (
    <Menu
      label={`Model of the next turn: ${name}`}
      className="flex h-7 max-w-56 min-w-0 items-center gap-1.5 rounded-1 px-2 text-small text-ink-2 hover:bg-fill max-rail:h-11 max-rail:px-3"
      button={
        <>
          <Icon name="model" />
          <span className="truncate max-rail:sr-only">{name}</span>
        </>
      }
    >
      {(close) => <Models agent={agent} session={session} model={model} running={running} live={live} close={close} />}
    </Menu>
  );
}

/** Picks the session's model; `then` runs when the server has taken it. */
export function Models({
  agent,
  session,
  model,
  running,
  live,
  close,
  then,
}: {
  agent: string;
  session: string;
  model: string | null;
  running: string | null;
  live: boolean;
  close: () => void;
  then?: () => void;
}) {
  const client = useClient();
  const [models, setModels] = useState<ModelInfo[] | string>([]);
  const [find, setFind] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    client.api.models().then(
      (answer) => setModels(answer.models),
      (error: unknown) => setModels(error instanceof Error ? error.message : String(error)),
    );
  }, [client]);
  const pick = (change: Promise<unknown>): void => {
    close();
    void change.then(then).catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
  };
  const fits =
    typeof models === "string"
      ? []
      : models.filter((other) => `${other.ref} ${other.alias ?? ""}`.toLowerCase().includes(find.toLowerCase()));
  return (
    <>
      <input
        ref={field}
        className="field mb-1 w-full"
        placeholder="Find a model"
        aria-label="Find a model"
        value={find}
        onChange={(event) => setFind(event.target.value)}
      />
      {running !== null && running !== model && model !== null ? (
        <p className="px-2 py-1 text-tiny text-ink-3">
          The running turn uses {shortName(running)}; a choice here holds from the next turn on.
        </p>
      ) : null}
      {typeof models === "string" ? <p className="px-2 py-1 text-small text-bad">{models}</p> : null}
      {fits.map((other) => (
        <MenuItem
          key={other.ref}
          current={other.ref === model}
          disabled={!live}
          note={other.rehearsal ? "rehearsal" : other.contextWindow === null ? "" : `${grouped(other.contextWindow)} tokens`}
          onPick={() => pick(client.api.setModel(agent, session, other.ref))}
        >
          {other.alias ?? other.id}
          <span className="block text-tiny text-ink-3">{other.ref}</span>
        </MenuItem>
      ))}
      <MenuItem disabled={!live} onPick={() => pick(client.api.clearModel(agent, session))}>
        The agent's own model
      </MenuItem>
    </>
  );
}
