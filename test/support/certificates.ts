import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A key and a certificate, in PEM. */
export interface Identity {
  key: string;
  cert: string;
}

export interface Certificates {
  /** The file with the certificate of the authority. */
  authorityFile: string;
  authority: string;
  selfSigned: Identity;
  /** The identities below are issued by the authority. */
  good: Identity;
  expired: Identity;
  otherHost: Identity;
  remove(): void;
}

/** Creates certificates for `localhost` with openssl. */
export function createCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "certificates-"));
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const read = (name: string): Identity => ({
    key: readFileSync(path(`${name}.key`), "utf8"),
    cert: readFileSync(path(`${name}.pem`), "utf8"),
  });
  const NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(" ");
  const create = (name: string, subject: string, extension: string) => {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`];
    openssl("req", "-x509", ...NEW_KEY, "-days", "2", ...files, "-subj", subject, "-addext", extension);
  };
  const issue = (name: string, host: string, days: string): Identity => {
    openssl("req", "-new", ...NEW_KEY, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${host}`);
    writeFileSync(path(`${name}.ext`), `subjectAltName=DNS:${host}`);
    const authority = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial"];
    const files = ["-in", `${name}.csr`, "-extfile", `${name}.ext`, "-out", `${name}.pem`];
    openssl("x509", "-req", ...authority, "-days", days, ...files);
    return read(name);
  };
  create("authority", "/CN=Test authority", "basicConstraints=critical,CA:TRUE");
  create("self-signed", "/CN=localhost", "subjectAltName=DNS:localhost");
  return {
    authorityFile: path("authority.pem"),
    authority: read("authority").cert,
    selfSigned: read("self-signed"),
    good: issue("good", "localhost", "2"),
    expired: issue("expired", "localhost", "-1"),
    otherHost: issue("other-host", "other.test", "2"),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
