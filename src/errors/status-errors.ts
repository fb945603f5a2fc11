import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/** 400: the request is malformed or data is missing. A duplicate SKU may come as this or as a {@link ConflictError}. */
export class BadRequestError extends ApiError {
  static {
    brand(BadRequestError, "BadRequestError");
  }
}

/**
 * 401 even with a fresh token, or a 4xx response of `POST /Token` other than 429: the credentials are refused (400, 401,
 * 403), or `baseUrl` is wrong (404, 405).
 */
export class AuthenticationError extends ApiError {
  static {
    brand(AuthenticationError, "AuthenticationError");
  }
}

/** 404: there is no such item, alias or record. */
export class NotFoundError extends ApiError {
  static {
    brand(NotFoundError, "NotFoundError");
  }
}

/** 409: the request conflicts with the current state, for example a SKU that is taken. */
export class ConflictError extends ApiError {
  static {
    brand(ConflictError, "ConflictError");
  }
}

/** 501: the endpoint exists, but the operation is unavailable. Never retried. */
export class NotImplementedError extends ApiError {
  static {
    brand(NotImplementedError, "NotImplementedError");
  }
}

/** Any 5xx but 501, after the retries are used up. */
export class ServerError extends ApiError {
  static {
    brand(ServerError, "ServerError");
  }
}
