/** Opens a browser where a person sits at a desktop, and only there: not over ssh, not in CI, not without a terminal. */
import { spawn } from "node:child_process";

interface Desktop {
  platform: NodeJS.Platform;
  env: Record<string, string | undefined>;
  terminal: boolean;
}

/** The program that opens an address; null when there is no desktop. */
export function browserProgram({ platform, env, terminal }: Desktop): string | null {
  if (!terminal || env["CI"] || env["SSH_CONNECTION"] || env["SSH_TTY"]) return null;
  if (platform === "darwin") return "open";
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? "xdg-open" : null;
}

/** True when the program was started; what it does then is its own affair. */
export async function openBrowser(url: string, desktop: Desktop): Promise<boolean> {
  const program = browserProgram(desktop);
  if (program === null) return false;
  return new Promise((resolve) => {
    const child = spawn(program, [url], { detached: true, stdio: "ignore", env: desktop.env as NodeJS.ProcessEnv });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
