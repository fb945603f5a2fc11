/*
 * Says what a status means. Every room asks here.
 *
 *                            transient   passing   refusal   refuses credentials (POST /Token)
 *   408, 5xx other than 501  yes         yes
 *   425, 429                             yes
 *   400                                            yes       yes
 *   404, 409, 422                                  yes
 *   401, 403                                                 yes
 *   others
 *
 * Source: service interface, "Errors".
 */

/** Another attempt may succeed, and a write may have been applied. */
export const isTransientStatus = (status: number): boolean => status === 408 || (status >= 500 && status !== 501);

/** A later request may succeed. */
export const isPassingStatus = (status: number): boolean =>
  isTransientStatus(status) || status === 425 || status === 429;

/** The service refuses this one write, if the body is the service's own. A 403 has a reason, see `PermissionError`. */
export const isRefusalStatus = (status: number): boolean => [400, 404, 409, 422].includes(status);

/** The response to a token request refuses the credentials. */
export const refusesCredentials = (status: number): boolean => [400, 401, 403].includes(status);
