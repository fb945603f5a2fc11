/** A change of stock that has taken effect. */
export interface Transaction {
  readonly kind: "receive" | "move" | "issue";
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly clientId: string;
  readonly shortID: string;
  readonly units: number;
  readonly wid: number;
  /** The other warehouse of a move between warehouses. */
  readonly shipToWid?: number;
  /** The record that came to be or was drawn on. */
  readonly recNo: number;
}

export type EmitTransaction = (transaction: Transaction) => void;
