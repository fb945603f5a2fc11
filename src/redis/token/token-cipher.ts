import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FINGERPRINT_BYTES = 16;

/** How a token is written down in Redis. */
export interface TokenCipher {
  seal(token: string): Promise<string>;
  /** @throws Error when it was sealed otherwise, or changed. */
  open(sealed: string): Promise<string>;
  /** Identifies a token without showing it. */
  fingerprint(token: string): Promise<string>;
}

/**
 * Encrypts with AES-256-GCM, with a key made of the secret by scrypt; without a secret, tokens are kept as they are.
 * `name` goes into both, so that what was written under one name cannot be used under another.
 */
export function tokenCipher(secret: string | undefined, name: string): TokenCipher {
  if (secret === undefined) return plain(name);
  let derived: Promise<Buffer> | undefined;
  const key = () => {
    derived ??= deriveKey(secret, name);
    return derived;
  };
  return {
    async seal(token) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, await key(), iv).setAAD(Buffer.from(name));
      const text = Buffer.concat([cipher.update(token, "utf8"), cipher.final()]);
      return `gcm:${Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64")}`;
    },
    async open(sealed) {
      const bytes = Buffer.from(sealed.slice("gcm:".length), "base64");
      if (!sealed.startsWith("gcm:") || bytes.length < IV_BYTES + TAG_BYTES) throw new Error(NOT_OURS);
      const decipher = createDecipheriv(ALGORITHM, await key(), bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(name))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
      } catch {
        throw new Error(NOT_OURS);
      }
    },
    async fingerprint(token) {
      return fingerprint(token, await key());
    },
  };
}

const NOT_OURS = "the token in Redis was stored with another secret, or with none";

function plain(name: string): TokenCipher {
  return {
    seal: async (token) => `plain:${token}`,
    open: async (sealed) => {
      if (!sealed.startsWith("plain:")) throw new Error("the token in Redis was stored with a secret");
      return sealed.slice("plain:".length);
    },
    fingerprint: async (token) => fingerprint(token, name),
  };
}

function fingerprint(token: string, key: Buffer | string): string {
  return createHmac("sha256", key).update(token).digest().subarray(0, FINGERPRINT_BYTES).toString("hex");
}

function deriveKey(secret: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, KEY_BYTES, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
