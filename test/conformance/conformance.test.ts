import { setupServer } from "msw/node";
import { sandboxHandlers } from "stocklot/msw";
import { createSandbox, type SandboxOptions, type SandboxServer } from "stocklot/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { READS, TOKEN_REQUEST, WRITES } from "../../src/service/operations.js";
import { duplicatesAs400, inTurn, transactionForms } from "../support/other-forms.js";
import { SUITE } from "./suite.js";
import { CLIENTS, Target, type TargetOptions } from "./target.js";

const OPTIONS: SandboxOptions = { clients: Object.values(CLIENTS), items: 120, lots: 900 };

/** Options of the sandbox for the documented forms of responses, and for every form that the document leaves open. */
const FORMS: readonly (readonly [string, SandboxOptions])[] = [
  ["the default forms", {}],
  [
    "the other forms",
    {
      createForm: "item",
      rewrite: inTurn(
        duplicatesAs400,
        transactionForms({ Receive: (recNo) => new Response(String(recNo)), Move: () => new Response(null) }),
      ),
    },
  ],
];

describe.each(FORMS)("the sandbox with %s keeps to the document", (_name, forms) => {
  const sandbox = createSandbox({ ...OPTIONS, ...forms, rateLimit: false });
  let server: SandboxServer;
  const msw = setupServer(...sandboxHandlers(sandbox, "https://inventory.example/api/v1"));

  beforeAll(async () => {
    server = await sandbox.listen();
  });
  afterAll(() => server.close());

  const adapters: Record<string, () => Pick<TargetOptions, "baseUrl" | "fetch">> = {
    "sandbox.fetch": () => sandbox,
    "sandbox.listen": () => ({ baseUrl: server.url }),
    msw: () => ({ baseUrl: "https://inventory.example/api/v1" }),
  };

  it("the checks call every operation of the document", async () => {
    const checked = createSandbox({ ...OPTIONS, ...forms, rateLimit: false });
    const { main: credentials, ...others } = CLIENTS;
    const { baseUrl, fetch, requests } = checked;
    for (const check of SUITE) await check.run(new Target({ baseUrl, fetch, credentials, others }));
    const operations = [TOKEN_REQUEST, ...Object.values(READS), ...Object.values(WRITES)];
    const uncalled = operations.filter(({ method, path }) => {
      const pattern = new RegExp(`^${path.replace(/{\w+}/, "[^/]+")}$`);
      return !requests.some((request) => request.method === method && pattern.test(request.path));
    });
    expect(uncalled).toEqual([]);
  });

  describe.each(Object.keys(adapters))("through %s", (adapter) => {
    beforeAll(() => {
      if (adapter === "msw") msw.listen({ onUnhandledRequest: "bypass" });
    });
    afterAll(() => msw.close());

    it.each(
      SUITE.map((check) => [`${check.paragraph}: ${check.name}`, check] as const),
    )("%s", async (_title, check) => {
      const { main: credentials, ...others } = CLIENTS;
      const place = adapters[adapter]?.();
      if (!place) throw new Error(`There is no adapter ${adapter}.`);
      const { baseUrl, fetch } = place;
      await check.run(new Target({ baseUrl, ...(fetch && { fetch }), credentials, others }));
    });
  });
});
