import { vi } from "vitest";
import { testTheClient } from "./runners.cjs";

testTheClient(vi);
