/** A plain TCP line between a page and a server that can be cut, kept down, and led to another server. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Line {
  /** The origin that a page opens. */
  base: string;
  /** Where it leads; null: nobody answers. */
  lead(url: string | null): void;
  /** Ends every open connection; new ones are taken at once. */
  cut(): void;
  close(): Promise<void>;
}

export async function openLine(url: string | null): Promise<Line> {
  let port = url === null ? null : Number(new URL(url).port);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    if (port === null) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead(to) {
      port = to === null ? null : Number(new URL(to).port);
      cut();
    },
    cut,
    async close() {
      server.close();
      cut();
    },
  };
}
