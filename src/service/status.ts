/*
 * What the HTTP status of an error response says. Each column is a function of this file. The client, the outbox and the
 * mirror use the same functions, so that they judge a status in the same way.
 *
 *                     transient   may have   passing   lasting   may refuse    refusal of   refuses credentials
 *                                 applied                        a parameter   one write    (POST /Token)
 *   302, 303                      yes
 *   400                                                yes       yes           yes          yes
 *   401, 403                                           yes                                  yes
 *   404, 409, 422                                      yes                     yes
 *   408               yes         yes        yes
 *   425, 429                                 yes
 *   other 4xx                                          yes
 *   501                                                          yes
 *   other 5xx         yes         yes        yes                 yes
 *
 * Source: service interface, "Errors".
 */

/** Another attempt may succeed. */
export const isTransientStatus = (status: number): boolean => status === 408 || (status >= 500 && status !== 501);

/** A write may have been applied. 302 and 303 may lead to the result of a write. */
export const mayHaveApplied = (status: number): boolean =>
  isTransientStatus(status) || status === 302 || status === 303;

/** A later request may succeed. */
export const isPassingStatus = (status: number): boolean =>
  isTransientStatus(status) || status === 425 || status === 429;

/** The same request will be refused again. */
export const isLastingStatus = (status: number): boolean => status >= 400 && status < 500 && !isPassingStatus(status);

/** A service that can list its records may refuse a parameter, such as `modifiedSince`, with this status. */
export const mayRefuseParameter = (status: number): boolean => status === 400 || status >= 500;

/** The service refuses this one write, if the body comes from the service. For a 403, see `PermissionError`. */
export const isRefusalStatus = (status: number): boolean => [400, 404, 409, 422].includes(status);

/** The response to a token request refuses the credentials. */
export const refusesCredentials = (status: number): boolean => [400, 401, 403].includes(status);
