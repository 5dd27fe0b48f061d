/** Changes a settings file as a careful person would: one entry, all comments and the order kept. Pure: text in, text out. */
import { isMap, isSeq, parseDocument, type Document } from "yaml";

export interface NewProvider {
  name: string;
  baseUrl: string;
  /** Name of the variable in somora.env. */
  keyEnv: string | null;
  models: string[];
}

/** Adds the provider, or to a provider of that name what it lacks. */
export function withProvider(text: string, provider: NewProvider): string {
  const document = parseDocument(text);
  if (!isMap(document.get("providers", true))) document.set("providers", document.createNode({}));
  const at = ["providers", provider.name];
  if (!isMap(document.getIn(at, true))) {
    document.setIn(at, document.createNode({ engine: "openai-compatible", baseUrl: provider.baseUrl }));
  } else {
    document.setIn([...at, "engine"], "openai-compatible");
    document.setIn([...at, "baseUrl"], provider.baseUrl);
  }
  if (provider.keyEnv !== null) document.setIn([...at, "apiKey"], `\${${provider.keyEnv}}`);
  const models = document.getIn([...at, "models"], true);
  if (!isSeq(models)) document.setIn([...at, "models"], document.createNode(provider.models.map((id) => ({ id }))));
  else {
    const known = new Set((models.toJSON() as { id?: unknown }[]).map((entry) => entry.id));
    for (const id of provider.models) if (!known.has(id)) models.add(document.createNode({ id }));
  }
  return written(document, text);
}

/** Sets a key of agent.yaml; null takes it away. */
export function withAgentModel(text: string, ref: string | null): string {
  const document = parseDocument(text);
  if (!isMap(document.contents)) {
    // A file of comments only: keep them as its head.
    const head = text.trimEnd();
    return ref === null ? text : `${head === "" ? "" : `${head}\n`}model: ${JSON.stringify(ref)}\n`;
  }
  if (ref === null) document.delete("model");
  else document.set("model", ref);
  return written(document, text);
}

/** Blanks within `{ }` and `[ ]` as the file has them. */
function written(document: Document, before: string): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: /[[{] \S/.test(before) });
}
