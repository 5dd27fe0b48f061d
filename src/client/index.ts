/** The live client without React: what page, command line and terminal client stand on. */
export { Api, RequestFailed, type AbortAnswer, type Fetch, type HistoryPage, type SendAnswer, type SendRequest, type ToolLine } from "./api.ts";
export { createClient, type Client, type ClientOptions } from "./client.ts";
export { Departed } from "./departed.ts";
export type { LinkState } from "./link.ts";
export { MARKS, saying, urgency, type MarkName, type Move, type Saying } from "./marks.ts";
export type { Outgoing } from "./outbox.ts";
export { ofEnd, sentenceOf, type Seen } from "./sentence.ts";
export type { Batch, Readable } from "./store.ts";
export { keepInMemory, openWebSocket, realTime, type Keep, type OpenSocket, type Socket, type Time } from "./surroundings.ts";
export { timelineOf, type CallItem, type Item } from "./timeline.ts";
export type { TopicState } from "./topic.ts";
export { buildTree, countMoves, rowsOf, type Filter, type Shape, type TreeNode, type TreeRow, type Voice } from "./tree-rows.ts";
export { isUnread, type Seen as SeenRows } from "./unread.ts";
