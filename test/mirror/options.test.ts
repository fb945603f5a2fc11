import { describe, expect, it } from "vitest";
import { ConfigurationError, InputValidationError } from "../../src/index.js";
import { createMirror, type MirrorOptions, postgresSink, sqliteSink } from "../../src/mirror/index.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

const client = new ChangingService(seededRandom(1)).client();

/** The message of what a function throws, for arguments that do not compile. */
function messageOf(call: (options: never) => unknown, options: unknown): string {
  try {
    Reflect.apply(call, undefined, [options]);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return error instanceof Error ? error.message : "";
  }
  return "nothing was thrown";
}

describe("the messages for wrong options", () => {
  it.each([
    ["run", null, "mirror.run: options: must be an object"],
    ["run", { full: "yes" }, "mirror.run: full: must be "],
    ["run", { onProgress: 1 }, "mirror.run: onProgress: must be a function"],
    ["watch", undefined, "mirror.watch: everyMs: is required"],
    ["watch", {}, "mirror.watch: everyMs: is required"],
    ["watch", 5, "mirror.watch: options: must be an object"],
    ["watch", { everyMs: "5" }, "mirror.watch: everyMs: must be"],
    ["watch", { everyMs: 5, onError: {} }, "mirror.watch: onError: must be a function"],
  ] as const)("of mirror.%s(%j) name the option", async (method, options, message) => {
    const mirror = createMirror({ client, sink: new MemorySink() });
    const call: Promise<unknown> = Reflect.apply(mirror[method], mirror, [options]);
    await expect(call).rejects.toBeInstanceOf(InputValidationError);
    await expect(call).rejects.toThrow(message);
  });

  it.each([
    [createMirror, undefined, "createMirror: client: is required; sink: is required"],
    [createMirror, "client", "createMirror: options: must be an object"],
    [createMirror, { client, sink: new MemorySink(), overlapMs: -1 }, "createMirror: overlapMs: must be "],
    [createMirror, { client, sink: new MemorySink(), resources: ["lot"] }, "createMirror: resources[0]: must be "],
    [sqliteSink, undefined, "sqliteSink: path: is required"],
    [sqliteSink, null, "sqliteSink: options: must be an object"],
    [postgresSink, undefined, "postgresSink: exactly one of pool, client and connectionString is required"],
    [postgresSink, { schema: "" }, "postgresSink: schema: "],
  ])("of %o name the option", (call, options, message) => {
    expect(messageOf(call, options)).toContain(message);
  });
});

it("options that are changed afterwards have no effect", async () => {
  const sink = new MemorySink();
  const resources: MirrorOptions["resources"] = ["items"];
  const options: MirrorOptions = { client, sink, resources };
  const mirror = createMirror(options);
  Object.assign(options, { sink: undefined, client: undefined });
  Reflect.apply(Array.prototype.push, resources, ["lots"]);
  expect(Object.keys((await mirror.run()).resources)).toEqual(["items"]);
});
