/**
 * Every error of the package: what causes it, and how to handle it.
 *
 *     npx tsx examples/handle-errors.ts
 *
 * Always against a sandbox, since a real service does not produce lost responses and broken bodies on demand.
 */
import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ClientClosedError,
  type ClientOptions,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  InputValidationError,
  InventoryClient,
  NotFoundError,
  NotImplementedError,
  OutcomeUnknownError,
  PaginationError,
  PermissionError,
  RateLimitError,
  ResponseValidationError,
  ServerError,
  StocklotError,
  StorageError,
  TimeoutError,
  UnexpectedRemovalsError,
  ValidationError,
} from "stocklot";
import { createMirror, sqliteSink } from "stocklot/mirror";
import { createSandbox } from "stocklot/sandbox";
import { outFile } from "./connect.js";
import { style } from "./terminal.js";

/** What a program would do. Copy this function: each subclass is tested before its parent. */
function whatToDo(error: unknown): string {
  // Before anything was sent.
  if (error instanceof ConfigurationError) return `correct the options: ${error.message}`;
  if (error instanceof InputValidationError) {
    return `mark the fields: ${error.issues.map(({ path, message }) => `${path.join(".")} (${message})`).join(", ")}`;
  }

  // The service refused the request.
  if (error instanceof ValidationError) return `mark the fields: ${JSON.stringify(error.details)}`;
  if (error instanceof BadRequestError) return `show it to the user: ${error.serviceMessage}`;
  if (error instanceof AuthenticationError) return `check baseUrl and the credentials: ${error.message}`;
  if (error instanceof PermissionError) {
    switch (error.reason) {
      case "warehouse-out-of-scope":
        return "skip this warehouse";
      case "read-only":
        return "disable writes for this user";
      case "insufficient-permissions":
        return `ask for the permission that ${error.method} ${error.path} needs`;
      case "report-access-denied":
        return "skip this report";
      case "unknown":
        return `show it to the user: ${error.serviceMessage}`;
    }
  }
  if (error instanceof NotFoundError) return `offer to create it: ${error.serviceMessage}`;
  if (error instanceof ConflictError) return `read it again, then decide: ${error.serviceMessage}`;
  if (error instanceof RateLimitError) return `try again in ${Math.ceil(error.retryAfterMs)} ms; nothing was applied`;
  if (error instanceof NotImplementedError) return "use another operation: the service does not support this one";
  if (error instanceof ServerError) return `try later, after ${error.attempts} attempts: ${error.status} ${error.code}`;
  if (error instanceof ApiError) return `report it: ${error.code}, ${error.message}`;

  // A mirror.
  if (error instanceof StorageError) return `repair the storage: ${error.message}`;
  if (error instanceof UnexpectedRemovalsError) {
    return `ask a person: ${error.removals} of ${error.records} ${error.resource} would be removed`;
  }

  // There was no usable response.
  if (error instanceof OutcomeUnknownError) {
    const { method, path, body, sentAt } = error.request;
    return `check whether it was applied before you resend it: ${method} ${path} ${JSON.stringify(body)} at ${new Date(sentAt).toISOString()}`;
  }
  if (error instanceof TimeoutError) {
    return `try later, nothing was applied: ${error.clock} passed`;
  }
  if (error instanceof ClientClosedError) return "the program is shutting down: drop it";
  if (error instanceof ConnectionError) return `try later, nothing was applied: ${error.message}`;
  if (error instanceof ResponseValidationError) return `report it: ${error.message}`;
  if (error instanceof PaginationError) return `read the list again later: ${error.message}`;

  // The root of the tree, for classes that a later version may add.
  if (error instanceof StocklotError) return `report it: ${error.message}`;

  // An abort is not an error of the package: the call rejects with the signal's reason.
  if (error === STOPPED) return "nothing, the program aborted it";
  throw error;
}

const STOPPED = new Error("the user pressed stop");

const all = { clientId: "all", clientSecret: "all-secret" };
const auditor = { clientId: "auditor", clientSecret: "auditor-secret" };
const picker = { clientId: "picker", clientSecret: "picker-secret" };
const sandbox = createSandbox({
  clients: [all, { ...auditor, readOnly: true }, { ...picker, permissions: [11], warehouses: [1] }],
  items: [{ shortID: "BOLT-M8" }],
  lots: [{ shortID: "BOLT-M8", units: 100, wID: 1 }],
});

const receipt = { itemID: "BOLT-M8", units: 10, wid: 1, reasonCode: 1 };

type ErrorClass = { readonly prototype: Error; readonly name: string };

/** Makes a call that ends in an error of exactly this class, and prints how to handle it. */
async function provoke(
  expected: ErrorClass,
  call: (client: InventoryClient) => Promise<unknown>,
  options: ClientOptions = {},
): Promise<void> {
  const client = clientOf(options);
  try {
    await call(client);
  } catch (error) {
    if (error instanceof Error && Object.getPrototypeOf(error) === expected.prototype) {
      console.log(`${style("red", expected.name.padEnd(24))} ${whatToDo(error)}`);
      return;
    }
    throw error;
  } finally {
    sandbox.clearFaults();
    await client.close();
  }
  throw new Error(`${expected.name} was not thrown`);
}

function clientOf(options: ClientOptions): InventoryClient {
  return new InventoryClient({ baseUrl: sandbox.baseUrl, ...all, fetch: sandbox.fetch, ...options });
}

