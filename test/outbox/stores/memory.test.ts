import { emptyData, memoryStore } from "../../../src/outbox/stores/memory-store.js";
import { describeStore } from "./conformance.js";

describeStore("an outbox store in memory", () => {
  const data = emptyData();
  return () => memoryStore(data);
});
