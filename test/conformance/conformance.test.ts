import { setupServer } from "msw/node";
import { sandboxHandlers } from "stocklot/msw";
import { createSandbox, type SandboxOptions, type SandboxServer } from "stocklot/sandbox";
import { afterAll, beforeAll, describe, it } from "vitest";
import { duplicatesAs400, inTurn, transactionForms } from "../support/other-forms.js";
import { NotApplicable } from "./check.js";
import { SUITE } from "./suite.js";
import { CLIENTS, Target, type TargetOptions } from "./target.js";

const OPTIONS: SandboxOptions = { clients: Object.values(CLIENTS), items: 120, lots: 900 };

/** The documented forms, and every alternative that the document leaves open. */
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
  const limited = createSandbox({ ...OPTIONS, ...forms });
  let server: SandboxServer;
  let limitedServer: SandboxServer;
  const msw = setupServer(
    ...sandboxHandlers(sandbox, "https://free.example/api/v1"),
    ...sandboxHandlers(limited, "https://limited.example/api/v1"),
  );

  beforeAll(async () => {
    server = await sandbox.listen();
    limitedServer = await limited.listen();
  });
  afterAll(() => Promise.all([server.close(), limitedServer.close()]));

  const adapters: Record<string, (isLimited: boolean) => Pick<TargetOptions, "baseUrl" | "fetch">> = {
    "sandbox.fetch": (isLimited) => (isLimited ? limited : sandbox),
    "sandbox.listen": (isLimited) => ({ baseUrl: (isLimited ? limitedServer : server).url }),
    msw: (isLimited) => ({ baseUrl: `https://${isLimited ? "limited" : "free"}.example/api/v1` }),
  };

  describe.each(Object.keys(adapters))("through %s", (adapter) => {
    beforeAll(() => {
      limited.reset();
      if (adapter === "msw") msw.listen({ onUnhandledRequest: "bypass" });
    });
    afterAll(() => msw.close());

    it.each(
      SUITE.map((check) => [`${check.paragraph}: ${check.name}`, check] as const),
    )("%s", async (_title, check) => {
      const { main: credentials, ...others } = CLIENTS;
      const place = adapters[adapter]?.(check.needs === "exhaustion");
      if (!place) throw new Error(`There is no adapter ${adapter}.`);
      try {
        await check.run(
          new Target({ baseUrl: place.baseUrl, ...(place.fetch && { fetch: place.fetch }), credentials, others }),
        );
      } catch (error) {
        // Generated data must allow every check.
        if (error instanceof NotApplicable) throw new Error(`Not applicable: ${error.message}`);
        throw error;
      }
    });
  });
});
