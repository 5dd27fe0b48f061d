/** `node ui/dev/serve.ts [port]`: the page on a stand-in server, for work on the page alone. */
import { fileURLToPath } from "node:url";
import { rehearsedServer } from "../../test/support/rehearsed-plays.ts";

const server = rehearsedServer({ page: fileURLToPath(new URL("../../dist/ui", import.meta.url)), port: Number(process.argv[2] ?? 18799), full: true });
console.log(await server.listen());
