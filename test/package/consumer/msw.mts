import { sandboxHandlers } from "stocklot/msw";
import { createSandbox } from "stocklot/sandbox";

const sandbox = createSandbox();
export const paths: string[] = sandboxHandlers(sandbox, "https://inventory.example/api/v1").map(
  ({ info }) => info.header,
);

// @ts-expect-error a sandbox, not its options
export const wrong = () => void sandboxHandlers({ lots: 300 });
