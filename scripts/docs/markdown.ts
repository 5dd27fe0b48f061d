/** Small pieces of Markdown and of schemas in words, for the reference pages. */
import { z } from "zod";

export const HEAD = "<!-- Made by `npm run docs` from the code. Do not edit: change the code and run it again. -->\n";

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |\n`;
  return `${line(head)}${line(head.map(() => "---"))}${rows.map(line).join("")}`;
}

interface Shape {
  type?: string | string[];
  properties?: Record<string, Shape>;
  required?: string[];
  items?: Shape;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Shape[];
  oneOf?: Shape[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

/** One line for a schema: `{agent, session?, limit?: 1 to 1000}`; nested objects one level deep. */
export function shapeWords(schema: z.ZodType): string {
  return words(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape, 0);
}

function words(shape: Shape, depth: number): string {
  const choices = shape.anyOf ?? shape.oneOf;
  if (choices) return [...new Set(choices.map((choice) => words(choice, depth)))].join(" or ");
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.enum) return shape.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (shape.properties) {
    if (depth > 2) return "{…}";
    const required = new Set(shape.required ?? []);
    const fields = Object.entries(shape.properties).map(([name, field]) => {
      const inside = words(field, depth + 1);
      return `${name}${required.has(name) ? "" : "?"}${inside === "text" || inside === "any JSON" ? "" : `: ${inside}`}`;
    });
    return `{${fields.join(", ")}}`;
  }
  if (shape.items) return `[${words(shape.items, depth + 1)}]`;
  switch (shape.type) {
    case "string":
      return "text";
    case "boolean":
      return "true or false";
    case "integer":
    case "number":
      return range(shape);
    case "null":
      return "null";
    case "array":
      return "list";
    case "object":
      return "object";
    default:
      return "any JSON";
  }
}

function range({ minimum, maximum }: Shape): string {
  const low = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const high = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  return low !== undefined && high !== undefined ? `${low} to ${high}` : "number";
}
