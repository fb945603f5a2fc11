import { brandErrorClasses } from "./brand.js";
import { redact } from "./redact.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * Why a store or sink failed:
 *
 * - `full`: no space is left
 * - `read-only`: the file, its directory or the database cannot be written
 * - `permission`: access was denied, or the credentials were refused
 * - `missing`: the directory or the database does not exist
 * - `locked`: another process or session kept a lock for too long
 * - `timeout`: a command took too long, or the database did not respond
 * - `unreachable`: there is no connection, or it was lost
 * - `damaged`: the file is not a database, or its content is damaged
 * - `other`: see `cause`
 */
export type StorageProblem =
  | "full"
  | "read-only"
  | "permission"
  | "missing"
  | "locked"
  | "timeout"
  | "unreachable"
  | "damaged"
  | "other";

/** What a {@link StorageError} is created with. */
export interface StorageErrorInit {
  /** See {@link StorageError.storage}. */
  storage: string;
  /** See {@link StorageError.location}. */
  location: string;
  /**
   * See {@link StorageError.problem}.
   * @default "other"
   */
  problem?: StorageProblem | undefined;
  /**
   * See {@link StorageError.mayBeStored}.
   * @default false
   */
  mayBeStored?: boolean | undefined;
  /** The error of the driver. */
  cause?: unknown;
}

/** A sink of the mirror or a store of the outbox failed. The service is not involved. `cause` is the error of the driver. */
export class StorageError extends StocklotError {
  /** `"sqlite"`, `"postgres"`, or the name of a sink or store of your own. */
  readonly storage: string;
  /** Path or address, without user name and password. */
  readonly location: string;
  /** What went wrong. */
  readonly problem: StorageProblem;
  /**
   * False if no part of the change was stored. True if that is unknown, for example because the connection was lost
   * during a commit.
   */
  readonly mayBeStored: boolean;

  constructor(message: string, init: StorageErrorInit) {
    super(message, init);
    this.storage = redact(init.storage);
    this.location = redact(init.location);
    this.problem = init.problem ?? "other";
    this.mayBeStored = init.mayBeStored ?? false;
  }
}

brandErrorClasses({ StorageError });
