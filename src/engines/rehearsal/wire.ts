/** A Chat Completions request as others send it, read leniently: what a rehearsal needs, and nothing else. */
import { z } from "zod";
import type { ChatMessage } from "../../ports/engine.port.ts";

const contentSchema = z
  .union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() }).loose())])
  .nullish()
  .transform((content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("")));

const callSchema = z
  .object({
    id: z.string().default(""),
    function: z
      .object({ name: z.string(), arguments: z.union([z.string(), z.unknown().transform((value) => JSON.stringify(value ?? {}))]) })
      .loose(),
  })
  .loose();

const messageSchema = z
  .object({
    role: z.enum(["system", "developer", "user", "assistant", "tool"]),
    content: contentSchema,
    tool_calls: z.array(callSchema).nullish(),
    tool_call_id: z.string().nullish(),
    name: z.string().nullish(),
  })
  .loose();

export const completionRequestSchema = z
  .object({
    model: z.string(),
    messages: z.array(messageSchema).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.object({ include_usage: z.boolean().optional() }).loose().nullish(),
    tools: z.array(z.object({ function: z.object({ name: z.string() }).loose() }).loose()).nullish(),
    tool_choice: z.unknown().optional(),
  })
  .loose();
export type CompletionRequest = z.infer<typeof completionRequestSchema>;

export function chatMessages(request: CompletionRequest): ChatMessage[] {
  return request.messages.map((message): ChatMessage => {
    switch (message.role) {
      case "system":
      case "developer":
        return { role: "system", text: message.content };
      case "user":
        return { role: "user", text: message.content };
      case "tool":
        return { role: "tool", callId: message.tool_call_id ?? "", name: message.name ?? "", text: message.content };
      case "assistant":
        return {
          role: "assistant",
          text: message.content,
          calls: (message.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, arguments: call.function.arguments })),
        };
    }
  });
}
