import { describe, expect, it } from "vitest";
import { createMirror } from "../../src/mirror/index.js";
import { MemorySink } from "../support/memory-sink.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

/** An array in an array, and so on, this many levels deep. */
function nestedArray(levels: number): unknown[] {
  let value: unknown[] = [];
  for (let level = 1; level < levels; level += 1) value = [value];
  return value;
}

/** The same as an object in an object. */
function nestedObject(levels: number): object {
  let value = {};
  for (let level = 1; level < levels; level += 1) value = { in: value };
  return value;
}

function setUp() {
  const service = new ChangingService(seededRandom(1));
  service.addItem();
  const sink = new MemorySink();
  const mirror = createMirror({
    client: service.client({ responseValidation: "off" }),
    sink,
    resources: ["items"],
    onEvent: () => {},
  });
  return { service, sink, mirror };
}

describe.each([
  ["array", nestedArray],
  ["object", nestedObject],
] as const)("a record with a nested %s", (_, nested) => {
  it("is copied and compared", async () => {
    const { service, sink, mirror } = setUp();
    for (const levels of [50, 51, 90]) {
      service.changeItem({ extra: nested(levels) });
      await mirror.run();
      expect(sink.all("items")).toEqual(service.records("items"));
    }
  });
});
