import type { SandboxOptions } from "stocklot/sandbox";

type Rewrite = NonNullable<SandboxOptions["rewrite"]>;
type Transaction = "Receive" | "Move" | "Issue";

/** Replaces responses to transactions by other forms, since the document does not show their bodies. */
export const transactionForms =
  (forms: { readonly [Name in Transaction]?: (recNo: number) => Response }): Rewrite =>
  async (response, request) => {
    const form = Object.entries(forms).find(([name]) => request.url.endsWith(`/Inventory/${name}`))?.[1];
    return form && response.ok ? form(Object(await response.json()).recNo) : response;
  };

/** Changes 409 for a SKU that exists to 400, the other status that the document allows. */
export const duplicatesAs400: Rewrite = async (response) => {
  if (response.status !== 409) return response;
  return Response.json({ ...Object(await response.json()), statusCode: 400, error: "bad_request" }, { status: 400 });
};

/** Combines functions. Each rewrites the result of the previous one. */
export const inTurn =
  (...rewrites: readonly Rewrite[]): Rewrite =>
  async (response, request) => {
    for (const rewrite of rewrites) response = await rewrite(response, request);
    return response;
  };
