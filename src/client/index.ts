/** The live client without React: what page, command line and terminal client stand on. */
export { activityWords, barsOf, BUCKET_MS, FINE_MS, hourBefore, spanOf, stepFrom, type Activity } from "./activity.ts";
export { RequestFailed } from "./api.ts";
export { callEnd, endedCalls } from "./call-ends.ts";
export { createClient, type Client, type ClientOptions } from "./client.ts";
export { Departed } from "./departed.ts";
export { Link, type LinkState } from "./link.ts";
export { urgency, type MarkName, type Move, type Saying } from "./marks.ts";
export { unseen, type Outgoing } from "./outbox.ts";
export type { PastState } from "./past-tree.ts";
export { ofEnd, sentenceOf, type Seen } from "./sentence.ts";
export { Notifier, type Readable } from "./store.ts";
export { keepInMemory, openWebSocket, realTime, type Keep, type OpenSocket, type Socket, type Time } from "./surroundings.ts";
export { timeOf, timelineOf, type CallItem, type Item } from "./timeline.ts";
export { causeWords, storyText } from "./story.ts";
export { Topic, type TopicState } from "./topic.ts";
export { buildTree, countMoves, rowsOf, type Filter, type Shape, type TreeNode, type TreeRow, type Voice } from "./tree-rows.ts";
export { isUnread } from "./unread.ts";
export { waitArrows, type WaitArrow } from "./wait-arrows.ts";
export { lineName, waitChain, type ChainLink } from "./wait-chain.ts";
export {
  atTime,
  characters,
  clockSpan,
  clockTime,
  codeWord,
  count,
  exactTime,
  grouped,
  middle,
  money,
  ordinal,
  restSpan,
  shortSpan,
  spanWords,
  tenthTime,
} from "./words.ts";
