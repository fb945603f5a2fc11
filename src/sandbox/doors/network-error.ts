/** What fetch rejects with when the connection breaks before the answer. */
export function connectionReset(): TypeError {
  const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", errno: -104, syscall: "read" });
  return new TypeError("fetch failed", { cause });
}

/** What reading a body fails with when the connection breaks in the middle of it. */
export function bodyTerminated(): TypeError {
  const cause = Object.assign(new Error("other side closed"), { name: "SocketError", code: "UND_ERR_SOCKET" });
  return new TypeError("terminated", { cause });
}
