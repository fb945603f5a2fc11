import assert from "node:assert/strict";
import type { Check } from "../check.js";

/** Asking this often must be refused at some point: the documented limit, twice, and some. */
const MOST = 250;

export const RATE_LIMIT: readonly Check[] = [
  {
    paragraph: "Errors",
    name: "over the limit, 429 is an object with a message and nothing else",
    needs: "exhaustion",
    async run(service) {
      const { body } = await service.requestToken();
      const headers = { authorization: `Bearer ${body.access_token}` };
      for (let request = 0; request < MOST; request += 1) {
        const response = await service.once("/Item?pageSize=1", { headers });
        if (response.status !== 429) continue;
        assert.deepEqual(Object.keys(response.body), ["message"]);
        assert.match(response.body.message, /^Rate Limit Exceeded\./);
        return;
      }
      assert.fail(`${MOST} requests were not too many`);
    },
  },
];
