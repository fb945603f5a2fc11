import { brandErrorClasses } from "./brand.js";
import { redact } from "./redact.js";
import { StocklotError } from "./stocklot-error.js";

/** A copy of a mirror or a store of an outbox failed. The service is not involved. `cause` is the error of the driver. */
export class StorageError extends StocklotError {
  /** Path or address, without user name and password. */
  readonly location: string;
  /**
   * False if no part of the change was stored. True if that is unknown, for example because the connection was lost
   * during a commit.
   */
  readonly mayBeStored: boolean;

  constructor(message: string, init: { location: string; mayBeStored?: boolean | undefined; cause?: unknown }) {
    super(message, init);
    this.location = redact(init.location);
    this.mayBeStored = init.mayBeStored ?? false;
  }
}

brandErrorClasses({ StorageError });
