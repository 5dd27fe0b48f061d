/** What the handles share. */
import type { Calendar, Clock } from "../ports/clock.port.ts";
import type { SettingsPort } from "../ports/settings.port.ts";
import type { ToolRoom } from "../ports/tools.port.ts";
import type { Journal } from "../ports/journal.port.ts";
import type { Conversations } from "./conversations.ts";
import type { Kernel } from "./kernel/kernel.ts";
import type { PayloadTexts } from "./payload-texts.ts";
import type { SessionViews } from "./session-views.ts";
import type { TurnIndex } from "./turn-index.ts";

export interface RuntimeParts {
  kernel: Kernel;
  journal: Journal;
  clock: Clock & Calendar;
  settings: SettingsPort;
  tools: ToolRoom;
  conversations: Conversations;
  texts: PayloadTexts;
  views: SessionViews;
  index: TurnIndex;
  digest(text: string): string;
  /** Throws FOLDER_INVALID when it is not an existing folder. */
  checkFolder(path: string): Promise<void>;
  sessionsOf(agent: string): string[];
  /** Null when the time is over first; the promise goes on. */
  within<Value>(ms: number, promise: Promise<Value>): Promise<Value | null>;
}
