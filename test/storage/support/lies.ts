import { Client } from "pg";
import type { Random } from "../../support/random.js";
import type { BrokenNetwork } from "./broken-network.js";

/*
 * Lies of a database: it hides rows, refuses commands, stalls, forgets what it has accepted, or restarts. A test uses one lie,
 * and the kinds of lies take turns. The program under test connects as an ordinary user.
 */

export interface Lie {
  name: string;
  /** The table that the lie concerns, or `undefined` for all tables. */
  table: string | undefined;
  /** Whether a right is missing, or a policy applies. Then an error names the right. */
  isAboutRights: boolean;
  /** Whether calls may wait until they are aborted or the lie ends. */
  stalls: boolean;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

export interface LyingDatabase {
  random: Random;
  /** The address with the user name of an administrator. */
  url: string;
  schema: string;
  /** The tables, each with a column that gets its old value back when an update is forgotten. */
  tables: readonly (readonly [table: string, column: string])[];
  role: string;
  network: BrokenNetwork;
}

const COMMANDS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
/** Errors that may pass: a conflict, a lock, a statement that took too long, a full disk, a fault of the server. */
const PASSING = ["40001", "55P03", "57014", "53100", "XX000"];
/** All errors, also of a missing right, a constraint, a trigger and a division by zero. */
const STATES = ["42501", "23514", "P0001", "22012", ...PASSING];

export function randomLie(seed: number, { random, url, schema, tables, role, network }: LyingDatabase): Lie {
  const oneOf = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  const [table, column] = oneOf(tables);
  const name = `${schema}.${table}`;
  const command = oneOf(COMMANDS.slice(0, 3));
  const event = oneOf(["INSERT", "UPDATE"]);
  const admin = async (sql: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  const lie = (what: string, own: Pick<Lie, "begin" | "end"> & Partial<Lie>): Lie => ({
    name: `${what} ${table}`,
    table,
    isAboutRights: false,
    stalls: false,
    ...own,
  });
  const byTrigger = (body: string, time = "BEFORE", own: Partial<Lie> = {}) => {
    const isDeferred = time === "DEFERRED";
    const when = oneOf(["", "", "IF txid_current() % 2 = 0 THEN RETURN NEW; END IF;"]);
    return lie(`${time} ${event} ${when} ${body} on`, {
      begin: () =>
        admin(`CREATE FUNCTION ${schema}.lie() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${when} ${body}; END $$;
          CREATE ${isDeferred ? "CONSTRAINT" : ""} TRIGGER lie ${isDeferred ? "AFTER" : time} ${event} ON ${name}
          ${isDeferred ? "DEFERRABLE INITIALLY DEFERRED" : ""} FOR EACH ROW EXECUTE FUNCTION ${schema}.lie()`),
      end: () => admin(`DROP FUNCTION ${schema}.lie CASCADE`),
      ...own,
    });
  };
  const undo =
    event === "INSERT"
      ? `DELETE FROM ${name} AS row WHERE row::text = NEW::text; RETURN NULL`
      : `IF pg_trigger_depth() = 1 THEN UPDATE ${name} AS row SET "${column}" = OLD."${column}" WHERE row::text = NEW::text; END IF; RETURN NULL`;
  let lock: Client | undefined;
  const kinds: (() => Lie)[] = [
    // The database hides rows.
    () => {
      const others = COMMANDS.filter((one) => one !== command);
      const check = (one: string) => (one === "INSERT" ? "WITH CHECK (true)" : "USING (true)");
      const policies = others.map((one) => `CREATE POLICY of_${one} ON ${name} FOR ${one} ${check(one)}`).join("; ");
      return lie(`row-level security for ${command} of`, {
        isAboutRights: true,
        begin: () => admin(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; ${policies}`),
        end: () =>
          admin(`ALTER TABLE ${name} DISABLE ROW LEVEL SECURITY;
            ${others.map((one) => `DROP POLICY of_${one} ON ${name}`).join("; ")}`),
      });
    },
    // The database refuses commands.
    () =>
      lie(`no right ${command} on`, {
        isAboutRights: true,
        begin: () => admin(`REVOKE ${command} ON ${name} FROM ${role}`),
        end: () => admin(`GRANT ${command} ON ${name} TO ${role}`),
      }),
    () => {
      const state = oneOf(STATES);
      // A run repeats commands for about a minute while such an error lasts, for example while the disk is full.
      const stalls = PASSING.includes(state);
      return byTrigger(`RAISE EXCEPTION 'no' USING ERRCODE = '${state}'`, "BEFORE", { stalls });
    },
    // The database stalls.
    () => byTrigger(`PERFORM pg_sleep(${oneOf([0.05, 0.4, 30])}); RETURN NEW`, "BEFORE", { stalls: true }),
    () =>
      lie("a lock of", {
        stalls: true,
        async begin() {
          lock = new Client({ connectionString: url });
          await lock.connect();
          await lock.query(`BEGIN; LOCK TABLE ${name} IN EXCLUSIVE MODE`);
        },
        end: async () => lock?.end(),
      }),
    () => lie("silence", { table: undefined, stalls: true, begin: async () => network.silence(), end: network.repair }),
    // The database forgets what it has accepted.
    () =>
      byTrigger(
        oneOf([
          "RETURN NULL",
          "RETURN OLD",
          `NEW."${column}" := ${event === "INSERT" ? "NULL" : `OLD."${column}"`}; RETURN NEW`,
        ]),
      ),
    () => byTrigger(undo, oneOf(["AFTER", "AFTER", "DEFERRED"])),
    // The database restarts.
    () => {
      const how = oneOf(["down", "starting"] as const);
      const downMs = oneOf([300, 1_500, 20_000]);
      let timer: NodeJS.Timeout | undefined;
      let repaired: Promise<void> | undefined;
      const repair = () => {
        repaired ??= network.repair();
        return repaired;
      };
      return lie(`${how} for ${downMs} ms`, {
        table: undefined,
        stalls: true,
        async begin() {
          await network.refuse(how);
          timer = setTimeout(repair, downMs);
        },
        async end() {
          clearTimeout(timer);
          await repair();
        },
      });
    },
  ];
  return (kinds[seed % kinds.length] as () => Lie)();
}

/** Counts the commands that a pool sends. */
export function countCommands(pool: {
  on(event: "connect", listener: (client: Client) => void): unknown;
}): () => number {
  let count = 0;
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    client.query = ((...given: unknown[]) => {
      count += 1;
      return query(...given);
    }) as never;
  });
  return () => count;
}
