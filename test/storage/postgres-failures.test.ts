import { EventEmitter } from "node:events";
import { StorageError } from "stocklot";
import { describe, expect, it } from "vitest";
import { PostgresDatabase } from "../../src/storage/postgres.js";

/** A pool connection on which each command that begins with `command` fails. */
class Client extends EventEmitter {
  readonly closed: boolean[] = [];
  readonly #command: string;
  readonly #failure: unknown;

  constructor(command = "none", failure?: unknown) {
    super();
    this.#command = command;
    this.#failure = failure;
  }

  async query(query: unknown): Promise<{ rows: unknown[] }> {
    if (JSON.stringify(query).includes(`"${this.#command}`)) throw this.#failure;
    return { rows: [] };
  }

  release(close = false): void {
    this.closed.push(close);
  }
}

/** Creates a database whose pool returns these connections one after the other, and then always the last. */
const connectionTo = (...clients: [Client, ...Client[]]) =>
  new PostgresDatabase({
    pool: {
      totalCount: 1,
      connect: (callback: (error: undefined, client: Client | undefined) => void) =>
        callback(undefined, clients.length > 1 ? clients.shift() : clients[0]),
      query: () => {},
      removeListener() {
        return this;
      },
      on() {
        return this;
      },
    },
  } as unknown as ConstructorParameters<typeof PostgresDatabase>[0]);

const reported = (code: string, message = code) => Object.assign(new Error(message), { code, severity: "ERROR" });

describe("a COMMIT that fails", () => {
  it.each([
    ["a violated constraint", reported("23505"), false],
    ["a lost lock", reported("55P03"), false],
    ["a lost connection", new Error("Connection terminated unexpectedly"), true],
    ["an error of the socket, whose code is no SQLSTATE", Object.assign(new Error("gone"), { code: "EPIPE" }), true],
    ["a connection exception", reported("08006"), true],
    ["a server that shuts down", reported("57P01"), true],
    ["a statement whose completion is unknown", reported("40003"), true],
    ["an internal error", reported("XX000"), true],
  ])("because of %s reports whether the change may be stored", async (_, failure, mayBeStored) => {
    const client = new Client("COMMIT", failure);
    const error = await connectionTo(client)
      .transaction(async () => {})
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({ mayBeStored });
    expect(error.message).toContain(mayBeStored ? "may or may not have been stored" : "was not stored");
    // If a commit is in doubt, its connection is closed instead of being used again.
    expect(client.closed).toEqual([mayBeStored]);
  });
});

describe("a BEGIN that fails", () => {
  const lost = new Error("Connection terminated unexpectedly");
  const result = async () => "done";

  it.each([
    ["an idle connection was lost", lost],
    ["the server is a standby", reported("25006")],
    ["the server is recovering", reported("0A000", "cannot set transaction read-write mode during recovery")],
  ])("since %s is tried on another one", async (_, failure) => {
    const client = new Client("BEGIN", failure);
    expect(await connectionTo(client, new Client()).transaction(result)).toBe("done");
    expect(client.closed).toEqual([true]);
  });

  it("on the next connections too ends the transaction", async () => {
    const client = new Client("BEGIN", lost);
    await expect(connectionTo(client).transaction(result)).rejects.toThrow(StorageError);
    expect(client.closed).toEqual([true, true, true]);
  });

  it("since the server refuses it is not tried again, and the connection is kept", async () => {
    const client = new Client("BEGIN", reported("25001"));
    await expect(connectionTo(client).transaction(result)).rejects.toThrow(StorageError);
    expect(client.closed).toEqual([false]);
  });
});

it("transactions leave no listeners on the connections of the caller's pool", async () => {
  const client = new Client();
  const connection = connectionTo(client);
  for (let count = 0; count < 20; count += 1) await connection.transaction(async () => {});
  expect(client.listenerCount("error")).toBe(0);
});