// Wrong options.
await provoke(ConfigurationError, async () => clientOf({ rateLimit: { requests: 10, reserved: 10 } }));

// Wrong arguments: nothing is sent.
await provoke(InputValidationError, (client) => client.inventory.receive({ ...receipt, units: 0 }));

// 400 validation_error: the service's own check. The client's check of arguments would fail first, but request() skips it.
await provoke(ValidationError, (client) =>
  client.request({ method: "POST", path: "/Inventory/Receive", body: { ...receipt, units: 0 } }),
);

// Any other 400.
await provoke(BadRequestError, (client) => client.inventory.issue({ ...receipt, units: 1_000 }));

// 401: the token endpoint refuses the credentials.
await provoke(AuthenticationError, (client) => client.items.get("BOLT-M8"), { clientSecret: "wrong" });

// 403, for each of its reasons.
await provoke(PermissionError, (client) => client.inventory.listLots({ wid: 2 }).page(), picker);
await provoke(PermissionError, (client) => client.inventory.receive(receipt), auditor);
await provoke(PermissionError, (client) => client.inventory.receive(receipt), picker);
sandbox.addFault({
  path: "/Reports/*",
  fault: {
    type: "status",
    status: 403,
    body: { statusCode: 403, error: "forbidden", message: "Report access denied." },
  },
});
await provoke(PermissionError, (client) => client.paginate({ path: "/Reports/Stock" }).page());

// 404
await provoke(NotFoundError, (client) => client.items.get("NO-SUCH-SKU"));

// 409
await provoke(ConflictError, (client) => client.items.create({ shortID: "BOLT-M8" }));

// 429, after the retries are used up. By default the client pauses for 30 to 60 s, up to five times.
sandbox.addFault({ path: "/Item", fault: 429 });
await provoke(RateLimitError, (client) => client.items.get("BOLT-M8"), {
  retry: { maxRateLimitRetries: 1, rateLimitDelayMs: [50, 100] },
});

// 501
sandbox.addFault({ method: "DELETE", fault: 501 });
await provoke(NotImplementedError, (client) => client.items.discontinue("BOLT-M8"));

// Any other 5xx, also after the retries.
sandbox.addFault({ path: "/Item", fault: 503 });
await provoke(ServerError, (client) => client.items.get("BOLT-M8"), { retry: { minDelayMs: 10 } });

// Any other status.
sandbox.addFault({ path: "/Item", fault: 410 });
await provoke(ApiError, (client) => client.items.get("BOLT-M8"));

// A write whose response is lost: it was applied, but the client cannot know.
sandbox.addFault({ path: "/Inventory/Receive", fault: "drop-after" });
await provoke(OutcomeUnknownError, (client) => client.inventory.receive(receipt));

// No response in time.
sandbox.addFault({ path: "/Item", fault: "hang" });
await provoke(TimeoutError, (client) => client.items.get("BOLT-M8", { timeoutMs: 100, retry: false }));

// The connection breaks, also after the retries.
sandbox.addFault({ path: "/Item", fault: "drop" });
await provoke(ConnectionError, (client) => client.items.get("BOLT-M8"), { retry: { minDelayMs: 10 } });

// The client was closed.
await provoke(ClientClosedError, async (client) => {
  await client.close();
  await client.items.get("BOLT-M8");
});

// A response that does not match the service's document. With `responseValidation: "warn"` it would be logged and returned.
const bolt = await clientOf({}).items.get("BOLT-M8");
sandbox.addFault({ path: "/Item", fault: { type: "status", status: 200, body: { ...bolt, units: "many" } } });
await provoke(ResponseValidationError, (client) => client.items.get("BOLT-M8"));

// A list that reports more records, and returns none.
sandbox.addFault({
  path: "/Inventory",
  fault: {
    type: "status",
    status: 200,
    body: { value: [], totalCount: 2, page: 1, pageSize: 250, pageCount: 1, hasMore: true },
  },
});
await provoke(PaginationError, (client) => client.inventory.listLots().toArray());

// The copy of a mirror cannot be stored: its folder would be inside a file.
const file = fileURLToPath(import.meta.url);
await provoke(StorageError, async (client) => {
  await createMirror({ client, sink: sqliteSink({ path: `${file}/copy.db` }) }).run();
});

// A mirror whose service suddenly lists no lots: the copy keeps them.
await provoke(UnexpectedRemovalsError, async () => {
  const directory = outFile("handle-errors");
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const { baseUrl, credentials, fetch, addFault } = createSandbox({ lots: 100 });
  const client = new InventoryClient({ baseUrl, ...credentials, fetch });
  const mirror = createMirror({ client, sink: sqliteSink({ path: `${directory}/copy.db` }), resources: ["lots"] });
  await mirror.run();
  const body = { value: [], totalCount: 0, page: 1, pageSize: 250, pageCount: 0, hasMore: false };
  addFault({ path: "/Inventory", fault: { type: "status", status: 200, body } });
  await mirror.run({ full: true });
});

// A call that was aborted rejects with the signal's own reason, as fetch does.
sandbox.addFault({ path: "/Item", fault: "hang" });
const client = clientOf({});
try {
  await client.items.get("BOLT-M8", { signal: stoppedSoon() });
} catch (error) {
  console.log(`${"(aborted)".padEnd(24)} ${whatToDo(error)}`);
}
await client.close();

function stoppedSoon(): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(STOPPED), 50);
  return controller.signal;
}
