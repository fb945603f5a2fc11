import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt } from "node:crypto";

const CIPHER_ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FINGERPRINT_BYTES = 16;

/** How a token is stored in Redis. */
export interface TokenCipher {
  seal(token: string): Promise<string>;
  /** @throws Error when it was encrypted in another way, or changed. */
  open(sealed: string): Promise<string>;
  /** Identifies a token without showing it. */
  fingerprint(token: string): Promise<string>;
}

/**
 * Encrypts with AES-256-GCM; scrypt derives the key from the secret. Without a secret, tokens are stored as they are.
 * Both depend on `name`, so that a token stored under one name cannot be used under another.
 */
export function createTokenCipher(secret: string | undefined, name: string): TokenCipher {
  if (secret === undefined) return createPlainTextCipher(name);
  let derived: Promise<Buffer> | undefined;
  const key = () => {
    derived ??= deriveEncryptionKey(secret, name);
    return derived;
  };
  return {
    async seal(token) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER_ALGORITHM, await key(), iv).setAAD(Buffer.from(name));
      const text = Buffer.concat([cipher.update(token, "utf8"), cipher.final()]);
      return `gcm:${Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64")}`;
    },
    async open(sealed) {
      const bytes = Buffer.from(sealed.slice("gcm:".length), "base64");
      if (!sealed.startsWith("gcm:") || bytes.length < IV_BYTES + TAG_BYTES) throw new Error(FOREIGN_TOKEN_MESSAGE);
      const decipher = createDecipheriv(CIPHER_ALGORITHM, await key(), bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(name))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
      } catch {
        throw new Error(FOREIGN_TOKEN_MESSAGE);
      }
    },
    async fingerprint(token) {
      return fingerprintToken(token, await key());
    },
  };
}

const FOREIGN_TOKEN_MESSAGE = "the token in Redis was stored with another secret, or with none";

function createPlainTextCipher(name: string): TokenCipher {
  return {
    seal: async (token) => `plain:${token}`,
    open: async (sealed) => {
      if (!sealed.startsWith("plain:")) throw new Error("the token in Redis was stored with a secret");
      return sealed.slice("plain:".length);
    },
    fingerprint: async (token) => fingerprintToken(token, name),
  };
}

function fingerprintToken(token: string, key: Buffer | string): string {
  return createHmac("sha256", key).update(token).digest().subarray(0, FINGERPRINT_BYTES).toString("hex");
}

function deriveEncryptionKey(secret: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, KEY_BYTES, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
