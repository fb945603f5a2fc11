import type { SandboxOptions } from "stocklot/sandbox";

type Rewrite = NonNullable<SandboxOptions["rewrite"]>;
type Transaction = "Receive" | "Move" | "Issue";

/** Other forms of the responses to transactions, by record number: the document does not show their bodies. */
export const transactionForms =
  (forms: { readonly [Name in Transaction]?: (recNo: number) => Response }): Rewrite =>
  async (response, request) => {
    const form = Object.entries(forms).find(([name]) => request.url.endsWith(`/Inventory/${name}`))?.[1];
    return form && response.ok ? form(Object(await response.json()).recNo) : response;
  };

/** The other documented status for a SKU that exists. */
export const duplicatesAs400: Rewrite = async (response) => {
  if (response.status !== 409) return response;
  return Response.json({ ...Object(await response.json()), statusCode: 400, error: "bad_request" }, { status: 400 });
};

/** Each rewrites what the one before has made. */
export const inTurn =
  (...rewrites: readonly Rewrite[]): Rewrite =>
  async (response, request) => {
    for (const rewrite of rewrites) response = await rewrite(response, request);
    return response;
  };
