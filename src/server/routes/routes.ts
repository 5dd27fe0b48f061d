/** All routes, in the order of the reference page. A new family is one file and one line here. */
import type { Route } from "../route.ts";
import { actorRoutes } from "./actors.route.ts";
import { agentRoutes } from "./agents.route.ts";
import { chatRoutes } from "./chat.route.ts";
import { configRoutes } from "./config.route.ts";
import { healthRoutes } from "./health.route.ts";
import { modelRoutes } from "./models.route.ts";
import { pairRoutes } from "./pair.route.ts";
import { toolRoutes } from "./tools.route.ts";
import { usageRoutes } from "./usage.route.ts";

export const ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...pairRoutes,
  ...chatRoutes,
  ...agentRoutes,
  ...modelRoutes,
  ...toolRoutes,
  ...actorRoutes,
  ...usageRoutes,
  ...configRoutes,
];
