import type { Socket } from "node:net";
import { fieldOf } from "../../errors/unknown-value.js";

/** The alerts of a server that refuses the client's certificate, or requires one. */
const REFUSED_CERTIFICATE_CODE_PATTERN = /^ERR_SSL_\S*ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

/**
 * Makes a connection fail with the alert about the client's certificate. With TLS 1.3 it is received after the handshake has
 * ended on this side, and undici reports only that the other side closed the connection.
 */
export function failWhenCertificateIsRefused(socket: Socket): Socket {
  return socket.on("error", (error) => {
    if (REFUSED_CERTIFICATE_CODE_PATTERN.test(String(fieldOf(error, "code")))) socket.destroy(error);
  });
}
