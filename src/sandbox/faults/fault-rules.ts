import { checkConfiguration } from "../../schemas/check.js";
import { createRandomGenerator, type RandomGenerator } from "../data/random.js";
import { expandFaultShorthand, type Fault, type FaultRule, faultRuleSchema } from "../options/fault-rule.js";

/** The part of a request that rules match. */
export interface FaultableRequest {
  readonly method: string;
  readonly path: string;
  readonly clientId: string | undefined;
}

interface ActiveFaultRule {
  readonly rule: FaultRule;
  readonly fault: Fault;
  readonly path: RegExp | undefined;
  /** How many requests it has matched. */
  matched: number;
  /** How many times its fault was applied. */
  applied: number;
}

/** The active rules, with their counters. */
export class FaultRules {
  private rules: ActiveFaultRule[] = [];
  private random: RandomGenerator;

  constructor(private readonly seed: number) {
    this.random = createRandomGenerator(seed);
  }

  /** Throws a `ConfigurationError` for an invalid rule. */
  add(value: unknown): void {
    checkConfiguration("addFault", faultRuleSchema(), value ?? null, { quotesStrings: true });
    const rule: FaultRule = faultRuleSchema().parse(value);
    const path = typeof rule.path === "string" ? wildcardToRegExp(rule.path) : rule.path;
    this.rules.push({ rule, fault: expandFaultShorthand(rule.fault), path, matched: 0, applied: 0 });
  }

  clear(): void {
    this.rules = [];
    this.random = createRandomGenerator(this.seed);
  }

  /** The rules that can still apply, as the page shows them. */
  get descriptions(): string[] {
    return this.rules
      .filter(({ rule, applied }) => applied < (rule.times ?? Number.POSITIVE_INFINITY))
      .map(({ rule: { method, path = "*", times = Number.POSITIVE_INFINITY }, fault, applied }) => {
        const name =
          fault.type === "status"
            ? fault.status
            : `${fault.type}${"when" in fault && fault.when === "after" ? "-after" : ""}`;
        const left = times === Number.POSITIVE_INFINITY ? "always" : `${times - applied} more`;
        return `${[method, path, name].filter(Boolean).join(" ")} (${left})`;
      });
  }

  /** The fault to apply to this request, if any. */
  takeFaultFor(subject: FaultableRequest): Fault | undefined {
    for (const active of this.rules) {
      const { rule } = active;
      if (!this.matches(active, subject)) continue;
      active.matched += 1;
      if (active.matched <= (rule.skip ?? 0)) continue;
      if (active.applied >= (rule.times ?? Number.POSITIVE_INFINITY)) continue;
      if (rule.probability !== undefined && this.random() >= rule.probability) continue;
      active.applied += 1;
      return active.fault;
    }
    return undefined;
  }

  private matches({ rule, path }: ActiveFaultRule, subject: FaultableRequest): boolean {
    if (rule.method !== undefined && rule.method.toUpperCase() !== subject.method) return false;
    if (rule.clientId !== undefined && rule.clientId !== subject.clientId) return false;
    // `search` rather than `test`: an expression with the flag g would keep its position between requests.
    return path === undefined || subject.path.search(path) !== -1;
  }
}

function wildcardToRegExp(path: string): RegExp {
  const literal = path.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}
