import type { Caller, Gate } from "./auth/gate.js";
import { ENDPOINTS } from "./endpoints/index.js";
import { answerToken } from "./endpoints/token.js";
import { jsonObject } from "./http/body.js";
import type { Incoming } from "./http/incoming.js";
import { errorBody, notFound, Refusal } from "./http/refusal.js";
import { jsonText, type Reply } from "./http/reply.js";
import { createRouter } from "./http/router.js";
import type { Settings } from "./settings.js";
import type { State } from "./store/state.js";
import type { Announce } from "./transactions.js";

/** A request that has been counted, and all that is needed to answer it. */
export interface Dispatch {
  readonly request: Incoming;
  /** Relative to the base address, encoded; undefined when the request went elsewhere. */
  readonly path: string | undefined;
  readonly query: URLSearchParams;
  readonly caller: Caller;
  readonly gate: Gate;
  readonly state: State;
  readonly settings: Settings;
  readonly now: number;
  readonly announce: Announce;
}

const findRoute = createRouter(ENDPOINTS);

/** The answer that the document gives for the request; refusals become its error object. */
export function dispatch(work: Dispatch): Reply {
  try {
    return answer(work);
  } catch (error) {
    if (error instanceof Refusal) {
      const { status, code, message, details } = error;
      return jsonText(status, errorBody(status, code, message, details), status === 401 ? CHALLENGE : undefined);
    }
    const message = error instanceof Error ? error.message : String(error);
    return jsonText(500, errorBody(500, "internal_error", `Unexpected server error: ${message}`));
  }
}

const CHALLENGE = { "www-authenticate": "Bearer" };

function answer({ request, path, query, caller, gate, state, settings, now, announce }: Dispatch): Reply {
  const contentType = request.header("content-type");
  if (path === undefined) throw notFound("There is no such resource.");
  if (path === "/Token" && request.method === "POST") {
    return answerToken(gate.tokens, settings, { contentType, body: request.body, now });
  }
  const client = gate.authenticated(caller);
  // HEAD is a GET whose body the doors keep back.
  const route = findRoute(request.method === "HEAD" ? "GET" : request.method, path);
  if (!route) throw notFound(`There is no resource ${request.method} ${path}.`);
  const { endpoint, params } = route;
  gate.authorize(client, endpoint.permission, endpoint.method !== "GET");
  const body = () => jsonObject(contentType, request.body);
  return endpoint.handle({ client, params, query, json: body, state, settings, now, announce });
}
