/** What `somora doctor` looks at. Each check stands alone, changes nothing, and answers in words. */
import { access, constants, open, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { unwell, well, type Finding } from "./check.ts";

const OLDEST_NODE = [20, 19] as const;
const LEAST_FREE_MB = 500;

export async function checkNode(version: string): Promise<Finding> {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const fits = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return fits ? well("Node", version) : unwell("Node", version, `Install Node ${OLDEST_NODE.join(".")} or later.`);
}

/** `serving`: the address of this home's own server, which then holds the port by right. */
export async function checkPort(listen: () => Promise<{ host: string; port: number }>, serving: string | null): Promise<Finding> {
  if (serving !== null) return well("port", `this home's server answers at ${serving}`);
  let place: { host: string; port: number };
  try {
    place = await listen();
  } catch (error) {
    return unwell(
      "port",
      `config.yaml does not say where: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)}`,
      "`somora config check` names the lines.",
    );
  }
  const { host, port } = place;
  const fault = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
  if (fault === null) return well("port", `${host}:${port} is free`);
  const seen = fault.code === "EADDRINUSE" ? `${host}:${port} is taken by another program` : `${host}:${port}: ${fault.message}`;
  return unwell("port", seen, "Set `server.port` in config.yaml or SOMORA_PORT; 0 takes any free one.");
}

export async function checkHome(home: string): Promise<Finding> {
  try {
    const { mode } = await stat(home);
    if ((mode & 0o077) !== 0) return unwell("home", `${home} can be read by others (${(mode & 0o777).toString(8)})`, `chmod 700 ${home}`);
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
    return well("home", home);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return unwell("home", `${home} is not there yet`, "`npm start` makes it. To use another one, set SOMORA_HOME.");
    return unwell("home", message, `Make ${home} yours: chown -R $(id -un) ${home}`);
  }
}

/** The file's own mark; a running server looks deeper and says so itself. */
export async function checkStore(file: string, serving: { store: string } | null): Promise<Finding> {
  if (serving !== null) {
    return serving.store === "ok"
      ? well("store", "the running server commits")
      : unwell("store", "the running server's disk does not take commits", "Free some space, then look at `somora server logs`.");
  }
  let handle;
  try {
    handle = await open(file, "r");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return well("store", "none yet; the first start makes it");
    return unwell("store", message, `Make it yours: chown $(id -un) ${file}`);
  }
  try {
    const mark = Buffer.alloc(12);
    const { bytesRead } = await handle.read(mark, 0, 12, 0);
    if (bytesRead === 12 && mark.subarray(8, 12).toString("latin1") === "DUCK") return well("store", file);
    return unwell(
      "store",
      `${file} is no DuckDB file (its first bytes are wrong)`,
      "Move it away together with its .wal and put back a copy; the server keeps such files aside by itself, too.",
    );
  } finally {
    await handle.close();
  }
}

export async function checkKey(file: string): Promise<Finding> {
  try {
    const { mode, size } = await stat(file);
    if ((mode & 0o077) !== 0) return unwell("key", `${file} can be read by others (${(mode & 0o777).toString(8)})`, `chmod 600 ${file}`);
    if (size < 16)
      return unwell(
        "key",
        `${file} has ${size} bytes; that is no key`,
        `rm ${file} and start the server: it makes a new one, and browsers pair again.`,
      );
    return well("key", file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return unwell("key", `${file} is not there`, "Start the server: it makes one, and browsers pair again.");
    return unwell("key", message, `Make it yours: chown $(id -un) ${file}`);
  }
}

/** `leastMb` is a parameter so that a test can ask for more than any disk has. */
export async function checkDisk(folder: string, leastMb: number = LEAST_FREE_MB): Promise<Finding> {
  try {
    const { bavail, bsize } = await statfs(folder);
    const freeMb = Math.floor((bavail * bsize) / 1_048_576);
    if (freeMb >= leastMb) return well("disk", `${freeMb} MB free`);
    return unwell("disk", `only ${freeMb} MB free where ${folder} is`, "Free some space: when the disk is full, messages are refused.");
  } catch (error) {
    return unwell("disk", error instanceof Error ? error.message : String(error), "Start the server once, then ask again.");
  }
}
