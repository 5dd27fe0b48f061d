/** Pairing of browsers. */
import { z } from "zod";
import { SomoraError } from "../../protocol/errors.ts";
import { tooMany } from "../auth/gate.ts";
import { created, nothing, route, type Route } from "../route.ts";

const YEAR_S = 31_536_000;

export const pairRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/pair",
    summary: "Turn a pairing code or the key into this browser's cookie.",
    open: true,
    whileStopping: true,
    body: z.union([z.strictObject({ code: z.string().min(1).max(200) }), z.strictObject({ key: z.string().min(1).max(1_000) })], {
      error: "it takes `code` or `key`, a text",
    }),
    answers: "204 with a cookie",
    refuses: ["PAIR_CODE_WRONG", "KEY_WRONG", "TOO_MANY_TRIES"],
    run: ({ body }, { gate, pairing, tries }) => {
      const wait = tries.waitMs();
      if (wait > 0) throw tooMany(wait);
      if ("code" in body ? !pairing.redeem(body.code) : !gate.keyFits(body.key)) {
        tries.wrong();
        if ("code" in body) {
          throw new SomoraError("PAIR_CODE_WRONG", "The pairing code is wrong, was used, or is older than five minutes.", {
            hint: "`somora server open` prints a fresh address.",
          });
        }
        throw new SomoraError("KEY_WRONG", "The key is not the one of this home.", {
          hint: "The key is in the file `key` under SOMORA_HOME.",
        });
      }
      return nothing({ "set-cookie": `${gate.cookieName}=${pairing.newCookie()}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${YEAR_S}` });
    },
  }),
  route({
    method: "DELETE",
    path: "/pair",
    summary: "End the pairing of all browsers.",
    whileStopping: true,
    answers: "204",
    run: async (_, { gate, pairing }) => {
      await pairing.endAll();
      return nothing({ "set-cookie": `${gate.cookieName}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0` });
    },
  }),
  route({
    method: "POST",
    path: "/pair/codes",
    summary: "A fresh pairing code: one use, five minutes.",
    whileStopping: true,
    answers: "201 `{code, expiresAt}`",
    run: (_, { pairing }) => created(pairing.newCode()),
  }),
];
